# make sample | test | test-all | check | docs | peers | bench | clean
# (PYTHON=, VENV=, OUT=, TEST_PROCESSES=, PYTEST_ARGS=)
#
# Everything is installed into one virtual environment, from the locks in requirements/; after
# that nothing here needs the network. A second call installs nothing.

VENV ?= .venv
OUT ?= runs/sample
RECIPE ?= configs/recipes/sample.yaml
PYTHON ?=
PYTEST_ARGS ?=
# One a core; some tests start four workers, so more than eight gain nothing.
TEST_PROCESSES ?= auto
PYTEST = $(BIN)/python -I -m pytest -n $(TEST_PROCESSES) --maxprocesses 8 --dist loadscope \
	--no-loadscope-reorder

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq

.PHONY: help sample test test-all check docs peers bench clean lock
.DEFAULT_GOAL := help

help:
	@sed -n '1,2s/^# //p' Makefile

# The folders of .src/corpusmill must be links: a copy that resolved them would be imported in
# place of the folders that people edit.
$(BIN)/python:
	@if [ ! -L .src/corpusmill/pipeline ]; then \
	  echo "error: .src/corpusmill/pipeline is no symbolic link; this copy was made without links: clone with git (on Linux), or copy with cp -a" >&2; exit 1; fi
	@python="$(PYTHON)"; \
	if [ -z "$$python" ]; then python=$$(bash .ci/pythons --first) || exit 1; fi; \
	"$$python" -c 'import sys; v = sys.version_info[:2]; sys.exit(not (3, 11) <= v <= (3, 13))' \
	  || { echo "error: PYTHON=$$python is not Python 3.11, 3.12 or 3.13" >&2; exit 1; }; \
	echo "$$python -m venv $(VENV)"; "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/base.stamp: requirements/base.txt pyproject.toml | $(BIN)/python
	@echo "installing $$(grep -c == requirements/base.txt) packages into $(VENV), 0.9 GB on disk"
	$(PIP) install --require-hashes --only-binary :all: -r requirements/base.txt
	$(PIP) install --no-deps --no-index --no-build-isolation -e .
	@touch $@

$(VENV)/test.stamp: requirements/test.txt $(VENV)/base.stamp
	$(PIP) install --require-hashes --only-binary :all: -r requirements/test.txt
	@touch $@

sample: $(VENV)/base.stamp
	$(BIN)/corpusmill run $(RECIPE) --out $(OUT)
	$(BIN)/corpusmill report $(OUT)

# Kernels are compiled once, in a process a core, and not by each test process.
test: $(VENV)/test.stamp
	@$(BIN)/corpusmill warm >/dev/null
	$(PYTEST) -m "not slow and not fulldata" $(PYTEST_ARGS)
	@echo "left out: tests marked slow or fulldata; 'make test-all' runs them"

test-all: $(VENV)/test.stamp
	@if [ -z "$$CORPUSMILL_DATA" ]; then \
	  echo "CORPUSMILL_DATA is not set: tests marked fulldata will be skipped" >&2; fi
	@$(BIN)/corpusmill warm >/dev/null
	$(PYTEST) $(PYTEST_ARGS)

check: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages of docs/ as a site; serve it with `python3 -m http.server --directory site`.
docs: .venv-docs/stamp
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet
	@echo "site/index.html"

.venv-docs/stamp: requirements/docs.txt | $(BIN)/python
	rm -rf .venv-docs
	$(BIN)/python -m venv .venv-docs
	.venv-docs/bin/python -m pip --disable-pip-version-check --no-input -qq install --require-hashes --only-binary :all: -r $<
	@touch $@

# Other systems, each in an environment of its own, for the measurements in bench/.
PEERS := $(notdir $(patsubst %/requirements.txt,%,$(wildcard bench/peers/*/requirements.txt)))

peers: $(PEERS:%=.venv-peers/%/stamp)

.venv-peers/%/stamp: bench/peers/%/requirements.txt | $(BIN)/python
	@echo "installing $$(grep -c == $<) packages into .venv-peers/$*"
	rm -rf .venv-peers/$*
	@python=$(BIN)/python; minors=$$(sed -n 's/^# only Python //p' $<); \
	[ -z "$$minors" ] || python=$$(bash .ci/pythons --first "$$minors") || exit 1; \
	echo "$$python -m venv .venv-peers/$*"; "$$python" -m venv .venv-peers/$*
	.venv-peers/$*/bin/python -m pip --disable-pip-version-check --no-input -qq install --no-deps --only-binary :all: -r $<
	.venv-peers/$*/bin/python $(firstword $(wildcard $(addprefix bench/peers/$*/,extract.py detect.py sides.py))) --prove
	@touch $@

# BENCH_ARGS="--quick" for a first look; CORPUSMILL_DATA names the full data folder.
bench: $(VENV)/base.stamp .venv-peers/datatrove/stamp
	$(BIN)/python -m bench.end_to_end $(BENCH_ARGS)

# Needs the network, and pip-tools in three interpreters: LOCK_PYTHONS="a/bin/python b/… c/…".
lock:
	python3 requirements/compile.py $(LOCK_PYTHONS)

clean:
	rm -rf .venv .venv-* runs site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
