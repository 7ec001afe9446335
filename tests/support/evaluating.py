"""Models and shorthands for the tests of the evaluate page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox

from glyphscope.evals.results.folder import ResultFolder
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store import places
from glyphscope_gui.shared.errors import explain
from glyphscope_gui.shared.page_ids import PageId
from made_results import GOOD
from on_screen import Screen

TABLE, RUNS, FAILURES = "Result by scenario and configuration", "Runs", "Failures by reason"
SUITES, MODELS, SCENARIOS = "Suites of scenarios", "Models", "Scenarios to run"
PAIRS, ALIGNED = "Differences between the two configurations", "Both calls by field"
SUITE = {
    "glyphscope_suite": 1,
    "name": "mine",
    "about": "Two searches",
    "scenarios": [
        {
            "id": name,
            "prompt": f"Search for AI news, 10 results, {name}",
            "expect": {
                "calls": [{"tools": ["search"], "arguments": {"query": "AI news", "max_results": 10}}]
            },
        }
        for name in ("first", "second")
    ],
}


class Gated(ScriptedModel):
    """Answers once it is released."""

    def __init__(self, gate, script=GOOD):
        super().__init__(script)
        self.gate = gate

    def generate(self, request):
        while not self.gate.wait(0.01):
            if self._cancelled.is_set():
                break
        yield from super().generate(request)


def good(_name, **_options):
    return ScriptedModel(GOOD)


class EvalScreen(Screen):
    """The evaluate page, alone or in its window."""

    def __init__(self, qtbot, page):
        super().__init__(qtbot, page.widget)
        self.page = page
        self.ended()
        self.press("More settings")  # which most users do not need, and many tests

    def ended(self):
        """Wait until nothing is read, computed or evaluated."""
        self.qtbot.waitUntil(lambda: not self.page.is_busy)

    # -- set-up --------------------------------------------------------------------------------------------------

    def add(self, kind, path):
        """Add a file to the "Suites" or "Models", which ticks it."""
        self.press(f"{kind}: Add file…")
        self.pick_file(path)

    def tick(self, name, *words):
        """Tick exactly the rows with these words."""
        model = self.find(name).model()
        for row, (text,) in enumerate(self.rows(name)):
            state = Qt.CheckState.Checked if text in words else Qt.CheckState.Unchecked
            if model.index(row, 0).data(Qt.ItemDataRole.CheckStateRole) is not None:
                model.setData(model.index(row, 0), state, Qt.ItemDataRole.CheckStateRole)

    def is_ticked(self, name, words):
        model = self.find(name).model()
        row = next(row for row, (text, *_rest) in enumerate(self.rows(name)) if text == words)
        return model.index(row, 0).data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked

    def vary(self, axis, *words):
        """Tick exactly these values of an axis."""
        for box in self.named(f"{axis}: ", QCheckBox):
            if box.isChecked() != (box.text() in words):
                box.click()

    def set_up(self, suite, *, constraints=("Off",), models=("scripted.gguf",), trials=2):
        """Choose exactly that suite, GLYPH and, if any are named, these models."""
        self.add("Suites", suite)
        self.qtbot.waitUntil(lambda: [suite.stem] in [row[:1] for row in self.rows(SUITES)])
        self.tick(SUITES, suite.stem)
        for name in models:
            self.add("Models", suite.parent / name)
        if models:
            self.tick(MODELS, *(name.removesuffix(".gguf") for name in models))
        self.vary("Notation", "GLYPH")
        self.vary("Constraint", *constraints)
        self.write("Trials", trials)
        self.until_can("Evaluate")

    def evaluate(self):
        self.press("Evaluate")
        self.ended()
        return newest()

    # -- results -------------------------------------------------------------------------------------------------

    def open(self, path):
        self.page.open_result(path)
        self.ended()

    def cell(self, row, column):
        """Choose a cell of the result."""
        table = self.find(TABLE)
        table.setCurrentIndex(table.model().index(row, column))

    def open_wrong_run(self):
        """Open the first run behind the cell of the first scenario in the second arm."""
        self.cell(len(self.rows(TABLE)) - 1, 1)
        self.find(RUNS).setCurrentIndex(self.find(RUNS).model().index(0, 0))
        self.key(RUNS, "Return")

    def error(self):
        """The message of the one error that the page showed."""
        (error,) = self.page.context.errors
        self.page.context.errors.clear()
        return "\n".join(explain(error))


def newest():
    """The result that was written last."""
    return ResultFolder.open(max(places().results.iterdir(), key=lambda path: path.stat().st_mtime_ns))


def evaluate_page(open_page, qtbot, opener=good, **options):
    """The page with all its initial data read."""
    page = open_page(PageId.EVALUATE, opener, **options)
    return page, EvalScreen(qtbot, page)
