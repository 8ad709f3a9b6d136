# Needs Python 3.11 or newer with venv, and make. Everything else goes into .venv.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: demo test test-full golden lint bench docs requirements clean
.DELETE_ON_ERROR:

demo: $(READY)  ## the main job, on a synthetic census
	$(RUN) -m maskmeter demo

test: lint  ## lint, then every test but the long studies
	$(RUN) -m pytest --cov --cov-report=term --cov-fail-under=95

test-full: lint  ## the long statistical studies too, with a fresh seed that is printed
	MASKMETER_FULL=1 MASKMETER_SEED=$$($(RUN) -c 'import secrets; print(secrets.randbelow(2**32))') \
		$(RUN) -m pytest

golden: $(READY)  ## write the golden figures again: a changed one needs its reason in CHANGELOG.md
	PYTHONPATH=tests $(RUN) tests/golden/figures.py

lint: $(READY)
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

bench: $(READY)  ## print the figures to hold
	$(RUN) benchmarks/run.py

docs: $(READY)  ## the documentation, as pages that open offline
	$(RUN) -m sphinx -W --keep-going -q -E -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

requirements: $(READY)  ## pin again: newest versions, with hashes, naming no package host
	$(RUN) -m pip install --quiet uv
	$(RUN) -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
		--generate-hashes --upgrade --no-emit-index-url --no-header --no-annotate \
		--quiet --output-file requirements-dev.txt

clean:
	rm -rf $(VENV) docs/_build .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY): requirements-dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "maskmeter needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing: on Debian and Ubuntu run apt-get install python3-venv"; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
