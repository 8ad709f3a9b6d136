# Needs Python 3.11 or newer with venv, and make. Everything else goes into .venv.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
TOOLS := $(VENV)/.ready-dev
INSTALL := $(RUN) -m pip install --disable-pip-version-check
PIN := $(RUN) -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate --quiet
# Threads of linear algebra wait for each other when two workers share two processors.
TESTS := OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n 2 --dist loadfile

.PHONY: demo test test-full golden lint bench docs wheels requirements clean
.DELETE_ON_ERROR:

demo: $(READY)  ## the main job, on a synthetic census
	$(RUN) -m maskmeter demo

test: lint  ## lint, then every test but the long studies; COVERAGE=1 also says what they reach
	$(TESTS) $(if $(COVERAGE),--cov --cov-report=term --cov-fail-under=95)

test-full: lint  ## the long statistical studies too, with a fresh seed that is printed
	MASKMETER_FULL=1 MASKMETER_SEED=$$($(RUN) -c 'import secrets; print(secrets.randbelow(2**32))') \
		$(TESTS)

golden: $(READY)  ## write the golden figures again: a changed one needs its reason in CHANGELOG.md
	PYTHONPATH=tests $(RUN) tests/golden/figures.py

lint: $(TOOLS)
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

bench: $(TOOLS)  ## print the figures to hold
	$(RUN) benchmarks/run.py

docs: $(TOOLS)  ## the documentation, as pages that open offline
	$(RUN) -m sphinx -W --keep-going -q -E -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

wheels: $(READY)  ## all that a machine without network needs, extras included
	rm -rf wheels
	$(RUN) -m pip download --disable-pip-version-check --no-deps --require-hashes \
		--only-binary :all: --dest wheels -r requirements-extras.txt
	$(RUN) -m pip wheel --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir wheels .
	@echo "Carry the folder wheels to the other machine, and there run:"
	@echo "  python -m pip install --no-index --find-links wheels 'maskmeter[r]'"

requirements: $(READY)  ## pin again: newest versions, with hashes, naming no package host
	$(INSTALL) uv
	$(PIN) --extra dev --group build --upgrade --output-file requirements-dev.txt
	$(PIN) --group build --constraint requirements-dev.txt --upgrade --output-file requirements.txt
	$(PIN) --extra r --constraint requirements-dev.txt --upgrade --output-file requirements-extras.txt

clean:
	rm -rf $(VENV) wheels docs/_build .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY): requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "maskmeter needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing: on Debian and Ubuntu run apt-get install python3-venv"; exit 1; }
	@echo "Installing what maskmeter needs to run into $(VENV)"
	"$(PYTHON)" -m venv --clear $(VENV)
	$(INSTALL) --no-deps --require-hashes -r requirements.txt
	$(INSTALL) --no-deps --no-build-isolation -e .
	$(RUN) -m pip check
	@touch $@

$(TOOLS): $(READY) requirements-dev.txt
	@echo "Installing what the tests need on top"
	$(INSTALL) --no-deps --require-hashes -r requirements-dev.txt
	$(RUN) -m pip check
	@touch $@
