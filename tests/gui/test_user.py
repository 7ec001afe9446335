"""A user who does anything in any order in the window: what is in sight is what was done, and it stays usable."""

from __future__ import annotations

import time
from functools import partial

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from PySide6.QtWidgets import QApplication, QWidget

from examples import rounds
from fake_context import CALL
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.runs import Phase
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId

PROMPT, STREAM, TOOLS = "Your prompt", "Transcript of the run", "Tools and their arguments"
NOTATIONS = {"GLYPH": "glyph", "JSON": "json"}
PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate)
"""Without making a failure shorter, which takes minutes: its steps are few."""
CONSTRAINTS = {"Mask": "mask", "GBNF": "gbnf", "Off": "off"}


class Slow(ScriptedModel):
    """Takes its time for each token, so that a user is faster than a run."""

    def generate(self, request):
        for item in super().generate(request):
            time.sleep(0.002)
            yield item


class User(RuleBasedStateMachine):
    """Its attributes say what the window should show; the test sets those of the class.

    A rule does nothing where a user cannot do it. That depends on how far a run is, which Hypothesis could not repeat
    if it was a condition of the rule.
    """

    window = screen = bar = begin_again = None

    def __init__(self):
        super().__init__()
        project = self.window.services.project
        self.tools, self.undone = [project.tools.registry], []
        """The registries before each edit, and those of the edits that were undone."""
        self.prompt, self.notation, self.constraint = project.prompt.user, "glyph", "mask"
        self.ended = []
        """The runs that ended here, also replays."""
        self.asked = []
        """The settings with which Run or Step was pressed."""
        self.window.runs.ended.connect(self._end)
        self.saved = {row.id for row in self.window.services.history.rows()}

    @property
    def chosen(self):
        return self.prompt, self.notation, self.constraint

    def _end(self, applied):
        self.ended.append(applied)
        if applied.kind == "run" and applied.events:
            request = applied.events[0].request
            assert (request.prompt, request.notation, request.constraint) in self.asked

    @property
    def shows_record(self):
        return self.window.context.record.started is not None

    def rest(self):
        self.screen.until(lambda: not self.window.runs.is_busy)

    # -- what a user does ------------------------------------------------------------------------------------------

    @rule(page=st.sampled_from(PageId))
    def go_to_a_page(self, page):
        self.window.navigator.show(page)

    @rule(waits=st.booleans())
    def run(self, waits):
        """On the playground, on the grammar page, or the columns of Compare."""
        if not self.window.actions_.run.isEnabled():
            return
        self.asked.append(self.chosen)
        self.screen.press("Run")
        if waits:
            self.rest()

    @rule()
    def step(self):
        if not self.window.actions_.step.isEnabled():
            return
        self.asked.append(self.chosen)
        self.screen.press("Step")

    @rule(waits=st.booleans())
    def stop(self, waits):
        if not self.window.actions_.stop.isEnabled():
            return
        self.screen.press("Stop")
        if waits:
            self.rest()

    @rule()
    def replay(self):
        if not self.window.context.actions.replay.isEnabled():
            return
        self.screen.press("Replay this run")

    @rule(name=st.sampled_from(["search-mask.jsonl", "sources-abort.jsonl", "verbs-loop.jsonl"]))
    def show_a_record(self, name):
        self.window.runs.show_record(bundled_run(name))
        self.rest()

    @rule()
    def leave_the_record(self):
        if not self.screen.named("Return to the project"):
            return
        self.screen.press("Return to the project")

    @rule(text=st.sampled_from(["Find llamas", "Find 5 papers", "日本 😀"]))
    def write_a_prompt(self, text):
        if not (self.screen.named(PROMPT) and not self.shows_record):
            return
        self.screen.write(PROMPT, text)
        self.prompt = text

    @rule(words=st.sampled_from(sorted(NOTATIONS)))
    def choose_a_notation(self, words):
        if not (self.bar.named("Notation") and self.bar.find("Notation").isEnabled()):
            return
        self.bar.choose("Notation", words)
        self.notation = NOTATIONS[words]

    @rule(words=st.sampled_from(sorted(CONSTRAINTS)))
    def choose_a_constraint(self, words):
        if not (self.bar.named("Notation") and self.bar.find("Notation").isEnabled()):
            return
        self.bar.choose("Constraint on tokens", words)
        self.constraint = CONSTRAINTS[words]

    @rule(
        edit=st.sampled_from(
            ["Add a tool", "Duplicate", "Remove", "Move down", "Allow all tools", "Forbid all tools"]
        )
    )
    def edit_the_tools(self, edit):
        if not self.screen.named(TOOLS):
            return
        before = self.tools[-1]
        if self.screen.can(edit):
            self.screen.press(edit)
        if self.window.services.project.tools.registry != before:
            self.tools.append(self.window.services.project.tools.registry)
            self.undone.clear()

    @rule()
    def undo(self):
        if not self.screen.can("Undo…"):
            return
        self.screen.press("Undo…")
        self.undone.append(self.tools.pop())
        assert not self.shows_record, "what is edited is in sight"

    @rule()
    def redo(self):
        if not self.screen.can("Redo…"):
            return
        self.screen.press("Redo…")
        self.tools.append(self.undone.pop())
        assert not self.shows_record

    # -- what is always so -------------------------------------------------------------------------------------------

    @invariant()
    def the_window_answers_and_reports_no_error(self):
        QApplication.processEvents()
        assert self.window.findChild(QWidget, "errorDialog") is None

    @invariant()
    def buttons_and_settings_are_those_of_the_phase(self):
        phase, page = self.window.runs.phase, self.window.navigator.page
        on_record = self.shows_record and page.id is PageId.PLAYGROUND
        assert self.window.actions_.run.isEnabled() == (
            phase in (Phase.IDLE, Phase.STEPPING) and page.can_run
        )
        assert self.window.actions_.stop.isEnabled() == (phase not in (Phase.IDLE, Phase.STOPPING))
        if self.bar.named("Notation"):
            assert self.bar.find("Notation").isEnabled() == (phase is Phase.IDLE and not on_record)
            if not on_record:
                shown = self.bar.find("Notation").value, self.bar.find("Constraint on tokens").value
                assert shown == (self.notation, self.constraint)

    @invariant()
    def the_tools_are_those_of_the_edits(self):
        registry = self.window.services.project.tools.registry
        assert registry == self.tools[-1]
        if self.screen.named(TOOLS):
            assert self.screen.rows(TOOLS) == [[tool.name] for tool in registry]

    @invariant()
    def the_project_has_the_chosen_settings(self):
        request = self.window.services.project.request
        assert (request.prompt, request.notation, request.constraint) == self.chosen
        if self.screen.named(PROMPT) and not self.shows_record:
            assert self.screen.read(PROMPT) == self.prompt

    @invariant()
    def a_run_that_ended_is_in_sight(self):
        """Also after another page, a comparison in the background, or a run that was stopped before it began."""
        if self.window.runs.is_busy or not self.ended:
            return
        assert tuple(self.window.runs.events) == self.ended[-1].events
        if self.screen.named(STREAM):
            shown = self.screen.read(STREAM)
            assert all(stage.text in shown for stage in self.window.runs.state.stages)

    def teardown(self):
        self.window.runs.ended.disconnect(self._end)
        self.window.runs.stop()
        self.rest()
        own = [applied.events[0] for applied in self.ended if applied.kind == "run" and applied.events]
        replayed = {
            applied.events[0].run for applied in self.ended if applied.kind == "replay" and applied.events
        }
        self.screen.until(lambda: {started.run for started in own} <= self._in_history())
        assert not replayed & self._in_history() - {started.run for started in own} - self.saved
        self.begin_again()

    def _in_history(self):
        return {row.id for row in self.window.services.history.rows()}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings(
    "ignore:The recursion limit will not be reset"
)  # the check of a grammar raises it
def test_whatever_a_user_does_the_window_shows_it_and_stays_usable(
    open_window, screen_of, begin_again, monkeypatch
):
    window = open_window(lambda _name, **_options: Slow(CALL))
    beginning = partial(begin_again, window, window.saveState(), window.services.settings.value)
    for name, value in (
        ("window", window),
        ("screen", screen_of(window)),
        ("bar", screen_of(window.header)),
        ("begin_again", staticmethod(beginning)),
    ):
        monkeypatch.setattr(User, name, value)
    quick = hypothesis.settings(max_examples=rounds(4, 300), stateful_step_count=24, phases=PHASES)
    run_state_machine_as_test(User, settings=quick)
