"""The servers' page in the whole window: with real servers over stdio, good ones and bad ones."""

from __future__ import annotations

import json
import sys
import threading

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox

from glyphscope.events import ApprovalRule, ToolResult
from glyphscope.models import ScriptedModel
from glyphscope.registry import Tool
from glyphscope.sessions import load_servers, places
from glyphscope_gui.servers import tool_model as columns
from glyphscope_gui.servers.dialogs import AddServerDialog, ImportServersDialog
from glyphscope_gui.servers.list_model import STATE_ROLE
from glyphscope_gui.servers.presenter import SERVERS
from mcp_servers import SCRIPT

pytestmark = pytest.mark.slow  # whole windows, with servers

CALL = '{action="search" query="AI news" max_results=10}'


def entry(*behaviour, **more):
    return {"command": sys.executable, "args": [str(SCRIPT), *behaviour], **more}


@pytest.fixture
def window(open_window):
    made = open_window(lambda _name, **_options: ScriptedModel(CALL))
    made.pages.show(SERVERS)
    return made


@pytest.fixture
def connected(window, qtbot):
    """Add a server, start it and wait until its tools are listed."""

    def build(*behaviour, **more):
        name = window.parts.servers.add("mine", entry(*behaviour, **more), allowed=True)
        window.servers_page.list.choose(name)
        window.parts.servers.start(name)
        qtbot.waitUntil(lambda: window.servers_page.tools.model.rowCount() > 0)
        return window

    return build


def call_it(qtbot, window, tool, **fields):
    page = window.servers_page
    page.tools.choose(tool)
    for name, text in fields.items():
        page.panel.form.field(name).setPlainText(text)
    qtbot.waitUntil(page.panel.call_button.isEnabled)
    page.panel.call_button.click()
    qtbot.waitUntil(lambda: not window.servers.calls.is_busy)
    return page.panel.result


# -- which servers there are -------------------------------------------------------------------------------------


def test_a_server_that_was_written_by_hand_does_not_start(window, qtbot):
    page = window.servers_page
    page.add_button.click()
    dialog = window.findChild(AddServerDialog)
    assert not dialog.add_button.isEnabled()
    dialog.command_edit.setText(f'{sys.executable} {SCRIPT} "')
    assert "cannot be read" in dialog.problem.text()
    dialog.command_edit.setText(f"{sys.executable} {SCRIPT}")
    dialog.name_edit.setText("mine")
    dialog.variables_edit.setPlainText("TOKEN=very-secret-word")
    assert dialog.add_button.isEnabled()
    dialog.add_button.click()
    known = window.parts.servers.get("mine")
    qtbot.waitUntil(lambda: known.source.phase == "ready")
    qtbot.waitUntil(lambda: "ready" in page.card.pill.words)
    assert page.card.consent.isHidden()
    assert "TOKEN" in page.card.about.text()
    assert "very-secret-word" not in page.card.about.text() + page.card.identity.text()
    window.parts.servers.close()
    assert load_servers(places().servers).known.entries["mine"]["env"] == {"TOKEN": "very-secret-word"}


def test_an_imported_command_runs_before_it_is_allowed(window, qtbot, tmp_path):
    witness, page = tmp_path / "ran", window.servers_page
    page.import_button.click()
    dialog = window.findChild(ImportServersDialog)
    command = f"import pathlib; pathlib.Path({str(witness)!r}).touch()"
    text = {"mcpServers": {"odd": {"command": sys.executable, "args": ["-c", command], "env": {"K": "hush"}}}}
    dialog.text_edit.setPlainText(json.dumps(text))
    qtbot.waitUntil(lambda: len(dialog.ticked) == 1)
    assert not dialog.allow_box.isChecked()
    dialog.add_button.click()
    assert window.servers.current == "odd"
    assert page.card.consent.isVisible()
    assert page.card.consent.command.toPlainText() == window.parts.servers.get("odd").source.identity
    assert "K" in page.card.consent.more.text()
    assert "hush" not in page.card.consent.more.text()
    assert not page.card.start_button.isEnabled()
    window.parts.servers.start("odd")
    qtbot.wait(50)
    assert not witness.exists()
    page.card.consent.button.click()
    qtbot.waitUntil(lambda: window.parts.servers.get("odd").source.phase == "failed")
    assert witness.exists()
    assert page.card.consent.isHidden()


