"""The servers' page with real servers over stdio, good ones and bad ones."""

from __future__ import annotations

import json
import sys
import threading

import pytest
from PySide6.QtWidgets import QApplication

from fake_context import scripted
from glyphscope.events import ApprovalRule, ToolResult
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import Tool
from glyphscope.store import load_servers, places
from glyphscope_gui.servers import lists as columns
from glyphscope_gui.shared.page_ids import PageId
from mcp_servers import SCRIPT

SERVERS, TOOLS, ARGUMENTS, LOG = "Servers", "Tools of the server", "Arguments as JSON", "Protocol messages"
IMPORT = "Import into the registry"


def entry(*behaviour, **more):
    return {"command": sys.executable, "args": [str(SCRIPT), *behaviour], **more}


@pytest.fixture
def page(open_page):
    made = open_page(PageId.SERVERS, ready=False)
    yield made
    assert made.context.errors == []


@pytest.fixture
def screen(page, screen_of):
    return screen_of(page)


@pytest.fixture
def servers(page):
    return page.context.services.servers


@pytest.fixture
def connected(page, servers, screen):
    """Add a server, start it and wait until its tools are listed."""

    def build(*behaviour, **more):
        page.view.list.choose(servers.add("mine", entry(*behaviour, **more), allowed=True))
        servers.start("mine")
        screen.until(lambda: page.view.tools.model.rowCount() > 0)
        return page

    return build


@pytest.fixture
def call_it(page, screen):
    """Call a tool by hand with these arguments; return the words of its result."""

    def call(tool, **fields):
        page.view.tools.choose(tool)
        for name, text in fields.items():
            screen.write(name, text)
        screen.until(page.view.panel.call_button.isEnabled)
        page.view.panel.call_button.click()
        screen.until(lambda: not page.calls.jobs.is_busy)
        return page.view.panel.result.pill.words

    return call


# -- which servers there are -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_written_by_hand_starts_without_another_question(screen, servers):
    screen.press("Add…")
    dialog = screen.dialog()
    assert not dialog.can("Add")
    dialog.write("Command or address", f'{sys.executable} {SCRIPT} "')
    assert "cannot be read" in dialog
    dialog.write("Command or address", f"{sys.executable} {SCRIPT}")
    dialog.write("Name", "mine")
    dialog.write("Variables", "TOKEN=very-secret-word")
    dialog.press("Add")
    screen.until(lambda: servers.get("mine").phase == "ready", "ready")
    assert not screen.named("Allow and start") and "TOKEN" in screen and "very-secret-word" not in screen
    servers.close()
    assert load_servers(places().servers).known.entries["mine"]["env"] == {"TOKEN": "very-secret-word"}


@pytest.mark.slow
def test_an_imported_command_runs_only_after_it_is_allowed(page, screen, servers, qtbot, tmp_path):
    witness = tmp_path / "ran"
    command = f"import pathlib; pathlib.Path({str(witness)!r}).touch()"
    text = {"mcpServers": {"odd": {"command": sys.executable, "args": ["-c", command], "env": {"K": "hush"}}}}
    screen.press("Import…")
    dialog = screen.dialog()
    dialog.write("Servers as JSON", json.dumps(text))
    dialog.until_can("Add")
    assert not dialog.find("I have read these command lines…").isChecked()
    dialog.press("Add")
    assert page.current == "odd" and screen.read("The command line to be run") == servers.get("odd").identity
    assert "(values hidden): K." in screen and "hush" not in screen and not screen.can("Start")
    servers.start("odd")
    qtbot.wait(50)
    assert not witness.exists()
    screen.press("Allow and start")
    screen.until(lambda: servers.get("odd").phase == "failed")
    assert witness.exists() and not screen.named("Allow and start")


@pytest.mark.slow
def test_consent_belongs_to_one_command_and_a_name_to_one_server(servers):
    servers.add("a", entry("one"), allowed=True)
    servers.remove("a")
    servers.add("b", entry("one"), allowed=False)
    assert servers.get("b").may_run, "the same command line needs consent again"
    servers.add("c", entry("two"), allowed=False)
    assert not servers.get("c").may_run and servers.get("c").needs_consent
    servers.add("d", entry("one", env={"X": "1"}), allowed=False)
    assert not servers.get("d").may_run, "other variables need no consent"
    assert servers.add("demo", entry(), allowed=False) == "demo_2"
    assert servers.source("demo") is servers.sources()["demo"] is servers.demo


