"""Debugging a server on the servers' page: ping, requests, roots, log level, updates and changed tools."""

from __future__ import annotations

import json
import re
import sys
import threading

import msgspec
import pytest
from PySide6.QtGui import QGuiApplication

from glyphscope.store import load_servers, places
from glyphscope.tools.mcp.log import HIDDEN, LogEntry
from glyphscope_gui.servers import RequestDialog, RootsDialog, ServerDialog, is_resendable
from glyphscope_gui.shared import WholeTextDialog
from glyphscope_gui.shared.page_ids import PageId
from mcp_servers import SCRIPT
from memory_keyring import memory_keyring
from oauth_http import Browser, oauth_server

pytestmark = pytest.mark.slow


@pytest.fixture
def page(open_page, qtbot, monkeypatch):
    """The page with a server that has resources and log messages, ready; enforcement is not measured."""
    monkeypatch.setattr("glyphscope_gui.servers.presenter.FEW", 0)
    monkeypatch.setattr("glyphscope_gui.servers.presenter.ServersPresenter._prove", lambda _self: None)
    made = open_page(PageId.SERVERS, ready=False)
    servers = made.context.services.servers
    entry = {"command": sys.executable, "args": [str(SCRIPT), "offers=good", "live"]}
    servers.add("mine", entry, allowed=True)
    made.view.list.choose("mine")
    servers.start("mine")
    qtbot.waitUntil(lambda: made.view.tools.model.rowCount() > 0)
    yield made
    assert made.context.errors == []


def source(page):
    return page.context.services.servers.get("mine")


def call(page, tool, arguments=None):
    return source(page).call(tool, arguments or {}, seconds=20, cancel=threading.Event())


def test_ping_shows_the_time_of_the_answer(page, qtbot):
    page.view.card.ping_button.click()
    qtbot.waitUntil(lambda: "ms" in page.view.card.ping_button.text())


def test_capabilities_and_instructions_of_a_server_are_shown(page, qtbot):
    card = page.view.card
    qtbot.waitUntil(lambda: "logging, prompts, resources, tools" in card.about.text())
    card.instructions_button.click()
    dialog = page.context.window.findChild(WholeTextDialog)
    qtbot.waitUntil(lambda: dialog.is_ready and not dialog.is_busy)
    assert dialog.text == "Call echo first."
    dialog.close()


def test_roots_are_edited_stored_and_returned_to_the_server(page, qtbot, tmp_path):
    card, servers = page.view.card, page.context.services.servers
    assert card.roots_button.text() == "Roots…"
    card.roots_button.click()
    dialog = page.context.window.findChild(RootsDialog)
    dialog.add(str(tmp_path / "none"))
    assert "Not a folder" in dialog.problem.text()
    dialog.add(str(tmp_path))
    dialog.add(str(tmp_path))
    dialog.accept()
    assert card.roots_button.text() == "Roots: 1…"
    assert tmp_path.as_uri() in call(page, "roots").content[0].text
    qtbot.waitUntil(lambda: "roots changed" in source(page).server.stderr)
    servers.set_roots("mine", ())
    assert json.loads(call(page, "roots").content[0].text) == {"roots": []}
    servers.set_roots("mine", (str(tmp_path),))
    servers.close()
    assert load_servers(places().servers).known.entries["mine"]["roots"] == [str(tmp_path)]


def test_a_request_of_the_log_is_edited_and_sent_again(page, qtbot):
    log = page.view.log
    call(page, "echo", {"text": "first"})
    qtbot.waitUntil(lambda: any(entry.method == "tools/call" for entry in log.model._rows))
    row = next(at for at, entry in enumerate(log.model._rows) if entry.method == "tools/call")
    log.table.setCurrentIndex(log.model.index(row, 0))
    assert not log.resend_link.isHidden()
    log.copy_link.click()
    assert json.loads(QGuiApplication.clipboard().text())["params"]["arguments"] == {"text": "first"}
    log.resend_link.click()
    dialog = page.context.window.findChild(RequestDialog)
    assert "_meta" not in dialog.params_edit.toPlainText()
    dialog.params_edit.setPlainText("{")
    assert not dialog.send_button.isEnabled() and "JSON object" in dialog.problem.text()
    dialog.params_edit.setPlainText('{"name": "echo", "arguments": {"text": "•••"}}'.replace("•••", HIDDEN))
    assert "secrets" in dialog.problem.text()
    dialog.params_edit.setPlainText('{"name": "echo", "arguments": {"text": "second"}}')
    dialog.send_button.click()
    qtbot.waitUntil(lambda: dialog.response.view is not None)
    assert json.loads(dialog.response.view.pieces[0].text)["content"][0]["text"] == '{"text": "second"}'
    dialog.method_box.setEditText("tools/call")
    dialog.params_edit.setPlainText('{"name": "refused"}')
    dialog.send_button.click()
    qtbot.waitUntil(lambda: dialog.response.view is not None and "-32602" in dialog.response.text)
    dialog.close()


