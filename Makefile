# Everything a newcomer needs: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A file of tests stays in one process; WORKERS= runs them all in one.
WORKERS ?= -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-slow coverage lint docs site-test audit check benchmark figures calibration clean

$(VENV)/.package: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "luce needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plots,files]'
	touch $@

$(VENV)/.tools: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group test --group lint
	touch $@

$(VENV)/.site: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	touch $@

demo: $(VENV)/.package  ## the paper's experiments in small, as a page to look at
	$(BIN)/luce paper --quick

test: $(VENV)/.tools  ## the default tests
	$(BIN)/python -m pytest $(WORKERS)

test-slow: $(VENV)/.tools  ## the default tests and the slow ones, a fuzzer among them
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz
	LUCE_REQUIRE_FUZZER=1 $(BIN)/python -m pytest $(WORKERS) -m "slow or not slow"

# Kernels run as plain Python here, so tests marked `compiled` are left out.
coverage: $(VENV)/.tools  ## branches that the default tests see, numba being switched off
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -W ignore::RuntimeWarning
	$(BIN)/python -m coverage report --fail-under=95 --skip-covered --sort=miss

lint: $(VENV)/.tools  ## style, types, and imports that go one way
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: $(VENV)/.site  ## the documentation as a site, in site/; a warning is a failure
	$(BIN)/python -m zensical build --clean --strict

site-test: $(VENV)/.tools $(VENV)/.site  ## the site in a browser: every page, its links, its search
	$(BIN)/python -m pytest -m slow tests/project/test_site.py

audit: $(VENV)/.package  ## licences, origins and known vulnerabilities of what luce needs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group audit
	$(BIN)/python .ci/audit.py

check: lint test docs site-test audit  ## what CI runs

# the earlier commit that `make benchmark` measures too
SINCE ?= edee016
benchmark: $(VENV)/.tools  ## measure speed, against the peers that are installed in .venv
	$(BIN)/python benchmarks/cold.py
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/against.py $(SINCE) .
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/structure.py
	$(BIN)/python benchmarks/mode.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/ties.py
	$(BIN)/python benchmarks/hdp.py
	$(BIN)/python benchmarks/semi_markov.py
	$(BIN)/python benchmarks/gibbs_step.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/cluster_cost.py

figures: $(VENV)/.package  ## the pictures of docs/paper.md, at the paper's full settings
	$(BIN)/luce paper --out luce-paper
	mkdir -p docs/paper
	cp luce-paper/*.svg luce-paper/claims.csv docs/paper

calibration: $(VENV)/.tools  ## the table and pictures of docs/calibration.md
	rm -rf luce-calibration
	$(BIN)/python benchmarks/calibration.py run luce-calibration
	$(BIN)/python benchmarks/calibration.py controls luce-calibration
	$(BIN)/python benchmarks/calibration.py draw luce-calibration

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +
