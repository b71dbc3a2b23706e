# Each target does its own set-up: Python environment, container engine, images. Nothing is done twice.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# What `make grade` runs when it is given no arguments.
MAIN_JOB ?= demo
ARGS ?=
VENV := .venv
AGENT_IMAGES := $(patsubst images/agents/%/Dockerfile,%,$(wildcard images/agents/*/Dockerfile))
# Those that `make test` needs; the others are big.
FAST_AGENTS := codex mini-swe-agent takeover-agent
# What the own tests of a real codebase need: of `repos/click` in ARGS, repos-click.
REPO_IMAGES := $(patsubst images/%/Dockerfile,%,$(wildcard images/repos-*/Dockerfile))
NAMED_REPOS = $(filter $(REPO_IMAGES),$(patsubst repos/%,repos-%,$(ARGS)) $(addprefix repos-,$(ARGS)))
# The engine that was found, for the commands that talk to it.
WITH_ENGINE := set -a; source $(VENV)/engine.env; set +a;

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  Arguments go in ARGS: make grade ARGS="run tier2_fintech --arm Vanilla --agent nop"'

.PHONY: venv
venv:
	@images/venv.sh requirements.lock

.PHONY: venv-dev
venv-dev:
	@images/venv.sh requirements-dev.lock

.PHONY: grade
grade: venv ## Run the main job in containers (or `takeover ARGS`)
	@images/engine.sh
	@images/build.sh sandbox $(filter $(AGENT_IMAGES),$(ARGS)) $(sort $(NAMED_REPOS))
	@$(WITH_ENGINE) exec $(VENV)/bin/takeover $(if $(ARGS),$(ARGS),$(MAIN_JOB))

.PHONY: test
test: venv-dev ## Run the test suite (or `pytest ARGS`)
	@images/engine.sh
	@images/build.sh sandbox $(FAST_AGENTS) $(REPO_IMAGES)
	@$(WITH_ENGINE) TAKEOVER_REQUIRE_ENGINE=1 exec $(VENV)/bin/python -m pytest -m "not agents and not model" $(ARGS)

.PHONY: test-agents
test-agents: venv-dev ## Run the tests of every agent that there is a recipe for (builds big images)
	@images/engine.sh
	@images/build.sh sandbox $(AGENT_IMAGES)
	@$(WITH_ENGINE) TAKEOVER_REQUIRE_ENGINE=1 exec $(VENV)/bin/python -m pytest tests/agents $(ARGS)

.PHONY: test-model
test-model: venv-dev ## Run agents with a small real language model (compiles its server once)
	@images/engine.sh
	@images/build.sh sandbox takeover-agent mini-swe-agent
	@python=$$(tests/model/setup.sh); $(WITH_ENGINE) TAKEOVER_REQUIRE_ENGINE=1 TAKEOVER_MODEL_PYTHON=$$python \
		exec $(VENV)/bin/python -m pytest tests/model $(ARGS)

.PHONY: check
check: venv-dev ## Lint, formatting and types
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	MYPYPATH=images/agents/takeover-agent $(VENV)/bin/mypy --package takeover_agent
	@if command -v shellcheck >/dev/null; then set -x; shellcheck -x images/*.sh images/node/*.sh images/agents/*/*.sh tests/model/*.sh .ci/run; fi

.PHONY: fix
fix: venv-dev ## Let ruff repair and format what it can
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

.PHONY: bench
bench: venv-dev ## Measure against bare containers; writes bench/latest.json
	@images/engine.sh
	@images/build.sh sandbox repos-click
	@$(WITH_ENGINE) exec $(VENV)/bin/python -m bench $(ARGS)

.PHONY: mutants
mutants: venv-dev ## Every wrong solution of every requirement, and the check that catches it
	$(VENV)/bin/python -m takeover.trials.mutants_table $(ARGS)

.PHONY: doctor
doctor: venv ## Check that the engine can hold a sandbox
	@images/engine.sh
	@images/build.sh sandbox
	@$(WITH_ENGINE) exec $(VENV)/bin/takeover doctor $(ARGS)

.PHONY: images
images: venv ## Build every image: sandbox, agents, and that of `docker compose run --rm grade`
	@images/engine.sh
	@images/build.sh sandbox $(AGENT_IMAGES) $(REPO_IMAGES) grade

.PHONY: lock
lock: venv-dev ## Pin the newest dependencies that pyproject.toml allows
	images/lock.sh

.PHONY: clean
clean: ## Remove the environment and caches (runs/ stays)
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
