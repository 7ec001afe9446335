"""Bad input in the whole window: what is told, and that the window and what it shows live on."""

from __future__ import annotations

import errno
import json
import os
import sqlite3

import pytest
from PySide6.QtCore import Qt as Core
from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel

from glyphscope.calling import branch_tree
from glyphscope.errors import ContextOverflow, ModelDied
from glyphscope.models import ScriptedModel, open_model
from glyphscope.models.interface import RenderedPrompt
from glyphscope.sessions import places
from glyphscope.sessions.files import atomic_write
from glyphscope.sessions.history import kin_of
from glyphscope_gui.playground.branches.tree_model import BranchTreeModel
from glyphscope_gui.shared.error_dialog import ErrorDialog

pytestmark = pytest.mark.slow  # whole windows

CALL = '{action="search" query="日本 😀" max_results=10}'


class Cut(ScriptedModel):
    """Writes each byte as a token of its own: characters come in halves."""

    def __init__(self) -> None:
        super().__init__([bytes([byte]) for byte in CALL.encode()])


class Dying(ScriptedModel):
    """Its process is killed after three tokens, the first time."""

    lives = 1

    def generate(self, request):
        for number, item in enumerate(super().generate(request)):
            yield item
            if number == 3 and self.lives:
                self.lives -= 1
                raise ModelDied(
                    "The model's process was ended by SIGKILL.", signal="SIGKILL", stderr="killed"
                )


class Plain(ScriptedModel):
    """Has no chat template."""

    def render_chat(self, messages, tools=()):
        return RenderedPrompt("System: …", 3, "The model has no chat template: …")


class Full(ScriptedModel):
    """Its context holds no prompt."""

    def generate(self, request):
        raise ContextOverflow(5000, 4096)
        yield


@pytest.fixture
def make(open_window):
    def build(model=None):
        def opener(name, *, context, progress):
            return open_model(name) if name.startswith("/") else model or ScriptedModel(CALL)

        window = open_window(opener)
        window.parts.project.set_options(constraint="off")
        return window

    return build


def finish(qtbot, window):
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    return window.runs.state


def dialog_words(qtbot, window):
    """What the error dialog tells, which is closed then."""
    qtbot.waitUntil(lambda: window.findChild(ErrorDialog) is not None)
    dialog = window.findChild(ErrorDialog)
    words = " ".join(label.text() for label in dialog.findChildren(QLabel))
    dialog.close()
    qtbot.waitUntil(lambda: window.findChild(ErrorDialog) is None)
    return words


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"<html>404</html>", "not a GGUF"),
        (b"GGUF\3\0\0\0" + b"\xff" * 100, "damaged"),
    ],
)
def test_a_model_that_is_none_ends_the_window_or_the_one_before_it(qtbot, make, tmp_path, content, words):
    window = make()
    path = tmp_path / "bad.gguf"
    if content is not None:
        path.write_bytes(content)
    window.wiring.choose_model(str(path))
    qtbot.waitUntil(lambda: window.runs.model.phase == "failed")
    assert window.page.notice.isVisible()
    told = window.page.notice.label.text()
    assert words in told and "bad.gguf" in told
    window.wiring.choose_model("embedded")
    qtbot.waitUntil(lambda: window.runs.model.phase == "ready")
    assert finish(qtbot, window).call is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"tools": [', "not JSON: "),
        ('{"a": {"type": "object", "properties": {"x": {"type": "strin"}}}}', "has a mistake"),
        ('[{"name": "a"}, {"name": "a"}]', "has a mistake"),
    ],
)
def test_a_registry_that_is_none_is_a_mistake_of_ours_or_changes_the_tools(
    qtbot, make, tmp_path, text, words
):
    window = make()
    path = tmp_path / "bad.json"
    path.write_text(text)
    window.tools_page.actions_.read_file(path)
    told = dialog_words(qtbot, window)
    assert words in told and "bad.json" in told and "mistake of Glyphscope" not in told
    assert len(window.parts.document.registry) == 7
    assert finish(qtbot, window).call is not None


def test_a_model_that_dies_takes_the_tokens_before_it_or_the_next_run(qtbot, make):
    window = make(Dying(CALL))
    state = finish(qtbot, window)
    assert state.failed.code == "MODEL_FAILED" and len(state.tokens) == 3
    assert "SIGKILL" in window.page.notice.label.text() and "next run" in window.page.notice.label.text()
    assert window.page.tokens_model.rowCount() == 3, "what was decoded is still to be seen"
    assert finish(qtbot, window).call is not None
    assert not window.page.notice.isVisible()


