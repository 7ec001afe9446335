"""Signing in at a server, and headers of one, on the servers' page."""

import pytest
from PySide6.QtGui import QGuiApplication

from glyphscope_gui.servers import AddServerDialog
from glyphscope_gui.shared.page_ids import PageId
from memory_keyring import memory_keyring
from oauth_http import Browser, oauth_server

pytestmark = pytest.mark.slow
OPEN = "glyphscope_gui.servers.card.QDesktopServices.openUrl"


@pytest.fixture
def guarded(open_page, qtbot):
    """The page with a server that requires a sign-in."""
    with memory_keyring() as ring, oauth_server() as at:
        page = open_page(PageId.SERVERS, ready=False)
        servers = page.context.services.servers
        name = servers.add("guarded", {"url": at.url}, allowed=True)
        page.view.list.choose(name)
        servers.start(name)
        qtbot.waitUntil(page.view.card.sign_in_button.isVisible, timeout=30_000)
        yield page, servers.get(name), at, ring
        servers.stop(name)
        qtbot.waitUntil(lambda: servers.get(name).phase in ("stopped", "failed", "ended"))
        assert page.context.errors == []


def test_the_address_is_shown_and_a_click_opens_the_browser(guarded, qtbot, monkeypatch):
    page, source, at, ring = guarded
    browser = Browser()
    monkeypatch.setattr(OPEN, lambda url: browser(url.toString(url.ComponentFormattingOption.FullyEncoded)))
    card, notice = page.view.card, page.view.notice
    assert "Sign in" in card.problem.text()
    card.sign_in_button.click()
    qtbot.waitUntil(notice.isVisible, timeout=30_000)
    assert "sign in at 127.0.0.1" in notice.label.text() and browser.opened == []
    notice.action.click()
    qtbot.waitUntil(lambda: source.phase == "ready", timeout=30_000)
    qtbot.waitUntil(card.sign_in_button.isHidden)
    assert "first-secret-token" in ring.passwords[f"mcp sign-in {at.url}"]
    assert "first-secret-token" not in "".join(entry.text for entry in source.server.log.entries)
    qtbot.waitUntil(lambda: page.view.tools.model.rowCount() == 1)


def test_without_a_browser_the_address_can_be_copied_and_does_not_widen_the_page(guarded, qtbot, monkeypatch):
    page, source, _at, _ring = guarded
    monkeypatch.setattr(OPEN, lambda _url: False)
    page.view.card.sign_in_button.click()
    notice = page.view.notice
    qtbot.waitUntil(notice.isVisible, timeout=30_000)
    notice.action.click()
    assert "No browser" in notice.label.text() and "/authorize?" in notice.label.toolTip()
    notice.action.click()
    assert "/authorize?" in QGuiApplication.clipboard().text()
    notice.show_words(QGuiApplication.clipboard().text())
    assert notice.minimumSizeHint().width() < 400
    page.view.card.stop_button.click()
    qtbot.waitUntil(lambda: source.phase != "starting", timeout=30_000)
    qtbot.waitUntil(notice.isHidden)


def test_headers_are_written_for_an_address_and_variables_for_a_command(qtbot):
    dialog = AddServerDialog(())
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.variables_edit.isVisible() and not dialog.headers_edit.isVisible()
    dialog.command_edit.setText("https://example.com/mcp")
    assert dialog.headers_edit.isVisible() and not dialog.variables_edit.isVisible()
    dialog.headers_edit.setPlainText("no colon")
    assert not dialog.add_button.isEnabled() and "Name: value" in dialog.problem.text()
    dialog.headers_edit.setPlainText("X-Key: a: b")
    assert dialog.entry()[1] == {"url": "https://example.com/mcp", "headers": {"X-Key": "a: b"}}
