# Everything a contributor does, from a bare clone with Python 3.11 to 3.13 and make.
#   make demo                       make test ARGS="-k settings -x"
#   make test PARALLEL= (one process: for a debugger, and for output as it comes)
#   make conformance ARGS="client 2026-07-28"
#   make check PYTHON=python3.12    make lab ARGS="--no-browser --port=9999"

VENV ?= .venv
BIN := $(VENV)/bin
# The first Python that fits. A name on PATH may be a shim that starts nothing, so each is asked.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	2>/dev/null && { echo $$name; break; }; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check
ARGS ?=
# Several processes, each with whole files, in the order that tests/conftest.py gives them.
PARALLEL ?= --numprocesses=auto --maxprocesses=4 --no-loadscope-reorder

# A stamp is newer than pyproject.toml when what it stands for is installed.
PACKAGE := $(VENV)/.package-installed
TOOLS := $(VENV)/.tools-installed

.DEFAULT_GOAL := help
.PHONY: help demo test check walk bench bench-smoke soak bench-peers bench-search bench-planning bench-drawing bench-openapi newcomer lessons newest-lab performance conformance lab clean

help:
	@echo "make demo    compile and run the first example: a tool call without any key"
	@echo "make lab     open the canvas (JupyterLab) in ./lab"
	@echo "make test    run all tests                 (ARGS are passed on to pytest)"
	@echo "make check   formatting, lint, types, and the rules of the house"
	@echo "make walk    count the files that one call enters (ARGS=--verbose names them)"
	@echo "make bench   measure and print the figures (ARGS are passed on)"
	@echo "make bench-smoke  run every benchmark in its smallest form; no figure counts"
	@echo "make conformance   run the public conformance suite of MCP, as client and as server (needs npm)"
	@echo "make bench-peers  the same calls with other MCP clients (ARGS: --help tells)"
	@echo "make bench-search DATA=folder SCORER=file  how tools are found, into docs/measured.md"
	@echo "make bench-drawing DATA=folder  draw the plans in a folder, and make their calls"
	@echo "make bench-planning DATA=folder SCORER=file  how good plans are, into docs/measured.md"
	@echo "make bench-openapi DATA=folder  what becomes of the OpenAPI documents in a folder"
	@echo "make performance  bench and bench-peers, written into docs/measured.md"
	@echo "make newcomer  from pip install to an answer, into docs/measured.md (needs Chromium)"
	@echo "make lessons   the hour of a workshop by mouse, into docs/measured.md (needs Chromium)"
	@echo "make newest-lab  the tests in the lab, in the newest JupyterLab (needs Chromium)"
	@echo "make soak    ten minutes of agents while servers break, into docs/measured.md"
	@echo "make clean   remove $(VENV), ./demo, ./lab and caches"

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
	  echo "No Python 3.11, 3.12 or 3.13 found. Install one, or name it: make PYTHON=..."; exit 1; }
	@echo "==> Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(PACKAGE): pyproject.toml | $(BIN)/python
	@echo "==> Installing the package (a minute or two, once)"
	@$(PIP) install --quiet --upgrade "pip>=25.1"
	@$(PIP) install --quiet --editable ".[lab]"
	@touch $@

$(TOOLS): $(PACKAGE)
	@echo "==> Installing what tests and checks need (once)"
	@$(PIP) install --quiet --group test --group check
	@touch $@

demo: $(PACKAGE)
	@echo "==> Preparing ./demo (xai-mcp-agent init demo)"
	@$(BIN)/xai-mcp-agent init demo >/dev/null
	@echo "==> Compiling examples/ex01_quickstart.xircuits to demo/quickstart.py"
	@cd demo && "$$OLDPWD/$(BIN)/xircuits" compile examples/ex01_quickstart.xircuits quickstart.py \
	  >compile.log 2>&1 || { cat compile.log; exit 1; }
	@echo "==> Running demo/quickstart.py"
	@cd demo && "$$OLDPWD/$(BIN)/python" quickstart.py
	@echo "==> Done. The same workflow on the canvas: make lab"

