# The commands of the README. Everything is installed into .venv, and everything that is made goes to var/.
PYTHON ?= python3
SPEC ?= deployments/specs/acs_ma.yaml
VENV := .venv
BIN := $(VENV)/bin
NEWEST := $(VENV)-newest
PACKAGES := $(VENV)/.installed-packages
RUNTIME := $(VENV)/.installed-runtime
TOOLS := $(VENV)/.installed-tools
DEV := $(VENV)/.installed-dev
STACK := $(VENV)/.installed-stack
CLUSTER := $(VENV)/.installed-cluster
PGM := $(VENV)/.installed-pgm
# Tests open pages in the project's own browser, unless CHROMIUM names another.
BROWSER := $(if $(CHROMIUM),,$(VENV)/browser/chromium)
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
# Some tests wait for servers, so there are two more processes than cores.
PROCESSES := $(shell expr $(CORES) + 2)
# Imported modules are compiled once, whatever the shell's setting.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --maxprocesses=8 --dist=loadfile --no-loadscope-reorder
QUICK := tests/unit tests/contracts tests/property tests/architecture

.PHONY: help install release plan design new verify replay audit compare map test test-quick test-nightly test-system test-newest ui stack stack-down stack-leave cluster cluster-down pgm backup restore bench bench-goals bench-growth bench-classifiers bench-utility bench-wide bench-mechanisms bench-guarantees bench-enumeration bench-peers bench-inference bench-buckets bench-anchors papers paper-000 paper-001 paper-002 paper-003 paper-004 audit-epsilon attack-contract attack-lab attack-floats attack-budget attack-kills mutants screenshots docs lint lock
help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1  /'

release: $(RUNTIME) ## run the release that SPEC=path describes (default: ACS Massachusetts)
	@$(BIN)/python -m deniable release make $(SPEC)

plan: $(RUNTIME) ## show what the release of SPEC=path would cost, and whether the budget allows it
	@$(BIN)/python -m deniable release plan $(SPEC) $(if $(ALL),--all)

design: $(RUNTIME) ## show what the total of SPEC=path buys with tested seeds; CURVE=1 compares accounts, TARGET="half=200,..." solves, AFTER=release predicts
	@$(BIN)/python -m deniable release design $(if $(and $(AFTER),$(filter file,$(origin SPEC))),,$(SPEC)) $(if $(AFTER),--after $(AFTER)) $(if $(CURVE),--curve) $(if $(TARGET),--target $(TARGET)) $(if $(OUT),--out $(OUT))

# Requires a variable, with a one-sentence message.
given = @$(if $($(1)),:,echo "$(1) must be given: make $@ $(1)=$(2)" >&2; exit 1)

# Trusted keys never depend on the working folder: by default, those of this installation are passed by their path.
OWN_KEYS = $(wildcard $(or $(DENIABLE_STATE),$(CURDIR)/var)/keys/trusted.json)
TRUST = $(or $(KEYS),$(if $(DENIABLE_TRUSTED_KEYS),,$(OWN_KEYS)))

new: $(RUNTIME) ## begin with a table of your own: questions, then a schema, a spec, a plan and the release
	@$(BIN)/python -m deniable release new

verify: $(RUNTIME) ## check the folder of a release (RELEASE=name or path), offline
	$(call given,RELEASE,name)
	@$(BIN)/python -m deniable audit verify $(if $(wildcard $(RELEASE)),$(RELEASE),$(or $(DENIABLE_STATE),var)/releases/$(RELEASE)) $(if $(TRUST),--keys $(TRUST))

replay: $(RUNTIME) ## rerun a release (RELEASE=name) from its record, and compare every step bit for bit
	$(call given,RELEASE,name)
	@$(BIN)/python -m deniable audit replay $(RELEASE) $(if $(KEYS),--keys $(KEYS)) $(if $(KEY),--key $(KEY)) $(if $(SNAPSHOT),--snapshot $(SNAPSHOT))

audit: $(RUNTIME) ## check that MLflow, record, folder and ledger are unchanged since RELEASE=name was published
	$(call given,RELEASE,name)
	@$(BIN)/python -m deniable audit release $(RELEASE) $(if $(KEYS),--keys $(KEYS)) $(if $(LEDGER),--ledger $(LEDGER))

compare: $(RUNTIME) ## compare two releases, A=name B=name
	$(call given,A,name)
	$(call given,B,name)
	@$(BIN)/python -m deniable release compare $(A) $(B) $(if $(ALL),--all) $(if $(KEYS),--keys $(KEYS)) $(if $(PUBLIC),--public) $(if $(OUT),--out $(OUT))