@pytest.mark.slow
def test_an_error_shows_its_reason_and_the_output_of_the_process_and_the_others_work(page, screen, servers):
    servers.add("bad", {"command": "x", "env": {"A": "${env:NO_SUCH_VARIABLE_HERE}"}}, allowed=False)
    servers.add("broken", entry("exit=3"), allowed=True)
    page.view.list.choose("bad")
    assert servers.get("bad").problem and "NO_SUCH_VARIABLE_HERE" in screen
    page.view.list.choose("broken")
    screen.press("Start")
    screen.until("exit code 3", "cannot find my configuration", "failed")
    assert not screen.named("stderr") and not screen.named(LOG), "the log is folded until it is needed"
    screen.press("Show log", "stderr")
    assert "cannot find my configuration" in screen.read("stderr of the server")


@pytest.mark.slow
def test_a_server_dies_is_started_again_disabled_and_removed(connected, page, screen, servers, call_it):
    connected()
    known = servers.get("mine")
    assert call_it("die") == "protocol error"
    screen.until("I am dying", lambda: "exited" in page.view.card.pill.words)
    screen.press("Start")
    screen.until(lambda: known.phase == "ready", lambda: "I am dying" not in page.view.card.printed.text())
    screen.press("Enabled")
    screen.until(lambda: known.phase == "stopped", lambda: page.view.card.pill.words.endswith("disabled"))
    assert known.entry["disabled"] is True and not screen.can("Start")
    screen.press("Enabled")
    assert "disabled" not in known.entry
    screen.press("Start")
    screen.until(lambda: known.phase == "ready")
    screen.press("Remove…")
    screen.dialog().press("Remove")
    assert servers.get("mine") is None and page.current == "demo"
    screen.until(lambda: known.phase == "stopped")


@pytest.mark.slow
def test_an_edited_server_restarts_as_it_was_typed_and_its_tools_follow_its_name(
    connected, page, screen, servers
):
    connected(roots=["/"])
    old = servers.get("mine")
    page.context.project.set_options(sources={"echo": "mine", "say": "mine/echo", "other": "demo"})
    screen.press("Edit…")
    dialog = screen.dialog()
    assert str(SCRIPT) in dialog.read("Command or address") and dialog.read("Name") == "mine"
    dialog.write("Variables", "TOKEN")
    assert "NAME=value" in dialog and not dialog.can("Save")
    dialog.write("Variables", "TOKEN=very-secret-word")
    dialog.write("Name", "ours")
    dialog.press("Save")
    new = servers.get("ours")
    screen.until(lambda: new.phase == "ready", lambda: old.phase == "stopped")
    assert servers.get("mine") is None and page.current == "ours"
    assert new.entry["env"] == {"TOKEN": "very-secret-word"} and new.entry["roots"] == ["/"]
    assert page.context.project.options.sources == {"echo": "ours", "say": "ours/echo", "other": "demo"}


@pytest.mark.slow
def test_a_server_edited_as_json_is_checked_while_it_is_written_and_asks_for_consent(
    connected, page, screen, servers
):
    connected()
    screen.press("Edit…")
    dialog = screen.dialog()
    dialog.press("JSON")
    written = json.loads(dialog.read("Server as JSON"))
    assert written == {"mcpServers": {"mine": servers.get("mine").entry}}
    dialog.root.json_edit.setPlainText('{"mcpServers": {"mine": {"command": "x", "args": 3}}}')
    dialog.root.json_edit.textEdited.emit("")
    assert "`args` is a list of texts" in dialog and not dialog.can("Save")
    written["mcpServers"]["mine"]["args"].append("more")
    dialog.root.json_edit.setPlainText(json.dumps(written))
    dialog.root.json_edit.textEdited.emit("")
    dialog.press("Form")
    assert dialog.read("Command or address").endswith(" more")
    dialog.press("JSON", "Save")
    screen.until(lambda: servers.get("mine").needs_consent)
    assert "more" in screen.read("The command line to be run")
    screen.press("Allow and start")
    screen.until(lambda: servers.get("mine").phase == "ready")


@pytest.mark.slow
def test_a_server_that_cannot_be_used_is_repaired_as_json(page, screen, servers):
    page.view.list.choose(servers.add("bad", {"command": 3}, allowed=False))
    screen.until("Edit the server.")
    screen.press("Edit…")
    dialog = screen.dialog()
    assert "`command` is a text" in dialog and '"command": 3' in dialog.read("Server as JSON")
    dialog.root.json_edit.setPlainText(json.dumps({"mcpServers": {"bad": entry()}}))
    dialog.root.json_edit.textEdited.emit("")
    dialog.press("Save")
    assert not servers.get("bad").problem and servers.get("bad").needs_consent


