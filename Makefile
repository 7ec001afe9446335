# Two commands do everything: `make run` and `make test`. The rest is for people who change the code.
PYTHON ?= python3
BIN := .venv/bin
PROMPT ?= Search for AI news, 10 results
CODE := engine gui assets tests packaging
PYTEST := QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -q

.PHONY: run test check lint bench screenshots records setup

setup:
	@$(PYTHON) packaging/setup_env.py

# The window; without a display the same run in the terminal.
run: setup
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
		$(BIN)/glyphscope gui; \
	else \
		echo "glyphscope: no display here, so the run is shown in the terminal."; \
		$(BIN)/glyphscope run "$(PROMPT)"; \
	fi

# Everything: at least 2,000 examples a property, then the embedded model, which wants both cores for itself.
test: export GLYPHSCOPE_EXAMPLES ?= full
test: setup lint
	$(PYTEST) -n 2 -m "not model"
	$(PYTEST) -m model

# What a change needs before it is committed: under a minute.
check: export GLYPHSCOPE_EXAMPLES ?= quick
check: setup lint
	$(PYTEST) -n 2 -m "not slow and not model"

lint:
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

# Figures beside their targets; BENCH=--quick for a first look.
bench: setup
	$(BIN)/glyphscope bench $(BENCH)

# The README's pictures, from recorded runs: light and dark, 1440×900 and 1024×700.
screenshots: setup
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m glyphscope_gui.screenshots docs/images

# The recorded runs that come with the program, by the embedded model: on a machine that does nothing else meanwhile.
records: setup
	$(BIN)/python packaging/record_runs.py
