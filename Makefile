# Everything here works on a fresh machine with Python 3.10+ and make; the virtual environment in
# .venv is made on first use, .venv-bench, with the packages that the benchmarks compare with, on the
# first `make bench`, and .venv-docs, with Sphinx, on the first `make docs`. `make` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PEERS  := .venv-bench
WRITERS := .venv-docs
JOBS   ?= 2
SECONDS ?= 300

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench fuzz replay pages docs launcher clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

demo: $(STAMP) ## Two matrix products, from naive to register tiles, timed beside numpy
	@$(BIN)/python examples/matmul_ladder.py

test: $(STAMP) ## Run all tests
	@$(BIN)/pytest -q -n $(JOBS) --dist worksteal tests

lint: $(STAMP) ## Check style and types
	@$(BIN)/ruff check src tests examples benchmarks tools docs/schedule/programs.py
	@$(BIN)/ruff format --check src tests examples benchmarks tools docs/schedule/programs.py
	@$(BIN)/pyright

format: $(STAMP) ## Format the code and mend what can be mended automatically
	@$(BIN)/ruff check --fix src tests examples benchmarks tools docs/schedule/programs.py
	@$(BIN)/ruff format src tests examples benchmarks tools docs/schedule/programs.py

bench: $(PEERS)/.installed ## Measure the compiler, and its code beside numpy, torch and onnxruntime
	@$(PEERS)/bin/python -m benchmarks $(ARGS)

fuzz: $(STAMP) ## Random programs, scripts and calls, for so long: make fuzz SECONDS=300
	@TILEWRIGHT_FUZZ_SECONDS=$(SECONDS) $(BIN)/pytest -q -n $(JOBS) --dist worksteal tests

replay: $(STAMP) ## Show which programs compile to other code than with a commit: make replay BASE=HEAD
	@$(BIN)/python -m tools.replay --base "$(BASE)" -j $(JOBS) $(ARGS)

pages: $(STAMP) ## Make anew what programs make in docs: pages of primitives, notebooks, drawings, licences
	@$(BIN)/python -m tools.schedule_pages
	@$(BIN)/python -m tools.schedule_stubs
	@$(BIN)/python -m tools.notebooks
	@$(BIN)/python -m tools.drawings
	@$(BIN)/python -m tools.licences

docs: $(WRITERS)/.installed ## Build the site in build/site, in English and Chinese, and check its links
	@$(WRITERS)/bin/python -m tools.site $(ARGS)

launcher: $(STAMP) ## Make the LLVM IR of the launcher of devices from its C sources
	@$(BIN)/python -m tools.launcher

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) $(PEERS) $(WRITERS) .pytest_cache .hypothesis .ruff_cache build dist

$(STAMP): pyproject.toml requirements-dev.lock tools/bootstrap.py
	@$(PYTHON) tools/bootstrap.py $(VENV)
	@touch $@

$(PEERS)/.installed: pyproject.toml requirements-bench.lock tools/bootstrap.py
	@$(PYTHON) tools/bootstrap.py $(PEERS) requirements-bench.lock
	@touch $@

$(WRITERS)/.installed: pyproject.toml requirements-docs.lock tools/bootstrap.py
	@$(PYTHON) tools/bootstrap.py $(WRITERS) requirements-docs.lock
	@touch $@
