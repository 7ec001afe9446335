"""The servers' page with real servers over stdio, good ones and bad ones."""

from __future__ import annotations

import json
import sys
import threading

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox

from glyphscope.events import ApprovalRule, ToolResult
from glyphscope.models import ScriptedModel
from glyphscope.registry import Tool
from glyphscope.store import load_servers, places
from glyphscope_gui.servers import lists as columns
from glyphscope_gui.servers.dialogs import AddServerDialog, ImportServersDialog
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.table_model import LINES_ROLE
from mcp_servers import SCRIPT

CALL = '{action="search" query="AI news" max_results=10}'


def entry(*behaviour, **more):
    return {"command": sys.executable, "args": [str(SCRIPT), *behaviour], **more}


@pytest.fixture
def page(open_page):
    made = open_page(PageId.SERVERS, ready=False)
    yield made
    assert made.context.errors == []


@pytest.fixture
def servers(page):
    return page.context.services.servers


@pytest.fixture
def connected(page, servers, qtbot):
    """Add a server, start it and wait until its tools are listed."""

    def build(*behaviour, **more):
        name = servers.add("mine", entry(*behaviour, **more), allowed=True)
        page.view.list.choose(name)
        servers.start(name)
        qtbot.waitUntil(lambda: page.view.tools.model.rowCount() > 0)
        return page

    return build


def call_it(qtbot, page, tool, **fields):
    view = page.view
    view.tools.choose(tool)
    for name, text in fields.items():
        view.panel.form.rows.by_name[name].field.setPlainText(text)
    qtbot.waitUntil(view.panel.call_button.isEnabled)
    view.panel.call_button.click()
    qtbot.waitUntil(lambda: not page.calls.jobs.is_busy)
    return view.panel.result


# -- which servers there are -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_written_by_hand_starts_without_another_question(page, servers, qtbot):
    view = page.view
    view.add_button.click()
    dialog = page.context.window.findChild(AddServerDialog)
    assert not dialog.add_button.isEnabled()
    dialog.command_edit.setText(f'{sys.executable} {SCRIPT} "')
    assert "cannot be read" in dialog.problem.text()
    dialog.command_edit.setText(f"{sys.executable} {SCRIPT}")
    dialog.name_edit.setText("mine")
    dialog.variables_edit.setPlainText("TOKEN=very-secret-word")
    assert dialog.add_button.isEnabled()
    dialog.add_button.click()
    known = servers.get("mine")
    qtbot.waitUntil(lambda: known.phase == "ready")
    qtbot.waitUntil(lambda: "ready" in view.card.pill.words)
    assert view.card.consent.isHidden()
    assert "TOKEN" in view.card.about.text()
    assert "very-secret-word" not in view.card.about.text() + view.card.identity.text()
    servers.close()
    assert load_servers(places().servers).known.entries["mine"]["env"] == {"TOKEN": "very-secret-word"}


@pytest.mark.slow
def test_an_imported_command_runs_only_after_it_is_allowed(page, servers, qtbot, tmp_path):
    witness, view = tmp_path / "ran", page.view
    view.import_button.click()
    dialog = page.context.window.findChild(ImportServersDialog)
    command = f"import pathlib; pathlib.Path({str(witness)!r}).touch()"
    text = {"mcpServers": {"odd": {"command": sys.executable, "args": ["-c", command], "env": {"K": "hush"}}}}
    dialog.text_edit.setPlainText(json.dumps(text))
    qtbot.waitUntil(lambda: len(dialog.ticked) == 1)
    assert not dialog.allow_box.isChecked()
    dialog.add_button.click()
    assert page.current == "odd"
    assert view.card.consent.isVisible()
    assert view.card.consent.command.toPlainText() == servers.get("odd").identity
    assert "K" in view.card.consent.more.text()
    assert "hush" not in view.card.consent.more.text()
    assert not view.card.start_button.isEnabled()
    servers.start("odd")
    qtbot.wait(50)
    assert not witness.exists()
    view.card.consent.button.click()
    qtbot.waitUntil(lambda: servers.get("odd").phase == "failed")
    assert witness.exists()
    assert view.card.consent.isHidden()


@pytest.mark.slow
def test_consent_belongs_to_one_command(servers):
    servers.add("a", entry("one"), allowed=True)
    servers.remove("a")
    servers.add("b", entry("one"), allowed=False)
    assert servers.get("b").may_run, "the same command line needs consent again"
    servers.add("c", entry("two"), allowed=False)
    assert not servers.get("c").may_run
    servers.add("d", entry("one", env={"X": "1"}), allowed=False)
    assert not servers.get("d").may_run, "other variables need no consent"
    assert servers.get("c").needs_consent