lab: $(PACKAGE)
	@echo "==> Preparing ./lab (xai-mcp-agent init lab)"
	@$(BIN)/xai-mcp-agent init lab >/dev/null
	@echo "==> Starting JupyterLab; open examples/ex01_quickstart.xircuits there (Ctrl-C ends it)"
	@root=$$(test "$$(id -u)" != 0 || echo --allow-root); cd lab && \
	  PATH="$$OLDPWD/$(BIN):$$PATH" xircuits start $$root $(ARGS)

test: $(TOOLS)
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

check: $(TOOLS)
	@echo "==> ruff format"
	@$(BIN)/ruff format --check .
	@echo "==> ruff check"
	@$(BIN)/ruff check .
	@echo "==> pyright"
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@echo "==> the rules of the house"
	@$(BIN)/python -m pytest --quiet tests/test_house.py tests/test_component_rules.py

walk: $(TOOLS)
	@$(BIN)/python -m tools.walk $(ARGS)

bench: $(TOOLS)
	@$(BIN)/python -m benchmarks $(ARGS)

# Shows that every benchmark still runs. ARGS are names of some.
bench-smoke: $(TOOLS)
	@$(BIN)/python -m benchmarks.smoke $(ARGS)

conformance: $(TOOLS)
	@$(BIN)/python -m tests.conformance $(ARGS)

# Prints its tables; a run without ARGS also writes them into docs/measured.md.
bench-peers: $(TOOLS)
	@$(BIN)/python -m benchmarks.peers $(ARGS)

# DATA has a folder for each set (tools.jsonl, queries.jsonl), SCORER is a program, EMBED the folder
# of a model such as MiniLM; docs/measured.md tells more.
bench-search: $(TOOLS)
	@test -n "$(DATA)" -a -n "$(SCORER)" || { echo "Say make bench-search DATA=folder SCORER=file"; exit 2; }
	@$(BIN)/python -m benchmarks.search --data "$(DATA)" --scorer "$(SCORER)" \
	  $(if $(EMBED),--embed "$(EMBED)") $(ARGS)

bench-drawing: $(TOOLS)
	@test -n "$(DATA)" || { echo "Say make bench-drawing DATA=folder"; exit 2; }
	@$(BIN)/python -m benchmarks.drawing --data "$(DATA)" $(ARGS)

# DATA has a folder for each set (tools.jsonl, plans.jsonl), SCORER is a program; docs/measured.md
# tells more.
bench-planning: $(TOOLS)
	@test -n "$(DATA)" -a -n "$(SCORER)" || { echo "Say make bench-planning DATA=folder SCORER=file"; exit 2; }
	@$(BIN)/python -m benchmarks.planning --data "$(DATA)" --scorer "$(SCORER)" $(ARGS)

bench-openapi: $(TOOLS)
	@test -n "$(DATA)" || { echo "Say make bench-openapi DATA=folder"; exit 2; }
	@$(BIN)/python -m benchmarks.openapi --data "$(DATA)" $(ARGS)

# Both are measured, whatever becomes of the first; a target that is missed fails, and is in the table.
performance: $(TOOLS)
	@status=0; \
	  $(BIN)/python -m benchmarks --page || status=$$?; \
	  $(BIN)/python -m benchmarks.peers || status=$$?; \
	  exit $$status

newcomer: $(TOOLS)
	@$(BIN)/python -m benchmarks.newcomer $(ARGS)

lessons: $(TOOLS)
	@$(BIN)/python -m benchmarks.lessons --table $(ARGS)

# Xircuits allows JupyterLab 4.4 only, and pip says so; installed alone, a newer one stays.
NEWEST := .cache/newest-lab
newest-lab: $(TOOLS)
	@test -x $(NEWEST)/bin/python || $(BIN)/python -m venv $(NEWEST)
	@$(NEWEST)/bin/python -m pip install --quiet --editable ".[lab]"
	@$(NEWEST)/bin/python -m pip install --quiet --upgrade jupyterlab
	@XAI_TEST_LAB_PYTHON="$(CURDIR)/$(NEWEST)/bin/python" $(BIN)/python -m pytest tests/canvas/in_lab $(ARGS)

soak: $(TOOLS)
	@$(BIN)/python -m benchmarks.soak $(ARGS)

clean:
	@rm -rf $(VENV) demo lab dist build .cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
