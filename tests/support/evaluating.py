"""Models and shorthands for the tests of the evaluate page."""

from __future__ import annotations

from PySide6.QtCore import Qt

from glyphscope.models import ScriptedModel
from glyphscope_gui.shared.errors import explain
from made_results import GOOD

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


def set_up(qtbot, page, suite, models=("scripted",), **changes):
    """Choose exactly that suite, these models and GLYPH without a constraint."""
    view = page.view
    page._add_suites([suite])
    qtbot.waitUntil(lambda: str(suite) in view.suites_model.values)
    for name in models:
        page._add_models([suite.parent / name])
    plain = {"notations": ("glyph",), "constraints": ("off",), "trials": 2}
    paths = tuple(str(suite.parent / name) for name in models)
    view.setup.show_matrix({"suites": (str(suite),), "models": paths, **plain, **changes})
    view.setup.changed.emit()
    qtbot.waitUntil(view.setup.start.isEnabled)


def ended(qtbot, page):
    qtbot.waitUntil(lambda: not page.is_busy)


def open_it(qtbot, page, path):
    page.open_result(path)
    ended(qtbot, page)
    return page.view.result


def shown_error(page):
    """Return the message of the one error that the page showed."""
    (error,) = page.context.errors
    page.context.errors.clear()
    return "\n".join(explain(error))


def open_wrong_run(qtbot, result):
    row = next(n for n in range(result.model.rowCount()) if result.model.row(n).kind == "scenario")
    result.table.choose(row, 1)
    result.runs.choose(0)
    result.runs.setFocus()
    qtbot.keyClick(result.runs, Qt.Key.Key_Return)


def open_it_while_busy(qtbot, page, path):
    page.open_result(path)
    qtbot.waitUntil(lambda: page.result_presenter.result.path == path)
    return page.view.result
