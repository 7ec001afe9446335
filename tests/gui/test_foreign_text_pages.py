"""Foreign text in whole pages of the window: labels, tips, menus, boxes and painters hide none of it."""

from __future__ import annotations

import sys

import msgspec
import pytest
from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QPlainTextEdit, QTextEdit, QWidget

from every_page import ABORTED, texts
from glyphscope.base.visible import unseen, visible
from glyphscope.events import AnyEvent, RunFailed
from glyphscope.models import ScriptedModel
from glyphscope.store import Project
from glyphscope_gui.evaluate import RESULT
from glyphscope_gui.runs import bundled_run
from glyphscope_gui.shared.errors import ErrorDialog, Explanation
from glyphscope_gui.shared.page_ids import PageId, PanelId
from made_results import four_arms, made_result
from made_runs import loop_run
from mcp_servers import SCRIPT

HIDDEN = "\u2061\u202e\U000e0041"
OWN = "\u200b\ufffc"
"""Characters that the program puts into texts itself: places to break a line, and Qt's place of a picture."""
FREE = {
    "title", "message", "detail", "hint", "viable", "what", "question", "answer", "told", "description", "about",
    "library", "note", "label", "mime", "uri", "group", "scenario", "text", "prompt",
}  # fmt: skip
"""Keys of events and samples whose values may be foreign text."""


