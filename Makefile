# One word a task. Each task does all of its own set-up, in .venv and nowhere else.

PYTHON ?= python3
PYTEST_ARGS ?= -n 4 --dist worksteal
UPGRADE ?=
CHAOS_ARGS ?=
SOAK_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# Written last: without it, or when it is older than what it depends on, the set-up is done again.
INSTALLED := $(VENV)/.installed
# There while an installation runs: found at the start, it tells of one that was cut off.
INSTALLING := $(VENV)/.installing

UV_VERSION := 0.13.9
UV := .cache/uv/bin/uv
COMPILE = $(UV) pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command "make requirements" $(UPGRADE)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo run test lint style types arch bench chaos soak screenshot migrations requirements clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(INSTALLED) ## set up .venv (every other task does it too)

demo: $(INSTALLED) ## try the whole bot in a simulated Discord: no account, no token
	@$(BIN)/tocsin demo

run: $(INSTALLED) ## run the bot: DISCORD_TOKEN from the environment, the rest from config.toml
	@$(BIN)/tocsin run

test: $(INSTALLED) ## run the tests, on SQLite and PostgreSQL; options: make test PYTEST_ARGS="-k lease"
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: style types arch ## every check that reads the code: style, types, arch

style: $(INSTALLED) ## ruff (rules and format) and codespell
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/codespell

types: $(INSTALLED) ## mypy, strict
	@$(BIN)/mypy

arch: $(INSTALLED) ## import-linter: who may import whom
	@$(BIN)/lint-imports

bench: $(INSTALLED) ## measure; every figure beside its reference of the same run
	@$(BIN)/python -m tests.bench

chaos: $(INSTALLED) ## try every promise at full size and renew docs/promises.md (up to two hours); options: make chaos CHAOS_ARGS="R1 --seeds 20"
	@$(BIN)/python -m tests.chaos $(CHAOS_ARGS)

soak: $(INSTALLED) ## 8 hours of work while the gateway drops 100 times; renews docs/promises.md; shorter, renewing nothing: make soak SOAK_ARGS="--minutes 5"
	@$(BIN)/python -m tests.chaos.running.soak $(SOAK_ARGS)

screenshot: $(INSTALLED) ## renew the pictures in docs/ of the demo's page, with headless Chromium (Debian: chromium)
	@$(BIN)/python -m tests.screenshot

migrations: $(INSTALLED) ## write a migration for what changed in models/; options: make migrations NAME=add_topic
	@$(BIN)/tortoise makemigrations $(if $(NAME),--name $(NAME))
	@$(BIN)/ruff check --quiet --fix migrations
	@$(BIN)/ruff format --quiet migrations

requirements: $(UV) ## renew requirements/ from pyproject.toml; newer versions: make requirements UPGRADE=--upgrade
	@$(COMPILE) --group build --output-file requirements/build.txt
	@$(COMPILE) --output-file requirements/run.txt pyproject.toml
	@$(COMPILE) --extra demo --extra test --override requirements/overrides.in --output-file requirements/test.txt pyproject.toml

clean: ## remove .venv and every cache; the bot's data stays
	@rm -rf $(VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info
	@rm -rf .coverage .coverage.* htmlcov
	@find bot cogs migrations models tests -type d -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml requirements/build.txt requirements/test.txt
	@if [ -e $(INSTALLING) ] || ! $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
			echo "Tocsin needs Python 3.11 or newer, which '$(PYTHON)' is not; name one that is, for example: make PYTHON=python3.12 $(or $(MAKECMDGOALS),install)" >&2; \
			exit 1; \
		}; \
		echo "Setting up $(VENV): one or two minutes, this once."; \
		$(PYTHON) -m venv --clear $(VENV) || exit 1; \
	fi
	@touch $(INSTALLING)
	@$(PIP) install --require-hashes --requirement requirements/build.txt
	@$(PIP) install --no-deps --require-hashes --requirement requirements/test.txt
	@PYTHONWARNINGS=ignore $(PIP) install --no-deps --no-build-isolation --editable .
	@rm $(INSTALLING)
	@touch $@

$(UV):
	@$(PYTHON) -m venv --clear .cache/uv
	@.cache/uv/bin/python -m pip -qq --disable-pip-version-check install uv==$(UV_VERSION)
