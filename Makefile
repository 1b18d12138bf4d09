# `make` alone lists what there is. Nothing needs to be installed first but Python >= 3.11: the environment is made in
# .venv, from the package registry, and made again when pyproject.toml changes or the folder has moved.
#
#   make test ARGS="-k scan -x"        pass arguments on to pytest
#   make test PYTHON=python3.13        with this Python
#   make test PYTHON_ENV=system        with the current python3 and what it has; installs nothing

.DEFAULT_GOAL := help
PYTHON_ENV ?= venv
# A fixed name for each kind of machine, so that its results are one series: not the host's name.
BENCH_MACHINE ?= $(shell nvidia-smi >/dev/null 2>&1 && echo h200 || echo cpu)
ARGS ?=
# The commit that asv_bench/raw was measured at, for `make bench`.
MEASURED ?= HEAD

ifeq ($(PYTHON_ENV),system)
PY := $(or $(PYTHON),python3)
export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))
else
PY := $(CURDIR)/.venv/bin/python
endif

# Spread over all cores; what uses the GPU stays in one process. Without pytest-xdist: one after the other.
PARALLEL = $$($(PY) -c 'import xdist' 2>/dev/null && printf '%s' '-n auto --dist loadgroup')
PYTEST = $(PY) -m pytest

.PHONY: help env demo test check fuzz bench wheel build docs site format clean proofs release-check

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## a scan written in Prism, run on this machine and compared with NumPy (installs NumPy, and CuPy where there is a GPU)
ifneq ($(PYTHON_ENV),system)
	@.ci/environment --demo $(PYTHON)
endif
	@PYTHONPATH="$(CURDIR)$${PYTHONPATH:+:$$PYTHONPATH}" $(PY) examples/demo.py $(ARGS)

test: env ## every test but the long ones and those of `make check`; those for the GPU too, where there is one; the slowest thirty
	@$(PYTEST) $(PARALLEL) -m "not fuzz and not check" --durations=30 $(ARGS)

check: env ## style, types, who imports whom, the documentation and its examples, registers and spills of kernels
	@status=0; \
	echo "== ruff check";           $(PY) -m ruff check .            || status=1; \
	echo "== ruff format --check";  $(PY) -m ruff format --check .   || status=1; \
	echo "== mypy --strict";        $(PY) -m mypy                    || status=1; \
	echo "== imports, documentation, machine code"; \
	$(PYTEST) -q $(PARALLEL) -m "check and not fuzz" tests/test_import_direction.py $(wildcard tests/docs tests/kernels tests/lang tests/lib tests/examples) || status=1; \
	exit $$status

fuzz: env ## the long runs: 100,000 generated programs and what else takes hours (FUZZ_EXAMPLES=1000: shorter)
	@$(PYTEST) $(PARALLEL) -m fuzz --hypothesis-profile=fuzz --hypothesis-show-statistics $(ARGS)

bench: env ## time what needs no GPU, record what `prism bench run` left in asv_bench/raw, and make the pages and pictures
	@cd asv_bench && $(PY) -m asv machine --yes --machine $(BENCH_MACHINE)
	@cd asv_bench && $(PY) -m asv run --python=same --launch-method spawn --machine $(BENCH_MACHINE) --bench '^(host|long)\.' \
	    --set-commit-hash "$$(git rev-parse HEAD)" $(ARGS)
	@[ ! -d asv_bench/raw ] || $(PY) asv_bench/publish/record.py asv_bench/raw --commit $(MEASURED)
	@$(PY) asv_bench/publish/pictures.py
	@cd asv_bench && $(PY) -m asv publish && echo "look at them: make site"

wheel: build ## build the wheel into dist/, with the library's kernels compiled
	@rm -rf build/lib build/bdist.* && $(PY) -m pip wheel --no-deps --no-build-isolation --wheel-dir dist . && rm -rf build/lib build/bdist.*

build: env ## compile the library's kernels ahead of time, into prism/artifacts (ARGS="--arch sm_90a": for one architecture)
	@$(PY) -m prism build $(ARGS)

docs: env ## the documentation as a site, in build/site: all its links checked, each warning an error
	@$(PY) -c 'import furo, myst_parser, sphinx' 2>/dev/null || { [ $(PYTHON_ENV) != system ] \
	    && $(PY) -m pip install --disable-pip-version-check --quiet --editable '.[docs]'; } \
	    || { echo "the site needs Sphinx, MyST and Furo: pip install 'prism-gpu[docs]'" >&2; exit 1; }
	@$(PY) -m sphinx -q -W --keep-going -c docs/site -b html . build/site && echo "open build/site/index.html"

site: docs ## the documentation and asv's pages, in build/site (the scripts of the pages come from the npm registry)
	@PYTHONPATH="$(CURDIR)" $(PY) -m docs.site.dashboard build/site/dashboard

release-check: ## all of it from a clean clone: tests, documentation, every kernel, the wheel installed elsewhere (half an hour)
	@.ci/release $(ARGS)

proofs: env ## check the mechanised proofs, and certificates by the proved checker and Python's (installs Coq with apt when it is missing and you are root)
	@$(MAKE) --no-print-directory -j2 -C theory/proofs PYTHON=$(PY)
	@rm -rf build/certificates && mkdir -p build/certificates
	@$(PY) -m tests.lib.certificates --every 60 --folder build/certificates >/dev/null
	@$(PY) -m tests.generated.certificates --count 128 --mutants --folder build/certificates >/dev/null
	@$(PY) -m tests.generated.random_certificates --count 4000 --folder build/certificates >/dev/null
	@$(MAKE) --no-print-directory -C theory/proofs compare CERTIFICATES=$(CURDIR)/build/certificates PYTHON=$(PY)

format: env ## put the source in the house's form
	@$(PY) -m ruff check --fix . ; $(PY) -m ruff format .

clean: ## remove what the others made, except .venv
	@$(MAKE) --no-print-directory -C theory/proofs clean
	@rm -rf build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache asv_bench/.asv
	@find . -path ./.venv -prune -o -type d -name __pycache__ -exec rm -rf {} +

env:
ifneq ($(PYTHON_ENV),system)
	@.ci/environment $(PYTHON)
endif
