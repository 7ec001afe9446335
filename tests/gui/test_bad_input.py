"""Bad input in the window and on the playground: its error messages, and that both and their contents survive it."""

from __future__ import annotations

import errno
import json
import os
import sqlite3

import pytest
from PySide6.QtCore import Qt as Core
from PySide6.QtGui import Qt

from glyphscope.base import resources
from glyphscope.base.errors import ContextOverflow, ModelDied
from glyphscope.models import open_model
from glyphscope.models.interface import RenderedPrompt
from glyphscope.models.scripted import ScriptedModel
from glyphscope.runs import branch_tree
from glyphscope.store import atomic_write, places
from glyphscope.store.history import kin_of
from glyphscope_gui.context import Page
from glyphscope_gui.playground import BranchTreeModel
from glyphscope_gui.runs import Phase
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.errors import ErrorDialog
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.tools.dock import ToolsDock
from on_screen import Screen

pytestmark = pytest.mark.slow

CALL = '{action="search" query="日本 😀" max_results=10}'


class Cut(ScriptedModel):
    """Writes each byte as a separate token: characters are split."""

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


def opener_of(model):
    """Return an opener of files, and of that model, or a scripted one, for any other name."""

    def opener(name, *, options, progress):
        return open_model(name) if name.startswith("/") else model or ScriptedModel(CALL)

    return opener


@pytest.fixture
def make(open_page):
    """Make the playground by itself."""

    def build(model=None):
        page = open_page(PageId.PLAYGROUND, opener_of(model))
        page.context.project.set_options(constraint="off")
        return page

    return build


def finish(qtbot, page):
    """Run the playground, or the window, to its end."""
    runs = page.context.runs
    run = page.run if isinstance(page, Page) else page.actions_.run.trigger
    with qtbot.waitSignal(runs.ended):
        run()
    return runs.state


def dialog_words(qtbot, window):
    """Return the texts of the error dialog and close it."""
    dialog = Screen(qtbot, window).dialog(ErrorDialog)
    words = " ".join(dialog.texts())
    dialog.press("Close")
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
def test_an_invalid_model_is_reported_and_the_next_model_opens(qtbot, make, tmp_path, content, words):
    page = make()
    runs, notice = page.context.runs, page.view.notice
    path = tmp_path / "bad.gguf"
    if content is not None:
        path.write_bytes(content)
    runs.open_model(str(path))
    qtbot.waitUntil(lambda: runs.model.phase == "failed")
    assert notice.isVisible()
    assert words in notice.label.text() and "bad.gguf" in notice.label.text()
    runs.open_model("embedded")
    qtbot.waitUntil(lambda: runs.model.phase == "ready")
    assert finish(qtbot, page).call is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"tools": [', "This is not JSON: "),
        ('{"a": {"type": "object", "properties": {"x": {"type": "strin"}}}}', "has an error"),
        ('[{"name": "a"}, {"name": "a"}]', "has an error"),
    ],
)
def test_an_invalid_registry_is_a_users_error_and_leaves_the_tools(qtbot, make, tmp_path, text, words):
    page = make()
    dock = ToolsDock(page.context.project.tools)
    qtbot.addWidget(dock)
    path = tmp_path / "bad.json"
    path.write_text(text)
    dock.actions_.read_file(path)
    reported = dialog_words(qtbot, dock)
    end_work(dock)
    assert words in reported and "bad.json" in reported and "mistake of Glyphscope" not in reported
    assert len(page.context.project.tools.registry) == 7
    assert finish(qtbot, page).call is not None


def test_a_model_that_dies_leaves_its_tokens_and_the_next_run_works(qtbot, make):
    page = make(Dying(CALL))
    state = finish(qtbot, page)
    assert state.failed.code == "MODEL_FAILED" and len(state.tokens) == 3
    assert "SIGKILL" in page.view.notice.label.text() and "next run" in page.view.notice.label.text()
    assert page.view.tokens_model.rowCount() == 3, "decoded tokens stay visible"
    assert finish(qtbot, page).call is not None
    assert not page.view.notice.isVisible()


def test_a_run_that_does_not_start_is_an_error_above_the_last_run_with_its_fix(qtbot, make):
    page = make()
    finish(qtbot, page)
    rows, text = page.view.tokens_model.rowCount(), page.view.stream.toPlainText()
    page.context.project.set_options(native="auto")
    with qtbot.waitSignal(page.context.runs.notStarted):
        page.run()
    notice = page.view.notice
    assert notice.isVisible() and notice.property("error") and notice.sign.isVisible()
    assert "no place for tools" in notice.label.text() and "Use GLYPH or JSON" in notice.label.text()
    assert (page.view.tokens_model.rowCount(), page.view.stream.toPlainText()) == (rows, text) != (0, "")
    assert page.context.runs.state.call is not None and page.context.actions.replay.isEnabled()
    history = page.context.services.history
    qtbot.waitUntil(lambda: {row.outcome for row in history.rows()} == {"valid", "failed PROMPT_FAILED"})
    assert {row.notation for row in history.rows()} == {"glyph", "native"}
    assert notice.action.text() == "Use GLYPH"
    qtbot.mouseClick(notice.action, Qt.MouseButton.LeftButton)
    assert page.context.project.options.native == "" and not notice.isVisible()
    assert finish(qtbot, page).call is not None


