# Everything a newcomer needs: each target makes what it needs, in .venv below this folder, and says so.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= $(firstword $(shell for name in python3.11 python3.12 python3.13 python3; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$name; done))
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# The tests start Python a thousand times: without compiled modules that takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-unit test-faults test-packaging coverage test-e2e faults soak check audit format bench bench-webhook fuzz \
	cluster golden record-reviews clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(READY): setup.cfg pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer found; set PYTHON=/path/to/python3"; exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) --version) and installing gpupolicy with its developer packages"
	@echo "the first time this needs the network: pip fetches about 350 MB, which takes some minutes"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(READY) ## the whole story on this machine, without a cluster
	@$(BIN)/gpupolicy demo

test: test-e2e test-unit test-faults test-packaging ## all tests; the end-to-end ones where Go or the control plane's binaries are there

test-unit: $(READY) ## the tests that need neither servers nor a wheel
	$(BIN)/python -m pytest --ignore tests/e2e --ignore tests/faults --ignore tests/packaging

test-faults: $(READY) ## the webhook's process under load and faults, in its short form
	$(BIN)/python -m pytest tests/faults

test-packaging: $(READY) ## the wheel, the image's steps, pre-commit
	$(BIN)/python -m pytest tests/packaging

coverage: $(READY) ## these three with their coverage, which doubles the time
	$(BIN)/python -m pytest --ignore tests/e2e --cov --cov-report=term:skip-covered

test-e2e: $(READY) ## the tests against a real control plane, two of them at once
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile tests/e2e

faults: $(READY) ## the webhook's process under load and faults, 30 s of load each; the short form is test-faults
	GPUPOLICY_FAULTS_SECONDS=$${GPUPOLICY_FAULTS_SECONDS:-30} $(BIN)/python -m pytest tests/faults -v --durations=0

soak: $(READY) ## five minutes of load at half of the maximum: nothing may grow
	GPUPOLICY_SOAK_SECONDS=$${GPUPOLICY_SOAK_SECONDS:-300} $(BIN)/python -m pytest -s tests/faults/test_soak.py

check: $(READY) ## format, lint, types from source and from the wheel, the newest Python found here
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy gpupolicy webhook
	$(BIN)/nox --reuse-existing-virtualenvs

audit: $(READY) ## known vulnerabilities of what an installation holds; asks osv.dev, so no part of check
	$(BIN)/nox --session audit

format: $(READY) ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## the benchmarks, as ratios in one run
	$(BIN)/python benchmarks/run.py

bench-webhook: $(READY) ## rate, latency, CPU and memory of the webhook under load, beside Gatekeeper and Kyverno
	$(BIN)/python benchmarks/webhook.py

fuzz: $(READY) ## search for input that breaks the readers or the decision, a minute a target
	$(BIN)/python tests/fuzz/run.py

cluster: $(READY) ## a real control plane with demo nodes and our webhook, until Ctrl-C
	$(BIN)/python tests/e2e/cluster.py

record-reviews: $(READY) ## record what the API server sends to our hooks, for the unit tests
	$(BIN)/python tests/e2e/record_reviews.py

golden: $(READY) ## write the golden files anew, to be read in review
	$(BIN)/python tests/golden/regenerate.py
	$(BIN)/python tests/charts/regenerate.py

clean: ## remove what the targets made
	rm -rf $(VENV) .nox build dist *.egg-info .coverage