def test_a_server_cannot_take_the_name_of_the_demo_tools(servers):
    assert servers.add("demo", entry(), allowed=False) == "demo_2"
    assert servers.source("demo") is servers.demo
    assert servers.sources()["demo"] is servers.demo


@pytest.mark.slow
def test_an_invalid_entry_is_reported_and_the_others_work(page, servers):
    view = page.view
    servers.add("bad", {"command": "x", "env": {"A": "${env:NO_SUCH_VARIABLE_HERE}"}}, allowed=False)
    servers.add("good", entry(), allowed=False)
    assert servers.get("bad").problem
    view.list.choose("bad")
    assert "NO_SUCH_VARIABLE_HERE" in view.card.problem.text()
    assert servers.source("good") is not None


@pytest.mark.slow
def test_a_removed_server_is_stopped(connected, servers, qtbot):
    page = connected()
    source = servers.get("mine")
    page.view.card.remove_button.click()
    box = page.context.window.findChild(QMessageBox, "removeServerQuestion")
    next(button for button in box.buttons() if button.text() == "Remove").click()
    assert servers.get("mine") is None
    assert page.current == "demo"
    qtbot.waitUntil(lambda: source.phase == "stopped")


@pytest.mark.slow
def test_a_disabled_server_stops(connected, servers, qtbot):
    page = connected()
    known, card = servers.get("mine"), page.view.card
    card.enabled_box.click()
    qtbot.waitUntil(lambda: known.phase == "stopped")
    qtbot.waitUntil(lambda: card.pill.words.endswith("disabled"))
    assert known.entry["disabled"] is True
    assert not card.start_button.isEnabled()
    card.enabled_box.click()
    assert "disabled" not in known.entry
    card.start_button.click()
    qtbot.waitUntil(lambda: known.phase == "ready")


@pytest.mark.slow
def test_an_error_shows_the_output_of_the_process(page, servers, qtbot):
    view = page.view
    servers.add("broken", entry("exit=3"), allowed=True)
    view.list.choose("broken")
    view.card.start_button.click()
    qtbot.waitUntil(view.card.problem.isVisible)
    assert "exit code 3" in view.card.problem.text()
    assert view.card.printed.text() == "cannot find my configuration"
    row = view.list.model().index(1, 0)
    assert row.data(LINES_ROLE)[1].words == "failed"
    view.log.views.button("stderr").click()
    assert "cannot find my configuration" in view.log.stderr.toPlainText()


# -- tools -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_imported_tools_are_called_through_their_server(connected, qtbot):
    page = connected()
    view, project, navigator = page.view, page.context.project, page.context.navigator
    model = view.tools.model
    for name in ("echo", "wait"):
        model.setData(model.index(model.row_of(name), 0), 2, 10)
    assert view.tools.import_button.isEnabled()
    view.tools.import_button.click()
    assert {"echo", "wait"} <= {tool.name for tool in project.tools.registry}
    assert project.request.sources == {"echo": "mine", "wait": "mine"}
    assert model.index(model.row_of("echo"), columns.IN_REGISTRY).data() == "imported"
    assert view.notice.isVisible()
    view.notice.action.click()
    assert navigator.visits == [(PageId.PLAYGROUND, None)]
    assert page.context.panels.revealed == [("echo", None)], "the panel with the tools is in front"
    project.tools.undo_stack.undo()
    assert project.tools.registry.get("echo") is None
    assert model.index(model.row_of("echo"), columns.IN_REGISTRY).data() == ""


@pytest.mark.slow
def test_an_import_renames_a_tool_whose_name_is_in_use(connected, servers):
    page = connected()
    view, project = page.view, page.context.project
    document = project.tools
    document.rename("search", "echo")
    mine = document.registry.get("echo")
    view.tools.model.setData(view.tools.model.index(0, 0), 2, 10)
    view.tools.import_button.click()
    assert document.registry.get("echo") == mine
    box = page.context.window.findChild(QMessageBox, "importClashQuestion")
    next(button for button in box.buttons() if button.text() == "Rename").click()
    assert document.registry.get("echo") == mine
    assert document.registry.get("echo_2").description == "Says it again."
    assert project.request.sources == {"echo_2": "mine/echo"}
    assert servers.sources()["mine/echo"].claims("echo_2")["readOnlyHint"] is True


@pytest.mark.slow
def test_a_changed_list_of_tools_is_shown(connected, qtbot):
    page = connected("grow")
    view, model = page.view, page.view.tools.model
    before = model.rowCount()
    model.setData(model.index(0, 0), 2, 10)
    call_it(qtbot, page, "change")
    qtbot.waitUntil(lambda: model.rowCount() == before + 1)
    assert len(model.ticked) == 1
    assert view.tools.current.name == "change"
    assert view.panel.result.view is not None, "the result disappeared with the list"


@pytest.mark.slow
def test_tools_that_cannot_be_used_are_listed_with_the_reason(connected):
    view = connected("bad-schemas").view
    model = view.tools.model
    row = model.row(model.row_of("remote"))
    assert row.tool is None
    assert row.problem
    view.tools.choose("remote")
    assert view.panel.problem.text() == row.problem
    assert not view.panel.call_button.isVisible()


@pytest.mark.slow
def test_five_thousand_tools_are_listed_filtered_and_imported(connected, qtbot):
    page = connected("tools=5000", "page=500")
    view = page.view
    assert view.tools.model.rowCount() == 5000
    assert view.tools.filter_edit.isVisible()
    view.tools.filter_edit.setText("tool-4999")
    assert view.tools.model.rowCount() == 1
    view.tools.filter_edit.clear()
    view.tools.all_button.click()
    view.tools.import_button.click()
    document = page.context.project.tools
    assert len(document.registry) == 5007
    document.undo_stack.undo()


@pytest.mark.slow
def test_the_enforcement_of_a_tool_is_shown(connected, qtbot):
    page = connected("tools=1")
    view = page.view
    tool = view.tools.current.tool
    qtbot.waitUntil(lambda: page.proofs.whole_rows(tool) is not None)
    view.panel.show_view("checks")
    words = [row.words for row in page.proofs.whole_rows(tool)]
    assert "text · maxLength 20" in words
    assert view.panel.checks.model().rowCount() == len(words)
    assert view.tools.model.index(0, columns.ENFORCEMENT).data() == f"{len(words)} enforced"


# -- a call by hand ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_arguments_are_checked_before_the_call(connected, qtbot):
    panel = connected().view.panel
    qtbot.waitUntil(lambda: panel.words.text() == "Required: text")
    panel.form.rows.by_name["text"].field.setPlainText("far too long for this field")
    qtbot.waitUntil(lambda: panel.form.rows.by_name["text"].pill.status == "impossible")
    assert panel.call_button.text() == "Call anyway"
    panel.form.rows.by_name["text"].field.setPlainText("short")
    qtbot.waitUntil(lambda: panel.form.rows.by_name["text"].pill.status == "holds")
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


@pytest.mark.slow
def test_a_low_panel_shows_all_arguments_until_there_is_a_result(page, qtbot):
    page.view.resize(970, 590)
    page.view.tools.choose("search")
    form = page.view.panel.form
    qtbot.waitUntil(lambda: form.height() >= form.preferred_height)


@pytest.mark.slow
def test_a_call_by_hand_shows_its_result(connected, servers, qtbot):
    page = connected()
    result = call_it(qtbot, page, "echo", text="hello")
    assert result.pill.words == "succeeded"
    assert result.view.pieces[0].text == '{\n  "text": "hello"\n}'
    sent = [e for e in servers.get("mine").server.log.entries if e.method == "tools/call"]
    assert len(sent) == 1
    qtbot.waitUntil(
        lambda: any(
            page.view.log.model.row(row).method == "tools/call"
            for row in range(page.view.log.model.rowCount())
        )
    )
    rich = call_it(qtbot, page, "rich")
    assert "file:///a" in rich.text
    assert call_it(qtbot, page, "failing").pill.words == "tool error"
    assert call_it(qtbot, page, "refused").pill.words == "protocol error"
    assert "output schema" in call_it(qtbot, page, "wrong-structure").pill.words
    assert call_it(qtbot, page, "structured").view.pieces[-1].title == "Structured content"


@pytest.mark.slow
def test_a_call_without_an_answer_can_be_cancelled(connected, qtbot):
    page = connected()
    panel = page.view.panel
    page.view.tools.choose("silent")
    page.view.activateWindow()
    panel.call_button.setFocus()
    qtbot.waitUntil(panel.call_button.hasFocus)
    panel.call_button.click()
    assert panel.cancel_button.isVisible()
    assert not panel.call_button.isVisible()
    assert panel.cancel_button.hasFocus()
    qtbot.waitUntil(lambda: panel.bar.maximum() == 0)
    panel.cancel_button.click()
    qtbot.waitUntil(lambda: not page.calls.jobs.is_busy)
    assert panel.result.pill.words == "cancelled"
    assert panel.call_button.isVisible()
    assert panel.call_button.hasFocus()


