"""One sample: the scenario's runs in one conversation, judged, with their costs added up."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice, product
from typing import TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError, ServerError, Stopped
from glyphscope.base.shorten import and_more, shorten
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import LoadedSuite, Planned
from glyphscope.evals.matrix.profiles import profile, recommended_presets
from glyphscope.evals.results.sample import Reason, Sample, SampleFailure
from glyphscope.evals.results.words import arm_labels
from glyphscope.evals.running.progress import SampleGrew
from glyphscope.evals.running.requests import ScriptedTools, request_for
from glyphscope.evals.running.tool_servers import ToolServers, executors
from glyphscope.evals.scoring.assertions import NO_ASSERTIONS, AssertionOptions, assert_all
from glyphscope.evals.scoring.outcome import turn_outcomes
from glyphscope.evals.scoring.scorer import MAX_TEXT, score
from glyphscope.evals.suites.reading import suite_registry
from glyphscope.evals.suites.suite import Scenario
from glyphscope.events import AnyEvent, RunRequest, Token
from glyphscope.events.encoding import encode_json
from glyphscope.models.interface import Model
from glyphscope.models.sequence_group import GroupMember
from glyphscope.processes.stopping import stopped_by
from glyphscope.runs import Interaction, NonInteractive, RunState, history_after, reduce_event, run_state
from glyphscope.runs.answer_notes import copied_values
from glyphscope.runs.prepared import PreparedRequest, prepare
from glyphscope.runs.settling import settle
from glyphscope.runs.stage_words import prompt_tokens
from glyphscope.runs.strategies import continue_aborted, run
from glyphscope.store.files import now
from glyphscope.tools import ToolSource
from glyphscope.tools.demo import DemoTools

ALTERNATIVES = 5
"""Recorded alternatives of each token: enough to see the likely others, in a third of the space of ten."""

GREW_SECONDS, GREW_TEXT = 0.2, 200
"""Seconds between two reports of a text that is being written, and the characters of its end in a report."""

MAX_CHECKED, MAX_NAMED = 2_000, 5
"""The requests that are checked before a model's first sample, and the arms that a problem names."""

OF_THE_USER = frozenset({"user", "template", "history", "begun"})
"""The parts of a prompt other than instructions."""


SampleAndRuns: TypeAlias = tuple[Sample, list[list[AnyEvent]]]
"""A sample, and the events of each of its runs."""
Interact: TypeAlias = Callable[[threading.Event], Interaction]
"""Makes the `Interaction` of a run that the event cancels."""


def run_sample(
    planned: Planned,
    model: Model,
    cancelled: threading.Event,
    grew: Callable[[SampleGrew], object] | None = None,
    *,
    savings: float = 0.0,
    assertions: AssertionOptions = NO_ASSERTIONS,
    interact: Interact | None = None,
    servers: ToolServers | None = None,
) -> SampleAndRuns:
    """The sample, and the events of its runs, then of its judge's runs. One that was cancelled in the middle has the
    outcome `cancelled` and no verdict.

    An error in the request is a failure of the sample. `savings` is the share of aborted runs that are continued, if
    possible; the sample's id decides which. `grew` receives the text as it is written. `servers` execute the calls that
    the scenario's script does not answer; `interact` replaces all of that.
    """
    runs = _Runs(planned.id, grew)
    demo = DemoTools() if planned.scenario.demo else None
    waits = ExitStack()
    waits.enter_context(stopped_by(cancelled.is_set))
    try:
        lent = waits.enter_context(servers.lend()) if servers is not None else {}
        request = planned.request or prepare(_request(planned, model, executors(lent)))
        if interact is None:
            others: list[ToolSource] = [*lent.values()] if demo is None else [demo, *lent.values()]
            tools = ScriptedTools(planned.scenario.script, request.registry, *others)
            interaction: Interaction = NonInteractive({**lent, tools.name: tools}, cancelled)
        else:
            interaction = interact(cancelled)
        for turn in (None, *planned.scenario.turns):
            if turn is not None:
                before = history_after(runs.states[-1], request.request)
                request = request.changed(prompt=turn.prompt, history=before)
            state = runs.make(request, model, interaction)
            if state.failed is not None:
                break
        if cancelled.is_set():
            return stopped_sample(planned), runs.events
        saved = None
        if _chosen(planned.id, savings) and _can_continue(request.request, runs.states):
            saved = _saved(request, runs.events[0], model)
        if isinstance(model, GroupMember):
            model.close()  # the others do not wait for assertions and judges
        workspace = None if demo is None else demo.workspace
        outcomes = turn_outcomes(planned.scenario, runs.states, workspace)
        sample, judge_runs = assert_all(
            score(_blank(planned), outcomes), planned.suite.suite, outcomes, assertions, cancelled, runs.judge
        )
        sample = msgspec.structs.replace(_with_costs(sample, runs.states), saved=saved)
        if cancelled.is_set():
            sample = stopped_sample(planned)
        return sample, [*runs.events, *judge_runs]
    except Stopped:
        return stopped_sample(planned), runs.events
    except ServerError as error:
        return unanswered(planned, "SERVER_FAILED", str(error)), runs.events
    except GlyphscopeError as error:
        return unanswered(planned, "BAD_REQUEST", str(error)), runs.events
    finally:
        waits.close()
        if demo is not None:
            demo.close()


