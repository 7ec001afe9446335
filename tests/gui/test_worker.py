"""The worker and its mailbox: batches, stopping, stepping, replaying, and errors."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import msgspec
import pytest

from glyphscope.base.errors import ModelError
from glyphscope.events import (
    LimitReached,
    LoopSettings,
    RunFailed,
    RunRequest,
    RunStarted,
    Sampling,
    Token,
    ToolKnown,
)
from glyphscope.models.interface import Vocabulary
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import prepare
from glyphscope.runs.strategies import run
from glyphscope_gui.runs import (
    INTERVAL_MS,
    MAX_POSTS,
    Gate,
    GatedModel,
    JobEnded,
    Mailbox,
    Phase,
    RunController,
    TokenPlace,
)
from glyphscope_gui.runs.model_queries import priced_prompt_of, vocabulary_of

GOOD = '{action="search" query="AI news" max_results=10}'
BAD = '{action="search" query="AI news" max_results=500 sources=["a"]}'


def request(**changes):
    document = default_registry().to_document()
    return RunRequest(**{"prompt": "x", "registry": document, "constraint": "off", "model": "s", **changes})


class Slow(ScriptedModel):
    """Takes its time for each token, and is stopped by cancel as a real one."""

    seconds = 0.01

    def generate(self, request):
        for item in super().generate(request):
            time.sleep(self.seconds)
            yield item


class Counted(ScriptedModel):
    """Like a local model, whose tokenizer counts sizes; records the counted texts."""

    def __init__(self, *turns):
        super().__init__(turns=turns)
        self.info = msgspec.structs.replace(self.info, kind="llama.cpp", path="s")
        self.counted = []

    def count_tokens(self, text):
        self.counted.append(text)
        return super().count_tokens(text)


@pytest.fixture
def opened():
    return []


@pytest.fixture
def make(qtbot, opened):
    made = []

    def build(model):
        def opener(name, *, options, progress):
            opened.append(name)
            if isinstance(model, Exception):
                raise model
            return model

        controller = RunController(opener)
        made.append(controller)
        return controller

    yield build
    for controller in made:
        controller.close()


def finish(qtbot, controller, begin):
    with qtbot.waitSignal(controller.ended) as ended:
        begin()
    return ended.args[0]


# -- mailbox and gate ----------------------------------------------------------------------------------------------


def known(name):
    return ToolKnown(name=name, allowed=True, char=0)


def test_posts_arrive_in_order_and_in_batches(qtbot):
    mailbox, batches = Mailbox(), []
    mailbox.batch.connect(batches.append)
    mailbox.open_for(1)
    total = MAX_POSTS * 3 + 7
    thread = threading.Thread(target=lambda: [mailbox.post(1, known(str(n))) for n in range(total)])
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: sum(len(batch.posts) for batch in batches) == total)
    assert [post.name for batch in batches for post in batch.posts] == list(map(str, range(total)))
    assert len(batches) >= 4
    assert max(len(batch.posts) for batch in batches) <= MAX_POSTS
    mailbox.close()


def test_the_beginning_of_a_run_is_a_batch_before_its_tokens(qtbot):
    mailbox, batches = Mailbox(), []
    mailbox.batch.connect(batches.append)
    mailbox.open_for(1)
    recorded = tuple(run(request(), ScriptedModel(GOOD)))
    mailbox.post(1, *recorded)
    qtbot.waitUntil(lambda: sum(len(batch.posts) for batch in batches) == len(recorded))
    assert isinstance(batches[0].posts[0], RunStarted)
    assert not any(isinstance(post, Token) for post in batches[0].posts)
    assert any(isinstance(post, Token) for post in batches[1].posts)
    mailbox.close()


def test_posts_of_an_older_job_are_dropped(qtbot):
    mailbox, batches = Mailbox(), []
    mailbox.batch.connect(batches.append)
    mailbox.open_for(1)
    mailbox.post(1, JobEnded(1))
    mailbox.open_for(2)
    mailbox.post(1, JobEnded(1))
    mailbox.post(2, JobEnded(2))
    qtbot.wait(INTERVAL_MS * 3)
    assert [post.job for batch in batches for post in batch.posts] == [2]
    mailbox.close()


def test_a_closed_mailbox_stays_closed_with_a_post_in_flight(qtbot):
    mailbox, seen = Mailbox(), []
    mailbox.batch.connect(seen.append)
    mailbox.open_for(1)
    mailbox.post(1, JobEnded(1))
    qtbot.waitUntil(lambda: len(seen) == 1)
    mailbox.post(1, JobEnded(1))
    mailbox.close()
    qtbot.wait(1)
    assert len(seen) == 1 and not mailbox._timer.isActive()


# -- runs ----------------------------------------------------------------------------------------------------------


def test_a_run_delivers_all_events_and_opens_its_model_once(qtbot, make, opened):
    controller = make(ScriptedModel(GOOD))
    for _ in range(2):
        done = finish(qtbot, controller, lambda: controller.run(request()))
        assert done.kind == "run"
        assert controller.state.text == GOOD
        assert controller.state.call is not None
        assert isinstance(controller.events[0], RunStarted)
    assert opened == ["s"]
    assert controller.phase is Phase.IDLE


def test_a_model_that_cannot_be_opened_is_reported_and_the_worker_continues(qtbot, make):
    controller = make(ModelError("No such model.", hint="Choose another."))
    finish(qtbot, controller, lambda: controller.run(request()))
    assert controller.state.failed.code == "MODEL_FAILED"
    assert controller.model.phase == "failed"
    finish(qtbot, controller, lambda: controller.run(request()))
    assert controller.state.failed is not None


def test_a_run_that_does_not_start_leaves_the_run_that_is_shown(qtbot, make):
    controller, began = make(ScriptedModel(GOOD)), []
    finish(qtbot, controller, lambda: controller.run(request()))
    shown, events = controller.state, list(controller.events)
    controller.began.connect(began.append)
    with qtbot.waitSignal(controller.notStarted) as signal:
        controller.run(request(native="auto"))
    assert "no place for tools" in signal.args[0].failed.message
    assert isinstance(signal.args[0].events[0], RunStarted), "it can be saved in the history"
    assert controller.state is shown and controller.events == events and not began
    assert controller.phase is Phase.IDLE
    finish(qtbot, controller, lambda: controller.run(request(prompt="again")))
    assert controller.state is began[0] and controller.state.started.request.prompt == "again"


def test_a_run_that_is_stopped_before_it_starts_leaves_the_run_that_is_shown(qtbot, make):
    controller = make(ScriptedModel(GOOD))
    finish(qtbot, controller, lambda: controller.run(request()))
    shown = controller.state
    # before the worker gets the request, as it may be faster than this thread
    controller.phaseChanged.connect(lambda phase: phase is Phase.RUNNING and controller.stop())
    with qtbot.waitSignal(controller.notStarted) as signal:
        controller.run(request())
    assert signal.args[0].failed is None and controller.state is shown


def test_stop_is_immediate(qtbot, make):
    controller = make(Slow("a b " * 400))
    controller.run(request(stop_on="never"))
    qtbot.waitUntil(lambda: len(controller.state.tokens) > 3)
    heard = len(controller.state.tokens)
    finish(qtbot, controller, controller.stop)
    assert len(controller.state.tokens) < heard + 100  # of some hundreds: those already sent
    assert controller.state.outcome == "cancelled"


def test_stop_does_not_wait_for_a_model_that_is_being_opened(qtbot):
    ended, tries = threading.Event(), []

    def opener(name, *, options, progress):
        tries.append(name)
        if len(tries) > 1:
            return ScriptedModel(GOOD)
        progress(0.5)
        with progress.ended_by(ended.set):
            assert ended.wait(20), "the opening did not end"
        raise ModelError("Loading the model was stopped.")

    controller = RunController(opener)
    try:
        controller.run(request())
        qtbot.waitUntil(lambda: controller.model.progress == 0.5)
        ended = finish(qtbot, controller, controller.stop)
        assert ended.events == () and controller.phase is Phase.IDLE
        qtbot.waitUntil(lambda: controller.model.phase == "none")
        assert finish(qtbot, controller, lambda: controller.run(request())).run.call is not None
    finally:
        controller.close()


@pytest.mark.slow
def test_a_second_run_replaces_the_first(qtbot, make):
    controller = make(Slow(GOOD))
    starts = []
    controller.began.connect(starts.append)
    controller.run(request(prompt="first"))
    qtbot.waitUntil(lambda: bool(controller.state.tokens))
    controller.run(request(prompt="second"))
    qtbot.waitUntil(lambda: len(starts) == 2 and not controller.is_busy)
    assert controller.state.started.request.prompt == "second"
    assert controller.state.text == GOOD


@pytest.mark.slow
def test_each_step_decodes_one_token(qtbot, make):
    controller = make(ScriptedModel(GOOD))
    controller.run(request(), stepping=True)
    qtbot.waitUntil(lambda: bool(controller.state.tokens))
    for seen in (1, 2, 3):
        qtbot.wait(60)
        assert len(controller.state.tokens) == seen
        controller.step()
        qtbot.waitUntil(lambda seen=seen: len(controller.state.tokens) == seen + 1)
    finish(qtbot, controller, controller.resume)
    assert controller.state.call is not None


def test_pauses_between_steps_count_neither_as_run_time_nor_against_the_loops_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(
        "glyphscope_gui.runs.worker.run_worker.time", SimpleNamespace(perf_counter=lambda: now[0])
    )

    class PausedByTheUser(threading.Condition):
        def wait_for(self, predicate, timeout=None):
            now[0] += 1_000
            return True

    gate = Gate()
    gate._condition = PausedByTheUser()
    gate.shut()
    asked = request(strategy="loop", loop=LoopSettings(max_seconds=600.0))
    model = GatedModel(ScriptedModel(turns=(GOOD, "Done.")), gate)
    events = list(run(asked, model, clock=gate.clock))
    assert now[0] > 10_000 and events[-1].reason == "answered" and events[-1].total_ms == 0
    assert not [event for event in events if isinstance(event, LimitReached)]


@pytest.mark.slow
def test_the_saving_is_measured_and_the_aborted_run_stays(qtbot, make):
    controller = make(ScriptedModel(BAD))
    drawn = Sampling(temperature=0.5)  # so that only repeating the whole run can show its continuation
    finish(qtbot, controller, lambda: controller.run(request(sampling=drawn)))
    aborted, text = controller.state.aborted, controller.state.text
    assert aborted.code == "CONSTRAINT_MAX"
    assert controller.can_continue
    continued = []
    controller.continued.connect(continued.append)
    unchanged = qtbot.assertNotEmitted(controller.shown)
    with unchanged, qtbot.assertNotEmitted(controller.ended), qtbot.waitSignal(controller.saved) as saved:
        controller.continue_aborted()
    saving = saved.args[0]
    assert continued[-1].text == BAD[len(text) :]
    whole = sum(isinstance(e, Token) for e in run(request(stop_on="never"), ScriptedModel(BAD)))
    assert (saving.decoded, saving.whole) == (aborted.tokens_decoded, whole)
    assert controller.state.text == text
    assert not controller.can_continue
    with qtbot.waitSignal(controller.background, check_params_cb=lambda background: background.ended):
        controller.run_in_background(request())
    assert not controller.can_continue, "a background run does not change the shown one"


def test_a_continuation_that_was_stopped_can_be_repeated(qtbot, make):
    controller = make(Slow(BAD))
    finish(qtbot, controller, lambda: controller.run(request()))
    controller.continued.connect(lambda _events: controller.stop())
    with qtbot.waitSignal(controller.saved) as saved:
        controller.continue_aborted()
    assert saved.args == [None] and controller.can_continue


@pytest.mark.parametrize("rate", [0, 2000.0])
def test_a_replay_equals_the_recorded_run(qtbot, make, rate, opened):
    events = tuple(run(request(), ScriptedModel(GOOD)))
    controller = make(ScriptedModel(""))
    done = finish(qtbot, controller, lambda: controller.replay(events, rate))
    assert done.kind == "replay"
    assert tuple(controller.events) == events
    assert opened == []


@pytest.mark.slow
def test_a_replay_takes_the_recorded_time(qtbot, make):
    events = tuple(run(request(), Slow(GOOD)))
    controller = make(ScriptedModel(""))
    begin = time.perf_counter()
    finish(qtbot, controller, lambda: controller.replay(events))
    assert time.perf_counter() - begin >= events[-1].t * 0.9


def test_tokens_are_counted_only_by_the_models_own_tokenizer(qtbot, make):
    controller = make(ScriptedModel(GOOD))
    with qtbot.waitSignal(controller.measured) as measured:
        controller.run(request())
    assert {size.tokens for size in measured.args[0].sizes} == {None}
    qtbot.waitUntil(lambda: not controller.is_busy)


def test_closing_in_the_middle_of_a_run_ends_the_thread(qtbot, make):
    controller = make(Slow("a " * 500))
    controller.run(request(stop_on="never"))
    qtbot.waitUntil(lambda: bool(controller.state.tokens))
    controller.close()
    controller.close()


def test_thousands_of_batches_are_delivered(qtbot):
    """PySide6 6.12.0 aborts on Python 3.11 after some hundred emissions."""
    mailbox, seen = Mailbox(), []
    mailbox.batch.connect(lambda batch: seen.append(len(batch.posts)))
    for job in range(5000):
        mailbox.open_for(job)
        mailbox.post(job, JobEnded(job))
        mailbox._drain()
    assert len(seen) == 5000
    mailbox.close()


# -- questions to the model ----------------------------------------------------------------------------------------


def open_model(qtbot, controller):
    controller.open_model("s")
    qtbot.waitUntil(lambda: controller.model.phase == "ready")


def test_a_query_is_answered_by_the_open_model_in_its_thread_and_done_in_the_window(qtbot, make):
    controller, answers = make(ScriptedModel("")), []

    def work(model):
        return model, threading.current_thread() is threading.main_thread()

    def done(answer):
        answers.append((*answer, threading.current_thread() is threading.main_thread()))

    controller.queries.ask("what", work, done)
    qtbot.waitUntil(lambda: len(answers) == 1)
    assert answers == [(None, False, True)], "no model is opened for a query"
    open_model(qtbot, controller)
    controller.queries.ask("what", work, done)
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert isinstance(answers[1][0], ScriptedModel)


@pytest.mark.slow
def test_only_the_newest_waiting_query_of_a_key_is_answered(qtbot, make):
    controller, worked, answers = make(Slow(GOOD)), [], []
    controller.run(request())
    for number in range(5):
        for key in "ab":
            expected = f"{key}{number}"
            controller.queries.ask(
                key, lambda _, expected=expected: worked.append(expected) or expected, answers.append
            )
    assert controller.is_busy and not answers
    with qtbot.waitSignal(controller.ended):
        pass
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert answers == worked == ["a4", "b4"]


def test_a_failed_query_is_handled_by_its_caller_or_reported_as_a_crash(qtbot, make):
    controller, failed = make(ScriptedModel("")), []
    controller.queries.ask("a", lambda _: 1 / 0, failed.append, failed.append)
    qtbot.waitUntil(lambda: len(failed) == 1)
    assert isinstance(failed[0], ZeroDivisionError)
    with qtbot.waitSignal(controller.crashed) as crashed:
        controller.queries.ask("a", lambda _: 1 / 0, failed.append)
    assert isinstance(crashed.args[0], ZeroDivisionError) and len(failed) == 1


def test_nothing_is_called_after_close(qtbot, make):
    controller, called = make(Slow(GOOD)), []
    controller.run(request())
    controller.queries.ask("a", called.append, called.append)
    controller.close()
    controller.queries.ask("a", called.append, called.append)
    qtbot.wait(50)
    assert called == []


def test_queries_are_answered_without_a_model_too(qtbot):
    prepared = prepare(request())
    assert vocabulary_of(None) == Vocabulary() and priced_prompt_of(None, prepared) is None
    model = ScriptedModel("")
    assert vocabulary_of(model) == model.vocabulary()
    assert priced_prompt_of(model, prepared).prompt.text
    assert priced_prompt_of(model, prepared.changed(strategy="loop")).prompt.text
    problem = priced_prompt_of(model, prepared.changed(strategy="route-execute")).problem
    assert "route-execute" in problem


# -- prepared requests and records ---------------------------------------------------------------------------------


def test_a_prepared_run_has_its_registry_in_the_state_from_the_beginning(qtbot, make):
    controller, prepared = make(ScriptedModel(GOOD)), prepare(request())
    registries = []
    controller.began.connect(lambda state: registries.append(state.registry))
    finish(qtbot, controller, lambda: controller.run(prepared))
    assert registries == [prepared.registry] and controller.state.whole_registry is prepared.registry
    assert controller.state.outcome == "valid"


def test_the_instructions_of_a_loop_are_counted_with_the_tools_that_it_may_use(qtbot, make):
    looped = request(strategy="loop", loop=LoopSettings(allow=("search",)))
    model = Counted(GOOD, "Done.")
    controller, measured = make(model), []
    controller.measured.connect(measured.append)
    finish(qtbot, controller, lambda: controller.run(looped))
    for tokens, text in zip(measured[0].instructions.values(), model.counted[-2:], strict=True):
        assert "search" in text and "browse" not in text and tokens == ScriptedModel().count_tokens(text)
    assert measured[0].instructions["glyph"] < controller.state.stages[0].prompt.tokens


def test_a_background_run_with_an_invalid_registry_fails_as_a_run(qtbot, make):
    controller, reported = make(ScriptedModel(GOOD)), []
    controller.background.connect(reported.append)
    controller.run_in_background(request(registry={"t": 1}))
    qtbot.waitUntil(lambda: bool(reported) and reported[-1].ended)
    events = [event for each in reported for event in each.events]
    assert isinstance(events[-1], RunFailed) and controller.state.started is None


def test_a_record_is_shown_at_once_with_the_token_to_choose(qtbot, make):
    events = tuple(run(request(), ScriptedModel(GOOD)))
    controller, place = make(ScriptedModel("")), TokenPlace(0, 2)
    ended = finish(qtbot, controller, lambda: controller.show_record(events, place))
    assert ended.events == events and ended.kind == "replay" and ended.at == place
    assert finish(qtbot, controller, lambda: controller.show_record(events)).at is None
    crashes = []
    controller.crashed.connect(crashes.append)
    assert finish(qtbot, controller, lambda: controller.show_record(())).events == () and crashes == []