@pytest.mark.slow
def test_a_result_is_shown_under_its_own_tool(connected, qtbot):
    page = connected()
    view, panel = page.view, page.view.panel
    call_it(qtbot, page, "echo", text="kept")
    view.tools.choose("silent")
    assert panel.result.view is None
    panel.call_button.click()
    view.tools.choose("echo")
    assert panel.form.arguments() == {"text": "kept"}, "the typed text was lost with the choice"
    assert "kept" in panel.result.text
    qtbot.waitUntil(lambda: "calling silent" in panel.progress.text())
    assert panel.cancel_button.isVisible()
    panel.cancel_button.click()
    qtbot.waitUntil(lambda: not page.calls.jobs.is_busy)
    assert "kept" in panel.result.text
    view.tools.choose("silent")
    assert panel.result.pill.words == "cancelled"


@pytest.mark.slow
def test_a_server_that_dies_in_a_call_is_reported_and_can_be_restarted(connected, servers, qtbot):
    page = connected()
    view = page.view
    assert call_it(qtbot, page, "die").pill.words == "protocol error"
    qtbot.waitUntil(view.card.problem.isVisible)
    assert "exited" in view.card.pill.words
    assert "I am dying" in view.card.printed.text()
    view.card.start_button.click()
    qtbot.waitUntil(lambda: servers.get("mine").phase == "ready")
    qtbot.waitUntil(view.card.problem.isHidden)


@pytest.mark.slow
def test_a_flood_of_messages_leaves_a_limited_log(connected, qtbot):
    page = connected()
    assert "hundred thousand" in call_it(qtbot, page, "notices").text
    assert 0 < page.view.log.model.rowCount() <= 1000
    assert call_it(qtbot, page, "large").view is not None


@pytest.mark.slow
def test_closing_the_window_ends_every_server(open_window, qtbot):
    window = open_window(lambda _name, **_options: ScriptedModel(CALL))
    window.navigator.show(PageId.SERVERS)
    page, servers = window.page(PageId.SERVERS), window.services.servers
    names = [servers.add(f"s{n}", entry("child", "ignore-signals"), allowed=True) for n in range(3)]
    for name in names:
        servers.start(name)

    def all_ready():
        sources = [servers.get(name) for name in names]
        assert [source.phase for source in sources] == ["ready"] * 3, [
            source.server.problem for source in sources
        ]

    qtbot.waitUntil(all_ready)
    page.view.list.choose("s0")
    page.view.tools.choose("silent")
    page.view.panel.call_button.click()
    window.shut_down()  # the test's own fixture checks processes and threads
    assert all(servers.get(n).phase == "stopped" for n in names)


# -- log and effects ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_message_of_the_log_is_shown_and_copied_whole(connected, qtbot):
    log = connected().view.log
    qtbot.waitUntil(lambda: log.model.rowCount() >= 4)
    log.filter_edit.setText("tools/list")
    assert 1 <= log.model.rowCount() <= 2
    log.table.setCurrentIndex(log.model.index(0, 0))
    assert json.loads(log.detail.toPlainText())["method"] == "tools/list"
    log.copy_button.click()
    assert "tools/list" in QApplication.clipboard().text()


@pytest.mark.slow
def test_the_effects_of_the_demo_tools_are_shown_at_once(page, servers, qtbot):
    effects, demo = page.view.effects, servers.demo

    def call(tool, **arguments):
        assert demo.call(tool, arguments, seconds=5, cancel=threading.Event()).ok

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
    page.context.navigator.show(PageId.PLAYGROUND)
    call("send_email", to="bob@example.com", subject="Two", body="")
    qtbot.wait(120)
    assert effects.mails.rowCount() == 1
    page.context.navigator.show(PageId.SERVERS)
    assert effects.mails.rowCount() == 2


@pytest.mark.slow
def test_a_run_reaches_the_server_of_an_imported_tool(open_page, qtbot):
    """Under the name that the registry gave it, and with a server that was not started before."""
    page = open_page(PageId.SERVERS, lambda _name, **_options: ScriptedModel('{action="echo_2" text="hi"}'))
    context = page.context
    servers, project = context.services.servers, context.project
    servers.add("mine", entry(), allowed=True)
    project.tools.add(Tool("echo_2", "", {"type": "object", "properties": {"text": {"type": "string"}}}))
    project.set_options(
        sources={"echo_2": "mine/echo"},
        dispatch=True,
        approvals=(ApprovalRule(action="allow"),),
        constraint="off",
    )
    ended = []
    context.runs.ended.connect(ended.append)
    page.run()
    qtbot.waitUntil(lambda: bool(ended))
    results = [event for event in context.runs.events if isinstance(event, ToolResult)]
    assert [(r.ok, r.source, r.content[0].text) for r in results] == [(True, "mine/echo", '{"text": "hi"}')]
    assert servers.get("mine").phase == "ready"
