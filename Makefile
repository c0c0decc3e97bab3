# Every target makes the virtual environment it needs; PYTHON chooses another interpreter (3.10 or newer).
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready
TOOLS   = $(VENV)/.tools
# many tests wait for servers and crawls, so two processes a core are faster than one; more than 8 would mostly take memory
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(8, 2 * os.cpu_count()))')
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test chaos compat lint docs reference release-check results bench clean

demo: $(READY)  ## the whole job on the recorded example site
	$(BIN)/dedup-crawler demo

test: $(TOOLS)  ## the whole test suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

chaos: $(TOOLS)  ## 600 invented crawls, with and without the filter (25 minutes); SEEDS="FIRST:LAST" chooses others
	$(BIN)/python -m tests.chaos --seeds $(or $(SEEDS),0:600) --jobs 2 --shrink --output benchmarks/results/chaos.md

compat:  ## the tests of live crawls with the oldest Scrapy that is supported; TESTS="FILE..." chooses some
	$(PYTHON) benchmarks/compat.py 2.13.0 $(if $(TESTS),--tests $(TESTS))

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(TOOLS)  ## the site of the documentation, in build/site; a warning is an error (but not with --quiet)
	$(BIN)/mkdocs build --strict

reference: $(TOOLS)  ## write what the documentation says of settings, stats and commands anew, out of the code
	$(BIN)/python docs/reference.py

release-check: $(TOOLS)  ## build what would be released, install it where nothing else is, run every command there
	$(BIN)/python .ci/release_check.py

results: $(TOOLS)  ## rebuild the tables under benchmarks/results (an hour; needs the recorded sites)
	$(BIN)/python benchmarks/results.py

bench: $(TOOLS)  ## speed beside what one would use instead, as ratios in one run
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,ops,rounds

$(READY): setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[train]'
	touch $(READY)

$(TOOLS): $(READY)
	$(PIP) -e '.[train,report,redis,postgres,spark,static,peers,test,lint,docs,release]'
	touch $(TOOLS)

clean:
	rm -rf $(VENV) build dist *.egg-info
