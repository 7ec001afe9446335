"""How the tests of the grammar page write, look and wait in it."""

from __future__ import annotations

from glyphscope.sessions import GrammarExample
from glyphscope_gui.shared.grammar_roles import PILL_ROLE


def show(qtbot, window, text):
    """The user's own text, checked."""
    window.parts.project.grammar.open_text(text, "")
    return checked(qtbot, window)


def checked(qtbot, window):
    qtbot.waitUntil(
        lambda: (
            window.grammar.bench.last is not None
            and window.grammar.bench.last.text == window.parts.project.grammar.text
        )
    )
    return window.grammar.bench.last


def put_cursor(edit, text, offset=0):
    cursor = edit.textCursor()
    cursor.setPosition(edit.text().index(text) + offset)
    edit.setTextCursor(cursor)


def add(window, text, matches=True):
    document = window.parts.project.grammar
    document.set_examples((*document.work.examples, GrammarExample(text, matches)))


def result(window, row):
    return window.examples.index(row, 2).data(PILL_ROLE)