def test_only_whole_requests_that_were_sent_can_be_sent_again():
    sent = LogEntry(number=1, time=0, direction="sent", method="ping", id="1", text='{"method":"ping"}')
    assert is_resendable(sent) and not is_resendable(None)
    for change in ({"direction": "received"}, {"id": ""}, {"method": "initialize"}, {"text": '{"params":{'}):
        fields = {name: getattr(sent, name) for name in sent.__struct_fields__} | change
        assert not is_resendable(LogEntry(**fields)), change


def test_the_log_level_is_set_and_less_severe_messages_are_hidden(page, qtbot):
    log = page.view.log
    log.views.button("notifications").click()
    assert log.sent_menu.isEnabled() and not log.levels_button.isHidden()
    next(action for action in log.sent_menu.actions() if action.data() == "debug").trigger()
    qtbot.waitUntil(lambda: source(page).log_level == "debug")
    call(page, "logs")
    qtbot.waitUntil(lambda: log.model.rowCount() == 9)
    next(action for action in log.shown_menu.actions() if action.data() == "critical").trigger()
    assert log.model.rowCount() == 4 and log.levels_button.text() == "Level: critical ▾"
    page.context.services.servers.restart("mine")
    qtbot.waitUntil(lambda: source(page).phase == "ready" and source(page).server.log_level == "debug")


def test_a_subscribed_resource_is_read_again_after_an_update(page, qtbot):
    view = page.view
    view.show_kind("resources")
    qtbot.waitUntil(lambda: view.resources.model.rowCount() > 0)
    view.resources.choose("note://good")
    qtbot.waitUntil(lambda: not view.resource.subscribe_box.isHidden())
    view.resource.subscribe_box.click()
    qtbot.waitUntil(lambda: view.resource.updates.text() == "No update yet")
    call(page, "touch", {"times": 2})
    qtbot.waitUntil(lambda: "2 updates" in view.resource.updates.text())
    qtbot.waitUntil(lambda: "read, 2 updates" in view.resource.result.text)
    view.resource.subscribe_box.click()
    qtbot.waitUntil(lambda: not view.resource.updates.text() and not page.is_busy)
    assert source(page).server.subscriptions == {}


def test_a_changed_list_of_tools_shows_its_differences_and_ticks_stay(page, qtbot):
    tools = page.view.tools
    tools.model.tick_all(True)
    ticked = len(tools.model.ticked)
    call(page, "shift")
    qtbot.waitUntil(lambda: not tools.changes.isHidden())
    assert tools.changes.text().endswith("1 changed (echo: description), 1 added (new), 1 removed (wait)")
    qtbot.waitUntil(lambda: len(tools.model.ticked) == ticked - 1)
    tools.changes_link.click()
    dialog = page.context.window.findChild(WholeTextDialog)
    qtbot.waitUntil(lambda: dialog.is_ready and not dialog.is_busy)
    assert '+  "description": "Says it twice.",' in dialog.text
    dialog.close()
    page.view.list.choose("demo")
    assert tools.changes.isHidden()


def test_a_server_that_is_connected_again_with_other_tools_says_since_when(page, qtbot):
    source(page).config = msgspec.structs.replace(source(page).config, env={"SHIFTED": "yes"})
    page.context.services.servers.restart("mine")
    tools = page.view.tools
    qtbot.waitUntil(lambda: not tools.changes.isHidden())
    assert re.fullmatch(
        r"Since 20\d\d-\d\d-\d\d \d\d:\d\d: 1 changed .echo: description., 1 added.*", tools.changes.text()
    )


# -- signing in -----------------------------------------------------------------------------------------------------


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
    dialog = ServerDialog(())
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.variables_edit.isVisible() and not dialog.headers_edit.isVisible()
    dialog.command_edit.setText("https://example.com/mcp")
    assert dialog.headers_edit.isVisible() and not dialog.variables_edit.isVisible()
    dialog.headers_edit.setPlainText("no colon")
    assert not dialog.save_button.isEnabled() and "Name: value" in dialog.problem.text()
    dialog.headers_edit.setPlainText("X-Key: a: b")
    assert dialog.entry()[1] == {"url": "https://example.com/mcp", "headers": {"X-Key": "a: b"}}


def test_a_command_is_typed_at_once_and_the_chosen_way_is_not_chosen_again(qtbot):
    """Choosing the form again read the empty JSON, and said JSON above the form."""
    dialog = ServerDialog(())
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.focusWidget() is dialog.command_edit
    dialog.ways.button("form").click()
    assert dialog.ways.value == "form" and not dialog.problem.text()
