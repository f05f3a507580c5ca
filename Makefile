# deidreview: `make run` sets everything up and starts the app. Each target does only what is still missing.
VENV := .venv
PY := $(VENV)/bin/python
# The lock files name every package. Without --no-deps, pip refuses a package that another one wants with an extra.
INSTALL := .ci/install $(VENV) --no-deps --require-hashes
STAMPS := $(VENV)/stamps
# npm writes this file when an installation is complete.
NODE_TOOLS := node_modules/.package-lock.json

.PHONY: help run setup setup-dev setup-models setup-audio setup-ldap test-tools test test-all mutants coverage lint shell debug bench bench-size bench-compare quality lock clean
.DEFAULT_GOAL := help

help:
	@echo "make run           set up and start on http://127.0.0.1:8000 (PORT, HOST, DEIDREVIEW_DATA)"
	@echo "make setup         install the packages for running"
	@echo "make setup-models  add the packages for model workers (torch, transformers, spaCy)"
	@echo "make setup-audio   add the packages for recordings (soundfile, pocketsphinx, Silero, faster-whisper)"
	@echo "make setup-ldap    add the packages for sign-in by LDAP (compiled: needs Debian's libldap-dev and libsasl2-dev)"
	@echo "make setup-dev     add the packages for tests and linters"
	@echo "make test          run the tests that decide whether a change is right"
	@echo "make test-all      run long property tests too, and all tests on SQLite and on PostgreSQL"
	@echo "make mutants       check that the tests notice a hundred wrong lines"
	@echo "make coverage      show which lines the tests run, on SQLite; WHAT=tests/gold for a part"
	@echo "make lint          run ruff, mypy, import contracts, djlint, codespell, ESLint, TypeScript; check the size"
	@echo "make shell         open Django's shell on the data of make run (DEIDREVIEW_DATA)"
	@echo "make debug         serve the data of make run with Django's debug toolbar, for this machine only"
	@echo "make bench         measure speed and memory"
	@echo "make bench-size    measure the pages of a project of 200,000 notes on PostgreSQL and SQLite (20 minutes, 12 GB)"
	@echo "make bench-compare measure another commit and this version in turn: REF=COMMIT, ROUNDS=5"
	@echo "make quality       measure trained models, review, surrogates and more, and write the tables to docs/quality.md"
	@echo "make lock          pin the newest versions that pyproject.toml allows"

run: setup
	@$(PY) -m deidreview.run

setup: $(STAMPS)/base
	@:

setup-models: $(STAMPS)/models
	@:

setup-audio: $(STAMPS)/audio
	@:

setup-ldap: $(STAMPS)/ldap
	@:

setup-dev: test-tools
	@$(MAKE) --no-print-directory $(NODE_TOOLS)

test-tools: $(STAMPS)/dev
	@.ci/dev-packages
	@$(MAKE) --no-print-directory $(STAMPS)/ldap

test: test-tools setup-models setup-audio
	@$(PY) -m tests.run

test-all: test-tools setup-models setup-audio
	@$(PY) -m tests.run --all

mutants: test-tools setup-models setup-audio
	@$(PY) -m tests.mutants

coverage: test-tools setup-models setup-audio
	@$(PY) -m coverage run -m pytest -q $(or $(WHAT),tests)
	@$(PY) -m coverage report

lint: $(STAMPS)/dev
	@.ci/lint $(VENV)

shell: setup
	@$(PY) manage.py shell

debug: $(STAMPS)/dev
	@$(PY) manage.py runserver --settings deidreview.development.settings 127.0.0.1:$(or $(PORT),8000)

bench: test-tools
	@$(PY) -m fixtures.bench

bench-size: test-tools
	@$(PY) -m fixtures.bench.size

bench-compare: test-tools
	@$(PY) -m fixtures.bench.compare $(or $(REF),$(error Name the commit to compare with: make bench-compare REF=COMMIT)) --rounds $(or $(ROUNDS),5)

quality: $(STAMPS)/dev
	@$(PY) -m fixtures.quality.report

lock:
	@.ci/lock

clean:
	rm -rf $(VENV) node_modules

$(STAMPS)/venv: .ci/make-venv
	@.ci/make-venv $(VENV)

$(STAMPS)/base: requirements.lock $(STAMPS)/venv
	@echo "Installing deidreview (about a minute)"
	@$(INSTALL) -r requirements.lock
	@touch $@

$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/base
	@echo "Installing the test tools"
	@$(INSTALL) -r requirements-dev.lock
	@touch $@

$(STAMPS)/audio: requirements-audio.lock $(STAMPS)/base
	@echo "Installing the packages for recordings"
	@$(INSTALL) -r requirements-audio.lock
	@touch $@

$(STAMPS)/ldap: requirements-ldap.lock $(STAMPS)/base
	@.ci/ldap-packages
	@echo "Installing the packages for sign-in by LDAP"
	@$(INSTALL) -r requirements-ldap.lock
	@touch $@

# torch is installed last and alone, as pyproject.toml pins it: pip takes the build that it finds (a CPU build if there is one), whose
# hash no lock file can know. Its dependencies are installed from the lock file before; only a GPU build adds more.
$(STAMPS)/models: requirements-models.lock $(STAMPS)/base
	@echo "Installing the model libraries (torch is large)"
	@$(INSTALL) -r requirements-models.lock
	@.ci/install $(VENV) "$$(grep -o 'torch==[0-9.]*' pyproject.toml)"
	@touch $@

# Install scripts of packages are not run, since no linter needs them.
$(NODE_TOOLS): package-lock.json
	@echo "Installing the linters of the browser code (npm)"
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
