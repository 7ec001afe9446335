"""Resources and prompts on the servers' page, of a server on the official SDK."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from glyphscope_gui.servers.call_form import Suggestions
from glyphscope_gui.shared.page_ids import PageId
from mcp_servers import SCRIPT
from png import PNG

SDK = Path(__file__).parent.parent / "support" / "sdk_server.py"

pytestmark = pytest.mark.slow


@pytest.fixture
def page(open_page, qtbot):
    made = open_page(PageId.SERVERS, ready=False)
    servers = made.context.services.servers
    entry = {"command": sys.executable, "args": [str(SDK)]}
    name = servers.add("mine", entry, allowed=True)
    made.view.list.choose(name)
    servers.start(name)
    qtbot.waitUntil(lambda: made.view.prompts.model.total > 0, timeout=60_000)
    qtbot.waitUntil(lambda: made.view.resources.model.total == 4, timeout=60_000)
    yield made
    assert made.context.errors == []


def fetched(qtbot, page, panel):
    qtbot.waitUntil(panel.call_button.isEnabled)
    panel.call_button.click()
    qtbot.waitUntil(lambda: not page.is_busy, timeout=30_000)
    return panel.result


def test_resources_are_read_and_saved_and_prompts_got(page, qtbot, tmp_path):
    view = page.view
    view.kinds.button("resources").click()
    assert view.resources.isVisible() and view.resource.isVisible() and not view.panel.isVisible()
    view.resources.choose("note://today")
    result = fetched(qtbot, page, view.resource)
    assert (result.pill.words, result.view.pieces[0].kind) == ("succeeded", "text")
    assert "https://example.com/never-opened" in result.text
    view.resources.choose("image://dot")
    (piece,) = fetched(qtbot, page, view.resource).view.pieces
    assert piece.image.width() == 1 and piece.file.name == "dot.png"
    assert result.findChild(QPushButton, "saveContentButton").isVisible()
    page.offers.resources.save(tmp_path / "dot.png", piece.file.data)
    qtbot.waitUntil(lambda: "Saved: dot.png" in result.figures.text())
    assert (tmp_path / "dot.png").read_bytes() == PNG
    view.resources.choose("note://broken")
    assert "does not match the declaration" in fetched(qtbot, page, view.resource).pill.words
    view.resources.choose("note://{day}/{topic}")
    for name, text in (("day", "1 May"), ("topic", "tea")):
        view.resource.form.rows.by_name[name].field.setPlainText(text)
    assert "note://1%20May/tea" in fetched(qtbot, page, view.resource).text
    view.kinds.button("prompts").click()
    view.prompts.choose("review")
    qtbot.waitUntil(lambda: "Required: code" in view.prompt.words.text())
    view.prompt.form.rows.by_name["code"].field.setPlainText("x = 1")
    assert "Review this in a" in fetched(qtbot, page, view.prompt).text
    assert fetched(qtbot, page, view.prompt).view.pieces[0].title.startswith("user")


def test_values_that_the_server_proposes_are_offered_and_inserted_unchanged(page, qtbot):
    view = page.view
    view.kinds.button("prompts").click()
    view.prompts.choose("review")
    field, words = view.prompt.form.rows.by_name["style"].field, view.prompt.words
    suggestions = field.findChild(Suggestions)
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    qtbot.keyClicks(field, "st")
    qtbot.waitUntil(lambda: suggestions.list is not None and suggestions.list.isVisible(), timeout=10_000)
    assert [suggestions.list.item(n).text() for n in range(2)] == ["strict", "st⟨U+202E⟩art"]
    with qtbot.waitSignal(view.prompt.form.checked):  # it shows words where the server's are expected below
        qtbot.keyClick(field, Qt.Key.Key_Down)
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.toPlainText() == "st\u202eart" and not suggestions.list.isVisible()
    code = view.prompt.form.rows.by_name["code"].field
    code.setFocus()
    qtbot.waitUntil(code.hasFocus)
    qtbot.keyClick(code, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: words.text() == "The server proposes no values.", timeout=10_000)
    assert code.toPlainText() == ""


def test_a_list_that_grows_is_shown_and_another_server_has_its_own(page, qtbot):
    view = page.view
    view.tools.choose("grow")
    qtbot.waitUntil(view.panel.call_button.isEnabled)
    view.panel.call_button.click()
    qtbot.waitUntil(lambda: view.resources.model.row_of("note://new") >= 0, timeout=30_000)
    view.log.views.button("notifications").click()
    model = view.log.model
    methods = {model.row(row).method for row in range(model.rowCount())}
    assert methods == {
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/message",
        "notifications/progress",
    }
    shown = [model.index(row, 5).data(Qt.ItemDataRole.DisplayRole) for row in range(model.rowCount())]
    assert "info: the lists have grown" in shown and "1 of 2 · half" in shown
    page.view.list.choose("demo")
    assert view.resources.model.total == 0 and "offers no resources" in view.resources.empty.text()


def test_an_address_with_invisible_characters_is_shown_with_signs_and_can_be_read(open_page, qtbot):
    page = open_page(PageId.SERVERS, ready=False)
    servers, view = page.context.services.servers, page.view
    servers.add("odd", {"command": sys.executable, "args": [str(SCRIPT), "offers=bad"]}, allowed=True)
    view.list.choose("odd")
    servers.start("odd")
    qtbot.waitUntil(lambda: view.resources.model.total == 3, timeout=30_000)
    view.kinds.button("resources").click()
    assert "resource 1: it has no uri." in view.resources.problem.text()
    view.resources.choose("a:\u202e\x1f")
    assert "⟨U+202E⟩" in view.resource.heading.title.text()
    assert "read" in fetched(qtbot, page, view.resource).text
    assert page.context.errors == []
