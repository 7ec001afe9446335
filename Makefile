# Two commands do everything: `make run` and `make test`. The rest is for people who change the code.
PYTHON ?= python3
BIN := .venv/bin
RUN_PROMPT := Search for AI news, 10 results

.PHONY: run test check lint bench screenshots setup

setup:
	@$(PYTHON) packaging/setup_env.py

# The window; without a display the same run in the terminal.
run: setup
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
		$(BIN)/glyphscope gui; \
	else \
		echo "glyphscope: no display here, so the run is shown in the terminal."; \
		$(BIN)/glyphscope run "$(RUN_PROMPT)"; \
	fi

# Everything, with at least 2,000 examples a property and the embedded model.
test: setup lint
	GLYPHSCOPE_EXAMPLES=full QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -n 2 --dist loadgroup tests

# What a change needs before it is committed: under a minute.
check: setup lint
	GLYPHSCOPE_EXAMPLES=quick QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -q -n 2 -m "not slow and not model" tests

lint:
	$(BIN)/ruff check engine gui assets tests packaging
	$(BIN)/ruff format --check engine gui assets tests packaging
	$(BIN)/mypy

bench: setup
	$(BIN)/glyphscope bench

# The README's pictures, from recorded runs: light and dark, 1440×900 and 1024×700.
screenshots: setup
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m glyphscope_gui.screenshots docs/images
