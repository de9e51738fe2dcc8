# Annals. Needs Python 3.11-3.14 and make; everything else comes into .venv from hashed requirement files.
PYTHON ?= python3
TESTS ?= tests

venv := .venv/bin
pip := $(venv)/python -m pip --disable-pip-version-check --no-input --quiet
compile := $(venv)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

define install
@echo "Installing requirements/$(1).txt into .venv, each file checked against its hash"
@$(pip) install --require-hashes --only-binary :all: -r requirements/$(1).txt
@$(pip) install --no-deps --no-build-isolation --editable .
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help run test check bench chaos soak fuzz golden screenshots lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/.run ## start the service and its database on http://127.0.0.1:8000 (PORT=, DATA=directory to keep games in)
	@exec $(venv)/annals serve $(if $(PORT),--port '$(PORT)') $(if $(DATA),--data '$(DATA)')

test: check ## check, then run every test (TESTS=, ARGS= for pytest)
	@sh requirements/system.sh
	$(venv)/python -m pytest -n 2 $(ARGS) $(TESTS)

check: .venv/.test ## ruff, mypy --strict, the one-way imports, tsc --checkJs, known weaknesses of dependencies
	$(venv)/ruff check .
	$(venv)/mypy
	$(venv)/lint-imports --no-logo
	@sh requirements/typescript.sh
	@$(venv)/python requirements/audit.py

bench: .venv/.test ## measure against ceilings and peers, write bench/results.json
	$(venv)/python -m bench $(ARGS)

chaos: .venv/.test ## break what can break under load, judge what clients were told (ARGS=names, --seconds)
	$(venv)/python -m bench.chaos $(ARGS)

soak: .venv/.test ## both games for 20 minutes with watchers and faults: memory, files, latency (ARGS=--minutes)
	$(venv)/python -m bench.soak $(ARGS)

fuzz: .venv/.test ## send anything to everything for ten minutes, other things each time (ARGS="--minutes 60")
	$(venv)/python -m tests.fuzz $(ARGS)

golden: .venv/.test ## tell the golden playthroughs anew, and write their digests and the names that are stored
	$(venv)/python -m tests.golden.write

screenshots: .venv/.test ## pictures of every page in light, dark and 360 px width into screenshots/ (OUT=); README=1: those it shows
	@sh requirements/system.sh
	$(venv)/python -m tests.web.screenshots $(if $(README),--readme) $(or $(OUT),$(if $(README),docs/screenshots,screenshots))

lock: .venv/.test ## write requirements/*.txt anew (UPGRADE=1: newest versions)
	cd requirements && ../$(compile) ../pyproject.toml run.in --output-file run.txt
	cd requirements && ../$(compile) ../pyproject.toml test.in --extra dev --output-file test.txt

clean: ## remove what was built; keeps the data directory
	rm -rf .venv dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(venv)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
		echo "Annals needs Python 3.11, 3.12, 3.13 or 3.14; '$(PYTHON)' is not one of them." \
		"Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv || { rm -rf .venv; \
		echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

.venv/.run: pyproject.toml requirements/run.txt | $(venv)/python
	$(call install,run)
	@touch $@

.venv/.test: pyproject.toml requirements/test.txt | $(venv)/python
	$(call install,test)
	@touch .venv/.run $@
