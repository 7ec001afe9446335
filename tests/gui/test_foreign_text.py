"""Foreign text in the window: every character in it is visible, wherever it is shown."""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractProxyModel, QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import QPainter, QTextCursor
from PySide6.QtWidgets import QAbstractItemView, QLabel, QPlainTextEdit, QTextEdit, QWidget

import glyphscope_gui
from every_page import ABORTED, texts
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import character_words, unseen, visible
from glyphscope.events import AnyEvent, ApprovalNeeded, RunFailed
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store import Project
from glyphscope_gui.evaluate.page import RESULT
from glyphscope_gui.grammar.railroad_drawing import text_words
from glyphscope_gui.playground import ApprovalCard
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared import (
    CodeEdit,
    ElidedLabel,
    GrowingEdit,
    LineEdit,
    ReadBox,
    WrappedLabel,
    words_label,
)
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.errors import ErrorDialog, Explanation
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId, PanelId
from made_results import four_arms, made_result
from made_runs import loop_run
from mcp_servers import SCRIPT

HIDDEN = "\u2061\u2064\u180e\u034f\u115f\u3164\U000e0041\u202e\u200b\ue000\ud800\x1b"


def models():
    for found in pkgutil.walk_packages(glyphscope_gui.__path__, "glyphscope_gui."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            for _, kind in inspect.getmembers(module, inspect.isclass):
                if kind.__module__ == found.name and issubclass(kind, QAbstractItemModel):
                    yield kind


def has_own_data(kind):
    """Not an abstract base: Qt would fail for its `data`."""
    return any("data" in vars(base) for base in kind.__mro__ if base.__module__.startswith("glyphscope_gui"))


def test_every_model_of_the_window_shows_invisible_characters():
    own = [kind for kind in models() if not issubclass(kind, QAbstractProxyModel) and has_own_data(kind)]
    assert len(own) > 20
    assert [kind.__name__ for kind in own if not getattr(kind.data, "is_plain", False)] == []


@pytest.mark.parametrize(
    "make", [words_label, lambda text: _said(WrappedLabel(), text), lambda text: _said(ElidedLabel(), text)]
)
def test_a_label_of_foreign_words_shows_invisible_characters(qtbot, make):
    label = make(HIDDEN)
    qtbot.addWidget(label)
    assert not unseen(label.text()) and "⟨U+2061⟩" in label.text()
    label.setText("a\n" + HIDDEN)
    assert not unseen(label.text()) and label.text().startswith("a\n⟨U+2061⟩")


def _said(label, text):
    label.setText(text)
    return label


def test_a_read_only_box_shows_invisible_characters(qtbot):
    box = ReadBox(5, "box", HIDDEN)
    qtbot.addWidget(box)
    assert not unseen(box.toPlainText()) and "⟨U+E0041⟩" in box.toPlainText()


@pytest.mark.parametrize("make", [LineEdit, lambda: GrowingEdit(3), CodeEdit])
def test_an_editable_field_names_the_invisible_characters_of_its_text_and_keeps_them(qtbot, make):
    field = make()
    qtbot.addWidget(field)
    field.show()
    put = field.setText if isinstance(field, LineEdit) else field.setPlainText
    get = field.text if isinstance(field, LineEdit) else field.toPlainText
    put("plain")
    height = field.sizeHint().height()
    assert not field.invisibles_note.isVisible()
    put("user\u202eadmin\u200b")
    note = field.invisibles_note
    assert note.isVisible() and field.rect().contains(note.geometry())
    assert note.text().endswith("U+202E, U+200B") and get() == "user\u202eadmin\u200b"
    if isinstance(field, GrowingEdit):
        assert field.sizeHint().height() > height and not note.geometry().intersects(
            field.viewport().geometry()
        )
    put("")
    (field.insert if isinstance(field, LineEdit) else field.insertPlainText)("a\u2066")  # like a paste
    qtbot.waitUntil(lambda: note.text().endswith("U+2066"))
    put("plain again")
    assert not note.isVisible() and field.sizeHint().height() == height


def test_every_editable_field_of_the_window_names_invisible_characters():
    own = Path(glyphscope_gui.__file__).parent
    raw = [
        f"{path.relative_to(own)}: {call}"
        for path in own.rglob("*.py")
        if path.name != "text_edits.py"
        for call in re.findall(
            r"\bQLineEdit\(.*|\bQTextEdit\(.*|\bQPlainTextEdit\((?!.*readOnly=True).*|setEditable\(True\)",
            path.read_text(),
        )
        if not re.search(rf"{re.escape(call)}[\s\S]{{,400}}setReadOnly\(True\)", path.read_text())
    ]
    assert raw == []


def test_a_single_token_and_character_is_shown_visibly():
    for char in HIDDEN:
        assert not unseen(character_words(char)) and not unseen(text_words(char))
        assert not unseen(token_text(char.encode("utf-8", "surrogatepass"), char))


def test_the_approval_card_shows_all_invisible_characters(qtbot):
    card = ApprovalCard()
    qtbot.addWidget(card)
    needed = ApprovalNeeded(
        run="r", t=0, stage="s", call="1", tool=f"t{HIDDEN}", source=f"s{HIDDEN}", identity=f"i{HIDDEN}\u00a0",
        arguments={f"n{HIDDEN}": HIDDEN, "list": ["\ud800"]}, claims={"title": HIDDEN},
    )  # fmt: skip
    card.ask(needed, None)
    qtbot.waitUntil(card.allow_button.isEnabled)
    said = [
        label.text().replace("\u200b", "") for label in card.findChildren(QLabel)
    ]  # places for line breaks
    said += [action.text() for action in card.menu.actions()]
    assert not unseen("".join(said))
    assert any("U+D800" in text for text in said if "invisible characters" in text and "U+2061" not in text)
    end_work(card)


def test_every_label_of_the_window_shows_invisible_characters():
    """Qt's own label is used where marks would disturb: places to break a line, words of the program."""
    made = {}
    for path in Path(glyphscope_gui.__file__).parent.rglob("*.py"):
        count = len(re.findall(r"(?<![\w.])QLabel\(", path.read_text("utf-8")))
        if count:
            made[path.name] = count
    assert made == {"asking.py": 1}


def test_values_in_the_windows_sentences_show_invisible_characters():
    assert tr("{count:,} of {name}", count=4000, name="a\u202eb\nc") == "4,000 of a⟨U+202E⟩b\nc"
    assert tr("{path}", path=Path("a\u2061")) == tr("{path}", path=ValueError("a\u2061")) == "a⟨U+2061⟩"


# -- in whole pages: labels, tips, menus, boxes and painters --------------------------------------------------------


MARKS = "\u2061\u202e\U000e0041"
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
    return f"{value}{MARKS}" if isinstance(value, str) and value and key in FREE else value


def hidden_run(events):
    """Return the events as a hostile server, model and file may have made them."""
    return tuple(msgspec.convert(_hidden(msgspec.to_builtins(event)), AnyEvent) for event in events)


def _hidden(event):
    if event["type"] == "token":
        return event
    event = hide(event)
    if "tool" in event and "call" in event:
        event |= {name: f"{event[name]}{MARKS}" for name in ("tool", "source", "identity") if name in event}
        if "arguments" in event:
            event["arguments"] = {name + MARKS: f"{each}{MARKS}" for name, each in event["arguments"].items()}
    if event["type"] == "run_started":
        event["model"] |= {"name": f"name{MARKS}", "path": f"/path{MARKS}.gguf"}
        for tool in event["request"]["registry"]["tools"]:
            odd = {"type": "string", "enum": [f"a{MARKS}", "b"], "description": f"d{MARKS}"}
            tool["parameters"]["properties"][f"odd{MARKS}"] = odd
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
    window = open_window(lambda _name, **_options: ScriptedModel("x", name=f"model{MARKS}"))
    page = window.page(PageId.PLAYGROUND)
    runs = [hidden_run(loop_run()), hidden_run(bundled_run(ABORTED))]
    failed = RunFailed(code="PROMPT_FAILED", message=f"m{MARKS}", hint=f"h{MARKS}", detail=f"d{MARKS}")
    for number, events in enumerate((*runs, (runs[1][0], failed))):
        with qtbot.waitSignal(window.runs.ended):
            window.runs.replay(events, 0)
        look(window, f"run {number}")
        assert not unseen(page.view.stream.toPlainText().replace(OWN[1], "").replace("\u2028", ""))
        window.services.history.add(events)
    request = msgspec.structs.replace(runs[1][0].request, model="", history=(), prompt=f"p{MARKS}")
    window.services.project.new(Project(request=request))
    window.status.set_note(f"note{MARKS}")
    window.panels.history.refresh()
    qtbot.waitUntil(lambda: window.panels.history.model.rowCount() == len(runs))
    for panel in PanelId:
        window.panels.reveal(panel)
        qtbot.wait(1)
        look(window.panels.docks.get(panel, window), panel)
    dialog = ErrorDialog(Explanation(*(f"{part}{MARKS}" for part in "tmwhd")), window)
    look(dialog, "error")
    dialog.close()


@pytest.mark.slow
def test_the_result_of_an_evaluation_shows_invisible_characters(open_page, qtbot, look, tmp_path):
    arms = tuple(msgspec.structs.replace(arm, model=f"model{MARKS}.gguf") for arm in four_arms())
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
    entry = {"command": sys.executable, "args": [str(SCRIPT), "hidden", f"x{MARKS}"]}
    name = servers.add(f"mine{MARKS}", entry, allowed=True)
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
    assert visible(MARKS) == "⟨U+2061⟩⟨U+202E⟩⟨U+E0041⟩" and visible(OWN) != OWN


@pytest.mark.parametrize("make", [CodeEdit, lambda: GrowingEdit(3)], ids=["code", "growing"])
def test_an_edit_returns_the_characters_that_it_was_given_and_lines_by_shift_enter(make, qtbot):
    edit = make()
    qtbot.addWidget(edit)
    text = "10\u00a0km\u202fto\u2028😀\nend"
    edit.setPlainText(text)
    assert edit.toPlainText() == text
    edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(edit, "s")
    qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert edit.toPlainText() == text + "s\n"
    edit.setReadOnly(True)
    qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert edit.toPlainText() == text + "s\n"
