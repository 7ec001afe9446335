"""Verdicts on real runs of every strategy, with their reasons and their order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from expected_texts import as_in_file
from glyphscope.base.errors import ConstraintIgnored, ContextOverflow, GrammarError, ModelDied
from glyphscope.base.visible import visible
from glyphscope.evals.results import bad_token, bad_turn
from glyphscope.evals.results.sample import NO_ANSWER, Sample
from glyphscope.evals.suites.suite import Scenario, ScenarioTurn
from glyphscope.events import AnyEvent, FinalText
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import bundled_registry
from glyphscope.runs import run_state
from judged import asked, call_of, expectation, reasons, sample_of, shares, verdict
from talks import Talker

MAX_DETAIL = 300
SEARCH = '{action="search" query="x"}'
CALCULATE = '{action="calculate" expression="1"}'
EXPECTED = call_of("search", query="x")
ONE = asked(expectation(EXPECTED))
CASES = Path(__file__).with_name("scoring.txt")
SHARES = ("parsed", "valid", "right tool", "right arguments", "ok")


class Case(NamedTuple):
    """`lines` are those of the file up to the verdict, `members` those of the scenario and its arm."""

    lines: tuple[str, ...]
    members: dict[str, Any]
    said: tuple[str, ...]


def cases() -> Iterator[Case | str]:
    """The cases of the file, and the lines between them: the heading of a group has the members of its scenarios."""
    for block in CASES.read_text().rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        if lines[0].startswith("# "):
            group = json.loads(lines[1])
            yield block
            continue
        given = tuple(line for line in lines if line.startswith(("with ", "says")))
        changes = json.loads(given[0][5:]) if given[0].startswith("with ") else {}
        said = (line[5:].replace("\\n", "\n") for line in given if line.startswith("says"))
        yield Case(given, {**group, **changes}, tuple(said))


def verdict_lines(judged: Sample, said: tuple[str, ...]) -> Iterator[str]:
    """The shares that are right or not, or have none; the end of the run; its calls; and the failures."""
    signs = {True: "✓", False: "✗", None: "–"}
    yield "= " + ", ".join(f"{signs[share]} {name}" for share, name in zip(shares(judged), SHARES))
    stopped = "" if judged.stopped_at is None else f", stopped at {judged.stopped_at}: {judged.stopped_code}"
    yield f"  {judged.outcome}, {judged.ended}{stopped}"
    if judged.text != said[-1]:
        yield f"  text {judged.text}"
    for call in judged.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield f"  call {call.tool} {arguments}" + ("" if call.ok is None else f" {signs[call.ok]}")
    for each in judged.failures:
        place = "".join(
            f" {part}" for part in (each.code, each.path, each.turn != 1 and f"turn {each.turn}") if part
        )
        yield f"  {each.reason}{place}: {each.detail}"


def judged_block(case: Case) -> str:
    members = dict(case.members)
    arm, registry = members.pop("arm", {}), members.pop("registry", "default")
    scenario = msgspec.convert({"id": "one", "prompt": "Find x.", **members}, Scenario)
    judged, runs = sample_of(scenario, *case.said, registry=bundled_registry(registry), **arm)
    return "\n".join((*case.lines, *verdict_lines(judged, case.said), *opened_at(judged, runs)))


def opened_at(judged: Sample, runs: Sequence[Sequence[AnyEvent]]) -> Iterator[str]:
    """The token at which the run of a failed sample opens, if one is to blame."""
    if judged.failures:
        turn = judged.failures[0].turn
        run = run_state(runs[turn - 1])
        if found := bad_token(run, judged, turn):
            stage = run.stages[found.stage]
            yield f"  opens at {stage.name or stage.kind}, character {stage.tokens[found.token].start}"


def test_the_verdicts_of_scenarios_are_those_of_the_file():
    as_in_file(CASES, (each if isinstance(each, str) else judged_block(each) for each in cases()))


# no answer


class Failing(Talker):
    """Says its turns, and fails with an error instead of the one with that number."""

    def __init__(self, error: Exception, *turns: str) -> None:
        super().__init__(*(turns or ("",)))
        self.error, self.after = error, len(turns)

    def generate(self, request):
        if len(self.requests) == self.after:
            raise self.error
        return super().generate(request)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelDied("The model died.", signal="SIGSEGV", stderr="bad\x1b[31m weights"), "MODEL_FAILED"),
        (ModelDied("why\n" * 1000, stderr=""), "MODEL_FAILED"),
        (ContextOverflow(9000, 2048), "CONTEXT_OVERFLOW"),
        (GrammarError("too large"), "CONSTRAINT_FAILED"),
        (ConstraintIgnored("The endpoint ignored the constraint: it wrote 'Sure'"), "CONSTRAINT_IGNORED"),
    ],
)
def test_a_run_that_failed_is_not_a_wrong_answer(error, reason):
    scenario = asked(expectation(EXPECTED, seen=("SYNTAX",), final=FinalText(equals="x"), choice="call_tool"))
    judged = verdict(scenario, model=Failing(error))
    assert reasons(judged) == [reason] and reason in NO_ANSWER
    assert shares(judged) == (None, False, False, False, False)
    detail = judged.failures[0].detail
    assert visible(detail) == detail and len(detail) <= MAX_DETAIL and judged.outcome == "failed"


def test_the_reason_for_a_missing_answer_comes_first():
    scenario = asked(
        expectation(EXPECTED), turns=(ScenarioTurn(prompt="And?", expect=expectation(EXPECTED)),)
    )
    judged = verdict(scenario, model=Failing(ModelDied("died"), CALCULATE))
    assert [(each.reason, each.turn) for each in judged.failures] == [("MODEL_FAILED", 2), ("WRONG_TOOL", 1)]
    for runs, turn in ((("a", "b"), 2), (("a",), 1), ((), 1)):
        assert bad_turn(msgspec.structs.replace(judged, runs=runs)) == turn


class Stopped(ScriptedModel):
    """Is stopped from outside after a token."""

    def generate(self, request):
        outputs = super().generate(request)
        yield next(outputs)
        yield next(outputs)
        self.cancel()
        yield from outputs


def test_a_run_that_was_stopped_is_no_answer():
    assert reasons(verdict(ONE, model=Stopped(SEARCH))) == ["TIMEOUT"]


# the content of a verdict


def test_verdicts_are_visible_text_of_limited_length():
    hostile = "\x1b[2J\u202e" + "x" * 3000
    text = json.dumps({"action": "search", "query": hostile})
    for expect in (expectation(EXPECTED), expectation(), expectation(call_of("browse", url="https://a.b"))):
        for failure in verdict(asked(expect), text, notation="json").failures:
            assert visible(failure.detail) == failure.detail and len(failure.detail) <= MAX_DETAIL
            assert visible(failure.path) == failure.path and len(failure.path) <= MAX_DETAIL


def test_a_hundred_extra_calls_are_reported_together():
    calls = "\n".join(SEARCH.replace("x", str(number)) for number in range(40))
    many = asked(expectation(), request={"loop": {"parallel_tool_calls": True}})
    judged = verdict(many, calls, "Done.", strategy="loop")
    assert len(judged.calls) == 40 and len(judged.failures) <= 20
