"""The table of constraints on the grammar page: what each engine enforces, and engines that are installed for it."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMessageBox

from engine_environment import LAX, environment
from glyphscope.explain.proof.outside import installed
from glyphscope.registry import Tool
from glyphscope_gui.context import LackingPlace
from glyphscope_gui.enforcement.table import EnforcementCell, EnforcementRow
from grammar_window import show

pytestmark = pytest.mark.slow

GOOD = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'
ENFORCEMENT = "Enforcement of each constraint by each engine"


@pytest.fixture
def screen(grammar, screen_of):
    return screen_of(grammar)


def enforcement(screen, column=1):
    """Return the words of the table for the largest number of results."""
    words = [row[0] for row in screen.rows(ENFORCEMENT)] if screen.named(ENFORCEMENT) else []
    row = next((n for n, each in enumerate(words) if each.endswith("max_results · maximum 100")), None)
    return None if row is None else [*screen.spoken(ENFORCEMENT)[row], None][column]


def test_the_enforcement_of_a_constraint_and_a_leak_that_an_edit_causes_are_shown(grammar, screen, qtbot):
    view, badges = grammar.view, grammar.context.panels
    with qtbot.waitSignal(grammar.bench.proved, check_params_cb=lambda _found, done: done):
        pass
    rule = next(r for r, o in grammar.bench.origins.items() if o.pointer == "/properties/max_results")
    view.edit.go_to_rule(rule)
    screen.until(lambda: enforcement(screen) == "enforced")
    assert badges.badges["search", "/properties/max_results/maximum"] == "enforced"
    view.copy_link.click()
    place = view.edit.text().index('"100"')
    view.edit.select(place, place + 5)
    view.edit.insertPlainText('"1" [0-9]{2}')
    screen.until(lambda: enforcement(screen) == "accepts 101")
    assert len(screen.rows(ENFORCEMENT)[0]) == 2
    screen.until(lambda: bool(view.differences.model.rows))
    texts = [text for _, text in view.differences.model.rows]
    assert texts == ['{action="search" max_results=101 query="a"}']
    show(qtbot, grammar, GOOD)
    screen.until(lambda: not grammar.is_busy)
    assert (
        not screen.rows(ENFORCEMENT)
        and "none of the tools" in screen.named(ENFORCEMENT)[0].accessibleDescription()
    )
    grammar.context.project.set_options(constraint="off")
    assert badges.badges["search", "/properties/max_results/maximum"] == "checked"


UNIQUE = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
TICKET = Tool(
    "ticket", parameters={"type": "object", "properties": {"labels": UNIQUE, "n": {"type": "integer"}}}
)


def test_the_constraints_that_are_not_enforced_are_counted_and_can_be_shown_alone(grammar, screen, qtbot):
    grammar.context.project.tools.add(TICKET)
    screen.until(
        lambda: screen.read("Not enforced") == "Not enforced 1"
    )  # by the grammar itself, before any test
    with qtbot.waitSignal(grammar.bench.proved, check_params_cb=lambda _found, done: done):
        pass
    assert screen.read("Not enforced") == "Not enforced 1" and screen.read("All").removeprefix("All ") > "1"
    screen.press("Not enforced")
    assert [row[0] for row in screen.rows(ENFORCEMENT)] == ["ticket · labels · uniqueItems true"]
    assert screen.spoken(ENFORCEMENT)[0][1] == "checked after"
    screen.press("All", "Step")
    grammar.go_to(LackingPlace())
    assert [row[0] for row in screen.rows(ENFORCEMENT)] == ["ticket · labels · uniqueItems true"]
    rows = (
        EnforcementRow("ticket", f"/{state}", "pattern", state, {"mask": EnforcementCell(state)})
        for state in ("enforced", "checked", "unknown", "unknown")
    )
    grammar.bench.proved.emit((*rows,), True)
    assert screen.read("Not enforced") == "Not enforced 1, unknown 2"


def test_an_engine_of_another_server_is_installed_after_consent_and_has_a_column(
    grammar, screen, qtbot, monkeypatch
):
    install = "glyphscope_gui.enforcement.other_engines.install"
    monkeypatch.setattr(install, lambda folder, name: environment(folder, LAX, name))
    folder = grammar.context.services.places.engines
    with qtbot.waitSignal(grammar.bench.proved, check_params_cb=lambda _found, done: done):
        pass
    screen.choose("Other engines", "Install xgrammar")
    question = screen.dialog(QMessageBox)
    assert "about 125 MB" in question.root.informativeText() and installed(folder) == ()
    question.press("Install")
    screen.until(lambda: enforcement(screen, 3) == enforcement(screen, 4) == "accepts 101")
    screen.choose("Other engines", "xgrammar")
    screen.until(lambda: enforcement(screen, 3) == "accepts 101" and enforcement(screen, 4) is None)