# -- tools -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_imported_tools_are_called_through_their_server(connected, page, screen, servers):
    connected()
    project, model = page.context.project, page.view.tools.model
    for name in ("echo", "wait"):
        model.setData(model.index(model.row_of(name), 0), 2, 10)
    screen.press(IMPORT)
    assert {"echo", "wait"} <= {tool.name for tool in project.tools.registry}
    assert project.request.sources == {"echo": "mine", "wait": "mine"}
    assert model.index(model.row_of("echo"), columns.IN_REGISTRY).data() == "imported"
    page.view.notice.action.click()
    assert page.context.navigator.visits == [(PageId.PLAYGROUND, None)]
    assert page.context.panels.revealed == [("echo", None)], "the panel with the tools is in front"
    project.tools.undo_stack.undo()
    assert project.tools.registry.get("echo") is None
    assert model.index(model.row_of("echo"), columns.IN_REGISTRY).data() == ""
    project.set_options(sources={})
    project.tools.rename("search", "echo")  # a name in use
    mine = project.tools.registry.get("echo")
    model.tick_all(False)
    model.setData(model.index(model.row_of("echo"), 0), 2, 10)
    screen.press(IMPORT)
    screen.dialog().press("Rename")
    assert project.tools.registry.get("echo") == mine
    assert project.tools.registry.get("echo_2").description == "Says it again."
    assert project.request.sources == {"echo_2": "mine/echo"}
    assert servers.sources()["mine/echo"].claims("echo_2")["readOnlyHint"] is True


@pytest.mark.slow
def test_a_changed_list_of_tools_is_shown(connected, page, screen, call_it):
    connected("grow")
    model = page.view.tools.model
    before = model.rowCount()
    model.setData(model.index(0, 0), 2, 10)
    call_it("change")
    screen.until(lambda: model.rowCount() == before + 1)
    assert len(model.ticked) == 1 and page.view.tools.current.name == "change"
    assert page.view.panel.result.view is not None, "the result disappeared with the list"


@pytest.mark.slow
def test_tools_that_cannot_be_used_are_listed_with_the_reason(connected, page, screen):
    connected("bad-schemas")
    row = page.view.tools.model.row(page.view.tools.model.row_of("remote"))
    screen.choose(TOOLS, "remote")
    assert row.tool is None and row.problem in screen and not page.view.panel.call_button.isVisible()


@pytest.mark.slow
def test_five_thousand_tools_are_listed_filtered_and_imported(connected, page, screen):
    connected("tools=5000", "page=500")
    model, document = page.view.tools.model, page.context.project.tools
    assert model.rowCount() == 5000
    screen.write("Find tools of the server", "tool-4999")
    assert model.rowCount() == 1
    screen.write("Find tools of the server", "")
    screen.press("Select all", IMPORT)
    assert len(document.registry) == 5007
    document.undo_stack.undo()


@pytest.mark.slow
def test_the_list_of_tools_ends_with_a_whole_row_at_any_height(connected, page, screen):
    connected("tools=200")
    table = screen.find(TOOLS)
    for height in range(600, 640, 5):
        page.widget.window().resize(1100, height)
        QApplication.processEvents()
        assert table.viewport().height() % table.verticalHeader().defaultSectionSize() == 0


def test_the_enforcement_of_a_tool_is_shown(connected, page, screen):
    connected("tools=1")
    tool = page.view.tools.current.tool
    screen.until(lambda: page.proofs.whole_rows(tool) is not None)
    screen.press("Checks")
    rows = screen.rows("Enforcement of each constraint…")
    assert "text · maxLength 20" in [row[0] for row in rows]
    assert page.view.tools.model.index(0, columns.ENFORCEMENT).data() == f"{len(rows)} enforced"


# -- a call by hand ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_arguments_are_checked_before_the_call(connected, page, screen):
    connected()
    screen.until("Required: text")
    screen.write("text", "far too long for this field")
    screen.until(lambda: screen.named("impossible") and screen.can("Call anyway"))
    screen.write("text", "short")
    screen.until(lambda: screen.named("valid") and not screen.named("Call anyway"))
    screen.press("Edit as JSON")
    assert json.loads(screen.read(ARGUMENTS)) == {"text": "short"}
    screen.write(ARGUMENTS, '{"text": "sh')
    screen.until(lambda: not page.view.panel.call_button.isEnabled())
    screen.write(ARGUMENTS, '{"text": "x", "more": 1}')
    screen.until("no argument")
    screen.press("Edit as form")
    assert screen.named(ARGUMENTS), "an argument without a field was dropped"
    screen.press("Example")
    screen.until(lambda: not screen.named("Call anyway"))


@pytest.mark.slow
def test_a_low_panel_shows_all_arguments_until_there_is_a_result(page, qtbot):
    page.view.resize(970, 590)
    page.view.tools.choose("search")
    form = page.view.panel.form
    qtbot.waitUntil(lambda: form.height() >= form.preferred_height)


