# One door: every verb a developer needs. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHELL_VENV := .venv-shell
SOURCES := emulator hostagent pspin_model mininet tests

.DEFAULT_GOAL := help
# With it every process that the tests start compiles our sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup shell-setup demo test test-all test-memory conformance check format bench soak fuzz fuzz-server fuzz-rack soak-rack soak-programs soak-faults explore clean protos

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | expand -t 12

setup: $(VENV)/.done shell-setup ## make .venv with everything pinned, and .venv-shell for p4runtime-shell

# torch first, by its exact version: a range would take the newest build with its CUDA packages.
$(VENV)/.done: pyproject.toml .constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("netsum needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check "$$(grep '^torch==' .constraints.txt)"
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c .constraints.txt -e '.[test]'
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null || true  # on all cores, which pip does not; templates are no Python
	$(BIN)/netsum warm
	touch $@

# p4runtime-shell pins an old protobuf, so it lives alone and is run as a program.
shell-setup: $(SHELL_VENV)/.done

$(SHELL_VENV)/.done: .constraints-shell.txt
	test -x $(SHELL_VENV)/bin/python || $(PYTHON) -m venv $(SHELL_VENV)
	$(SHELL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r .constraints-shell.txt
	touch $@

demo: setup ## train a real model through the P4 switch, then on gloo, and compare
	$(BIN)/netsum demo

# Tests of one file run in one process, so that what they share is made and compiled once. Where a process crashes, the
# run ends: xdist would run the test in the others too, and may then wait forever for what is left. tests/net starts
# processes, namespaces and whole jobs.
JOBS ?= 2
NET_JOBS ?= $(JOBS)
PYTEST := $(BIN)/python -m pytest --dist loadfile --max-worker-restart 0 --durations=25
UNITS := tests/conformance tests/property tests/unit tests/evidence
test: setup ## everything that CI runs: checks, then the tests but for the slow ones
	@$(MAKE) --no-print-directory check
	$(PYTEST) -n $(JOBS) -m "not slow" --no-loadscope-reorder $(UNITS)
	$(PYTEST) -n $(NET_JOBS) -m "not slow" tests/net

test-all: setup ## all tests, with the slow ones, and all seeds, examples and programs of each (an hour)
	NETSUM_TESTS=all $(PYTEST) -n $(JOBS) --no-loadscope-reorder $(UNITS)
	NETSUM_TESTS=all $(PYTEST) -n $(NET_JOBS) tests/net

test-memory: setup ## find use after free of arrays by compiled code, in the tests that run it in their own process
	$(PYTEST) -n $(JOBS) -p tests.labs.freed_arrays -m "not slow" tests/property tests/unit tests/evidence

conformance: setup ## tests/conformance, with all of torch's own tests of torch.distributed (10 minutes)
	NETSUM_TESTS=all $(BIN)/python -m pytest tests/conformance

check: setup ## format, lint, types, layering
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy --num-workers $(JOBS)
	$(BIN)/python -m pytest -q tests/unit/test_layering.py

format: setup ## write the format
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

bench: setup ## all benchmarks, those of BENCHMARKS.md and more, each figure next to its baseline
	$(BIN)/netsum bench all

FUZZ_SECONDS ?= 300
FUZZ_SEED ?= $(shell date +%s)
fuzz: setup ## damage programs for FUZZ_SECONDS (300): the compiler must answer with an error or a program
	$(BIN)/python -m tests.soaks.p4_fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

fuzz-server: setup ## fifty clients send damaged P4Runtime for FUZZ_SECONDS: canonical errors, consistent state, no leak
	$(BIN)/python -m tests.soaks.p4runtime_soak --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

fuzz-rack: setup ## a hostile tenant on the rack server for FUZZ_SECONDS: the other tenants' results do not change
	$(BIN)/python -m tests.soaks.rack_fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

SOAK_STEPS ?= 10000
SOAK_SEED ?= 1
soak-rack: setup ## two tenants, SOAK_STEPS steps (10000), 1 % loss, kills, a restart: the weights of an undisturbed run
	$(BIN)/python -m tests.soaks.rack_soak --steps $(SOAK_STEPS) --seed $(SOAK_SEED)

soak: setup ## a million random and damaged packets through every program, both engines compared
	$(BIN)/python -m emulator.harness.fuzz.soak tests/conformance/stf

PROGRAMS ?= 10000
LIVE_PROGRAMS ?= 500
PROGRAM_SEED ?= 1
soak-programs: setup ## PROGRAMS (10000) random programs of collectives in virtual time, LIVE_PROGRAMS (500) on real ranks
	$(BIN)/python -W ignore -m tests.soaks.program_soak --programs $(PROGRAMS) --first $(PROGRAM_SEED) --jobs $(JOBS)
	$(BIN)/python -W ignore -m tests.soaks.program_soak --live --programs $(LIVE_PROGRAMS) --first $(PROGRAM_SEED)

SOAK_HOURS ?= 24
SOAK_MINUTES ?= 30
soak-faults: setup ## sums under random faults: SOAK_HOURS (24) of virtual time, SOAK_MINUTES (30) live; right, memory flat
	$(BIN)/python -m tests.soaks.fault_soak --hours $(SOAK_HOURS) --seed $(SOAK_SEED)
	$(BIN)/python -m tests.soaks.fault_soak --live --minutes $(SOAK_MINUTES) --seed $(SOAK_SEED)

EXPLORE_MINUTES ?= 15
explore: setup ## every order of frames, losses, duplicates, restarts within bounds, on small jobs: no wrong sum, no hang
	$(BIN)/python -m tests.explore --jobs $(JOBS) --minutes $(EXPLORE_MINUTES)

protos: setup ## generate the stubs of our gRPC services (needs grpcio-tools)
	$(BIN)/python -m hostagent.protocol.services.generate
	$(BIN)/ruff check hostagent/protocol/services

clean: ## remove what was built here (not the cache in the home folder)
	rm -rf $(VENV) $(SHELL_VENV) build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
