# Sets itself up: needs only Python 3.11+ and make. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
TOOLS := .tools-venv
BIN := $(VENV)/bin
# Tests run in so many processes; each may start servers and load the model.
WORKERS ?= 2
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := @$(BIN)/python requirements/install.py

.DEFAULT_GOAL := help
.PHONY: help run test lint format docs lock bench eval reliability fuzz audit sbom qdrant clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Making the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# The package is installed editable and without build isolation: hatchling comes from the lock as well.
$(VENV)/.run-ready: $(VENV)/bin/python requirements/run.lock pyproject.toml
	$(INSTALL) requirements/run.lock
	@echo "Installing the program itself"
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev-ready: $(VENV)/.run-ready requirements/dev.lock
	$(INSTALL) requirements/dev.lock
	@touch $@

run: $(VENV)/.run-ready  ## set up and serve REST and MCP on http://127.0.0.1:8000
	$(BIN)/mcp-memory serve

lint: $(VENV)/.dev-ready  ## ruff, basedpyright (strict), import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/basedpyright

test: lint  ## set up, check and run all tests
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --ignore tests/reliability
	$(BIN)/pytest tests/reliability  # alone: they start, kill and time many processes of their own

format: $(VENV)/.dev-ready  ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.dev-ready  ## write .env.example and the generated pages of docs/
	$(BIN)/python docs/generate.py

bench: $(VENV)/.dev-ready  ## measure engine, server and peers (BENCH_ARGS="--data FOLDER --sizes 1000,100000")
	$(BIN)/python bench/run.py $(BENCH_ARGS)

eval: $(VENV)/.dev-ready  ## measure quality: our own corpus, and sets named by EVAL_ARGS="--data FOLDER --out FOLDER"
	$(BIN)/python tests/eval/sweep_alpha.py
	$(if $(EVAL_ARGS),$(BIN)/mcp-memory eval run $(EVAL_ARGS))

reliability: $(VENV)/.dev-ready  ## a quarter of an hour of power cuts, kills, full disks, many processes: is anything lost?
	$(BIN)/python -m tests.reliability.processes
	$(BIN)/python -m tests.reliability.first_opens
	$(BIN)/python -m tests.reliability.kills
	$(BIN)/python -m tests.reliability.index_kills --kills 40
	$(BIN)/python -m tests.reliability.power_cuts --seeds 10000 --processes 2
	$(BIN)/python -m tests.reliability.power_cuts --seeds 200 --synchronous off --expect-failure
	$(BIN)/python -m tests.reliability.io_faults
	$(BIN)/python -m tests.reliability.full_disk
	$(BIN)/python -m tests.reliability.backups_under_load
	$(BIN)/python -m tests.reliability.erased_bytes
	$(BIN)/python -m tests.reliability.state_machine --examples 500 --steps 50 --backends sqlite_vec
	$(BIN)/python -m tests.reliability.state_machine --examples 60 --steps 40 --backends qdrant qdrant_grpc
	$(BIN)/python -m tests.reliability.qdrant_faults --seconds 60
	$(BIN)/python -m tests.reliability.qdrant_migration --memories 20000

fuzz: $(VENV)/.dev-ready  ## ten minutes of wrong requests: does anything answer 5xx, hang or die? Does anything call out?
	$(BIN)/python -m tests.fuzz.rest --cases 10000
	$(BIN)/python -m tests.fuzz.mcp_over_http --messages 5000
	$(BIN)/python -m tests.fuzz.mcp_over_stdio --messages 5000
	$(BIN)/python -m tests.fuzz.raw_http --connections 5000
	$(BIN)/python -m tests.fuzz.outbound --seconds 60

# What looks at the dependencies has many of its own, which stay out of the environment of the service.
$(TOOLS)/.ready: $(VENV)/bin/python requirements/tools.lock
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/tools.lock
	@touch $@

audit: $(TOOLS)/.ready  ## known vulnerabilities of all locked dependencies (asks a service on the network)
	$(TOOLS)/bin/python requirements/audit.py

# The root of the list needs a version, which pyproject.toml leaves to the package.
sbom: $(TOOLS)/.ready  ## dist/sbom.json: what the service is made of, as CycloneDX
	@mkdir -p dist
	sed "s/^dynamic = .*/version = $$(sed -n 's/^__version__ = //p' src/mcp_memory_service/__init__.py)/" \
	  pyproject.toml > dist/pyproject.toml
	$(TOOLS)/bin/cyclonedx-py requirements --pyproject dist/pyproject.toml --output-reproducible \
	  --output-file dist/sbom.json requirements/run.lock
	@rm dist/pyproject.toml

qdrant: $(VENV)/.run-ready  ## add what the Qdrant backend needs
	$(INSTALL) requirements/qdrant.lock

lock: $(VENV)/.dev-ready  ## resolve the dependencies again
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
	  --group build pyproject.toml -o requirements/run.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
	  --group build --extra qdrant -c requirements/run.lock pyproject.toml -o requirements/qdrant.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
	  --group build --group dev -c requirements/run.lock pyproject.toml -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
	  --group tools -o requirements/tools.lock

clean:  ## remove the virtual environments and caches
	rm -rf $(VENV) $(TOOLS) .pytest_cache .ruff_cache .import_linter_cache .hypothesis