@pytest.mark.slow
def test_a_call_by_hand_shows_its_result_and_is_in_the_log(connected, page, screen, servers, call_it):
    connected()
    assert call_it("echo", text="hello") == "succeeded" and '{\n  "text": "hello"\n}' in screen
    sent = [each for each in servers.get("mine").server.log.entries if each.method == "tools/call"]
    assert len(sent) == 1
    screen.press("Show log")
    screen.until(lambda: "tools/call" in [row[2] for row in screen.rows(LOG)])
    screen.write("Show only messages…", "tools/list")
    assert 1 <= len(screen.rows(LOG)) <= 2
    screen.choose(LOG, "tools/list")
    assert json.loads(screen.read("Selected message"))["method"] == "tools/list"
    page.view.log.copy_button.click()
    assert "tools/list" in QApplication.clipboard().text()
    screen.write("Show only messages…", "")
    call_it("rich")
    assert "file:///a" in page.view.panel.result.text
    assert [call_it("failing"), call_it("refused")] == ["tool error", "protocol error"]
    assert "output schema" in call_it("wrong-structure")
    call_it("structured")
    assert "Structured content" in screen.texts()
    call_it("notices")
    assert "hundred thousand" in page.view.panel.result.text
    assert 0 < page.view.log.model.rowCount() <= 1000
    call_it("large")
    assert page.view.panel.result.view is not None


@pytest.mark.slow
def test_a_result_is_under_its_own_tool_and_a_call_without_an_answer_can_be_cancelled(
    connected, page, screen, call_it, qtbot
):
    connected()
    call_it("echo", text="kept")
    screen.choose(TOOLS, "silent")
    panel = page.view.panel
    assert panel.result.view is None
    page.view.activateWindow()
    panel.call_button.setFocus()
    qtbot.waitUntil(panel.call_button.hasFocus)
    panel.call_button.click()
    assert panel.cancel_button.hasFocus() and not panel.call_button.isVisible()
    screen.until(lambda: panel.bar.maximum() == 0)
    screen.choose(TOOLS, "echo")
    assert screen.read("text") == "kept", "the typed text was lost with the choice"
    assert "kept" in panel.result.text
    screen.until("calling silent")
    screen.press("Cancel")
    screen.until(lambda: not page.calls.jobs.is_busy)
    assert "kept" in panel.result.text
    screen.choose(TOOLS, "silent")
    assert panel.result.pill.words == "cancelled" and panel.call_button.isVisible()


@pytest.mark.slow
def test_closing_the_window_ends_every_server(open_window, qtbot):
    window = open_window(scripted)
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


# -- effects and runs --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_effects_of_the_demo_tools_are_shown_at_once(page, screen, servers, qtbot):
    demo = servers.demo

    def call(tool, **arguments):
        assert demo.call(tool, arguments, seconds=5, cancel=threading.Event()).ok

    ops = [{"op": "set", "path": "/added_here", "value": 1}]
    worker = threading.Thread(
        target=lambda: (
            call("send_email", to="ann@example.com", subject="Hello", body="Dear Ann"),
            call("write_file", path="notes/a.txt", content="milk"),
            call("state_patch", workspace_id=demo.workspace["id"], ops=ops),
        )
    )
    worker.start()
    worker.join()
    screen.until(lambda: "Dear Ann" in screen.read("Selected e-mail"))
    screen.press("Scratch folder")
    screen.until(lambda: screen.read("Selected file") == "milk")
    call("write_file", path="notes/a.txt", content="milk and honey")
    screen.until(lambda: screen.read("Selected file") == "milk and honey")
    screen.press("Workspace")
    screen.until(lambda: "added_here" in screen.read("The workspace"))
    page.context.navigator.show(PageId.PLAYGROUND)
    call("send_email", to="bob@example.com", subject="Two", body="")
    qtbot.wait(120)
    assert page.view.effects.mails.rowCount() == 1
    page.context.navigator.show(PageId.SERVERS)
    assert page.view.effects.mails.rowCount() == 2


@pytest.mark.slow
def test_a_run_reaches_the_server_of_an_imported_tool(open_page, qtbot):
    """Under the name that the registry gave it, and with a server that was not started before."""
    page = open_page(PageId.SERVERS, lambda _name, **_options: ScriptedModel('{action="echo_2" text="hi"}'))
    context = page.context
    servers, project = context.services.servers, context.project
    servers.add("mine", entry(), allowed=True)
    project.tools.add(Tool("echo_2", "", {"type": "object", "properties": {"text": {"type": "string"}}}))
    rules = (ApprovalRule(action="allow"),)
    project.set_options(sources={"echo_2": "mine/echo"}, dispatch=True, approvals=rules, constraint="off")
    with qtbot.waitSignal(context.runs.ended):
        page.run()
    results = [event for event in context.runs.events if isinstance(event, ToolResult)]
    assert [(r.ok, r.source, r.content[0].text) for r in results] == [(True, "mine/echo", '{"text": "hi"}')]
    assert servers.get("mine").phase == "ready"
