# Every target sets up what it needs. A fresh machine needs Python 3.11, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready
WORKERS ?= 2
PART ?=
SEED ?= 1
COUNT ?= 160

# Tests start Python hundreds of times, and images of containers often forbid it to keep what it has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test soak mutants check bench docs pictures page clean packages

demo: $(LIGHT)
	@$(BIN)/python examples/booking/demo.py
	@echo
	@echo "And eight recorded runs of an agent that pays invoices, audited:"
	@echo
	@$(BIN)/accord audit examples/recorded_payments/payments.accord examples/recorded_payments/runs.jsonl --no-cache; test $$? -le 1
	@echo
	@echo "See both contracts in the browser, step through them, and drop the runs on the page \"Runs\":"
	@echo "    $(BIN)/accord studio examples"

# What a change needs at once, in less than a minute; what it is stands in tests/kinds.py.
quick: $(READY)
	$(BIN)/python -m pytest -q -m quick -n $(WORKERS) --dist worksteal

test: $(READY) packages
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --durations=20

# The long checks of `make test` at full volume: one part of them (`make soak PART=protocols`), or all in turn.
soak: $(READY) packages
	$(BIN)/python -m tests.soaking "$(PART)" -n $(WORKERS) --dist worksteal

# Mistakes planted one at a time: which of them do the tests not find? (`make mutants PART=trace COUNT=40 SEED=7`)
mutants: $(READY)
	$(BIN)/python -m tests.mutants --seed $(SEED) --count $(COUNT) $(addprefix --part ,$(PART)) --jobs $(WORKERS)

# PostgreSQL, Redis, Chromium, Java and npm for the tests, if they can be installed here.
packages:
	@sh tests/install_system_packages.sh

# The studio's page, from its source in web/ into the package.
page: packages
	cd web && npm run build

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/accord check examples src/accord/templates
	$(BIN)/accord fmt --check examples src/accord/templates
	$(BIN)/accord lint examples/agents

bench: $(BENCH_READY) packages
	$(BENCH)/bin/python -m bench

docs: $(READY)
	$(BIN)/pip install -q -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict

# The pictures of the documents: terminals as text, pages as a browser shows them. Look at them before you commit.
pictures: $(READY) packages
	ACCORD_UPDATE_PICTURES=1 $(BIN)/python -m pytest -q tests/docs/test_pictures.py tests/browser/test_pictures.py

clean:
	rm -rf $(VENV) $(BENCH) web/node_modules tests/coding_agents/node_modules site build .mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis

# What it takes to use accord; the tests take thirty times as much.
$(LIGHT): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("accord needs Python 3.11 or newer, found " + sys.version) if sys.version_info < (3, 11) else None'
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) …"
	@# What this clone was installed as before it was accord-contracts would be found beside it.
	@$(BIN)/pip uninstall -qq -y --disable-pip-version-check accord; rm -rf src/accord.egg-info
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[studio]'
	@touch $@

$(READY): $(LIGHT)
	@echo "adding what the tests need …"
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(BENCH_READY): pyproject.toml constraints.txt
	@test -d $(BENCH) || $(PYTHON) -m venv $(BENCH)
	@echo "setting up $(BENCH) …"
	@$(BENCH)/bin/pip uninstall -qq -y --disable-pip-version-check accord; rm -rf src/accord.egg-info
	@$(BENCH)/bin/pip install -q --disable-pip-version-check -c constraints.txt -e '.[audit,langchain,postgres,redis,studio,trace]' orjson llmsessioncontract acel-core openai-agents
	@touch $@
