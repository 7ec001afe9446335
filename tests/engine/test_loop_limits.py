"""Ends and changes of a conversation: times, stops, transforms, constraints, and bad input."""

import threading

import msgspec
import pytest

from glyphscope.base.errors import ContextOverflow
from glyphscope.evals.costs import run_figures
from glyphscope.events import (
    Aborted,
    CallReady,
    FinalAnswer,
    LimitReached,
    QuestionAnswered,
    QuestionAsked,
    RunFailed,
    RunFinished,
    StageFinished,
    StageStarted,
    Token,
    ToolResult,
    TransformActed,
)
from glyphscope.registry import ToolRegistry, make_tool
from glyphscope.runs import reduce_event, run_state
from glyphscope.runs.strategies import run
from glyphscope.tools import Outcome
from talks import SEARCH, Clock, Talker, box, ended, limits, numbered, request_of, talk
from toolbox import ALLOW, Box, Leaving, Person, of

# times


@pytest.fixture
def clock():
    return Clock()


def test_the_time_is_limited_between_turns(clock):
    def slow(query):
        clock.seconds += 40

    events = talk(*numbered(9), interaction=Person(box(search=slow)), max_seconds=100, clock=clock)
    assert ended(events) == ("limit", False) and limits(events) == [("max_seconds", 100, 120)]
    assert len(of(ToolResult, events)) == 3


class Waiting(Person):
    """Allows a call after so many seconds."""

    def __init__(self, clock: Clock, seconds: float, box: Box) -> None:
        super().__init__(box)
        object.__setattr__(self, "clock", clock)
        object.__setattr__(self, "seconds", seconds)

    def decide(self, needed):
        self.clock.seconds += self.seconds
        return ALLOW


def test_the_time_of_an_approval_does_not_count(clock):
    events = talk(
        SEARCH, "Done.", interaction=Waiting(clock, 5000, box()), approvals=(), max_seconds=100, clock=clock
    )
    assert ended(events) == ("answered", True)


def test_the_time_of_a_call_excludes_waiting_for_the_user(clock):
    def slow(query):
        clock.seconds += 0.25

    events = talk(
        SEARCH, "Done.", interaction=Waiting(clock, 61, box(search=slow)), approvals=(), clock=clock
    )
    (result,) = of(ToolResult, events)
    (finished,) = [e for e in of(StageFinished, events) if e.stage == "tool"]
    assert result.ms == finished.ms == 250
    state = run_state(events)
    assert [stage.waited for stage in state.stages] == [0, 61, 0] and state.waited == 61
    assert state.finished.total_ms == 61_250
    assert state.worked_ms == run_figures(state).total_ms == 250


def test_the_time_of_a_servers_question_is_excluded_from_compared_times():
    result = ToolResult(call="1", tool="search", source="demo", ok=True, ms=5, waited_ms=4000, t=4.1)
    finished = RunFinished(
        reason="answered", valid=True, tokens=1, forced=0, prompt_ms=0, first_token_ms=0, total_ms=4100
    )
    state = run_state([result, finished])
    assert state.waited == 4 and state.worked_ms == run_figures(state).total_ms == pytest.approx(100)


def test_the_wait_for_an_answer_to_a_question_is_counted_separately():
    asked = run_state([QuestionAsked(question="Which?", t=1.0)])
    assert asked.waited == 0 and asked.present.asked == 1.0
    reduce_event(asked, QuestionAnswered(answer="x", t=31.0))
    assert asked.waited == 30 and asked.present.asked is None


def test_the_time_is_limited_while_the_model_writes(clock):
    clock.step = 1.0
    events = talk("word " * 5000, max_tokens=9999, max_seconds=100, clock=clock)
    assert ended(events) == ("limit", False) and of(LimitReached, events)[0].limit == "max_seconds"
    assert len(of(Token, events)) < 200 and of(StageFinished, events)[0].reason == "cancelled"


# stops


def test_a_stop_while_a_tool_runs_ends_the_run():
    tools = Box()
    interaction = Person(tools)
    started = threading.Event()

    def waits(query):
        started.set()
        assert tools.cancel.wait(60)
        return Outcome(fault="cancelled", message="stopped")

    tools.functions["search"] = waits
    stopper = threading.Thread(target=lambda: (started.wait(60), interaction.cancelled.set()))
    stopper.start()
    events = talk(SEARCH, "Done.", interaction=interaction)
    stopper.join()
    assert ended(events) == ("cancelled", False) and of(ToolResult, events)[0].fault == "cancelled"


def test_an_approval_that_is_open_when_the_run_is_stopped_runs_nothing():
    tools = box()
    events = talk(SEARCH, "Done.", interaction=Leaving(tools), approvals=())
    assert ended(events) == ("cancelled", False) and not tools.calls


def test_a_stop_between_turns_ends_the_run():
    interaction = Person(box(search=lambda query: interaction.cancelled.set()))
    events = talk(SEARCH, "Done.", interaction=interaction)
    assert ended(events) == ("cancelled", False) and len(of(StageStarted, events)) == 2