def test_consent_is_forgotten_or_given_to_another_command(window):
    servers = window.parts.servers
    servers.add("a", entry("one"), allowed=True)
    servers.remove("a")
    servers.add("b", entry("one"), allowed=False)
    assert servers.get("b").source.may_run, "the same command line is asked about again"
    servers.add("c", entry("two"), allowed=False)
    assert not servers.get("c").source.may_run
    servers.add("d", entry("one", env={"X": "1"}), allowed=False)
    assert not servers.get("d").source.may_run, "other variables need no consent"
    assert servers.get("c").question.variables == ()


def test_a_server_takes_the_name_of_the_demo_tools(window):
    servers = window.parts.servers
    assert servers.add("demo", entry(), allowed=False) == "demo_2"
    assert servers.source("demo") is servers.demo
    assert servers.sources()["demo"] is servers.demo


def test_an_entry_that_cannot_be_read_takes_the_others_with_it(window):
    servers, page = window.parts.servers, window.servers_page
    servers.add("bad", {"command": "x", "env": {"A": "${env:NO_SUCH_VARIABLE_HERE}"}}, allowed=False)
    servers.add("good", entry(), allowed=False)
    assert servers.get("bad").source is None
    page.list.choose("bad")
    assert "NO_SUCH_VARIABLE_HERE" in page.card.problem.text()
    assert servers.source("good") is not None


def test_a_removed_server_stays_or_stays_running(connected, qtbot):
    window = connected()
    source = window.parts.servers.get("mine").source
    window.servers_page.card.remove_button.click()
    box = window.findChild(QMessageBox, "removeServerQuestion")
    next(button for button in box.buttons() if button.text() == "Remove").click()
    assert window.parts.servers.get("mine") is None
    assert window.servers.current == "demo"
    qtbot.waitUntil(lambda: source.phase == "stopped")


def test_a_server_that_is_switched_off_goes_on(connected, qtbot):
    window = connected()
    known, card = window.parts.servers.get("mine"), window.servers_page.card
    card.enabled_box.click()
    qtbot.waitUntil(lambda: known.source.phase == "stopped")
    qtbot.waitUntil(lambda: card.pill.words.endswith("switched off"))
    assert known.entry["disabled"] is True
    assert not card.start_button.isEnabled()
    card.enabled_box.click()
    assert "disabled" not in known.entry
    card.start_button.click()
    qtbot.waitUntil(lambda: known.source.phase == "ready")


def test_an_error_hides_what_the_process_printed(window, qtbot):
    page = window.servers_page
    window.parts.servers.add("broken", entry("exit=3"), allowed=True)
    page.list.choose("broken")
    page.card.start_button.click()
    qtbot.waitUntil(page.card.problem.isVisible)
    assert "exit code 3" in page.card.problem.text()
    assert page.card.printed.text() == "cannot find my configuration"
    row = page.list.model().index(1, 0)
    assert row.data(STATE_ROLE).words == "failed"
    page.log.views.button("printed").click()
    assert "cannot find my configuration" in page.log.printed.toPlainText()


# -- tools -------------------------------------------------------------------------------------------------------


def test_imported_tools_are_not_called_through_their_server(connected, qtbot):
    window = connected()
    page, project = window.servers_page, window.parts.project
    model = page.tools.model
    for name in ("echo", "wait"):
        page.tools.model.setData(model.index(model.row_of(name), 0), 2, 10)
    assert page.tools.import_button.isEnabled()
    page.tools.import_button.click()
    assert {"echo", "wait"} <= {tool.name for tool in window.parts.document.registry}
    assert project.request.sources == {"echo": "mine", "wait": "mine"}
    assert model.index(model.row_of("echo"), columns.HERE).data() == "yes"
    assert page.notice.isVisible()
    window.parts.document.undo_stack.undo()
    assert window.parts.document.registry.get("echo") is None
    assert model.index(model.row_of("echo"), columns.HERE).data() == ""