class _Runs:
    """The runs of a sample, one for each turn: events and states. `grew` receives the text as it is written."""

    def __init__(self, id: str, grew: Callable[[SampleGrew], object] | None) -> None:
        self.events: list[list[AnyEvent]] = []
        self.states: list[RunState] = []
        self._id, self._grew = id, grew
        self._tokens = 0
        self._next = 0.0  # when the next report is due
        self._judge = ""  # the name of the judge model, while it writes

    def make(self, request: PreparedRequest, model: Model, interaction: Interaction) -> RunState:
        """One turn's run, from its first event to its last."""
        events: list[AnyEvent] = []
        state = RunState(prepared=request)
        with closing(run(request, model, interaction)) as stream:
            for event in stream:
                events.append(event)
                reduce_event(state, event)
                if isinstance(event, Token):
                    self._token(state.stages[-1].text)
        self.events.append(events)
        self.states.append(state)
        return state

    def judge(self, name: str, text: str | None) -> None:
        """The text of a judge model after each of its tokens; None when it begins."""
        if text is not None:
            self._token(text)
            return
        self._tokens, self._next, self._judge = 0, 0.0, name
        self._report("")

    def _token(self, text: str) -> None:
        self._tokens += 1
        if self._tokens == 1 or time.monotonic() >= self._next:
            self._next = time.monotonic() + GREW_SECONDS
            self._report(text)

    def _report(self, text: str) -> None:
        if self._grew is not None:
            self._grew(SampleGrew(self._id, self._tokens, text[-GREW_TEXT:], self._judge))


def _request(planned: Planned, model: Model, servers: Mapping[str, str] | None = None) -> RunRequest:
    suite, scenario, arm = planned.suite, planned.scenario, planned.arm
    registry = suite_registry(suite.suite, scenario)
    sampling = profile(arm.profile).of(model.info, planned.seed, suite.suite.sampling)
    presets = recommended_presets(model.info) if arm.workarounds == "production" else ()
    request = request_for(arm, suite.suite, scenario, registry, sampling, presets=presets, servers=servers)
    return msgspec.structs.replace(request, repeatable=True, alternatives=ALTERNATIVES)


def request_problems(model: Model, suites: Iterable[LoadedSuite], arms: Iterable[Arm]) -> tuple[str, ...]:
    """The problems for which the model cannot run requests of these arms, each with its arms; found before the first
    sample. Scenarios of a suite with the same tools and request members have the same problems.
    """
    found: dict[str, dict[str, None]] = {}
    arms = list(arms)
    labels = arm_labels(arms)
    kinds = [
        (loaded, scenario)
        for loaded in suites
        for scenario in {_request_kind(each): each for each in loaded.suite.scenarios}.values()
    ]
    for arm, (loaded, scenario) in islice(product(arms, kinds), MAX_CHECKED):
        try:
            problems = settle(_request(Planned(arm, loaded, scenario, 1, 0), model), model).problems
            words = list(map(str, problems))
        except GlyphscopeError as error:
            words = [str(error)]
        for each in words:
            found.setdefault(each, {})[labels[arm.id]] = None
    return tuple(f"{and_more(list(names), MAX_NAMED)}: {problem}" for problem, names in found.items())


