# Antiphon: bare `make` lists what there is. Every target sets up .venv first if need be, which
# takes nothing but Python 3.11+ (requirements/setup.sh). Works with the make 3.81 of macOS.

VENV := .venv/bin
ARGS ?=

# Of xdist's ways to share tests out, one that goes on when a test takes its worker down.
PARALLEL := -n auto --dist worksteal

# Tests start hundreds of processes: where nothing compiled is kept, each would compile all anew.
test quick soak: export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help demo test quick check format bench soak explore mutants damage coverage setup with-java lock clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup  ## processes on real sockets, in one group, then in two that overlap; Spark verifies both
	@$(VENV)/antiphon demo $(ARGS)
	@$(VENV)/antiphon demo --groups $(ARGS)

test: check with-java  ## check, then all tests but those of `soak`, with Spark and sockets (many minutes)
	@$(VENV)/python -m pytest $(PARALLEL) -m "not slow" $(ARGS)

quick: setup  ## the inner loop: no JVM, no sockets, nothing long; stops at the first failure (a minute)
	@$(VENV)/python -m pytest $(PARALLEL) -x -q -m "not spark and not net and not slow and not long" $(ARGS)

check: setup  ## lint, format, types and import layers
	@$(VENV)/ruff check
	@$(VENV)/ruff format --check
	@$(VENV)/mypy
	@$(VENV)/lint-imports --no-logo

format: setup  ## rewrite the code as `check` wants it
	@$(VENV)/ruff check --fix
	@$(VENV)/ruff format

bench: setup  ## measure against a raw mesh, FIFO and SimPy; ARGS="--json" for machines
	@$(VENV)/antiphon bench $(ARGS)

soak: setup  ## the long random campaigns, with many more examples (an hour or more)
	@HYPOTHESIS_PROFILE=soak $(VENV)/python -m pytest $(PARALLEL) -o faulthandler_timeout=7200 $(ARGS)

explore: setup  ## 100,000 random worlds on the default stack, fewer of each other kind (some hours)
	@$(VENV)/antiphon explore --seeds 0..99999 $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..9999 --flush coordinator $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..9999 --flush all-to-all $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..9999 --drivers $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..9999 --groups $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..19999 --blocks $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..19999 --protocol blocks $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..19999 --protocol overlay $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..19999 --domains $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..19999 --domains --resilience 2 $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..19999 --domains --resilience all $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..1999 --domains --structure declared $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..1999 --domains --structure excluded $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..1999 --domains --flush coordinator $(ARGS)
	@$(VENV)/antiphon explore --seeds 0..1999 --domains --flush all-to-all $(ARGS)

mutants: setup  ## plant every known bug and see exploration find it; writes docs/mutants.md
	@PYTHONPATH=. $(VENV)/python -m tests.mutants.campaign --out docs/mutants.md

damage: with-java  ## 15 kinds of damage to 200 traces each, 2,000 clean ones: all judges (minutes)
	@PYTHONPATH=. $(VENV)/python -m tests.pipeline.damage_campaign $(ARGS)

coverage: setup  ## branch coverage of the protocol core by all tests without JVM and sockets
	@$(VENV)/python -m pytest $(PARALLEL) -q -m "not spark and not net and not slow" \
		--cov --cov-report=term-missing:skip-covered $(ARGS)

setup:  ## only make .venv ready; PYTHON=... chooses the interpreter
	@sh requirements/setup.sh

with-java: setup
	@sh requirements/setup.sh --with-java

lock: setup  ## recompile the pins from pyproject.toml; ARGS=--upgrade takes the newest versions
	@$(COMPILE) --group setup --output-file requirements/setup.txt
	@$(COMPILE) --extra cli --extra fast --extra models --extra spark --extra bench --extra dev pyproject.toml \
		--output-file requirements/dev.txt
	@$(COMPILE) --group java --output-file requirements/java.txt

clean:  ## remove .venv, caches and builds (not your runs)
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache \
		.hypothesis .coverage htmlcov src/antiphon.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Universal pins (every platform and Python we support), with hashes, and no word of where the
# packages came from: that is each machine's own affair.
COMPILE = $(VENV)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" --no-annotate --no-emit-index-url \
	--no-emit-find-links $(ARGS)