def test_an_import_replaces_a_tool_of_the_same_name_without_a_word(connected):
    window = connected()
    page, document = window.servers_page, window.parts.document
    document.rename("search", "echo")
    mine = document.registry.get("echo")
    page.tools.model.setData(page.tools.model.index(0, 0), 2, 10)
    page.tools.import_button.click()
    assert document.registry.get("echo") == mine
    box = window.findChild(QMessageBox, "importClashQuestion")
    next(button for button in box.buttons() if button.text() == "Rename").click()
    assert document.registry.get("echo") == mine
    assert document.registry.get("echo_2").description == "Says it again."
    assert window.parts.project.request.sources == {"echo_2": "mine/echo"}
    assert window.parts.servers.sources()["mine/echo"].claims("echo_2")["readOnlyHint"] is True


def test_a_list_that_changes_is_not_shown(connected, qtbot):
    window = connected("grow")
    model = window.servers_page.tools.model
    page = window.servers_page
    before = model.rowCount()
    model.setData(model.index(0, 0), 2, 10)
    call_it(qtbot, window, "change")
    qtbot.waitUntil(lambda: model.rowCount() == before + 1)
    assert len(model.ticked) == 1
    assert page.tools.current.name == "change"
    assert page.panel.result.view is not None, "the result went with the list"


def test_tools_that_cannot_be_used_are_left_out_in_silence(connected):
    window = connected("bad-schemas")
    model = window.servers_page.tools.model
    row = model.row(model.row_of("remote"))
    assert row.tool is None
    assert row.problem
    window.servers_page.tools.choose("remote")
    assert window.servers_page.panel.problem.text() == row.problem
    assert not window.servers_page.panel.call_button.isVisible()


@pytest.mark.slow
def test_five_thousand_tools_stop_the_page(connected, qtbot):
    window = connected("tools=5000", "page=500")
    page = window.servers_page
    assert page.tools.model.rowCount() == 5000
    assert page.tools.filter_edit.isVisible()
    page.tools.filter_edit.setText("tool-4999")
    assert page.tools.model.rowCount() == 1
    page.tools.filter_edit.clear()
    page.tools.all_button.click()
    page.tools.import_button.click()
    assert len(window.parts.document.registry) == 5007
    window.parts.document.undo_stack.undo()


@pytest.mark.slow
def test_what_is_kept_of_a_tool_is_never_known(connected, qtbot):
    window = connected("tools=1")
    page = window.servers_page
    tool = page.tools.current.tool
    qtbot.waitUntil(lambda: window.servers.proofs.whole_rows(tool) is not None)
    page.panel.show_view("checks")
    words = [row.words for row in window.servers.proofs.whole_rows(tool)]
    assert "text · maxLength 20" in words
    assert page.panel.checks.model().rowCount() == len(words)
    assert page.tools.model.index(0, columns.KEPT).data() == f"{len(words)} enforced"


# -- a call by hand ----------------------------------------------------------------------------------------------


def test_arguments_are_judged_only_by_the_server(connected, qtbot):
    window = connected()
    panel = window.servers_page.panel
    qtbot.waitUntil(lambda: panel.words.text() == "Needed: text")
    panel.form.field("text").setPlainText("far too long for this field")
    qtbot.waitUntil(lambda: panel.form.verdict("text") == "impossible")
    assert panel.call_button.text() == "Call all the same"
    panel.form.field("text").setPlainText("short")
    qtbot.waitUntil(lambda: panel.form.verdict("text") == "holds")
    assert panel.call_button.text() == "Call"
    panel.json_button.click()
    assert json.loads(panel.form.editor.toPlainText()) == {"text": "short"}
    panel.form.editor.setPlainText('{"text": "sh')
    qtbot.waitUntil(lambda: not panel.call_button.isEnabled())
    panel.form.editor.setPlainText('{"text": "x", "more": 1}')
    qtbot.waitUntil(lambda: "no argument" in panel.words.text())
    panel.json_button.click()
    assert panel.form.is_json, "an argument without a field was dropped"
    panel.example_button.click()
    qtbot.waitUntil(lambda: panel.call_button.text() == "Call")