def _request_kind(scenario: Scenario) -> bytes:
    return encode_json((scenario.request, scenario.tools, scenario.registry))


def _with_costs(sample: Sample, states: Sequence[RunState]) -> Sample:
    stages = [stage for state in states for stage in state.stages]
    finished = [state.finished for state in states if state.finished is not None]
    prompts = [prompt_tokens(stage)[0] for stage in stages if stage.tokens]
    return msgspec.structs.replace(
        sample,
        copied_values=sum(len(copied_values(state, stage)) for state in states for stage in state.stages),
        prompt_tokens=sum(prompts) if prompts and all(prompts) else None,
        instructions=_instructions(states[0]),
        decoded=sum(stage.token_count for stage in stages),
        forced=sum(stage.forced for stage in stages),
        characters=sum(len(stage.text) for stage in stages),
        bytes=sum(len(stage.text.encode("utf-8", "replace")) for stage in stages),
        first_token_ms=finished[0].first_token_ms if finished else 0.0,
        total_ms=sum(state.worked_ms or 0.0 for state in states),
        model_turns=sum(bool(stage.tokens) for stage in stages),
    )


def _blank(planned: Planned) -> Sample:
    scenario = planned.scenario
    expected = (tool for call in scenario.expect.calls for tool in call.tools)
    return Sample(
        id=planned.id,
        arm=planned.arm.id,
        suite=planned.suite.suite.name,
        scenario=scenario.id,
        trial=planned.trial,
        seed=planned.seed,
        group=scenario.group,
        level=scenario.level,
        control=scenario.control,
        expected=tuple(dict.fromkeys(expected)),
        time=now(),
    )


def unanswered(planned: Planned, reason: Reason, detail: str) -> Sample:
    """The sample of a run that failed before the model could answer."""
    failure = SampleFailure(reason=reason, detail=shorten(detail, MAX_TEXT))
    return msgspec.structs.replace(_blank(planned), outcome="failed", failures=(failure,))


def stopped_sample(planned: Planned) -> Sample:
    """The sample of a run that was cancelled."""
    failure = SampleFailure(reason="TIMEOUT", detail="the run was stopped before its end")
    return msgspec.structs.replace(_blank(planned), outcome="cancelled", failures=(failure,))


def _instructions(state: RunState) -> int:
    """The tokens of the prompt that are instructions or tools."""
    prompt = state.stages[0].prompt
    return 0 if prompt is None else sum(part.tokens for part in prompt.parts if part.name not in OF_THE_USER)


def _chosen(id: str, share: float) -> bool:
    """Whether a sample is among that share of all; the choice is always the same."""
    place = int.from_bytes(hashlib.sha256(f"savings {id}".encode()).digest()[:4], "big")
    return place < share * 2**32


def _can_continue(request: RunRequest, states: Sequence[RunState]) -> bool:
    """Whether the run has a single text, which was stopped: after a repair or in a later turn, the continuation is
    unknown.
    """
    written = sum(bool(stage.tokens) for state in states for stage in state.stages)
    stopped = len(states) == 1 and states[0].aborted is not None
    return stopped and written == 1 and request.strategy == "direct"


def _saved(request: PreparedRequest, events: Sequence[AnyEvent], model: Model) -> int | None:
    """The tokens that stopping saved; None if the run could not be continued."""
    state = run_state(continue_aborted(request, events, model))
    decoded = run_state(events).finished
    if state.finished is None or decoded is None or state.outcome == "cancelled":
        return None
    return state.finished.tokens - decoded.tokens