map: $(RUNTIME) ## draw the R-U map and the intruder's curves of the table of SPEC=path; nothing is released or charged
	$(call given,SPEC,path)
	@$(BIN)/python -m deniable mechanisms map $(SPEC) $(ARGS)

install: $(DEV) $(BROWSER) ## install everything that tests need; -j2 compiles kernels meanwhile
	@:

test: $(DEV) $(BROWSER) ## run all tests
	@$(PYTEST) --numprocesses=$(PROCESSES) $(if $(JUNIT),--junitxml=$(JUNIT))

test-quick: $(DEV) ## test the mathematics and the contracts, in less than a minute
	@TESTS=quick $(PYTEST) --numprocesses=$(CORES) $(QUICK)

test-nightly: $(DEV) $(PGM) $(BROWSER) ## run all tests with all examples that they draw, test-quick, and then test-system
	@TESTS=nightly $(PYTEST) --numprocesses=$(PROCESSES)
	@$(MAKE) --no-print-directory test-quick
	@$(BIN)/python -m pytest -n 0 -o norecursedirs= tests/borders
	@$(MAKE) --no-print-directory test-system

test-system: $(DEV) ## test a week of nights in which everything goes down once, and every server at every moment of a release
	@$(BIN)/python -m pytest -o norecursedirs= tests/system

test-newest: $(DEV) ## install the newest versions of all libraries, whatever is pinned, and test what is relied on, with the releases of tests/golden
	@test -x $(NEWEST)/bin/python || $(PYTHON) -m venv $(NEWEST)
	@$(BIN)/python -m tests.borders.newest >$(NEWEST)/newest.txt
	@echo "Installing the newest versions into $(NEWEST) (a few minutes) ..."
	@$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --only-binary :all: -r $(NEWEST)/newest.txt
	@$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(NEWEST)/bin/python -m pip list --format=freeze --disable-pip-version-check | grep -iE '^(prefect|mlflow|numba|numpy|pandas|pandera|pyarrow|sqlalchemy|distributed)=='
	@PYTHONDONTWRITEBYTECODE= $(NEWEST)/bin/python -m pytest -n 0 -o norecursedirs= tests/borders tests/golden tests/flows/test_release.py

ui: $(RUNTIME) ## show the pages of MLflow and Prefect on this machine's loopback
	@$(BIN)/python -m deniable servers ui

stack: $(STACK) ## start PostgreSQL, Prefect, MLflow with users and a worker on this machine's loopback
	@$(BIN)/python -m deniable servers stack up

stack-down: ## stop the servers that make stack started; all data are kept
	@$(BIN)/python -m deniable servers stack down

stack-leave: ## move ledger and history back into the state folder, to work without the stack
	@$(BIN)/python -m deniable servers stack leave

cluster: $(CLUSTER) ## start a scheduler and workers on this machine, to share the work of a release
	@$(BIN)/python -m deniable servers cluster up $(if $(WORKERS),--workers $(WORKERS))

cluster-down: $(CLUSTER) ## stop the cluster that make cluster started
	@$(BIN)/python -m deniable servers cluster down

pgm: $(PGM) ## install mbi, another engine for the learner aim (140 MB)

backup: $(RUNTIME) ## copy the state folder, databases included, to a folder (TO=path)
	$(call given,TO,folder)
	@$(BIN)/python -m deniable servers backup $(TO)

restore: $(RUNTIME) ## restore the copy FROM=folder into an empty state folder, and verify it
	$(call given,FROM,folder)
	@$(BIN)/python -m deniable servers restore $(FROM)

bench: bench-goals ## the same as bench-goals

bench-goals: $(DEV) ## measure speed and memory, compare them with their goals, and write the tables of the README and of docs/developer/speed.md; ARGS="candidates fit_80 --runs 3" runs a part and a goal, ARGS=--resume goes on
	@$(BIN)/python -m benchmarks.goals $(ARGS)

bench-growth: $(DEV) ## measure how time and memory grow with rows, records, attributes, values and workers, and write docs/developer/growth.md; ARGS="rows values:fit" runs a part
	@$(BIN)/python -m benchmarks.growth $(ARGS)

bench-classifiers: $(DEV) ## compare the conclusions of several kinds of classifiers on releases, and write their tables of docs/developer/speed.md; ARGS="--keys 1" measures and prints one release of each learner
	@$(BIN)/python -m benchmarks.evaluation $(ARGS)

