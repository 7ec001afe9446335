"""Helpers of the grammar page's tests to write, look and wait in it; `page` is its presenter."""

from __future__ import annotations

from glyphscope.store import GrammarExample
from glyphscope_gui.shared.table_model import PILL_ROLE


def show(qtbot, page, text):
    """Open the text on the page and wait for its check."""
    page.context.project.grammar.open_text(text, "")
    return checked(qtbot, page)


def checked(qtbot, page):
    qtbot.waitUntil(
        lambda: page.bench.last is not None and page.bench.last.text == page.context.project.grammar.text
    )
    return page.bench.last


def put_cursor(edit, text, offset=0):
    cursor = edit.textCursor()
    cursor.setPosition(edit.text().index(text) + offset)
    edit.setTextCursor(cursor)


def add(page, text, matches=True):
    document = page.context.project.grammar
    document.set_examples((*document.work.examples, GrammarExample(text, matches)))


def result(page, row):
    return page.examples.index(row, 2).data(PILL_ROLE)
