# The commands of the README. Everything is installed into .venv, everything made lies under var/.
PYTHON ?= python3
SPEC ?= deployments/specs/acs_ma.yaml
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev
STACK := $(VENV)/.installed-stack
CLUSTER := $(VENV)/.installed-cluster
# Tests open pages in a browser of the project's own, unless CHROMIUM names another.
BROWSER := $(if $(CHROMIUM),,$(VENV)/browser/chromium)
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
# Many tests wait for servers: two processes more than there are cores.
PROCESSES := $(shell expr $(CORES) + 2)
# What is imported is compiled once, whatever the shell says of that.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --maxprocesses=4 --dist=loadfile --no-loadscope-reorder
QUICK := tests/unit tests/contracts tests/property tests/architecture --ignore=tests/property/test_the_loglinear_learner_holds_on_tables_of_all_kinds.py

.PHONY: help release plan verify replay audit compare test test-quick test-nightly test-system ui stack stack-down stack-leave cluster cluster-down backup restore bench bench-utility attack-floats mutants screenshots lint lock
help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1  /'

release: $(RUNTIME) ## run the release that SPEC=path describes (default: ACS Massachusetts)
	@$(BIN)/python -m flows release $(SPEC)

plan: $(RUNTIME) ## what the release of SPEC=path would cost, and whether the budget has room for it
	@$(BIN)/python -m flows plan $(SPEC)

# What a command must be given, said in one sentence.
given = @$(if $($(1)),:,echo "$(1) must be given: make $@ $(1)=$(2)" >&2; exit 1)

# Trust is never taken from where one stands: unless others are named, those of this installation are, by name.
OWN_KEYS = $(wildcard $(or $(DENIABLE_STATE),$(CURDIR)/var)/keys/trusted.json)
TRUST = $(or $(KEYS),$(if $(DENIABLE_TRUSTED_KEYS),,$(OWN_KEYS)))

verify: $(RUNTIME) ## check the folder of the release RELEASE=name or path, offline
	$(call given,RELEASE,name)
	@$(BIN)/python -m deniable verify $(if $(wildcard $(RELEASE)),$(RELEASE),$(or $(DENIABLE_STATE),var)/releases/$(RELEASE)) $(if $(TRUST),--keys $(TRUST))

replay: $(RUNTIME) ## run the release RELEASE=name again from its record, and compare every step bit for bit
	$(call given,RELEASE,name)
	@$(BIN)/python -m flows replay $(RELEASE) $(if $(KEYS),--keys $(KEYS)) $(if $(KEY),--key $(KEY)) $(if $(SNAPSHOT),--snapshot $(SNAPSHOT))

audit: $(RUNTIME) ## see that nobody has touched MLflow, record, folder or ledger since RELEASE=name was published
	$(call given,RELEASE,name)
	@$(BIN)/python -m flows audit $(RELEASE) $(if $(KEYS),--keys $(KEYS)) $(if $(LEDGER),--ledger $(LEDGER))

compare: $(RUNTIME) ## two releases side by side: A=name B=name
	$(call given,A,name)
	$(call given,B,name)
	@$(BIN)/python -m flows compare $(A) $(B) $(if $(KEYS),--keys $(KEYS)) $(if $(PUBLIC),--public) $(if $(OUT),--out $(OUT))

test: $(DEV) $(BROWSER) ## run all tests
	@$(PYTEST) --numprocesses=$(PROCESSES) $(if $(JUNIT),--junitxml=$(JUNIT))

test-quick: $(DEV) ## the mathematics and the contracts, in a minute
	@TESTS=quick $(PYTEST) --numprocesses=$(CORES) $(QUICK)

test-nightly: $(DEV) $(BROWSER) ## all tests with all that they draw, and then test-system
	@TESTS=nightly $(PYTEST) --numprocesses=$(PROCESSES)
	@$(MAKE) --no-print-directory test-system

test-system: $(DEV) ## a week of nights in which everything goes down once, and every server at every moment of a release
	@$(BIN)/python -m pytest -o norecursedirs= tests/system

ui: $(RUNTIME) ## look at what was done: MLflow and Prefect on this machine's loopback
	@$(BIN)/python -m flows ui

stack: $(STACK) ## start PostgreSQL, Prefect, MLflow with users and a worker on this machine's loopback
	@$(BIN)/python -m flows stack up