class Generating(Talker):
    """Records whether a generation is in progress."""

    generating = False

    def generate(self, request):
        self.generating = True
        try:
            yield from super().generate(request)
        finally:
            self.generating = False


def test_a_stop_while_the_model_writes_ends_the_run():
    model = Talker("word " * 50)
    events = []
    for event in run(request_of(), model, Person(box())):
        events.append(event)
        if isinstance(event, Token):
            model.cancel()
    assert ended(events) == ("cancelled", False)


@pytest.mark.slow
def test_closing_the_run_at_any_place_ends_it():
    whole = talk(SEARCH, "Done.")
    for count in range(len(whole)):
        model = Generating(SEARCH, "Done.")
        steps = run(request_of(), model, Person(box()))
        before = [type(next(steps)) for _ in range(count)]
        steps.close()
        assert before == [type(event) for event in whole[:count]]
        assert next(steps, None) is None and not model.generating


# transforms in a conversation


def acted(events):
    return [(event.name, event.surface, event.stage) for event in of(TransformActed, events)]


def test_a_text_that_a_transform_reads_is_not_aborted():
    text = '{"tool_calls": {"function": {"name": "search", "arguments": "{\\"query\\": \\"x\\"}"}}}'
    names = ("tool-calls", "arguments-from-text")
    events = talk(text, "Done.", transforms=names, tool_use="enforced")
    assert [name for name, *_ in acted(events)] == list(names) and not of(Aborted, events)
    assert ended(events) == ("answered", True)


def test_a_renamed_tool_is_called_by_its_own_name():
    registry = ToolRegistry((make_tool("files.readAll", "Reads.", {"type": "object", "properties": {}}),))
    tools = Box(**{"files.readAll": lambda: "all"})
    model = Talker('{action="files_read_all"}', "Done.")
    events = talk(model=model, registry=registry, interaction=Person(tools), transforms=("snake-case-names",))
    assert of(CallReady, events)[0].tool == "files.readAll" and tools.calls == [("files.readAll", {})]
    assert "files_read_all(" in model.prompts[0] and acted(events)[0][:2] == ("snake-case-names", "tool")
    assert '{action="files_read_all"}' in model.prompts[1]


# the constraint of each turn


def grammars(constraint, **settings):
    model = Talker(SEARCH, "", "Done.")
    events = talk(model=model, constraint=constraint, **settings)
    return [(r.constraint, r.grammar) for r in model.requests], [
        e.title for e in of(StageStarted, events) if e.kind != "tool"
    ]


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_each_turn_has_the_grammar_of_its_allowed_answers(constraint):
    constraints, titles = grammars(constraint, tool_use="enforced")
    assert [kind for kind, _ in constraints] == [constraint, constraint, "off"]
    assert constraints[0][1] != constraints[1][1] and constraints[2][1] is None
    assert titles[0] == "Turn 1: a call" and titles[1] == "Turn 2: a call or an answer"


def test_a_custom_grammar_applies_where_a_call_is_required_and_its_absence_is_shown():
    own = 'root ::= "{action=\\"search\\" query=\\"x\\"}"'
    constraints, titles = grammars("mask", tool_use="enforced", grammar=own)
    assert constraints[0][0] == "mask" and constraints[1][0] == "off"
    assert titles[1] == "Turn 2: a call or an answer, without the constraint"


def test_under_a_constraint_decoding_ends_with_the_last_allowed_call():
    model = Talker([SEARCH, "more", "more"], "Done.")
    events = talk(model=model, constraint="mask")
    assert len([token for token in of(Token, events) if token.stage == "turn"]) == 1


# errors


def test_a_prompt_larger_than_the_context_is_reported():
    class Small(Talker):
        def generate(self, request):
            if len(self.requests) == 1:
                raise ContextOverflow(5000, 4096)
            return super().generate(request)

    (failed,) = of(RunFailed, talk(model=Small(SEARCH, "Done.")))
    assert failed.code == "CONTEXT_OVERFLOW" and "small-context" in failed.hint


def test_an_answer_that_fills_the_context_is_marked_as_cut():
    class Full(Talker):
        def generate(self, request):
            for output in super().generate(request):
                if isinstance(output, tuple) and output[0].index == 3:
                    return
                yield output

    model = Full("a b c d e f")
    model.info = msgspec.structs.replace(model.info, context=99)
    events = talk(model=model)
    assert limits(events) == [("context", 99, 99)] and of(FinalAnswer, events)[0].text == "a b c"


def test_an_internal_error_in_a_tool_is_raised():
    def fails(query):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        talk(SEARCH, interaction=Person(box(search=fails), ALLOW))


def test_settings_are_part_of_the_request():
    request = request_of(max_turns=3, transforms=("content-tags",))
    assert msgspec.json.decode(msgspec.json.encode(request), type=type(request)) == request