def test_a_prompt_longer_than_the_context_is_not_told_or_not_to_be_seen(qtbot, make):
    window = make(Full(CALL))
    state = finish(qtbot, window)
    assert state.failed.code == "CONTEXT_OVERFLOW" and not state.tokens
    told = window.page.notice.label.text()
    assert "5000 tokens" in told and "holds 4096" in told and "Shorten" in told
    assert state.prompt is not None and state.prompt.text, "what was too long can be looked at"
    assert window.actions_.run.isEnabled()


def test_a_model_without_a_chat_template_is_not_told(qtbot, make):
    window = make(Plain(CALL))
    assert finish(qtbot, window).call is not None
    assert window.page.notice.isVisible()
    assert "no chat template" in window.page.notice.label.text()


def test_half_a_character_is_lost_or_shown_as_another(qtbot, make):
    window = make(Cut())
    state = finish(qtbot, window)
    assert state.call is not None and state.call.arguments["query"] == "日本 😀"
    assert window.page.stream.toPlainText() == CALL
    model, first = window.page.tokens_model, CALL.encode().index("日".encode())
    assert [model.index(first + n, 1).data() for n in range(3)] == ["⟨E6⟩", "⟨97⟩", "⟨A5⟩"]


def test_a_record_of_a_newer_version_takes_the_run_that_is_shown(qtbot, make, tmp_path):
    window = make()
    finish(qtbot, window)
    before, path = list(window.runs.events), tmp_path / "newer.jsonl"
    path.write_text(json.dumps({"glyphscope_record": 99}) + "\n")
    window.recorder.read(path, window.wiring.show_record)
    words = dialog_words(qtbot, window)
    assert "version 99" in words and "newer Glyphscope" in words and "newer.jsonl" in words
    assert window.runs.events == before


def test_a_history_of_a_newer_version_is_written_over_or_ends_the_window(qtbot, make):
    path = places().history
    path.parent.mkdir(parents=True, exist_ok=True)
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 99")
    base.commit()
    base.close()
    content = path.read_bytes()
    window = make()
    assert finish(qtbot, window).call is not None
    assert "version 99" in dialog_words(qtbot, window)
    assert finish(qtbot, window).call is not None
    qtbot.waitUntil(lambda: "version 99" in window.status.note.text())
    assert window.findChild(ErrorDialog) is None, "told again, but not by a dialog after every run"
    window.shut_down()
    assert path.read_bytes() == content


@pytest.mark.slow
def test_a_full_disk_takes_the_run_from_the_window(qtbot, make, tmp_path, monkeypatch):
    window = make()
    finish(qtbot, window)
    path = tmp_path / "run.jsonl"
    atomic_write(path, "older")

    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        window.recorder.write(path, tuple(window.runs.events))
        words = dialog_words(qtbot, window)
    assert "disk is full" in words and "run.jsonl" in words and "Make room" in words
    assert path.read_text() == "older"
    window.recorder.write(path, tuple(window.runs.events))
    qtbot.waitUntil(lambda: path.read_text() != "older")


def test_what_somebody_wrote_is_laid_out_as_html_in_a_hint(qtbot, make):
    """Qt takes a hint for HTML whose first line has a tag, and reads the pictures that it names."""
    written = '<img src="file:///etc/passwd"> <b>10</b>'
    window = make(ScriptedModel(f"{{action=search query={json.dumps(written)}}}"))
    window.parts.prompt.set_user(written)
    finish(qtbot, window)
    branch = BranchTreeModel()
    branch.show(
        branch_tree([[window.runs.events[0]]]),
        {window.runs.state.started.run: kin_of(window.runs.events)},
        "",
    )
    qtbot.waitUntil(lambda: window.history_page.model.rowCount() == 1)
    page, seen = window.page, []
    for model, columns in (
        (window.history_page.model, 1),
        (branch, 3),
        (page.fields_model, page.fields_model.columnCount()),
        (page.tokens_model, page.tokens_model.columnCount()),
    ):
        for place in range(model.rowCount() * columns):
            index = model.index(place // columns, place % columns)
            tip = str(index.data(Core.ItemDataRole.ToolTipRole) or "")
            seen.append("img" in tip)
            assert not Qt.mightBeRichText(tip) or "<img" not in tip, (type(model).__name__, tip)
    assert any(seen)
    window.lessons.lecture.notes.show_step(written, written, "", "", "")
    assert window.lessons.lecture.notes.place.textFormat() is Core.TextFormat.PlainText
