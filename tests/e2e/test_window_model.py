"""The whole way of one token: the real window, the real worker, the embedded model in its process."""

from __future__ import annotations

import os
import signal
from itertools import cycle

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QPushButton

from glyphscope.events import NOTATIONS, SHAPES, Answer, PromptEvaluated
from glyphscope.models import EMBEDDED
from glyphscope_gui.runs import Phase
from glyphscope_gui.shared.page_ids import PageId
from toolbox import default_tools

pytestmark = [pytest.mark.slow, pytest.mark.model]
RUN_MS = 240_000
"""A run takes about five seconds alone; tests share the machine."""


def click(qtbot, window, name):
    qtbot.mouseClick(window.findChild(QPushButton, name), Qt.MouseButton.LeftButton)


def finish(qtbot, window):
    """Click Run, and wait for the run's end."""
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        click(qtbot, window, "runButton")
    return window.runs.state


def model_pid(window):
    return window.runs._worker._keeper.model.pid


def test_a_masked_run_is_a_valid_call_in_any_notation_and_shape(qtbot, window):
    page = window.page(PageId.PLAYGROUND)
    window.services.project.tools.replace_registry(default_tools("search", "calculate"))  # shorter prompts
    others = list(zip(cycle(reversed(NOTATIONS)), SHAPES))  # test_cli_model.py has the rest
    for notation, shape in others:
        window.services.project.set_options(notation=notation, shape=shape)
        state = finish(qtbot, window)
        assert state.failed is None, state.failed
        assert state.call is not None and state.call.tool == "search", state.outcome
        assert state.forced > 0
        assert page.view.stream.toPlainText() == state.text
        assert page.view.tokens_model.rowCount() == len(state.tokens)
        assert not page.view.verdict.button.isVisible()
    qtbot.waitUntil(lambda: len(window.services.history.rows()) == len(others))


def test_a_failing_run_without_a_constraint_is_stopped_and_explained(qtbot, window):
    page = window.page(PageId.PLAYGROUND)
    qtbot.mouseClick(window.header.constraint.button("off"), Qt.MouseButton.LeftButton)
    state = finish(qtbot, window)
    aborted = state.aborted
    assert aborted is not None
    verdict = page.view.verdict
    assert aborted.code in verdict.details.text()
    assert f"character {aborted.char}: {aborted.message.rstrip('.')}" in verdict.title.text()
    assert aborted.char in page.view.stream.decided_characters
    with qtbot.waitSignal(window.runs.saved, timeout=RUN_MS) as saved:
        click(qtbot, window, "verdictButton")
    assert saved.args[0].whole >= saved.args[0].decoded == aborted.tokens_decoded
    assert f"of {saved.args[0].whole} tokens saved" in verdict.details.text()
    assert page.evidence.sections["savings"].isVisibleTo(page.evidence)


def test_every_example_prompt_makes_a_call_that_turns_impossible_before_its_end(qtbot, window):
    """With a different reason each, at a character within the call."""
    page, codes = window.page(PageId.PLAYGROUND), set()
    for action in window.findChild(QMenu, "promptsMenu").actions():
        action.trigger()
        state = finish(qtbot, window)
        aborted = state.aborted
        assert aborted is not None, f"{action.data()}: {state.outcome}, {state.text}"
        assert state.text.startswith('{action="') and aborted.char >= len('{action="'), state.text
        assert aborted.char in page.view.stream.decided_characters
        assert f"character {aborted.char}:" in page.view.verdict.title.text()
        codes.add(aborted.code)
    assert codes == {"CONSTRAINT_MAX", "CONSTRAINT_MIN", "TYPE_MISMATCH", "UNKNOWN_ARGUMENT", "UNKNOWN_TOOL"}


@pytest.mark.parametrize(
    "answer",
    [
        Answer("choice", "positive\nnegative"),
        Answer(
            "schema", '{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}'
        ),
        Answer(
            "lark", 'start: "let" NAME "=" NUMBER\nNAME: /[a-z]{1,9}/\nNUMBER: /[0-9]{1,3}/\n%ignore / /\n'
        ),
    ],
    ids=lambda answer: answer.kind,
)
def test_an_answer_that_is_not_a_call_is_masked_or_stopped_and_what_stopping_saved_is_measured(
    qtbot, window, answer
):
    page = window.page(PageId.PLAYGROUND)
    window.services.project.set_options(answer=answer, notation="json")
    state = finish(qtbot, window)
    assert state.failed is None and state.outcome == "valid" and state.call is None
    assert state.answer.text.strip() == page.view.stream.toPlainText().strip()
    title = page.view.sizes.title
    qtbot.waitUntil(lambda: title.isHidden() == (answer.kind != "schema"), timeout=RUN_MS)
    if answer.kind == "schema":
        assert title.text() == "Size of this answer"

    qtbot.mouseClick(window.header.constraint.button("off"), Qt.MouseButton.LeftButton)
    aborted = finish(qtbot, window).aborted
    assert aborted is not None and aborted.char in page.view.stream.decided_characters
    with qtbot.waitSignal(window.runs.saved, timeout=RUN_MS) as saved:
        click(qtbot, window, "verdictButton")
    assert saved.args[0].whole > saved.args[0].decoded == aborted.tokens_decoded
    assert page.evidence.sections["savings"].isVisibleTo(page.evidence)


def test_stop_ends_the_run_within_a_few_tokens(qtbot, window):
    window.services.project.set_options(constraint="off", stop_on="never")
    finish_first_token = lambda: len(window.runs.state.tokens) >= 3  # noqa: E731
    click(qtbot, window, "runButton")
    qtbot.waitUntil(finish_first_token, timeout=RUN_MS)
    received = len(window.runs.state.tokens)
    with qtbot.waitSignal(window.runs.ended):
        click(qtbot, window, "stopButton")
    assert window.runs.state.outcome == "cancelled"
    assert len(window.runs.state.tokens) < received + 50  # of hundreds: those that were on their way
    assert window.runs.phase is Phase.IDLE


def test_the_window_survives_its_model_process(qtbot, window):
    page = window.page(PageId.PLAYGROUND)
    window.services.project.set_options(constraint="off", stop_on="never")
    click(qtbot, window, "runButton")
    qtbot.waitUntil(lambda: len(window.runs.state.tokens) >= 3, timeout=RUN_MS)
    with qtbot.waitSignal(window.runs.ended):
        os.kill(model_pid(window), signal.SIGKILL)
    assert window.runs.state.failed is not None
    assert "SIGKILL" in window.runs.state.failed.message + window.runs.state.failed.detail
    assert page.view.notice.isVisible()
    window.services.project.set_options(constraint="mask", stop_on="error")
    assert finish(qtbot, window).call is not None


def test_each_step_decodes_one_token(qtbot, window):
    window.services.project.choose_model(EMBEDDED)
    click(qtbot, window, "stepButton")
    qtbot.waitUntil(lambda: len(window.runs.state.tokens) >= 1, timeout=RUN_MS)
    qtbot.wait(300)
    seen = len(window.runs.state.tokens)
    qtbot.wait(300)
    assert len(window.runs.state.tokens) == seen
    assert window.status.message.text() == "Step by step"
    click(qtbot, window, "stepButton")
    qtbot.waitUntil(lambda: len(window.runs.state.tokens) > seen)
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        click(qtbot, window, "runButton")
    assert window.runs.state.call is not None


def evaluated_by(events):
    """Return how many tokens of the prompt a run evaluated: its first progress says what was there before."""
    progress = [event for event in events if isinstance(event, PromptEvaluated)]
    return progress[-1].total - progress[0].done


@pytest.fixture
def reading_window(window):
    window.services.settings.update(read_ahead=True)
    return window


def reading(qtbot, window):
    """Wait until a prompt is read ahead."""
    return qtbot.waitSignal(
        window.idle_model.ended, timeout=RUN_MS, check_params_cb=lambda read: read.complete
    )


def test_a_run_evaluates_one_token_of_a_prompt_that_was_read_ahead(qtbot, reading_window):
    window = reading_window
    window.services.project.set_options(max_tokens=4)
    with reading(qtbot, window) as read:
        window.start()
    assert "prompt prefilled" in window.status.message.text()
    assert (
        window.page(PageId.PLAYGROUND)
        .view.costs.text()
        .startswith(f"{read.args[0].tokens} tokens     tools ")
    )
    finish(qtbot, window)
    assert evaluated_by(window.runs.events) == 1
    for number in range(3):
        with reading(qtbot, window):
            window.services.project.prompt.set_user(f"Search for llama recipes, give me {number} results")
        finish(qtbot, window)
        assert evaluated_by(window.runs.events) == 1


def test_run_does_not_wait_for_reading_ahead(qtbot, reading_window):
    window = reading_window
    with qtbot.waitSignal(window.idle_model.begun, timeout=RUN_MS):
        window.start()
    assert finish(qtbot, window).call is not None
    assert evaluated_by(window.runs.events) > 1
    with reading(qtbot, window):
        window.services.project.prompt.set_user("What is 2 + 3?")


def test_the_window_closes_while_a_prompt_is_read_ahead(qtbot, reading_window):
    window = reading_window
    with qtbot.waitSignal(window.idle_model.begun, timeout=RUN_MS):
        window.start()
    pid = model_pid(window)
    window.shut_down()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