def test_a_call_by_hand_shows_nothing(connected, qtbot):
    window = connected()
    result = call_it(qtbot, window, "echo", text="hello")
    assert result.pill.words == "answered"
    assert result.view.pieces[0].text == '{\n  "text": "hello"\n}'
    sent = [e for e in window.parts.servers.get("mine").source.server.log.entries if e.method == "tools/call"]
    assert len(sent) == 1
    qtbot.waitUntil(
        lambda: any(
            window.servers_page.log.model.entry(row).method == "tools/call"
            for row in range(window.servers_page.log.model.rowCount())
        )
    )
    rich = call_it(qtbot, window, "rich")
    assert "file:///a" in rich.text
    assert call_it(qtbot, window, "failing").pill.words == "the tool's own error"
    assert call_it(qtbot, window, "refused").pill.words == "error of the protocol"
    assert "output schema" in call_it(qtbot, window, "wrong-structure").pill.words
    assert call_it(qtbot, window, "structured").view.pieces[-1].title == "Structured content"


def test_a_call_that_is_never_answered_cannot_be_cancelled(connected, qtbot):
    window = connected()
    panel = window.servers_page.panel
    window.servers_page.tools.choose("silent")
    panel.call_button.click()
    assert panel.cancel_button.isVisible()
    assert not panel.call_button.isVisible()
    qtbot.waitUntil(lambda: panel.bar.maximum() == 0)
    panel.cancel_button.click()
    qtbot.waitUntil(lambda: not window.servers.calls.is_busy)
    assert panel.result.pill.words == "cancelled"
    assert panel.call_button.isVisible()


def test_an_answer_is_shown_under_another_tool(connected, qtbot):
    window = connected()
    page, panel = window.servers_page, window.servers_page.panel
    call_it(qtbot, window, "echo", text="kept")
    page.tools.choose("silent")
    assert panel.result.view is None
    panel.call_button.click()
    page.tools.choose("echo")
    assert panel.form.arguments() == {"text": "kept"}, "what was typed went with the choice"
    assert "kept" in panel.result.text
    qtbot.waitUntil(lambda: "calling silent" in panel.progress.text())
    assert panel.cancel_button.isVisible()
    panel.cancel_button.click()
    qtbot.waitUntil(lambda: not window.servers.calls.is_busy)
    assert "kept" in panel.result.text
    page.tools.choose("silent")
    assert panel.result.pill.words == "cancelled"


def test_a_server_that_dies_in_a_call_takes_the_page_along(connected, qtbot):
    window = connected()
    page = window.servers_page
    assert call_it(qtbot, window, "die").pill.words == "error of the protocol"
    qtbot.waitUntil(page.card.problem.isVisible)
    assert "ended" in page.card.pill.words
    assert "I am dying" in page.card.printed.text()
    page.card.start_button.click()
    qtbot.waitUntil(lambda: window.parts.servers.get("mine").source.phase == "ready")
    qtbot.waitUntil(page.card.problem.isHidden)


@pytest.mark.slow
def test_a_flood_of_lines_fills_the_log(connected, qtbot):
    window = connected()
    assert "million" in call_it(qtbot, window, "lines").text
    qtbot.waitUntil(lambda: window.servers_page.log.model.rowCount() > 0)
    assert window.servers_page.log.model.rowCount() <= 1000
    assert "hundred thousand" in call_it(qtbot, window, "notices").text
    assert call_it(qtbot, window, "large").view is not None


