# Every target makes the virtual environment it needs; PYTHON chooses another interpreter (3.10 or newer).
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready

.PHONY: demo test compat lint results bench clean

demo: $(READY)  ## the whole job on the recorded example site
	$(BIN)/dedup-crawler demo

test: $(READY)  ## the whole test suite
	$(BIN)/python -m pytest -n auto --dist loadfile

compat:  ## the tests of live crawls with the oldest Scrapy that is supported; TESTS="FILE..." chooses some
	$(PYTHON) benchmarks/compat.py 2.13.0 $(if $(TESTS),--tests $(TESTS))

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

results: $(READY)  ## rebuild the tables under benchmarks/results (an hour; needs the recorded sites)
	$(BIN)/python benchmarks/results.py

bench: $(READY)  ## speed beside what one would use instead, as ratios in one run
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,ops,rounds

$(READY): setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,report,redis,static,peers,test,lint]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info
