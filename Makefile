# Every target sets up .venv by itself. Another Python: make test PYTHON=python3.12

PYTHON ?= python3
SEED ?= 0
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := dev
ALL_EXTRAS := dev,docs,sb3,onnx,pandas,tensorboard,wandb,sweep,ray,browser,notebooks

# A .venv counts as broken when its Python is gone, when it holds another checkout's icrl, or when PYTHON was given
# and is another version. What is broken is made anew; what is only older than pyproject.toml is brought up to date.
WANTED := $(if $(filter file,$(origin PYTHON)),,$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none))
STATE := $(shell $(BIN)/python -c 'import icrl, os, sys; \
	here = os.path.realpath(icrl.__file__).startswith(os.path.realpath(".") + os.sep); \
	print("good" if here and "$(WANTED)" in ("", "%d.%d" % sys.version_info[:2]) else "broken")' 2>/dev/null)

.PHONY: help demo test coverage run-coverage test-slow test-extras test-wheels system-browser run-extras test-ray run-ray docs build-docs lint types bench bench-all mutants check force
.DEFAULT_GOAL := help

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

demo: $(STAMP) ## learn the unwritten rule of LapGridWorld from its demonstrations, and show it
	@out="runs/demo-$$(date +%Y%m%d-%H%M%S)-$$$$"; $(BIN)/icrl learn lap-grid --seed $(SEED) --out "$$out" \
		&& echo "Left in the picture: the true constraint, which the learner never saw. Right: what it learned."

test: $(STAMP) ## all tests but the slow ones (minutes)
	$(BIN)/python -m pytest -n 2

test-slow: $(STAMP) ## the slow tests: whole learning runs
	$(BIN)/python -m pytest -n 2 -m slow

# A .venv of its own: make test, and the product, must do without what the extras bring.
test-extras: system-browser ## tests of what needs extras (SB3, ONNX, loggers, sweeps, Ray, notebooks, the site, the page in Chromium), in .venv-extras
	@$(MAKE) --no-print-directory VENV=.venv-extras EXTRAS=$(ALL_EXTRAS) run-extras

# The page is looked at in a real browser, which pip does not bring: Debian's, installed where it is missing.
system-browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
		echo "Installing Chromium and its driver (once) ..."; \
		apt-get update -qq && apt-get install -y -qq chromium chromium-driver >/dev/null; } || { \
		echo "make: Chromium and its driver are needed: apt-get install chromium chromium-driver" >&2; exit 1; }

run-extras: $(STAMP)
	$(BIN)/python -m pytest tests/extras --ignore tests/extras/test_ray.py
	@$(MAKE) --no-print-directory VENV=$(VENV) EXTRAS=$(EXTRAS) run-ray

# In a process of its own: Ray takes all cores, and reads its settings when it is imported.
test-ray: ## of test-extras, only suites on a Ray cluster of three nodes that lose two (minutes)
	@$(MAKE) --no-print-directory VENV=.venv-extras EXTRAS=$(ALL_EXTRAS) run-ray

# Nodes of a cluster that start on two busy cores may not find each other in time: then once more, and it is said.
run-ray: $(STAMP)
	$(BIN)/python -m pytest tests/extras/test_ray.py || { echo "make: Ray failed; once more what failed ..." >&2; \
		$(BIN)/python -m pytest tests/extras/test_ray.py --last-failed; }

# As a stranger gets it: the built wheel, without constraints.txt, in environments of its own (downloads a few GB).
PYTHONS ?= $(PYTHON)
test-wheels: $(STAMP) ## the built wheel in clean environments: make test-wheels PYTHONS="python3.11 python3.12 python3.13"
	$(BIN)/python benchmarks/wheels.py $(PYTHONS)

docs: ## the documentation as a site, built into site/ (open site/index.html), in .venv-docs
	@$(MAKE) --no-print-directory VENV=.venv-docs EXTRAS=docs build-docs

build-docs: $(STAMP)
	$(BIN)/python docs/build_api.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

coverage: ## which lines the tests run, by file (a list, and htmlcov/index.html), in .venv-coverage
	@$(MAKE) --no-print-directory VENV=.venv-coverage EXTRAS=dev,coverage run-coverage

run-coverage: $(STAMP)
	$(BIN)/python -m pytest -n 2 --cov=icrl --cov-report=term:skip-covered --cov-report=html

lint: $(STAMP) ## ruff: style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## mypy, strict, on src
	$(BIN)/mypy

bench: $(STAMP) ## training speed over raw simulator speed, on this machine
	$(BIN)/icrl bench throughput

# Stable-Baselines3 is measured where it is installed (pip install 'icrl[sb3]', PyTorch first: docs/performance.md).
bench-all: $(STAMP) ## every number that is asked of the speed, beside what is measured (25 minutes, a quiet machine)
	$(BIN)/python benchmarks/quiet.py

# Small faults are put into a copy of one room, one at a time, and its tests run: those that no test sees are listed.
ROOM ?= constraint/weights
TESTS ?=
mutants: $(STAMP) ## faults in ROOM=constraint/weights that its tests (or TESTS) do not see (minutes to hours; goes on)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray>=8.3'
	$(BIN)/python benchmarks/mutants.py $(ROOM) $(if $(TESTS),--tests $(TESTS)) --go-on

check: lint types test ## what must pass before a commit

# New pins mean a new .venv: mujoco does not survive an upgrade in place.
$(STAMP): pyproject.toml constraints.txt $(if $(filter good,$(STATE)),,force)
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) was not found; name one with PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null || { \
		echo "make: icrl needs Python 3.11 to 3.13, but $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1);" \
			"name another with PYTHON=python3.12" >&2; exit 1; }
	@if [ "$(STATE)" != good ] || { [ -e $@ ] && [ constraints.txt -nt $@ ]; } \
			|| ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		echo "Setting up $(VENV) (once; a few minutes) ..."; $(PYTHON) -m venv --clear $(VENV); \
	else echo "Bringing $(VENV) up to date ..."; fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

force:
