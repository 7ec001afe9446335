"""Resources and prompts of a server on the official SDK, and its requests to the user, on the servers' page."""

import sys
from pathlib import Path

import pytest

from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.servers import Suggestions
from glyphscope_gui.shared.page_ids import PageId
from mcp_servers import SCRIPT
from png import PNG

SDK = Path(__file__).parent.parent / "support" / "sdk_server.py"
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
SAID = "Woolly.\nAnd tall."

pytestmark = pytest.mark.slow


@pytest.fixture
def serve(open_page, screen_of):
    """Open the page with that server; return the page and its screen, once it is ready."""
    made = []

    def build(*arguments):
        page = open_page(PageId.SERVERS, lambda *_a, **_o: ScriptedModel(SAID, template=TEMPLATE))
        servers = page.context.services.servers
        entry = {"command": sys.executable, "args": [str(each) for each in arguments]}
        page.view.list.choose(servers.add("mine", entry, allowed=True))
        servers.start("mine")
        made.append(page)
        screen = screen_of(page)
        screen.until(
            lambda: page.view.tools.model.rowCount() > 0, lambda: page.view.resources.model.total > 2
        )
        return page, screen

    yield build
    assert made[0].context.errors == []


@pytest.fixture
def page(serve):
    return serve(SDK)[0]


@pytest.fixture
def screen(page, screen_of):
    screen = screen_of(page)
    screen.until(lambda: page.view.prompts.model.total > 0, lambda: page.view.resources.model.total == 4)
    return screen


def fetched(page, screen, panel):
    screen.until(panel.call_button.isEnabled)
    panel.call_button.click()
    screen.until(lambda: not page.is_busy)
    return panel.result


# -- resources and prompts -----------------------------------------------------------------------------------------


def test_resources_are_read_and_saved_and_prompts_got(page, screen, tmp_path):
    view = page.view
    screen.press("Resources")
    assert screen.named("Resources of the server") and not screen.named("Tools of the server")
    view.resources.choose("note://today")
    result = fetched(page, screen, view.resource)
    assert (result.pill.words, result.view.pieces[0].kind) == ("succeeded", "text")
    assert "https://example.com/never-opened" in result.text
    view.resources.choose("image://dot")
    (piece,) = fetched(page, screen, view.resource).view.pieces
    assert piece.image.width() == 1 and piece.file.name == "dot.png" and screen.can("Save as…")
    page.offers.resources.save(tmp_path / "dot.png", piece.file.data)
    screen.until("Saved: dot.png")
    assert (tmp_path / "dot.png").read_bytes() == PNG
    view.resources.choose("note://broken")
    assert "does not match the declaration" in fetched(page, screen, view.resource).pill.words
    view.resources.choose("note://{day}/{topic}")
    screen.write("day", "1 May")
    screen.write("topic", "tea")
    assert "note://1%20May/tea" in fetched(page, screen, view.resource).text
    screen.press("Prompts")
    view.prompts.choose("review")
    screen.until("Required: code")
    screen.write("code", "x = 1")
    result = fetched(page, screen, view.prompt)
    assert "Review this in a" in result.text and result.view.pieces[0].title.startswith("user")


def test_values_that_the_server_proposes_are_offered_and_inserted_unchanged(page, screen, qtbot):
    screen.press("Prompts")
    page.view.prompts.choose("review")
    field = screen.find("style")
    suggestions = field.findChild(Suggestions)
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    qtbot.keyClicks(field, "st")
    screen.until(lambda: suggestions.list is not None and suggestions.list.isVisible())
    assert [suggestions.list.item(n).text() for n in range(2)] == ["strict", "st⟨U+202E⟩art"]
    with qtbot.waitSignal(
        page.view.prompt.form.checked
    ):  # it shows words where the server's are expected below
        screen.key("style", "Down", "Return")
    assert field.toPlainText() == "st\u202eart" and not suggestions.list.isVisible()
    code = screen.find("code")
    code.setFocus()
    qtbot.waitUntil(code.hasFocus)
    screen.key("code", "Ctrl+Space")
    screen.until("The server proposes no values.")
    assert code.toPlainText() == ""


def test_a_list_that_grows_is_shown_and_another_server_has_its_own(page, screen):
    view = page.view
    view.tools.choose("grow")
    screen.until(view.panel.call_button.isEnabled)
    view.panel.call_button.click()
    screen.until(lambda: view.resources.model.row_of("note://new") >= 0)
    screen.press("Show log")
    screen.press("Notifications")
    rows = screen.rows("Protocol messages")
    assert {row[2] for row in rows} == {
        "resources/list_changed",
        "prompts/list_changed",
        "message",
        "progress",
    }
    assert {"info: the lists have grown", "1 of 2 · half"} <= {row[5] for row in rows}
    view.list.choose("demo")
    screen.press("Resources")
    assert view.resources.model.total == 0 and "offers no resources" in screen


def test_an_address_with_invisible_characters_is_shown_with_signs_and_can_be_read(serve):
    page, screen = serve(SCRIPT, "offers=bad")
    screen.press("Resources")
    screen.until("resource 1: it has no uri.")
    page.view.resources.choose("a:\u202e\x1f")
    assert "⟨U+202E⟩" in page.view.resource.heading.title.text()
    assert "read" in fetched(page, screen, page.view.resource).text


# -- requests to the user: answered by a click only ----------------------------------------------------------------


@pytest.fixture
def asked(page, screen):
    "Call a tool and wait until its request is shown."

    def call(tool):
        page.view.tools.choose(tool)
        screen.until(page.view.panel.call_button.isEnabled)
        page.view.panel.call_button.click()
        screen.until(page.view.question.isVisible)
        return screen

    return call


def answer(page, screen, button=None):
    if button is not None:
        button.click()
    screen.until(lambda: not page.calls.jobs.is_busy)
    assert page.view.question.isHidden()
    return page.view.panel.result.view.pieces[0].text


def test_a_form_an_address_and_a_prompt_for_a_model_are_answered_by_clicks_only(page, asked, monkeypatch):
    monkeypatch.setattr("PySide6.QtGui.QDesktopServices.openUrl", lambda _url: pytest.fail("opened"))
    card, screen = page.view.question, asked("visit")
    assert card.shown.toPlainText() == "https://example.com/pay?token=1"
    assert answer(page, screen, card.send_button) == "accept"
    asked("think")
    for words in ("at most 8 tokens", "system: Be brief.", "A word on llamas?"):
        assert words in card.shown.toPlainText()
    assert not card.send_button.isEnabled() and card.answer_edit.toPlainText() == ""
    card.generate_button.click()
    screen.until(lambda: card.answer_edit.toPlainText() == "Woolly.")
    assert page.calls.jobs.is_busy, "sent without the user"
    assert answer(page, screen, card.send_button) == "scripted says Woolly."
    asked("think")
    assert "rejected" in answer(page, screen, card.decline_button)
    asked("book")
    assert "Where to?" in screen
    screen.until("city, nights")
    assert not card.send_button.isEnabled()
    screen.write("city", "Constantinople")
    screen.write("nights", "2")
    screen.until(lambda: screen.named("Send anyway") and screen.named("impossible"))
    screen.write("city", "Rome")
    screen.until(lambda: not screen.named("impossible") and card.send_button.text() == "Send")
    assert answer(page, screen, card.send_button) == "accept: Rome, 2"
    asked("book")
    assert answer(page, screen, card.decline_button) == "decline"
    asked("book")
    assert answer(page, screen, card.cancel_button) == "cancel"


def test_a_request_is_announced_on_another_page_ends_with_its_call_and_many_are_declined_at_once(page, asked):
    screen = asked("book")
    page.view.panel.cancel_button.click()
    screen.until(page.view.question.isHidden)
    asked("nag")
    screen.until(page.view.question.refuse_all.isVisible, lambda: len(page.questions.open) == 8)
    page.view.question.refuse_all.click()
    words = answer(page, screen)
    assert words.count("decline") == 8 and words.count("MCPError") == 4
    assert page.context.offers == []
    page.context.navigator.current = PageId.PLAYGROUND
    asked("book")
    assert any("is waiting for your response" in words for words, _button, _do in page.context.offers)
    page.context.services.servers.stop("mine")
    screen.until(page.view.question.isHidden)
