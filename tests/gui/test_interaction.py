"""The host of the window: a run asks the user and waits; ending the run ends the waiting."""

from __future__ import annotations

import threading

import pytest

from glyphscope.events import ApprovalGiven, QuestionAnswered, RunRequest
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import DENIED, Decision
from glyphscope_gui.runs import Asked, RunController, WindowInteraction
from made_runs import NEEDED


@pytest.fixture
def controller(qtbot, asking_runs):
    made = RunController(lambda _name, **_options: ScriptedModel(""))
    yield made
    made.close()


def start(qtbot, controller):
    """Run it until it asks."""
    request = RunRequest(prompt="x", registry=default_registry().to_document(), model="s", strategy="loop")
    return next_question(qtbot, controller, lambda: controller.run(request))


def next_question(qtbot, controller, do):
    with qtbot.waitSignal(controller.asked, check_params_cb=lambda asked: asked is not None) as signal:
        do()
    return signal.args[0]


def of(controller, kind):
    return [event for event in controller.events if isinstance(event, kind)]


def test_an_answer_reaches_its_own_question_and_a_replay_asks_nothing(qtbot, controller):
    assert start(qtbot, controller).about == NEEDED
    edited = Decision(action="allow", arguments={"query": "y"}, scope="run")
    assert next_question(qtbot, controller, lambda: controller.reply(edited)).about == "Which one?"
    with qtbot.waitSignal(controller.ended):
        controller.reply("the first")
    (given,) = of(controller, ApprovalGiven)
    assert (given.action, given.arguments, given.by) == ("allow", {"query": "y"}, "person")
    assert of(controller, QuestionAnswered)[0].answer == "the first"
    with qtbot.assertNotEmitted(controller.asked), qtbot.waitSignal(controller.ended):
        controller.replay(tuple(controller.events), 0)


def test_stop_and_a_newer_run_deny_an_open_question(qtbot, controller):
    first = start(qtbot, controller)
    assert start(qtbot, controller).job > first.job
    gone = []
    controller.asked.connect(gone.append)
    with qtbot.waitSignal(controller.ended):
        controller.stop()
    assert gone == [None]
    (given,) = of(controller, ApprovalGiven)
    assert (given.action, given.by) == ("deny", "nobody")
    assert of(controller, QuestionAnswered)[0].answer is None


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


def test_only_the_first_answer_in_time_counts_and_an_ended_host_denies_without_asking():
    posted, results, there = [], [], threading.Event()

    def post(asked):
        posted.append(asked)
        there.set()

    interaction = WindowInteraction(1, dict, post)
    thread = threading.Thread(target=lambda: results.append(interaction.decide(NEEDED)))
    thread.start()
    assert there.wait(60)
    for asked, action in ((7, "deny"), (1, "allow"), (1, "deny")):
        interaction.reply(asked, Decision(action=action))
    thread.join(60)
    assert results == [Decision(action="allow")]
    interaction.end()
    assert interaction.decide(NEEDED) == DENIED and interaction.answer("?") is None
    assert posted == [Asked(1, 1, NEEDED)] and interaction.cancelled.is_set()


def test_sources_are_looked_up_when_they_are_used():
    sources = {}
    interaction = WindowInteraction(1, lambda: sources, lambda _asked: None)
    assert interaction.source("demo") is None
    sources["demo"] = marker = object()
    assert interaction.source("demo") is marker
