"""Requests of a server to the user: forms, addresses and sampling, answered by a click only."""

import sys
from pathlib import Path

import pytest

from glyphscope.models import ScriptedModel
from glyphscope_gui.shared.page_ids import PageId

SDK = Path(__file__).parent.parent / "support" / "sdk_server.py"
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
SAID = "Woolly.\nAnd tall."

pytestmark = pytest.mark.slow


@pytest.fixture
def page(open_page, qtbot):
    made = open_page(PageId.SERVERS, lambda *_a, **_o: ScriptedModel(SAID, template=TEMPLATE))
    servers = made.context.services.servers
    name = servers.add("mine", {"command": sys.executable, "args": [str(SDK)]}, allowed=True)
    made.view.list.choose(name)
    servers.start(name)
    qtbot.waitUntil(lambda: made.view.tools.model.rowCount() > 0, timeout=60_000)
    yield made
    assert made.context.errors == []


@pytest.fixture
def asked(page, qtbot):
    "Call a tool and wait until its request is shown."

    def call(tool):
        page.view.tools.choose(tool)
        qtbot.waitUntil(page.view.panel.call_button.isEnabled)
        page.view.panel.call_button.click()
        qtbot.waitUntil(page.view.question.isVisible, timeout=30_000)
        return page.view.question

    return call


def answer(qtbot, page):
    qtbot.waitUntil(lambda: not page.calls.jobs.is_busy, timeout=30_000)
    assert page.view.question.isHidden()
    return page.view.panel.result.view.pieces[0].text


def test_a_form_an_address_and_a_prompt_for_a_model_are_answered_by_clicks_only(
    page, asked, qtbot, monkeypatch
):
    monkeypatch.setattr("PySide6.QtGui.QDesktopServices.openUrl", lambda _url: pytest.fail("opened"))
    card = asked("visit")
    assert card.shown.toPlainText() == "https://example.com/pay?token=1"
    card.send_button.click()
    assert answer(qtbot, page) == "accept"
    card = asked("think")
    shown = card.shown.toPlainText()
    assert "at most 8 tokens" in shown and "system: Be brief." in shown and "A word on llamas?" in shown
    assert not card.send_button.isEnabled() and card.answer_edit.toPlainText() == ""
    card.generate_button.click()
    qtbot.waitUntil(lambda: card.answer_edit.toPlainText() == "Woolly.", timeout=30_000)
    assert page.calls.jobs.is_busy, "sent without the user"
    card.send_button.click()
    assert answer(qtbot, page) == "scripted says Woolly."
    asked("think").decline_button.click()
    assert "rejected" in answer(qtbot, page)
    card = asked("book")
    assert "Where to?" in card.message.text()
    qtbot.waitUntil(lambda: "city, nights" in card.words.text())
    assert not card.send_button.isEnabled()
    card.form.rows.by_name["city"].field.setPlainText("Constantinople")
    card.form.rows.by_name["nights"].field.setPlainText("2")
    qtbot.waitUntil(lambda: card.form.rows.by_name["city"].pill.status == "impossible")
    assert card.send_button.text() == "Send anyway"
    card.form.rows.by_name["city"].field.setPlainText("Rome")
    qtbot.waitUntil(
        lambda: card.form.rows.by_name["city"].pill.status == "holds" and card.send_button.text() == "Send"
    )
    card.send_button.click()
    assert answer(qtbot, page) == "accept: Rome, 2"
    asked("book").decline_button.click()
    assert answer(qtbot, page) == "decline"
    asked("book").cancel_button.click()
    assert answer(qtbot, page) == "cancel"


def test_a_request_is_announced_on_another_page_ends_with_its_call_and_many_are_declined_at_once(
    page, asked, qtbot
):
    asked("book")
    page.view.panel.cancel_button.click()
    qtbot.waitUntil(page.view.question.isHidden, timeout=30_000)
    card = asked("nag")
    qtbot.waitUntil(card.refuse_all.isVisible)
    qtbot.waitUntil(lambda: len(page.questions.open) == 8, timeout=30_000)
    card.refuse_all.click()
    words = answer(qtbot, page)
    assert words.count("decline") == 8 and words.count("MCPError") == 4
    assert page.context.offers == []
    page.context.navigator.current = PageId.PLAYGROUND
    asked("book")
    assert any("is waiting for your response" in words for words, _button, _do in page.context.offers)
    page.context.services.servers.stop("mine")
    qtbot.waitUntil(page.view.question.isHidden, timeout=30_000)