def test_an_end_without_a_valid_call_is_shown_with_a_fix(qtbot, make):
    page = make(ScriptedModel("Hello."))
    verdict, project = page.view.verdict, page.context.project
    project.set_options(stop_on="never")
    finish(qtbot, page)
    assert verdict.title.text().startswith("✕ No valid call")
    qtbot.mouseClick(verdict.button, Qt.MouseButton.LeftButton)
    assert project.options.constraint == "mask"
    project.set_options(constraint="off", strategy="loop")
    finish(qtbot, page)
    assert "Answered without a call" in verdict.title.text() and "✕" not in verdict.title.text()
    qtbot.mouseClick(verdict.button, Qt.MouseButton.LeftButton)
    assert project.options.loop.tool_use == "enforced" and not verdict.button.isVisible()
    finish(qtbot, page)
    assert verdict.title.text().startswith("✕ Constraint not met")


OTHER = ScriptedModel(
    "<|tool_call>call:search{}<tool_call|>", template=resources.read_text("forms/example.jinja")
)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (Full(CALL), {}, ("5,000 tokens", "holds 4,096", "Shorten")),
        (Plain(CALL), {}, ("no chat template",)),
        (
            OTHER,
            {"native": "auto", "tool_choice": "auto"},
            ("this looks like the notation <|tool_call>call:NAME",),
        ),
    ],
    ids=["a prompt longer than the context", "no chat template", "the markers of another notation"],
)
def test_what_is_odd_about_a_run_is_in_sight_and_the_next_one_is_not_blocked(
    qtbot, make, screen_of, model, options, words
):
    page = make(model)
    page.context.project.set_options(**options)
    state = finish(qtbot, page)
    screen = screen_of(page)
    assert all(each in screen for each in words)
    assert state.prompt is not None and state.prompt.text, "a prompt that is too long is shown"
    assert page.context.runs.phase is Phase.IDLE


def test_incomplete_characters_are_joined_in_the_text_and_shown_as_bytes(qtbot, make):
    page = make(Cut())
    state = finish(qtbot, page)
    assert state.call is not None and state.call.arguments["query"] == "日本 😀"
    assert page.view.stream.toPlainText() == CALL
    model, first = page.view.tokens_model, CALL.encode().index("日".encode())
    assert [model.index(first + n, 1).data() for n in range(3)] == ["⟨E6⟩", "⟨97⟩", "⟨A5⟩"]


def test_a_history_of_a_newer_version_is_left_as_it_is_and_reported(qtbot, open_window):
    path = places().history
    path.parent.mkdir(parents=True, exist_ok=True)
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 99")
    base.commit()
    base.close()
    content = path.read_bytes()
    window = open_window(opener_of(None))
    assert finish(qtbot, window).call is not None
    assert "version 99" in dialog_words(qtbot, window)
    assert finish(qtbot, window).call is not None
    qtbot.waitUntil(lambda: "version 99" in window.status.note.text())
    assert window.findChild(ErrorDialog) is None, "reported again, but without a dialog after every run"
    window.shut_down()
    assert path.read_bytes() == content


def test_foreign_text_is_plain_text_in_hints(qtbot, open_window):
    """Qt takes a hint with a tag in its first line for HTML, and loads its pictures."""
    written = '<img src="file:///etc/passwd"> <b>10</b>'
    window = open_window(opener_of(ScriptedModel(f"{{action=search query={json.dumps(written)}}}")))
    window.services.project.set_options(constraint="off")
    window.services.project.prompt.set_user(written)
    finish(qtbot, window)
    branch = BranchTreeModel()
    branch.show(
        branch_tree([[window.runs.events[0]]]),
        {window.runs.state.started.run: kin_of(window.runs.events)},
        "",
    )
    qtbot.waitUntil(lambda: window.panels.history.model.rowCount() == 1)
    page, seen = window.page(PageId.PLAYGROUND).view, []
    for model, columns in (
        (window.panels.history.model, 1),
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
    notes = window.page(PageId.LESSONS).lecture.notes
    notes.show_step(written, written, "", "", "")
    assert notes.place.textFormat() is Core.TextFormat.PlainText


def test_the_error_of_a_request_disappears_when_the_request_changes(open_page, qtbot):
    page = open_page(PageId.PLAYGROUND)
    tools, notice = page.context.project.tools, page.view.notice
    tools.set_all_enabled(False)
    page.run()
    qtbot.waitUntil(lambda: "No tool is allowed" in notice.label.text())
    qtbot.waitUntil(lambda: not page.context.runs.is_busy)
    tools.set_all_enabled(True)
    assert notice.isHidden()


def test_a_record_of_a_newer_version_is_rejected_and_the_shown_run_stays(qtbot, window, tmp_path):
    finish(qtbot, window)
    before, path = list(window.runs.events), tmp_path / "newer.jsonl"
    path.write_text(json.dumps({"glyphscope_record": 99}) + "\n")
    window.recorder.read(path, window.runs.show_record)
    words = dialog_words(qtbot, window)
    assert "version 99" in words and "newer Glyphscope" in words and "newer.jsonl" in words
    assert window.runs.events == before


def test_a_full_disk_is_reported_and_the_run_stays_in_the_window(qtbot, window, tmp_path, monkeypatch):
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