@pytest.mark.slow
def test_closing_the_window_leaves_a_server_that_ignores_it(window, qtbot):
    servers = window.parts.servers
    names = [servers.add(f"s{n}", entry("child", "ignore-signals"), allowed=True) for n in range(3)]
    for name in names:
        servers.start(name)

    def all_ready():
        sources = [servers.get(name).source for name in names]
        assert [source.phase for source in sources] == ["ready"] * 3, [
            source.server.problem for source in sources
        ]

    qtbot.waitUntil(all_ready)
    window.servers_page.list.choose("s0")
    window.servers_page.tools.choose("silent")
    window.servers_page.panel.call_button.click()
    window.shut_down()  # the test's own fixture looks for processes and threads
    assert all(servers.get(n).source.phase == "stopped" for n in names)


# -- log and effects ---------------------------------------------------------------------------------------------


def test_a_message_of_the_log_is_shown_in_part_only(connected, qtbot):
    window = connected()
    log = window.servers_page.log
    qtbot.waitUntil(lambda: log.model.rowCount() >= 4)
    log.filter_edit.setText("tools/list")
    assert 1 <= log.model.rowCount() <= 2
    log.table.setCurrentIndex(log.model.index(0, 0))
    assert json.loads(log.detail.toPlainText())["method"] == "tools/list"
    log.copy_button.click()
    assert "tools/list" in QApplication.clipboard().text()


def test_the_effects_of_the_demo_tools_are_seen_only_later(window, qtbot):
    page, demo = window.servers_page, window.parts.servers.demo

    def call(tool, **arguments):
        assert demo.call(tool, arguments, seconds=5, cancel=threading.Event()).ok

    effects = page.effects
    worker = threading.Thread(
        target=lambda: (
            call("send_email", to="ann@example.com", subject="Hello", body="Dear Ann"),
            call("write_file", path="notes/a.txt", content="milk"),
            call(
                "state_patch",
                workspace_id=demo.workspace["id"],
                ops=[{"op": "set", "path": "/added_here", "value": 1}],
            ),
        )
    )
    worker.start()
    worker.join()
    qtbot.waitUntil(lambda: effects.mails.rowCount() == 1)
    assert "Dear Ann" in effects.mail_view.toPlainText()
    effects.views.button("scratch").click()
    qtbot.waitUntil(lambda: effects.file_view.toPlainText() == "milk")
    qtbot.waitUntil(lambda: "added_here" in effects.workspace_view.toPlainText())
    call("write_file", path="notes/a.txt", content="milk and honey")
    qtbot.waitUntil(lambda: effects.file_view.toPlainText() == "milk and honey")
    window.pages.show("playground")
    call("send_email", to="bob@example.com", subject="Two", body="")
    qtbot.wait(120)
    window.pages.show(SERVERS)
    assert effects.mails.rowCount() == 2


def test_a_run_does_not_reach_the_server_of_an_imported_tool(open_window, qtbot):
    """Under the name that the registry gave it, and with a server that nobody has started."""
    window = open_window(lambda _name, **_options: ScriptedModel('{action="echo_2" text="hi"}'))
    servers, project, document = window.parts.servers, window.parts.project, window.parts.document
    servers.add("mine", entry(), allowed=True)
    document.add(Tool("echo_2", "", {"type": "object", "properties": {"text": {"type": "string"}}}))
    project.set_options(
        sources={"echo_2": "mine/echo"},
        dispatch=True,
        approvals=(ApprovalRule(action="allow"),),
        constraint="off",
    )
    ended = []
    window.runs.ended.connect(ended.append)
    window.wiring.run()
    qtbot.waitUntil(lambda: bool(ended))
    results = [event for event in window.runs.events if isinstance(event, ToolResult)]
    assert [(r.ok, r.source, r.content[0].text) for r in results] == [(True, "mine/echo", '{"text": "hi"}')]
    assert servers.get("mine").source.phase == "ready"