stack-down: ## stop what make stack started; all data are kept
	@$(BIN)/python -m flows stack down

stack-leave: ## bring ledger and history back into the state folder, and go on without the stack
	@$(BIN)/python -m flows stack leave

cluster: $(CLUSTER) ## start a scheduler and workers on this machine, to share a release's work
	@$(BIN)/python -m flows cluster up $(if $(WORKERS),--workers $(WORKERS))

cluster-down: $(CLUSTER) ## stop what make cluster started
	@$(BIN)/python -m flows cluster down

backup: $(RUNTIME) ## copy all that was made, databases included, to TO=folder
	$(call given,TO,folder)
	@$(BIN)/python -m flows backup $(TO)

restore: $(RUNTIME) ## bring the copy FROM=folder back into an empty state folder, and verify it
	$(call given,FROM,folder)
	@$(BIN)/python -m flows restore $(FROM)

bench: $(DEV) ## measure speed and memory; the README's table quotes this
	@$(BIN)/python -m benchmarks

bench-utility: $(DEV) ## measure how useful the log-linear learner's records are; needs the tools that DENIABLE_EVALUATION names
	@$(BIN)/python -m benchmarks.utility

attack-floats: $(DEV) ## look in public files for numbers that tell a count from its neighbour; there must be none
	@$(BIN)/python -m benchmarks.attack_floats

mutants: $(DEV) ## put deliberate faults into the privacy core, each to be found by its test; RECORD=1 writes the table
	@$(BIN)/python -m tests.mutants $(if $(RECORD),--record)

screenshots: $(DEV) $(BROWSER) ## make pictures of every page of a release of SPEC=path, into docs/pages
	@$(BIN)/python -m tests.screenshots $(SPEC) docs/pages

lint: $(DEV) ## ruff, mypy, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# pip writes nothing but .venv; the hashes in the file are checked for every package. An older pip than the pinned one does not
# take a pin without its extra for the same package with it, and looks for a newer version.
$(RUNTIME): infra/requirements-pip.txt infra/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 15) else f"deniable needs Python 3.11 to 3.14, got {v[0]}.{v[1]}; run make with PYTHON=python3.12, say.")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned requirements into $(VENV) (once; a minute or two) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r infra/requirements-pip.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r infra/requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): infra/requirements-dev.txt $(RUNTIME)
	@echo "Installing the pinned test tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r infra/requirements-dev.txt
	@touch $@

$(STACK): infra/requirements-stack.txt $(RUNTIME)
	@echo "Installing the pinned servers of the stack into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r infra/requirements-stack.txt
	@touch $@

$(CLUSTER): infra/requirements-cluster.txt $(RUNTIME)
	@echo "Installing the pinned packages of a cluster into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r infra/requirements-cluster.txt
	@touch $@

# npm checks the hashes of the lock file, and runs nothing of what it installs.
$(VENV)/browser/chromium: infra/browser/package-lock.json infra/browser/unpack.mjs $(DEV)
	@echo "Installing the pinned browser of the tests into $(VENV) ..."
	@rm -rf $(VENV)/browser $(VENV)/browser.new && cp -R infra/browser $(VENV)/browser.new
	@cd $(VENV)/browser.new && ../bin/npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --silent \
	&& TMPDIR=$$PWD ../bin/node unpack.mjs && rm -rf node_modules
	@mv $(VENV)/browser.new $(VENV)/browser

# Resolves anew for all Pythons that are supported; needs uv. The files name no index.
PIN := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --only-binary :all: --no-header --quiet
LOCK := $(PIN) pyproject.toml --extra release
lock: $(DEV) ## renew the pinned requirements (needs uv)
	echo pip | $(PIN) - -o infra/requirements-pip.txt
	$(LOCK) -o infra/requirements.txt
	$(LOCK) --extra stack -c infra/requirements.txt -o infra/requirements-stack.txt
	$(LOCK) --extra cluster -c infra/requirements-stack.txt -o infra/requirements-cluster.txt
	$(LOCK) --extra test --extra lint --extra docs -c infra/requirements-stack.txt -c infra/requirements-cluster.txt -o infra/requirements-dev.txt
	cd infra/browser && $(CURDIR)/$(BIN)/npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund
