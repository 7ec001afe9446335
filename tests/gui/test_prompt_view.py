"""The prompt view: rows and text mark each other, parts are edited in place, and changes are exact."""

from __future__ import annotations

import json
from types import SimpleNamespace

import msgspec
import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout

from glyphscope import events
from glyphscope.runs import run_state
from glyphscope_gui.context import PromptsPlace
from glyphscope_gui.prompt import (
    RENDERED,
    TEMPLATE,
    PromptChanges,
    PromptDock,
    PromptPresenter,
    PromptWatch,
    RenderedPromptView,
)
from glyphscope_gui.runs import ShownRun, UserPromptEdit
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.page_ids import PageId

DESCRIPTION = ("tools", "/search/description", False)


@pytest.fixture
def panel(context, qtbot):
    """The dock with its presenter, the prompt of the first project rendered and counted."""
    context.actions.run.triggered.connect(lambda: context.runs.run(context.project.next_run()))
    dock = PromptDock(context.project.prompt)
    QVBoxLayout(context.window).addWidget(dock)  # its shortcuts are those of the actions
    presenter = PromptPresenter(context, dock)
    context.window.resize(320, 800)
    context.window.show()
    context.project.set_options(constraint="off")
    context.runs.open_model(context.project.model)
    dock.tabs.setCurrentIndex(RENDERED)
    assert dock.tabs.currentIndex() == RENDERED
    qtbot.waitUntil(lambda: dock.costs_model.rowCount() > 0)
    yield SimpleNamespace(dock=dock, context=context, project=context.project)
    end_work(presenter)


def choose(panel, key):
    dock = panel.dock
    index = dock.costs_model.index_of(key)
    assert index.isValid()
    dock.costs.choose(index)
    return dock.part


def marked(dock):
    text = dock.rendered_view.toPlainText()  # of characters that take one UTF-16 unit each
    return [text[a:b] for a, b in dock.rendered_view._spans]


def test_a_chosen_row_is_marked_in_the_text_and_a_chosen_text_in_the_rows(panel):
    dock = panel.dock
    assert "Prompt as sent to the model" in dock.caption.text(), "it is counted before any run"
    assert "tools" in dock.costs.accessibleDescription()
    assert dock.rendered_view.toPlainText().startswith("System: You respond")
    choose(panel, DESCRIPTION)
    assert marked(dock) == [" - Search the web and return the best results.\n"]
    at = dock.rendered_view.toPlainText().index("max_results?")
    dock.rendered_view.setFocus()
    cursor = dock.rendered_view.textCursor()
    cursor.setPosition(at)
    dock.rendered_view.setTextCursor(cursor)
    assert dock.costs.chosen().title == "max_results"
    assert marked(dock) == [", max_results?: integer 1..100"]
    dock.rendered_view.placeHovered.emit(dock.rendered_view.toPlainText().index("FORMAT:"))
    assert "FORMAT:" in dock.rendered_view.toolTip() and dock.rendered_view._hovered
    dock.rendered_view.placeHovered.emit(None)
    assert not dock.rendered_view._hovered


@pytest.mark.slow
def test_a_description_is_edited_in_the_prompt_and_undone(panel, qtbot):
    dock, document = panel.dock, panel.project.tools
    part = choose(panel, DESCRIPTION)
    assert part.edit.toPlainText() == document.registry.get("search").description
    part.edit.setFocus()
    part.edit.setPlainText("Look it up.")
    assert document.registry.get("search").description == "Look it up."
    qtbot.waitUntil(lambda: "Look it up." in dock.rendered_view.toPlainText())
    assert dock.costs.chosen().of == "/search/description", "the row stays selected"
    dock.costs.setFocus()
    document.undo_stack.undo()
    assert part.edit.toPlainText() == "Search the web and return the best results."


@pytest.mark.slow
def test_template_lines_examples_and_the_users_words_are_edited_in_place(panel, qtbot):
    dock, project = panel.dock, panel.project
    words = UserPromptEdit(project.prompt)
    qtbot.addWidget(words)
    part = choose(panel, ("system", "line 22", False))
    assert part.edit.toPlainText() == "2. Use the exact argument names shown"
    part.edit.setPlainText("2. Use these names")
    assert "2. Use these names\n3. Strings" in project.prompt.system_template
    part = choose(panel, ("examples", "/search", False))
    assert json.loads(part.edit.toPlainText()) == {"query": "AI news", "max_results": 10}
    part.edit.setFocus()
    part.edit.setPlainText('{"query": ')
    assert "Not the arguments as JSON yet" in part.words.text()
    part.edit.setPlainText('{"query": "x"}')
    assert project.tools.registry.get("search").parameters["examples"][0] == {"query": "x"}
    part.edit.setPlainText("")
    assert "examples" not in project.tools.registry.get("search").parameters
    qtbot.waitUntil(lambda: '{action="search" query="AI news"}' in dock.rendered_view.toPlainText())
    dock.costs.setFocus()
    choose(panel, ("user", "", False))
    part = choose(panel, ("examples", "/search", False))
    assert json.loads(part.edit.toPlainText()) == {"query": "AI news"}, "the generated one can be edited, too"
    part = choose(panel, ("user", "", False))
    part.edit.setPlainText("Find it")
    assert project.prompt.user == "Find it" and words.toPlainText() == "Find it"
    qtbot.waitUntil(lambda: "Find it" in dock.rendered_view.toPlainText())


def test_a_fixed_part_names_its_owner_and_links_to_it(panel, qtbot):
    part = choose(panel, ("template", "", False))
    assert not part.edit.isVisible() and "chat template" in part.words.text()
    part = choose(panel, ("tools", "/search/parameters/properties/query", False))
    assert not part.edit.isVisible() and part.link.isVisible()
    choose(panel, ("tools", "/search/parameters/properties/query", False))
    panel.dock.part.link.click()
    assert panel.context.panels.revealed == [("search", "query")]
    choose(panel, ("user", "", False))
    with qtbot.waitSignal(panel.context.actions.focus_prompt.triggered):
        panel.dock.part.link.click()
    choose(panel, ("system", "line 22", False))
    panel.dock.part.link.click()
    edit = panel.dock.system_edit
    assert panel.dock.tabs.currentIndex() == TEMPLATE and edit.textCursor().blockNumber() == 21


@pytest.mark.slow
def test_control_and_enter_in_a_part_runs_again(panel, qtbot):
    dock, runs = panel.dock, panel.context.runs
    part = choose(panel, DESCRIPTION)
    part.edit.setFocus()
    part.edit.setPlainText("Look it up.")
    with qtbot.waitSignal(runs.ended):
        QTest.keyClick(part.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert "Look it up." in runs.state.prompt.text and "\n" not in part.edit.toPlainText()
    qtbot.waitUntil(lambda: "Prompt as sent to the model" in dock.caption.text())
    with qtbot.waitSignal(runs.ended):
        dock.run_button.click()
    qtbot.waitUntil(lambda: "the same as in the previous run" in dock.changes.words.text())


def test_the_link_below_the_changes_compares_both_prompts(panel):
    panel.dock.changes.link.click()
    assert panel.context.navigator.visits == [(PageId.COMPARE, PromptsPlace())]


# -- what a run's events say of the cache -----------------------------------------------------------------------------


@pytest.fixture
def watch(qapp, qtbot):
    owner = QObject()
    watch = PromptWatch(owner)
    reported = []
    watch.shown.connect(reported.append)

    def feed(tokens, cached=0, kind="run", ms=100.0):
        text = "".join(tokens)
        prompt = events.PromptRendered(
            text=text,
            tokens=len(tokens),
            cached=cached,
            parts=(events.PromptPart("tools", 0, len(text), len(tokens)),),
            lengths=tuple(map(len, tokens)),
        )
        started = events.RunStarted(
            request=events.RunRequest(prompt="", registry={}),
            model=events.ModelInfo(name="m"),
            versions={},
            time="",
        )
        done = events.PromptEvaluated(done=len(tokens), total=len(tokens), ms=ms)
        if kind == "background":
            watch.note(prompt)
            return None
        watch.show_run(ShownRun(run_state((started, prompt, done)), kind=kind))
        qtbot.waitUntil(
            lambda: bool(reported) and reported[-1].loss is not None and reported[-1].loss.ms is not None
        )
        return reported.pop()

    yield watch, feed, reported
    end_work(watch)
    owner.deleteLater()


BEFORE = ["a", "b", *"tttttttttttttttttttt"]
AFTER = ["a", "X", *"tttttttttttttttttttt"]


def test_changes_and_their_cost_are_compared_with_the_previous_run_of_the_model(watch):
    model, feed, _ = watch
    first = feed(BEFORE)
    assert first.changes is None and first.loss.why == "first"
    second = feed(AFTER, cached=1)
    assert (second.changes.tokens("added"), second.changes.tokens("same")) == (1, 21)
    assert (second.loss.why, second.loss.again, second.loss.unchanged) == ("changed", 21, 20)
    assert second.advice
    view = PromptChanges()
    view.show_prompt(second)
    assert "the cache ends here" in view.view.toPlainText()
    assert "in tokens: 1 added, 1 removed, 21 unchanged" in view.words.text()
    assert "21 tokens were read in 100 ms" in view.cache.text()
    view.deleteLater()
    feed(["q"], kind="background")
    third = feed(AFTER, cached=0)
    assert third.changes.is_same and third.loss.why == "changed" and third.loss.common == 0, (
        "it took the cache"
    )
    shown = feed(BEFORE, kind="replay")
    assert (shown.origin, shown.changes, shown.loss.why) == ("record", None, "unknown")
    model.forget()
    assert feed(AFTER).loss.why == "first", "another model has lost no cache"


def test_the_next_prompt_is_counted_against_the_last_one_read(watch, qtbot):
    model, feed, reported = watch
    feed(BEFORE)
    model.show_next(events.PromptRendered(text="ab" + 20 * "t", tokens=22, cached=0))
    qtbot.wait(50)
    assert not reported, "the same prompt: the run's figures stay"
    note = "Thinking off was sent"
    model.show_next(events.PromptRendered(text="ab" + 20 * "t", tokens=22, cached=0, note=note), "off")
    qtbot.waitUntil(lambda: bool(reported))
    assert reported.pop().prompt.note == note, "an endpoint's prompt reads the same in every state"
    text = "".join(AFTER)
    model.show_next(events.PromptRendered(text=text, tokens=22, cached=0, lengths=(1,) * 22))
    qtbot.waitUntil(lambda: bool(reported))
    assert (reported[-1].origin, reported[-1].common, reported[-1].loss) == ("now", 1, None)


def test_marks_are_right_behind_characters_of_two_code_units(qtbot):
    view = RenderedPromptView()
    qtbot.addWidget(view)
    view.show_prompt("😀\r\nab")
    view.mark([(3, 4)])
    assert view._character(view.textCursor()) == 3
    marks = [s.cursor.selectedText() for s in view.extraSelections() if s.cursor.hasSelection()]
    assert marks == ["a"]


@pytest.mark.slow
def test_the_next_prompt_replaces_that_of_a_record_when_the_record_is_left(panel, qtbot):
    dock, context = panel.dock, panel.context
    record = bundled_run("verbs-loop.jsonl")
    with qtbot.waitSignal(context.runs.ended):
        context.runs.show_record(record)
    assert context.record.started is not None
    last = [event for event in record if isinstance(event, events.PromptRendered)][-1].text
    qtbot.waitUntil(lambda: dock.rendered_view.toPlainText().startswith(last[:40]))
    with qtbot.waitSignal(context.project.prompt.rendered):
        context.project.prompt.render()
    qtbot.wait(150)
    assert dock.rendered_view.toPlainText().startswith(last[:40])
    context.record.leave()
    qtbot.waitUntil(lambda: not dock.rendered_view.toPlainText().startswith(last[:40]))


def costs_of(window, qtbot):
    """The playground, with the tokens of the first prompt counted."""
    view = window.page(PageId.PLAYGROUND).view
    qtbot.waitUntil(lambda: "tools" in view.costs.text())
    return view


@pytest.mark.slow
@pytest.mark.parametrize("undone", [False, True])
@pytest.mark.parametrize("state", ["direct", "route-execute", "no model"])
def test_a_record_that_was_left_leaves_neither_its_prompt_nor_its_token_counts(panel, qtbot, state, undone):
    """Also where the project's prompt cannot be counted, and where the settings are undone at once."""
    dock, context, project = panel.dock, panel.context, panel.project
    project.prompt.set_user("Mine.")
    if state == "route-execute":
        project.set_options(strategy=state)
    elif state == "no model":
        context.runs.unload_model()
    qtbot.waitUntil(lambda: "Mine." in dock.rendered_view.toPlainText())
    qtbot.waitUntil(lambda: dock.costs.isHidden() is (state != "direct"))
    own = dock.caption.text()
    with qtbot.waitSignal(context.runs.ended):
        context.runs.show_record(bundled_run("search-mask.jsonl"))
    qtbot.waitUntil(lambda: "466 tokens" in dock.caption.text())
    if undone:
        context.record.use()
        project.tools.undo_stack.undo()
    else:
        context.record.leave()
    qtbot.waitUntil(lambda: "Mine." in dock.rendered_view.toPlainText())
    assert dock.caption.text() == own and dock.costs.isHidden() is (state != "direct")


@pytest.mark.slow
def test_the_figures_below_the_prompt_are_those_of_the_text_in_the_field(window, qtbot):
    view = costs_of(window, qtbot)
    project, dock = window.services.project, window.panels.prompt
    before = view.costs.text()
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    assert view.costs.text() == before, "it is the same prompt"
    for change, words in (
        (lambda: project.prompt.set_user("word " * 33), "prompt 33"),
        (lambda: project.set_options(notation="json"), "prompt 33"),
        (lambda: project.prompt.set_system("No examples."), "tokens"),
    ):
        change()
        assert view.costs.text() == "Counting tokens…", "no figure of an older text is shown"
        qtbot.waitUntil(lambda words=words: words in view.costs.text())
        qtbot.waitUntil(lambda: view.costs.text().split("     ")[0] in dock.caption.text())
    project.set_options(strategy="route-execute")
    assert view.costs.text() == "Tokens are counted when the prompt runs."
    prefilled = events.PromptRendered(text="another prompt", tokens=475, cached=7)
    window.runs.queries.promptRead.emit(SimpleNamespace(prompt=prefilled))
    assert view.costs.text() == "475 tokens", "the cached part is that of the prefill, not of the next run"


@pytest.mark.slow
def test_the_first_prompt_of_a_loop_is_counted_with_and_without_deferred_tools(window, qtbot):
    view = costs_of(window, qtbot)
    project, dock = window.services.project, window.panels.prompt
    project.set_options(strategy="loop")
    qtbot.waitUntil(lambda: "You can call tools." in dock.rendered_view.toPlainText())
    assert "search_tools" not in dock.rendered_view.toPlainText()
    project.set_options(loop=events.LoopSettings(defer_tools=0.0))
    qtbot.waitUntil(lambda: "7 tools deferred to search_tools: all tools would take" in dock.caption.text())
    assert "search_tools(query" in dock.rendered_view.toPlainText() and "tools" in view.costs.text()


@pytest.mark.slow
def test_the_figures_of_a_branch_or_a_record_do_not_stay_below_another_prompt(window, qtbot):
    view = costs_of(window, qtbot)
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(bundled_run("search-mask.jsonl"))
    qtbot.waitUntil(lambda: view.costs.text().startswith("466 tokens"))
    window.context.record.leave()
    assert view.costs.text() == "Counting tokens…"
    qtbot.waitUntil(lambda: "tools" in view.costs.text())
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    window.services.project.prompt.set_user("word " * 33)
    with qtbot.waitSignal(window.runs.ended):
        window.page(PageId.PLAYGROUND).evidence.branch_bar.actions_["delete"].trigger()
    qtbot.waitUntil(lambda: "prompt 33" in view.costs.text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tokens", "words"), [(50, "50 tokens"), (0, "An endpoint reports token counts only with its answer.")]
)
def test_the_tokens_of_a_prompt_that_only_its_answer_counts_are_those_of_the_answer(
    window, qtbot, tokens, words
):
    view = costs_of(window, qtbot)
    record = []
    for event in bundled_run("search-mask.jsonl"):
        if isinstance(event, events.PromptRendered):
            event = msgspec.structs.replace(event, tokens=0, cached=0, parts=())
        elif isinstance(event, events.StageFinished):
            event = msgspec.structs.replace(event, prompt_tokens=tokens, cached=0)
        record.append(event)
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(tuple(record))
    assert view.costs.text() == words
