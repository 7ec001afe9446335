# Two commands do everything: `make run` and `make test`. The rest is for people who change the code.
PYTHON ?= python3
BIN := .venv/bin
PROMPT ?= Search for AI news, 10 results
CODE := engine gui assets benchmarks tests packaging
PYTEST := QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -q
LINT := $(BIN)/ruff check $(CODE) && $(BIN)/ruff format --check $(CODE) && $(BIN)/mypy

# Bytecode is kept whatever the shell says: reading the tests anew each time takes a fifth of `make check`.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test check lint findings bench bench-compare trace docs page screenshots records lessons translation package release setup

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

# Everything: 200 examples for each law of the validator, 50 for other properties (`at_most`), and whole programs with
# the embedded model. Two workers on each of two cores (tests/conftest.py), as a window's test often waits for its
# timers; each file stays in one worker, so what it makes of the model is made once. A worker that crashes ends the run
# with the name of its test: pytest-xdist 3.8 waits forever after a second crash. The linters run beside them, and end
# them with their errors: without a cache the types take half a minute.
test: export GLYPHSCOPE_EXAMPLES ?= full
test: setup
	@$(PYTEST) -n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart=0 & tests=$$!; \
	errors=$$({ $(LINT); } 2>&1) || { kill $$tests; wait $$tests; echo "$$errors"; exit 1; }; \
	wait $$tests

# What a change needs before it is committed, in under a minute: of every feature the quick tests.
check: export GLYPHSCOPE_EXAMPLES ?= quick
check: setup lint
	$(PYTEST) -n 2 --dist worksteal -m "not slow and not model"

lint:
	$(LINT)

# What surprised us in other libraries and tools, each in an environment of its own: findings/README.md. A line for each;
# of one that is no longer as found, the end of its output. FINDINGS="findings/llguidance-*.sh" runs only those.
FINDINGS ?= findings/*.sh
findings:
	@changed=0; for finding in $(FINDINGS); do \
		if output=$$(bash "$$finding" 2>&1); then echo "as found  $$finding"; \
		else changed=1; echo "CHANGED   $$finding"; echo "$$output" | tail -n 20; fi; \
	done; exit $$changed

# Figures beside their targets; BENCH=--quick for a first look. What a vocabulary of 262,144 tokens costs is measured on
# an untrained model around one of llama.cpp's (packaging/untrained.py).
LARGE ?= gemma-4
bench: setup
	@large=$$($(BIN)/python packaging/untrained.py $(LARGE)); $(BIN)/glyphscope bench $(BENCH) --large "$$large"

# The last full runs on this machine beside each other, by commit.
bench-compare: setup
	@$(BIN)/glyphscope bench --compare

# Flame graphs of a masked call and of the bare loop, for docs/performance.md.
trace: setup
	@test -x build/trace-env/bin/py-spy || { $(PYTHON) -m venv build/trace-env && \
		build/trace-env/bin/python -m pip install --quiet --disable-pip-version-check py-spy; }
	$(BIN)/python packaging/flame.py docs/images

# The documentation as a site with search and the reference of the engine's packages: build/site/index.html.
DOCS := build/docs-env/bin
docs:
	@test -x $(DOCS)/python || $(PYTHON) -m venv build/docs-env
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check --group docs
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --quiet
	@echo "build/site/index.html"

# The script and the style of exported pages, from packaging/page/src. Needs npm.
page:
	npm ci --silent --prefix packaging/page
	cd packaging/page && npm run --silent check && npm run --silent build

# The pictures of README and docs, from recorded runs; the README's in light and dark, 1440×900 and 1024×700.
screenshots: setup
	QT_QPA_PLATFORM=offscreen $(BIN)/python packaging/screenshots.py docs/images

# The recorded runs that come with the program, by the embedded model: on a machine that does nothing else meanwhile.
records: setup
	$(BIN)/python packaging/record_runs.py

# The recorded runs of the lessons, in the same way; LESSONS=…/04-forced.md does only that one. Those in a model's own
# notation are by the embedded model's weights with the example template.
LESSONS ?= assets/glyphscope_assets/lessons/*.md
lessons: setup
	@for lesson in $(LESSONS); do echo "$$lesson"; model=embedded; \
	if grep -q '^notation = "native"' "$$lesson"; then \
		model=$$($(BIN)/python packaging/native_runs.py SmolLM2-135M-example.gguf) || exit 1; \
	fi; \
	$(BIN)/glyphscope lesson record "$$lesson" --model "$$model" || exit 1; done

# The window's texts for a language, and what was translated of them as the window reads it: docs/translations.md.
LANGUAGE ?= de
TRANSLATION := assets/glyphscope_assets/translations/glyphscope_$(LANGUAGE)
translation: setup
	@mkdir -p $(dir $(TRANSLATION))
	@mkdir -p build
	$(BIN)/python packaging/setting_texts.py > build/setting_texts.py
	$(BIN)/pyside6-lupdate $$(find gui -name '*.py' | sort) $$(grep -rl 'import Translate' engine --include='*.py' | sort) build/setting_texts.py -ts $(TRANSLATION).ts
	$(BIN)/pyside6-lrelease $(TRANSLATION).ts -qm $(TRANSLATION).qm

# The frozen program and the .deb of it, in dist/, both used before they are called done (docs/packaging.md); it has an
# environment of its own. STEPS="freeze deb" does only those.
package:
	@$(PYTHON) packaging/package.py $(STEPS)

# What is checked before a version is published, one step after the other; it changes and publishes nothing.
release: setup
	@$(BIN)/python packaging/release.py $(FROM)
