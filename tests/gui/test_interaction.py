"""The host of the window: a run asks the user and waits; ending the run ends the waiting."""

from __future__ import annotations

import importlib
import threading

import pytest

from glyphscope.events import ApprovalGiven, ApprovalNeeded, QuestionAnswered, RunRequest
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import DENIED, Decision, Ending
from glyphscope_gui.runs import Asked, RunController, WindowInteraction

NEEDED = ApprovalNeeded(
    call="call-1", tool="search", arguments={"query": "x"}, source="demo", identity="demo"
)


def asking(context):
    """A strategy that asks about a call, then a question, and ends."""
    emitter, interaction = context.emitter, context.interaction
    yield emitter.enter("tool", "Tool", "tool")
    yield emitter.stamp(NEEDED)
    decision = interaction.decide(NEEDED)
    yield emitter.stamp(
        ApprovalGiven(
            call="call-1",
            action=decision.action,
            arguments=decision.arguments or NEEDED.arguments,
            by=decision.by,
            reason=decision.reason,
        )
    )
    yield emitter.stamp(QuestionAnswered(answer=interaction.answer("Which one?")))
    return Ending("answered", True)


@pytest.fixture
def controller(qtbot, monkeypatch):
    strategies = importlib.import_module("glyphscope.runs.strategies.running")._STRATEGIES
    monkeypatch.setitem(strategies, "loop", asking)
    made = RunController(lambda _name, **_options: ScriptedModel(""))
    yield made
    made.close()


def start(qtbot, controller):
    """Run it until it asks."""
    request = RunRequest(prompt="x", registry=default_registry().to_document(), model="s", strategy="loop")
    with qtbot.waitSignal(controller.asked, check_params_cb=lambda asked: asked is not None) as signal:
        controller.run(request)
    return signal.args[0]


def of(controller, kind):
    return [event for event in controller.events if isinstance(event, kind)]


def test_an_answer_reaches_its_own_question(qtbot, controller):
    asked = start(qtbot, controller)
    assert asked.about == NEEDED
    edited = Decision(action="allow", arguments={"query": "y"}, scope="run")
    with qtbot.waitSignal(controller.asked, check_params_cb=lambda asked: asked is not None) as signal:
        controller.reply(edited)
    assert signal.args[0].about == "Which one?"
    with qtbot.waitSignal(controller.ended):
        controller.reply("the first")
    given = of(controller, ApprovalGiven)[0]
    assert (given.action, given.arguments, given.by) == ("allow", {"query": "y"}, "person")
    assert of(controller, QuestionAnswered)[0].answer == "the first"


def test_stop_denies_an_open_question(qtbot, controller):
    start(qtbot, controller)
    gone = []
    controller.asked.connect(gone.append)
    with qtbot.waitSignal(controller.ended):
        controller.stop()
    assert gone == [None]
    given = of(controller, ApprovalGiven)[0]
    assert (given.action, given.by) == ("deny", "nobody")
    assert of(controller, QuestionAnswered)[0].answer is None


def test_a_newer_run_ends_the_question_of_an_older_one(qtbot, controller):
    first = start(qtbot, controller)
    assert start(qtbot, controller).job > first.job
    with qtbot.waitSignal(controller.ended):
        controller.stop()


def test_closing_the_window_denies_an_open_question(qtbot, controller, monkeypatch):
    decisions = []

    class Noted(WindowInteraction):
        def decide(self, needed):
            decisions.append(super().decide(needed))
            return decisions[-1]

    monkeypatch.setattr("glyphscope_gui.runs.worker.run_worker.WindowInteraction", Noted)
    start(qtbot, controller)
    assert decisions == []
    controller.close()  # waits for the run's thread
    controller.close()
    assert decisions == [DENIED]


def test_a_replay_asks_nothing(qtbot, controller):
    start(qtbot, controller)
    with qtbot.waitSignal(controller.ended):
        controller.stop()
    asked = []
    controller.asked.connect(asked.append)
    with qtbot.waitSignal(controller.ended):
        controller.replay(tuple(controller.events), 0)
    assert asked == []


def waiting(interaction, results):
    thread = threading.Thread(target=lambda: results.append(interaction.decide(NEEDED)))
    thread.start()
    return thread


def test_only_the_first_answer_in_time_counts():
    posted, results, there = [], [], threading.Event()

    def post(asked):
        posted.append(asked)
        there.set()

    interaction = WindowInteraction(1, dict, post)
    thread = waiting(interaction, results)
    assert there.wait(60)
    assert posted == [Asked(1, 1, NEEDED)]
    interaction.reply(7, Decision(action="deny"))
    interaction.reply(1, Decision(action="allow"))
    interaction.reply(1, Decision(action="deny"))
    thread.join(60)
    assert results == [Decision(action="allow")]


def test_an_ended_host_denies_without_asking():
    posted = []
    interaction = WindowInteraction(1, dict, posted.append)
    interaction.end()
    assert interaction.decide(NEEDED) == DENIED
    assert interaction.answer("?") is None
    assert posted == []
    assert interaction.cancelled.is_set()


def test_sources_are_looked_up_when_they_are_used():
    sources = {}
    interaction = WindowInteraction(1, lambda: sources, lambda _asked: None)
    assert interaction.source("demo") is None
    sources["demo"] = marker = object()
    assert interaction.source("demo") is marker
