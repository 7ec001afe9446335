"""A record from elsewhere: its settings are visible, marked and readable, and can be applied to the project."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from fake_context import scripted
from glyphscope.base.errors import RegistryError
from glyphscope.events import BranchPoint, RunStarted
from glyphscope.runs import run_state
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.tools.tree import Item

LOOP = "verbs-loop.jsonl"


def changed(events, **request):
    started = events[0]
    assert isinstance(started, RunStarted)
    other = msgspec.structs.replace(started.request, **request)
    return (msgspec.structs.replace(started, request=other), *events[1:])


@pytest.fixture
def record():
    return bundled_run(LOOP)


@pytest.fixture
def page(open_page):
    return open_page(PageId.PLAYGROUND)


def page_of(window):
    """Return the playground and its scroll area."""
    return window.page(PageId.PLAYGROUND).view.parentWidget()


def show(qtbot, page, events):
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.show_record(events)


def test_a_record_shows_its_own_prompt_to_read_and_a_run_of_the_project_ends_that(qtbot, page, record):
    context = page.context
    context.project.prompt.set_user("Search for AI news")
    show(qtbot, page, record)
    edit = page.view.prompt_edit
    assert context.record.started is not None
    assert edit.isReadOnly() and edit.toPlainText() == record[0].request.prompt
    assert context.project.prompt.user == "Search for AI news"
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    assert context.record.started is None
    assert not edit.isReadOnly() and edit.toPlainText() == "Search for AI news"


def test_a_record_opened_while_another_is_read_is_shown_alone(qtbot, page, record, monkeypatch):
    monkeypatch.setattr(
        "glyphscope_gui.runs.worker.mailbox.MAX_POSTS", 20
    )  # posts at a time: the first record takes many batches
    second, runs = bundled_run("search-mask.jsonl"), page.context.runs
    with qtbot.waitSignal(runs.shown, check_params_cb=lambda shown: shown.run.started is not None):
        runs.show_record(record)
    assert runs.is_busy and runs.events and len(runs.events) < len(record)
    runs.show_record(second)
    qtbot.waitUntil(lambda: tuple(runs.events) == second and not runs.is_busy)
    assert runs.state.text == run_state(second).text
    assert page.view.tokens.model().rowCount() == len(runs.state.tokens)
    assert page.view.stream.toPlainText() in (runs.state.text, runs.state.text + "\n")


def test_the_settings_of_a_record_become_the_projects_and_can_be_undone(qtbot, page, record):
    context = page.context
    project = context.project
    project.prompt.set_user("Mine")
    project.set_options(max_tokens=99)
    before = project.project()
    show(qtbot, page, record)
    context.record.use()
    request, recorded = project.request, record[0].request
    assert (request.prompt, request.strategy, request.loop) == (recorded.prompt, "loop", recorded.loop)
    assert request.registry == recorded.registry and project.is_dirty
    assert context.record.started is None and not page.view.prompt_edit.isReadOnly()
    assert page.view.prompt_edit.toPlainText() == recorded.prompt
    project.prompt.set_user("Edited since")
    project.tools.undo_stack.undo()
    assert project.project() == before
    project.tools.undo_stack.redo()
    assert project.request.prompt == "Edited since" and project.request.strategy == "loop"


@pytest.mark.slow
def test_a_record_with_the_settings_of_the_project_is_not_marked(qtbot, page, record):
    show(qtbot, page, record)
    page.context.record.use()
    show(qtbot, page, record)
    assert page.context.record.started is None


@pytest.mark.slow
def test_a_record_brings_neither_its_model_nor_its_approval_rules(qtbot, page, record):
    project = page.context.project
    own = project.options
    show(
        qtbot,
        page,
        changed(
            record,
            model="http://elsewhere.example/v1",
            constraint="endpoint",
            native="openai",
            grammar='root ::= "a"',
            branch_of=BranchPoint("x", 1),
        ),
    )
    page.context.record.use()
    request = project.request
    assert request.model == own.model and request.approvals == own.approvals
    assert (request.native, request.constraint, request.branch_of) == ("auto", "mask", None)
    assert (request.notation, request.shape) == (own.notation, own.shape)
    assert project.next_run().request.grammar == 'root ::= "a"'
    own = changed(record, native="openai", grammar='root ::= "a"', constraint="endpoint")
    assert project.has_settings(own[0].request)


@pytest.mark.slow
def test_an_edit_of_the_project_shows_its_settings_again(qtbot, page, record):
    project = page.context.project
    for edit in (
        lambda: project.prompt.set_user("Another"),
        lambda: project.tools.set_enabled("search", False),
        lambda: project.set_options(max_tokens=17),
    ):
        show(qtbot, page, record)
        assert page.context.record.started is not None
        edit()
        assert page.context.record.started is None
        assert page.view.prompt_edit.toPlainText() == project.prompt.user


@pytest.mark.slow
def test_a_record_whose_tools_cannot_be_used_is_shown_and_changes_nothing(qtbot, page, record):
    before = page.context.project.project()
    show(qtbot, page, changed(record, registry={"tools": [{"name": ""}]}))
    assert page.context.record.started is not None
    with pytest.raises(RegistryError):
        page.context.record.use()
    assert page.context.project.project() == before and page.context.record.started is not None


@pytest.mark.slow
def test_the_top_bar_and_the_panels_show_a_record_only_beside_its_run(qtbot, open_window, record):
    window = open_window(scripted)
    project, header, tools = window.services.project, window.header, window.panels.tools
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(record)
    assert window.record_bar.isVisible() and "Run uses the project’s" in window.record_bar.words.text()
    assert (
        header.options_button.words.startswith("Tool loop")
        and not header.panel.groups.field("strategy").isEnabled()
    )
    assert not header.notation.isEnabled() and header.options_button.isEnabled(), "its options can be seen"
    qtbot.waitUntil(lambda: tools.stack.currentWidget() is tools.recorded)  # the panels follow a little later
    assert tools.recorded.tree.selected() == Item("conjugate")
    assert window.panels.prompt.recorded.text.toPlainText().endswith(record[0].request.prompt)
    assert window.panels.prompt.system_edit.isReadOnly()
    window.navigator.show(PageId.GRAMMAR)
    assert not window.record_bar.isVisible() and tools.stack.currentIndex() == 0
    assert header.options_button.words.startswith("Direct")
    window.navigator.show(PageId.PLAYGROUND)
    assert window.record_bar.isVisible()
    window.record_bar.findChild(QPushButton, "projectSettingsButton").click()
    assert not window.record_bar.isVisible() and header.panel.groups.field("strategy").isEnabled()
    assert window.picker.accessibleName() == f"Model: {window.picker._shown.name}"
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(record)
    window.record_bar.findChild(QPushButton, "useSettingsButton").click()
    assert project.request.strategy == "loop" and not window.record_bar.isVisible()
    notice = window.page(PageId.PLAYGROUND).view.notice
    assert notice.isVisible() and "Its model, SmolLM2-135M-Instruct, is not opened" in notice.label.text()
    assert page_of(window).height() == page_of(window).parentWidget().height(), (
        "a notice does not make it scroll"
    )
    notice.action.click()
    assert project.request.strategy == "direct"


@pytest.mark.slow
def test_the_settings_that_made_the_shown_run_are_marked_where_others_are_shown(page, qtbot, record):
    project, hint = page.context.project, page.view.verdict.details
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    project.set_options(notation="json", constraint="off")
    qtbot.waitUntil(lambda: "GLYPH · mask" in hint.text())
    project.set_options(notation="glyph", constraint="mask")
    qtbot.waitUntil(lambda: not hint.text())
    project.set_options(constraint="off")
    qtbot.waitUntil(lambda: "mask" in hint.text())
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    project.set_options(constraint="mask")
    qtbot.waitUntil(lambda: "This run: no constraint" in hint.text())
    assert "order" not in hint.text(), "without a constraint, no order is enforced"
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    project.set_options(native="auto")
    qtbot.waitUntil(lambda: hint.text() == "This run: GLYPH")
    with qtbot.waitSignal(page.context.runs.notStarted):  # the model has no template for tools
        page.run()
    assert hint.text() == "This run: GLYPH" and page.view.stream.toPlainText()
    project.set_options(native="")
    page.context.project.tools.set_enabled("search", False)
    qtbot.waitUntil(lambda: hint.text() == "This run: other tools")
    prompt = page.context.runs.state.started.request.prompt
    project.prompt.set_user("Something else")
    qtbot.waitUntil(lambda: prompt in hint.text())
    project.prompt.set_user(prompt)
    qtbot.waitUntil(lambda: prompt not in hint.text())
    show(qtbot, page, record)
    assert "This run" not in hint.text(), "its settings are shown"
    page.context.record.leave()
    qtbot.waitUntil(lambda: "tool loop" in hint.text())


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1440, 900), (1024, 700)])
def test_a_record_moves_nothing_beside_the_models_name(open_window, qtbot, record, size):
    window = open_window(scripted, size=size)
    header = window.header
    window.picker.set_model("embedded", "SmolLM2-135M-Instruct", "Q4_1")
    options = msgspec.structs.replace(record[0].request, model="")
    header.show_options(options)
    parts = (header.picker, header.notation, header.constraint)
    QApplication.processEvents()
    before = [part.geometry() for part in parts]
    for name in ("SmolLM2-135M-Instruct", "a-model-with-a-very-long-name-of-40-letters", "x"):
        window.picker.show_record(name)
        header.show_record(options)
        QApplication.processEvents()
        assert [part.geometry() for part in parts] == before, name
    assert "x" in window.picker.accessibleName()
