# Needs Python 3.11 or newer with venv, and make. Everything else goes into .venv.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
TOOLS := $(VENV)/.ready-dev
PEERS := $(VENV)/.ready-bench
INSTALL := $(RUN) -m pip install --disable-pip-version-check
PIN := $(RUN) -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate --quiet
# Spark needs Java and refuses pandas 3: its tests have an environment of their own.
SPARK_VENV := .venv-spark
SPARK_RUN := $(SPARK_VENV)/bin/python
SPARK_READY := $(SPARK_VENV)/.ready
JAVA := $(if $(JAVA_HOME),$(wildcard $(JAVA_HOME)/bin/java),$(shell command -v java))
SPARK_TESTS := $(if $(JAVA),spark-tests,no-spark-tests)
# Threads of linear algebra wait for each other when two workers share two processors.
TESTS := OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-full spark-tests no-spark-tests golden lint bench bench-check docs wheels requirements clean
.DELETE_ON_ERROR:

demo: $(READY)  ## the main job, on a synthetic census
	$(RUN) -m maskmeter demo

test: lint  ## lint, then every test but slow cases and long studies; COVERAGE=1 also says what they reach
	$(TESTS) $(if $(COVERAGE),--cov --cov-report=term --cov-fail-under=95)
	@$(MAKE) --no-print-directory $(SPARK_TESTS)

test-full: lint  ## the long statistical studies too, with a fresh seed that is printed
	MASKMETER_FULL=1 MASKMETER_SEED=$$($(RUN) -c 'import secrets; print(secrets.randbelow(2**32))') \
		$(TESTS)
	@MASKMETER_FULL=1 $(MAKE) --no-print-directory $(SPARK_TESTS)

# A few of them stand for all, but where nothing may be left out.
SPARK_CHOSEN := $(if $(MASKMETER_NO_SKIPS)$(MASKMETER_FULL),tests/engines,tests/engines/test_parity.py -k "several or counts")

spark-tests: $(SPARK_READY)  ## the tests that need Spark; make test runs some where there is Java
	OPENBLAS_NUM_THREADS=1 $(SPARK_RUN) -m pytest -m spark $(SPARK_CHOSEN)

no-spark-tests:
	@echo "The tests that need Spark are left out: there is no Java (apt-get install openjdk-17-jre-headless)."
	@test -z "$$MASKMETER_NO_SKIPS"

golden: $(READY)  ## write the golden figures again: a changed one needs its reason in CHANGELOG.md
	PYTHONPATH=tests $(RUN) tests/golden/figures.py

lint: $(TOOLS)
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

bench: $(PEERS) $(SPARK_READY)  ## measure all figures, ratios to peers and growth, and write their pages again
	$(RUN) benchmarks/run.py --write

bench-check: $(PEERS) $(SPARK_READY)  ## measure the ratios to peers; fail if one is below its floor
	$(RUN) benchmarks/check.py

docs: $(TOOLS)  ## the documentation, as pages that open offline
	$(RUN) -m sphinx -W --keep-going -q -E -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

wheels: $(READY)  ## all that a machine without network needs, extras included
	rm -rf wheels
	$(RUN) -m pip download --disable-pip-version-check --no-deps --require-hashes \
		--only-binary :all: --dest wheels -r requirements-extras.txt
	$(RUN) -m pip wheel --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir wheels .
	@echo "Carry the folder wheels to the other machine, and there run:"
	@echo "  python -m pip install --no-index --find-links wheels 'maskmeter[app,duckdb,r]'"

requirements: $(READY)  ## pin again: newest versions, with hashes, naming no package host
	$(INSTALL) uv
	$(PIN) --extra dev --group build --upgrade --output-file requirements-dev.txt
	$(PIN) --group build --constraint requirements-dev.txt --upgrade --output-file requirements.txt
	$(PIN) --extra app --extra duckdb --extra r --constraint requirements-dev.txt --upgrade --output-file requirements-extras.txt
	$(PIN) --extra bench --constraint requirements-dev.txt --upgrade --output-file requirements-bench.txt
	$(PIN) --extra spark --group build --group spark-tests --upgrade --output-file requirements-spark.txt

clean:
	rm -rf $(VENV) $(SPARK_VENV) wheels docs/_build .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY): requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "maskmeter needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing: on Debian and Ubuntu run apt-get install python3-venv"; exit 1; }
	@echo "Installing what maskmeter needs to run into $(VENV)"
	"$(PYTHON)" -m venv --clear $(VENV)
	$(INSTALL) --no-deps --require-hashes -r requirements.txt
	$(INSTALL) --no-deps --no-build-isolation -e .
	$(RUN) -m pip check
	@touch $@

$(SPARK_READY): requirements-spark.txt | $(READY)
	@echo "Installing Spark, and what its tests need, into $(SPARK_VENV)"
	"$(PYTHON)" -m venv --clear $(SPARK_VENV)
	$(SPARK_RUN) -m pip install --disable-pip-version-check --no-deps --require-hashes -r requirements-spark.txt
	$(SPARK_RUN) -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(SPARK_RUN) -m pip check
	@touch $@

$(TOOLS): $(READY) requirements-dev.txt
	@echo "Installing what the tests need on top"
	$(INSTALL) --no-deps --require-hashes -r requirements-dev.txt
	$(RUN) -m pip check
	@touch $@

$(PEERS): $(TOOLS) requirements-bench.txt
	@command -v Rscript >/dev/null || { echo "Rscript is missing: on Debian and Ubuntu run apt-get install r-base-core"; exit 1; }
	@echo "Installing the peers that are measured beside maskmeter"
	$(INSTALL) --no-deps --require-hashes -r requirements-bench.txt
	$(RUN) -m pip check
	@touch $@
