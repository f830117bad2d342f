# Start with `make demo`, `make check` or `make test`. They set up what they need in .venv.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
# The first Python that is new enough; `make PYTHON=/path/to/python3 demo` takes another.
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3; do \
	if "$$name" -c '$(NEW_ENOUGH)' 2>/dev/null; then echo "$$name"; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Tests start many processes: let Python keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
# Some tests wait for processes that they start: one worker more than there are cores.
WORKERS = $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# Each worker computes in one thread: the threads of linear algebra would only wait for each other.
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=20

.PHONY: demo check test test-long test-all lint bench studies docs clean
.DEFAULT_GOAL := help

.PHONY: help
help:
	@echo "make demo   evaluate the bundled example, release it privately, write a report"
	@echo "make check  lint, types and the links of the documentation: a minute and a half"
	@echo "make test   lint, types and all tests but the longest: about nine minutes"
	@echo "make test-all  the same with the longest, which repeat studies and draw millions of samples"
	@echo "make bench  speed and accuracy beside peers (some minutes)"
	@echo "make studies  list the studies of papers; make studies NAME=schalk runs one, NAME=all all"
	@echo "make docs   build the documentation into docs/_build/html"

$(VENV)/bin/python:
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' 2>/dev/null || { echo "confide needs Python 3.11 or later, and $(or $(PYTHON),python3) is \
	older or missing. Install one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments. Install \
	its venv module, on Debian and Ubuntu with: apt install $(notdir $(PYTHON))-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(VENV)/.base: $(VENV)/bin/python pyproject.toml
	$(INSTALL) -e '.[private]'
	touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml
	$(INSTALL) -e '.[test]'
	touch $(VENV)/.base $@

demo: $(VENV)/.base
	$(BIN)/confide demo

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint docs

test: lint
	$(PYTEST) -m 'not long'

test-long: $(VENV)/.test
	$(PYTEST) -m long

test-all: check test test-long

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

studies: $(VENV)/.test
	$(BIN)/python -m studies $(NAME) $(OPTIONS)

docs: $(VENV)/.test
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

clean:
	rm -rf $(VENV) docs/_build demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