bench-utility: $(DEV) ## measure the utility of the log-linear learner's records; needs the tools that DENIABLE_EVALUATION names
	@$(BIN)/python -m benchmarks.utility

bench-wide: $(DEV) ## measure the log-linear learner on wide and heavy-tailed tables, five keys each; ARGS="--tables meps --keys 1" runs a part
	@$(BIN)/python -m benchmarks.wide_tables $(ARGS)

bench-mechanisms: $(DEV) ## compare every learner at the same total epsilon; ARGS="--learners mst --data adult --keys 1" runs a part
	@$(BIN)/python -m benchmarks.mechanisms $(ARGS)

bench-guarantees: $(DEV) ## compare every guarantee of records at totals of .5 to 4 on three tables, and write the tables of two pages; goes on where it stopped
	@$(BIN)/python -m benchmarks guarantees

bench-enumeration: $(DEV) ## enumerate all outputs of 1,000 designs of Poisson attempts on small tables, and write the table of docs/statistician/mechanisms.md; ARGS="30 6" tries and prints a part
	@$(BIN)/python -m benchmarks.enumeration $(ARGS)

bench-peers: $(DEV) ## compare our learners with other programs by one protocol, each in its own environment; ARGS="--datasets adult --programs dpmm-mst --runs 1" runs a part, ARGS=--resume goes on
	@$(BIN)/python -m benchmarks.peers $(ARGS)

bench-anchors: $(DEV) ## compare figures of the report with the programs that defined them, SDNist and Anonymeter, each in its own environment; needs the tools that DENIABLE_EVALUATION names
	@$(BIN)/python -m benchmarks.anchors $(ARGS)

bench-inference: $(DEV) ## count how often intervals of releases of known populations cover; ARGS="--data example --releases 20" runs a part
	@$(BIN)/python -m benchmarks.inference $(ARGS)

bench-buckets: $(DEV) ## count how often intervals cover where noisy counts choose the buckets: wide nominal attributes, heavy tails; ARGS="--data purchases --releases 20" runs a part
	@$(BIN)/python -m benchmarks.chosen_buckets $(ARGS)

papers: $(DEV) ## run the papers that the project implements again, and write docs/papers and var/papers; make paper-000 runs one
	@$(BIN)/python -m papers

paper-000 paper-001 paper-002 paper-003 paper-004: $(DEV)
	@$(BIN)/python -m papers $(@:paper-%=%)

audit-epsilon: $(DEV) ## show how much of the epsilon that each mechanism claims is really spent, with broken twins; MECHANISM=mst audits a part
	@$(BIN)/python -m benchmarks.audit_epsilon $(if $(MECHANISM),--mechanisms $(MECHANISM)) $(ARGS)

attack-contract: $(DEV) ## put small faults into every mechanism; the audit of mechanisms must find each, and nothing else
	@$(BIN)/python -m benchmarks.attack_contract

attack-lab: $(DEV) ## attack every mechanism as outsiders would, with controls, and published faults put into it; PARTS=faults runs a part, MECHANISM=marginals the attacks on one mechanism
	@$(BIN)/python -m benchmarks.attack_lab.lab $(if $(PARTS),--parts $(PARTS)) $(if $(MECHANISM),--mechanism "$(MECHANISM)") $(ARGS)

attack-floats: $(DEV) ## search public files for numbers that distinguish a count from its neighbour; there must be none
	@$(BIN)/python -m benchmarks.attack_floats

attack-budget: $(DEV) ## try to get back what a release was charged, by old ledgers and other names; every attack must be refused
	@$(BIN)/python -m benchmarks.attack_budget $(ATTACKS)

attack-kills: $(DEV) ## kill releases with kill -9 at 30 moments and resume them; each must be charged once and have the same bytes
	@$(BIN)/python -m benchmarks.attack_kills $(ARGS)

mutants: $(DEV) ## put deliberate faults, named and generated, into the privacy core and inference, each of which a test must find; RECORD=1 writes the page; an interrupted run goes on
	@$(BIN)/python -m tests.mutants $(if $(RECORD),--record)
	@$(BIN)/python -m tests.mutants.generated $(if $(RECORD),--record)

screenshots: $(DEV) $(BROWSER) ## make pictures of every page of a release of SPEC=path, in docs/pages
	@$(BIN)/python -m tests.screenshots $(SPEC) docs/pages

docs: $(DEV) ## build the documentation as docs/_build/html/index.html; a warning is an error
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs docs/_build/html

lint: $(DEV) docs ## run ruff, mypy, import-linter and the prose linter, and build the documentation
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.prose

