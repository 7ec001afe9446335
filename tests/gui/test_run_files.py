"""Runs as files in the window: opened by menu, drop and argument; saved and exported, with their contents shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QLabel, QMenu

from glyphscope.base.errors import ModelError
from glyphscope.events import ApprovalRule
from glyphscope.store.bundle import read_bundle, write_bundle
from glyphscope.store.exports import EXPORTS, export_forms, form_named
from glyphscope.store.records import encode_record, read_record
from glyphscope_gui.history.export_dialog import MAX_SHOWN, ExportDialog
from glyphscope_gui.playground.examples import example_request
from glyphscope_gui.runs import exported, file_name, record_summary
from glyphscope_gui.runs.recorder import bundled_run, bundled_runs
from glyphscope_gui.shared.errors import ErrorDialog
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell.open_files import dropped_file, kind_of

CALL = '{action="search" query="AI news" max_results=10}'
EVENTS = bundled_run("search-mask.jsonl")


@pytest.fixture
def bundle(tmp_path):
    path = tmp_path / "kept.glyphrun"
    write_bundle(path, EVENTS)
    return path


def shown(qtbot, window, begin):
    with qtbot.waitSignal(window.runs.ended):
        begin()
    return window.runs.state


def dialog_words(qtbot, window):
    qtbot.waitUntil(lambda: window.findChild(ErrorDialog) is not None)
    dialog = window.findChild(ErrorDialog)
    words = " ".join(label.text() for label in dialog.findChildren(QLabel))
    dialog.reject()
    return words


# -- without a window ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        (["/a/m.gguf"], "model"),
        (["/a/M.GGUF"], "model"),
        (["/a/b c.glyphrun"], "run"),
        (["/a/b.jsonl"], "run"),
        (["/a/b.glyphscope"], "project"),
        (["/a/b.gbnf"], "grammar"),
        (["/a/01-date.md"], "lesson"),
        (["/a/tools.json"], "tools"),
        (["/a/m.txt"], ""),
        (["/a.gguf", "/b.gguf"], ""),
        ([], ""),
    ],
)
def test_only_one_file_of_a_known_kind_can_be_dropped(files, kind):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(file) for file in files])
    path = dropped_file(data)
    assert (kind_of(path) if path else "") == kind


def test_a_prompt_makes_a_safe_file_name():
    assert file_name(EVENTS) == "search-for-ai-news-10.glyphrun"
    started = EVENTS[0]
    for prompt in ("../../etc/passwd", "日本", "", "a/b\\c:d*e\0f", "x" * 500):
        name = file_name([_asking(started, prompt)])
        assert name.endswith(".glyphrun")
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") and len(name) < 60, prompt


def _asking(started, prompt):
    return msgspec.structs.replace(started, request=msgspec.structs.replace(started.request, prompt=prompt))


def test_every_export_has_its_own_words_and_no_key():
    words = [form_named(form) for form in export_forms()]
    assert len({each.menu for each in words}) == len(words)
    assert all(re.search(r"\b(?:no|or) key\b", each.holds) for each in words)
    copied = [each.copied for each in EXPORTS.values() if each.copied]
    assert len(set(copied)) == len(copied)


def test_a_record_with_a_servers_command_line_suggests_a_bundle():
    started = EVENTS[0]
    rule = ApprovalRule(tool="search", action="allow", identity="server --key secret")
    bound = msgspec.structs.replace(
        started, request=msgspec.structs.replace(started.request, approvals=(rule,))
    )
    assert "save it as .glyphrun" in record_summary(Path("a.jsonl"), (bound, *EVENTS[1:]))
    assert "save it as" not in record_summary(Path("a.jsonl"), EVENTS)


def test_an_exported_grammar_notes_that_the_run_had_no_constraint():
    started = EVENTS[0]
    free = msgspec.structs.replace(
        started, request=msgspec.structs.replace(started.request, constraint="off")
    )
    assert "no constraint" not in exported(EVENTS, "gbnf", "x").note
    assert "The run had no constraint" in exported((free, *EVENTS[1:]), "gbnf", "x").note
    assert exported(EVENTS, "pytest", "x").name == "test_search_for_ai_news_10.py"


# -- opening -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bundles_and_records_open_and_a_damaged_file_leaves_the_shown_run(
    qtbot, window, bundle, tmp_path, monkeypatch
):
    record, torn = tmp_path / "kept.jsonl", tmp_path / "torn.jsonl"
    record.write_bytes(encode_record(EVENTS))
    torn.write_bytes(encode_record(EVENTS)[:-9])
    window.navigator.show(PageId.GRAMMAR)
    for path in (bundle, record, torn):
        state = shown(qtbot, window, lambda path=path: window.files.open_file(path))
        assert window.navigator.current is PageId.PLAYGROUND
        assert state.started is not None and state.started.request.prompt == EVENTS[0].request.prompt
    assert "cut off" in window.status.note.text() or len(window.runs.events) == len(EVENTS) - 1
    before, whole = list(window.runs.events), bundle.read_bytes()
    for damaged in (whole[:-30], b"hello", None):
        if damaged is None:
            bundle.unlink()
        else:
            bundle.write_bytes(damaged)
        window.files.open_file(bundle)
        assert "kept.glyphrun" in dialog_words(qtbot, window)
        qtbot.waitUntil(lambda: window.findChild(ErrorDialog) is None)
        assert window.runs.events == before
    starts = []
    monkeypatch.setattr(window.presenter, "start", lambda: starts.append(len(window.runs.events)))
    window.files.open_first(record)
    qtbot.waitUntil(lambda: starts == [len(EVENTS)])  # shown before the model is opened
    window.files.open_first(bundle)
    assert "kept.glyphrun" in dialog_words(qtbot, window)
    assert len(starts) == 2, "a file that cannot be read leaves the window without a model"


@pytest.mark.slow
def test_a_dropped_file_is_opened_by_its_kind(qtbot, window, bundle, tmp_path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(bundle))])
    assert not window.page(PageId.PLAYGROUND).view.prompt_edit.canInsertFromMimeData(data), (
        "its name would be typed into the prompt"
    )
    assert not window.panels.prompt.system_edit.canInsertFromMimeData(data)
    drop = QDropEvent(
        QPoint(9, 9),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    shown(qtbot, window, lambda: window.dropEvent(drop))
    grammar = tmp_path / "mine.gbnf"
    grammar.write_text('root ::= "a"\n')
    window.files.open_file(grammar)
    qtbot.waitUntil(lambda: window.services.project.grammar.text == 'root ::= "a"\n')
    assert window.navigator.current is PageId.GRAMMAR
    project = tmp_path / "mine.glyphscope"
    window.services.project.save(project)
    window.services.project.path = None
    window.files.open_file(project)
    qtbot.waitUntil(lambda: window.services.project.path == project)


@pytest.mark.slow
def test_a_run_given_at_the_start_is_shown(qtbot, open_page, bundle):
    def no_model(_name, **_options):
        raise ModelError("There is no model here.")

    page = open_page(PageId.PLAYGROUND, no_model)
    runs, other = page.context.runs, bundled_run("sources-whole.jsonl")
    write_bundle(bundle, other)
    page.context.recorder.read(bundle, runs.show_record)
    qtbot.waitUntil(lambda: not runs.is_busy and runs.state.started is not None)
    run = other[0].run
    qtbot.waitUntil(lambda: runs.state.started.run == run and not runs.is_busy)
    page._first_model = True
    page._show_no_model(runs.model)
    assert not runs.is_busy and runs.state.started.run == run
    assert "There is no model here." in page.view.notice.label.text()


# -- saving --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_is_saved_as_a_bundle_with_its_contents_listed_or_the_failure_reported(qtbot, window, tmp_path):
    assert not window.actions_.share.isEnabled()
    shown(qtbot, window, window.actions_.run.trigger)
    events = tuple(window.runs.events)
    path = tmp_path / "mine.glyphrun"
    window.recorder.write(path, events)
    notice = window.page(PageId.PLAYGROUND).view.notice
    qtbot.waitUntil(notice.isVisible)
    words = notice.label.text()
    assert "mine.glyphrun" in words and "In it: the prompt" in words and "Not in it: API keys" in words
    assert read_bundle(path).record.events == events
    window.recorder.write(tmp_path / "mine.jsonl", events)
    qtbot.waitUntil(lambda: "mine.jsonl" in notice.label.text())
    assert read_record(tmp_path / "mine.jsonl").events == events
    (tmp_path / "folder.glyphrun").mkdir()
    window.recorder.write(tmp_path / "folder.glyphrun", events)
    assert "folder.glyphrun" in dialog_words(qtbot, window)


# -- exports -------------------------------------------------------------------------------------------------------


def export(qtbot, window, form):
    window.actions_.share.trigger()
    qtbot.waitUntil(lambda: window.findChild(ExportDialog) is not None)
    dialog = window.findChild(ExportDialog)
    names = [dialog.form.itemData(place) for place in range(dialog.form.count())]
    assert names == list(export_forms()) and "otel" in names
    if form != "html":
        dialog.form.setCurrentIndex(names.index(form))
        dialog.form.activated.emit(names.index(form))
        qtbot.waitUntil(lambda: dialog.copy_button.isVisibleTo(dialog))
    return dialog


@pytest.mark.slow
def test_an_export_is_copied_whole_saved_and_available_from_the_history(qtbot, window, tmp_path):
    shown(qtbot, window, window.actions_.run.trigger)
    assert window.actions_.share.isEnabled()
    dialog = export(qtbot, window, "openai-tools")
    assert re.search(r"\b(?:no|or) key\b", dialog.note.text())
    dialog.copy_button.click()
    tools = json.loads(QGuiApplication.clipboard().text())
    assert len(tools) == 7
    assert dialog.view.toPlainText() == QGuiApplication.clipboard().text()[:MAX_SHOWN]
    path = tmp_path / "tools.json"
    dialog.save(str(path))
    qtbot.waitUntil(path.exists)
    assert json.loads(path.read_text()) == tools
    history = window.panels.history
    run = window.runs.events[0].run
    qtbot.waitUntil(lambda: [row.id for row in history.model.rows[:1]] == [run])
    history.list.setCurrentIndex(history.model.index(0, 0))
    qtbot.waitUntil(lambda: window.findChild(ExportDialog) is None)
    history.ask_with_current(history.exportRequested, "curl")
    qtbot.waitUntil(lambda: window.findChild(ExportDialog) is not None)
    dialog = window.findChild(ExportDialog)
    assert dialog.view.toPlainText().startswith("curl ")
    assert re.search(r"\b(?:no|or) key\b", dialog.note.text())
    dialog.reject()
    loop = bundled_run("verbs-loop.jsonl")
    shown(qtbot, window, lambda: window.runs.replay(loop, 0))
    window.files.export_shown("curl")
    assert "is one request" in dialog_words(qtbot, window), "only the run's own limitations are mentioned"


@pytest.mark.slow
def test_every_recorded_example_is_shown_from_the_menu(window, qtbot):
    menu = window.findChild(QMenu, "examplesMenu")
    assert len(menu.actions()) == len(bundled_runs())
    example = next(action for action in menu.actions() if "Qwen" in action.text())
    shown(qtbot, window, example.trigger)
    assert window.runs.state.call.tool == "lookup_irregular_verb"


@pytest.mark.slow
def test_an_example_prompt_is_taken_into_the_project_with_its_settings_and_back_out(window, qtbot):
    project, notice = window.services.project, window.page(PageId.PLAYGROUND).view.notice
    before = project.request
    for action in window.findChild(QMenu, "promptsMenu").actions():
        action.trigger()
        assert project.request == example_request(action.data())
        assert (project.request.constraint, project.request.notation) == ("off", "glyph")
        assert notice.isVisible() and "embedded model" in notice.label.text()
        notice.action.click()
        assert project.request == before


@pytest.mark.slow
def test_a_page_is_saved_without_showing_its_source_and_can_be_opened(qtbot, window, tmp_path, monkeypatch):
    shown(qtbot, window, lambda: window.runs.replay(bundled_run("search-mask.jsonl"), 0))
    dialog = export(qtbot, window, "html")
    assert "A page for a browser" in dialog.view.toPlainText() and not dialog.copy_button.isVisibleTo(dialog)
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    path = tmp_path / "page.html"
    dialog.save(str(path))
    notice = window.page(PageId.PLAYGROUND).view.notice
    qtbot.waitUntil(lambda: "page.html" in notice.label.text())
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "no API keys" in notice.label.text() and notice.action.text() == "Open the page"
    notice.action.click()
    assert opened == [QUrl.fromLocalFile(str(path))]


def test_a_long_export_is_shown_in_part_and_copied_whole(qtbot):
    text = "x" * (MAX_SHOWN + 1234)
    dialog = ExportDialog(exported(EVENTS, "curl", text))
    qtbot.addWidget(dialog)
    assert len(dialog.view.toPlainText()) == MAX_SHOWN
    assert "1,234" in dialog.more.text()
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == text
