# newtonnet: `make` lists what can be made.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Real data sets are optional; tests that need them are skipped where the folder is absent.
ifneq ($(wildcard ../shared/data),)
export NEWTONNET_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test bench check format docs dist smoke clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/installed: pyproject.toml setup.py constraints.txt $(wildcard src/newtonnet/kernels/*.cpp src/newtonnet/kernels/*.h)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev,docs]'
	touch $@

demo: $(VENV)/installed ## train on the embedded graphs and write out/demo/report.html
	$(BIN)/newtonnet demo

test: $(VENV)/installed ## run the whole test suite, doctests and examples included
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

bench: $(VENV)/installed ## measure this machine (forty minutes; QUICK=1: a few) and save the figures
	$(BIN)/newtonnet-paper bench $(if $(QUICK),--quick)

check: $(VENV)/installed ## format, lint and types, without changing anything
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/test_architecture.py

format: $(VENV)/installed ## rewrite the code in the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/installed ## build the documentation site in out/docs; warnings are errors
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs out/docs

dist: $(VENV)/installed ## build the source distribution and the wheel of this platform in dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist

smoke: dist ## install the wheel into an empty environment without a compiler, and use it there
	.ci/smoke

clean: ## remove the environment and everything that was made
	rm -rf $(VENV) out build dist .mypy_cache .pytest_cache .ruff_cache src/*.egg-info src/newtonnet/kernels/*.so
