# Each target installs what it needs. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PLOTS := $(VENV)/.installed-bench
ARGS ?=
EXAMPLES ?= 2000
SEED ?= $(shell date +%s)
FUZZED := $(addprefix tests/oracle/test_,histories.py keyed_histories.py brought.py by_ways.py columns.py resolutions.py)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install java postgres demo test fuzz lint format bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-10s %s\n", $$1, $$2 }'

install: $(STAMP) ## create .venv with the package, editable, and its tools

$(STAMP): pyproject.toml constraints.txt
	@scripts/venv.sh $(VENV) $(PYTHON)
	@echo "==> installing packages into $(VENV) (minutes, the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --upgrade pip
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

java: ## check for Java 17 or newer, install it if absent
	@scripts/java.sh

# Without a server the tests still run, and those that need one fail.
postgres: ## check for a PostgreSQL server, install it if absent
	-@scripts/postgres.sh >/dev/null

demo: install java ## run the demo
	@$(BIN)/python examples/demo.py $(ARGS)

# Three processes: one has Spark and all tests that need it, the others what is left, and much of that is waiting.
test: install java postgres ## run the whole test suite (ARGS="-k name" to select)
	@echo "==> pytest"
	@$(BIN)/python -m pytest -n 3 --dist loadscope $(ARGS)

fuzz: install ## long random histories against the oracle (EXAMPLES=2000 SEED=1)
	@echo "==> $(EXAMPLES) histories of each kind, seed $(SEED)"
	@ANABRANCH_FUZZ_EXAMPLES=$(EXAMPLES) ANABRANCH_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -n 2 $(FUZZED) $(ARGS)

lint: install ## ruff, mypy and the import layers
	@status=0; \
	step() { echo "==> $$*"; $(BIN)/"$$@" || status=1; }; \
	step ruff check --quiet; \
	step ruff format --check --quiet; \
	step mypy --no-error-summary; \
	step lint-imports --no-logo; \
	exit $$status

format: install ## fix what ruff can fix, and format
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format

$(PLOTS): $(STAMP)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

bench: install java $(PLOTS) ## run the benchmarks
	@$(BIN)/python bench/run.py $(ARGS)

clean: ## remove caches and build products; keeps .venv
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache spark-warehouse metastore_db derby.log
	@find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
