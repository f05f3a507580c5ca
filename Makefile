# deidreview: `make run` sets everything up and starts the product. Each target does only what is still missing.
VENV := .venv
PY := $(VENV)/bin/python
INSTALL := .ci/install $(VENV)
STAMPS := $(VENV)/stamps

.PHONY: help run setup setup-dev setup-models test lint bench quality lock clean
.DEFAULT_GOAL := help

help:
	@echo "make run           set up and start on http://127.0.0.1:8000 (PORT, HOST, DEIDREVIEW_DATA)"
	@echo "make setup         only install what running needs"
	@echo "make setup-models  add what model workers need (torch, transformers, spaCy)"
	@echo "make setup-dev     add what tests and linters need"
	@echo "make test          all tests, on SQLite and on PostgreSQL"
	@echo "make lint          ruff, mypy, import contracts"
	@echo "make bench         speed and memory, measured here"
	@echo "make quality       quality of the learned models, and review's effort as gold grows"
	@echo "make lock          pin the newest versions that pyproject.toml allows"

run: setup
	@$(PY) -m deidreview.run

setup: $(STAMPS)/base
	@:

setup-models: $(STAMPS)/models
	@:

setup-dev: $(STAMPS)/dev
	@.ci/dev-packages

test: setup-dev setup-models
	@$(PY) -m tests.run

lint: $(STAMPS)/dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@DEIDREVIEW_SECRET_KEY=only-for-the-type-checker-only-for-the-type-checker $(PY) -m mypy deidreview annotations models_runtime
	@$(VENV)/bin/lint-imports

bench: setup-dev
	@$(PY) -m fixtures.bench

quality: $(STAMPS)/dev
	@$(PY) -m fixtures.quality
	@$(PY) -m fixtures.quality.effort

lock:
	@.ci/lock

clean:
	rm -rf $(VENV)

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

# torch first and alone, exactly as pinned: pip then keeps the build it finds (a CPU one where there is one).
$(STAMPS)/models: requirements-models.lock $(STAMPS)/base
	@echo "Installing the model libraries (torch is large)"
	@$(INSTALL) "$$(grep '^torch==' requirements-models.lock)"
	@$(INSTALL) -r requirements-models.lock
	@touch $@