def hide(value, key=""):
    """Append an invisible character to every text that may be foreign."""
    if isinstance(value, dict):
        return {name: hide(each, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [hide(each, key) for each in value]
    return f"{value}{HIDDEN}" if isinstance(value, str) and value and key in FREE else value


def hidden_run(events):
    """Return the events as a hostile server, model and file may have made them."""
    return tuple(msgspec.convert(_hidden(msgspec.to_builtins(event)), AnyEvent) for event in events)


def _hidden(event):
    if event["type"] == "token":
        return event
    event = hide(event)
    if "tool" in event and "call" in event:
        event |= {name: f"{event[name]}{HIDDEN}" for name in ("tool", "source", "identity") if name in event}
        if "arguments" in event:
            event["arguments"] = {
                name + HIDDEN: f"{each}{HIDDEN}" for name, each in event["arguments"].items()
            }
    if event["type"] == "run_started":
        event["model"] |= {"name": f"name{HIDDEN}", "path": f"/path{HIDDEN}.gguf"}
        for tool in event["request"]["registry"]["tools"]:
            odd = {"type": "string", "enum": [f"a{HIDDEN}", "b"], "description": f"d{HIDDEN}"}
            tool["parameters"]["properties"][f"odd{HIDDEN}"] = odd
    return event


@pytest.fixture
def painted(monkeypatch):
    """Record all text that Python paints, since it was last emptied."""
    said = []
    draw = QPainter.drawText

    def noted(painter, *args):
        said.extend(each for each in args if isinstance(each, str))
        return draw(painter, *args)

    monkeypatch.setattr(QPainter, "drawText", noted)
    return said


def cells(model):
    """Yield the texts and tips of a view's first rows."""
    for row in range(min(model.rowCount(), 40)):
        for column in range(
            model.columnCount(QModelIndex()) if isinstance(model, QAbstractTableModel) else 1
        ):
            for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                yield str(model.index(row, column, QModelIndex()).data(role) or "")


@pytest.fixture
def look(painted):
    """Paint a part of the window, and find the texts that hide something, with their places."""
    found = {}

    def look_(top, where):
        painted.clear()
        top.grab()
        said = [*texts(top), *(("painted", text) for text in painted)]
        for widget in top.findChildren(QWidget):
            name = f"{type(widget).__name__} {widget.objectName()}"
            if isinstance(widget, QPlainTextEdit | QTextEdit) and widget.isReadOnly():
                said.append((name, widget.toPlainText()))
            if isinstance(widget, QAbstractItemView) and widget.model() is not None:
                said += ((name, text) for text in cells(widget.model()))
        for at, text in said:
            if unseen("".join(char for char in text if char not in OWN)):
                found.setdefault(f"{where}: {at}", ascii(text[:80]))
        assert any("⟨U+2061⟩" in text for _, text in said), f"{where} shows nothing foreign"

    yield look_
    assert not found, "\n".join(f"{at}: {text}" for at, text in found.items())


@pytest.mark.slow
def test_the_playground_its_panels_and_dialogs_show_invisible_characters(open_window, qtbot, look):
    window = open_window(lambda _name, **_options: ScriptedModel("x", name=f"model{HIDDEN}"))
    page = window.page(PageId.PLAYGROUND)
    runs = [hidden_run(loop_run()), hidden_run(bundled_run(ABORTED))]
    failed = RunFailed(code="PROMPT_FAILED", message=f"m{HIDDEN}", hint=f"h{HIDDEN}", detail=f"d{HIDDEN}")
    for number, events in enumerate((*runs, (runs[1][0], failed))):
        with qtbot.waitSignal(window.runs.ended):
            window.runs.replay(events, 0)
        look(window, f"run {number}")
        table = page.view.timeline.table
        for row in range(table.model().rowCount() if number == 0 else 0):
            table.setCurrentIndex(table.model().index(row, 0))
            if page.view.notes.isVisible():
                assert not unseen(page.view.notes.toPlainText().replace(OWN[1], "")), row
        window.services.history.add(events)
    request = msgspec.structs.replace(runs[1][0].request, model="", history=(), prompt=f"p{HIDDEN}")
    window.services.project.new(Project(request=request))
    window.status.set_note(f"note{HIDDEN}")
    window.panels.history.refresh()
    qtbot.waitUntil(lambda: window.panels.history.model.rowCount() == len(runs))
    for panel in PanelId:
        window.panels.reveal(panel)
        qtbot.wait(1)
        look(window.panels.docks.get(panel, window), panel)
    dialog = ErrorDialog(Explanation(*(f"{part}{HIDDEN}" for part in "tmwhd")), window)
    look(dialog, "error")
    dialog.close()


@pytest.mark.slow
def test_the_result_of_an_evaluation_shows_invisible_characters(open_page, qtbot, look, tmp_path):
    arms = tuple(msgspec.structs.replace(arm, model=f"model{HIDDEN}.gguf") for arm in four_arms())
    path = made_result(tmp_path, arms=arms)
    samples = path / "samples.jsonl"
    lines = (hide(msgspec.json.decode(line)) for line in samples.read_bytes().splitlines())
    samples.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    page = open_page(PageId.EVALUATE, ready=False)
    page.making.finish()
    page.open_result(path)
    qtbot.waitUntil(lambda: page.view.result.model.rowCount() > 1 and not page.is_busy)
    page.view.show_view(RESULT)
    tabs = page.view.result.tabs
    for place in range(tabs.count()):
        tabs.setCurrentIndex(place)
        qtbot.wait(1)
        look(page.view, tabs.tabText(place))


@pytest.mark.slow
def test_the_page_of_a_server_shows_invisible_characters(open_page, qtbot, look):
    page = open_page(PageId.SERVERS, ready=False)
    servers, view = page.context.services.servers, page.view
    entry = {"command": sys.executable, "args": [str(SCRIPT), "hidden", f"x{HIDDEN}"]}
    name = servers.add(f"mine{HIDDEN}", entry, allowed=True)
    view.list.choose(name)
    servers.start(name)
    qtbot.waitUntil(lambda: view.tools.model.rowCount() > 0)
    view.tools.choose(view.tools.model.row(0).name)
    for shown in ("call", "checks", "schema"):
        view.panel.show_view(shown)
        qtbot.wait(1)
        look(view, shown)
    servers.close()


def test_the_hidden_characters_of_these_tests_are_shown_as_signs():
    assert visible(HIDDEN) == "⟨U+2061⟩⟨U+202E⟩⟨U+E0041⟩" and visible(OWN) != OWN