# Modules are compiled on all cores, except packages' own tests; pip would compile everything on one.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --only-binary :all:
PRECOMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || :

# pip writes only to .venv; the hashes in the file are checked for every package. A pip older than the pinned one does not
# recognise a pin without extras as the same package with extras, and looks for a newer version.
$(PACKAGES): infra/requirements-pip.txt infra/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 15) else f"deniable needs Python 3.11 to 3.14, got {v[0]}.{v[1]}; run make with PYTHON=python3.12, say.")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned requirements into $(VENV) (once; a minute or two) ..."
	@$(INSTALL) -r infra/requirements-pip.txt
	@$(INSTALL) -r infra/requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(PRECOMPILE)
	@touch $@

$(RUNTIME): $(PACKAGES)
	@echo "Compiling the kernels of a release (once; about 15 s) ..."
	@$(BIN)/python -m infra.compiled_ahead deployments/specs/acs_ma.yaml
	@touch $@

$(TOOLS): infra/requirements-dev.txt $(PACKAGES)
	@echo "Installing the pinned test tools into $(VENV) ..."
	@$(INSTALL) -r infra/requirements-dev.txt
	@$(PRECOMPILE)
	@touch $@

$(DEV): $(RUNTIME) $(TOOLS)
	@touch $@

$(STACK): infra/requirements-stack.txt $(RUNTIME)
	@echo "Installing the pinned servers of the stack into $(VENV) ..."
	@$(INSTALL) -r infra/requirements-stack.txt
	@$(PRECOMPILE)
	@touch $@

$(CLUSTER): infra/requirements-cluster.txt $(RUNTIME)
	@echo "Installing the pinned packages of a cluster into $(VENV) ..."
	@$(INSTALL) -r infra/requirements-cluster.txt
	@$(PRECOMPILE)
	@touch $@

$(PGM): infra/requirements-pgm.txt $(RUNTIME)
	@echo "Installing the pinned packages of the engine mbi into $(VENV) ..."
	@$(INSTALL) -r infra/requirements-pgm.txt
	@$(PRECOMPILE)
	@touch $@

# npm checks the hashes in the lock file, and runs no scripts of the packages.
$(VENV)/browser/chromium: infra/browser/package-lock.json infra/browser/unpack.mjs $(TOOLS)
	@echo "Installing the pinned browser of the tests into $(VENV) ..."
	@rm -rf $(VENV)/browser $(VENV)/browser.new && cp -R infra/browser $(VENV)/browser.new
	@cd $(VENV)/browser.new && { ../bin/npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >/dev/null || { \
	echo "npm must fetch the browser from its registry, and failed as it says above; see to that and run make again." >&2; exit 1; }; } \
	&& TMPDIR=$$PWD ../bin/node unpack.mjs && rm -rf node_modules
	@mv $(VENV)/browser.new $(VENV)/browser

# Resolves the requirements again for all supported Pythons; needs uv. The files name no index.
PIN := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --only-binary :all: --no-header --quiet
LOCK := $(PIN) pyproject.toml --extra release --extra sources
lock: $(DEV) ## renew the pinned requirements (needs uv)
	echo pip | $(PIN) - -o infra/requirements-pip.txt
	$(LOCK) -o infra/requirements.txt
	$(LOCK) --extra stack -c infra/requirements.txt -o infra/requirements-stack.txt
	$(LOCK) --extra cluster -c infra/requirements-stack.txt -o infra/requirements-cluster.txt
	$(LOCK) --extra pgm -c infra/requirements.txt -o infra/requirements-pgm.txt
	$(LOCK) --extra test --extra lint --extra docs -c infra/requirements-stack.txt -c infra/requirements-cluster.txt -o infra/requirements-dev.txt
	echo 'dpmm>=0.1.9,<0.2' | $(PIN) - -o infra/peers/requirements-dpmm.txt
	# DataSynthesizer turns warnings into errors, and newer pandas warns of what it calls; it evaluates how numpy 1 writes numbers.
	printf '%s\n' 'DataSynthesizer>=0.1.13,<0.2' 'pandas<3' 'numpy<2' | $(PIN) - -o infra/peers/requirements-datasynthesizer.txt
	echo 'synthpop-py>=0.1.3,<0.2' | $(PIN) - -o infra/peers/requirements-synthpop-py.txt
	echo 'anonymeter>=1.1,<2' | $(PIN) - -o infra/peers/requirements-anonymeter.txt
	echo 'sdnist==2.4' | $(PIN) - -o infra/peers/requirements-sdnist.txt
	cd infra/browser && $(CURDIR)/$(BIN)/npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund
