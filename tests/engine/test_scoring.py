"""Verdicts on real runs of every strategy, with their reasons and their order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from glyphscope.base.errors import ConstraintIgnored, ContextOverflow, GrammarError, ModelDied
from glyphscope.base.visible import visible
from glyphscope.evals.results import NO_ANSWER, ModelCall
from glyphscope.evals.suites import ExpectedCall, FinalText, ScriptedResult, Turn
from glyphscope.models import ScriptedModel
from glyphscope.registry import bundled_registry
from judged import asked, call_of, expectation, reasons, shares, verdict
from talks import Talker

MAX_DETAIL = 300
SEARCH = '{action="search" query="x"}'
CALCULATE = '{action="calculate" expression="1"}'
TOO_MANY = '{action="search" query="x" max_results=500}'
EXPECTED = call_of("search", query="x")
ONE = asked(expectation(EXPECTED))
SCRIPT = (
    ScriptedResult(tool="search", text="found", times=0),
    ScriptedResult(tool="calculate", text="2", times=0),
)


def chosen(choice: str, tool: str | None = None, question: str | None = None) -> str:
    return json.dumps({"choice": choice, "tool": tool, "question": question})


# one call, written at once. Shares: parsed, valid, right tool, right arguments, ok

OF_TYPE = '{action="calculate" expression=5}'
DIRECT: list[tuple[str, tuple[Any, ...], list[tuple[str, str]]]] = [
    (SEARCH, (True, True, True, True, True), []),
    (' {action="search" query="x"} ', (True, True, True, True, True), []),
    ('{action="search" query="y"}', (True, True, True, False, False), [("WRONG_ARGUMENTS", "")]),
    (CALCULATE, (True, True, False, False, False), [("WRONG_TOOL", "")]),
    (TOO_MANY, (None, False, True, False, False), [("SCHEMA", "CONSTRAINT_MAX")]),
    (OF_TYPE, (None, False, False, False, False), [("SCHEMA", "TYPE_MISMATCH"), ("WRONG_TOOL", "")]),
    ('{action="nosuch" query="x"}', (None, False, False, False, False), [("SCHEMA", "UNKNOWN_TOOL")]),
    ('{action="search"}', (None, False, True, False, False), [("SCHEMA", "MISSING_REQUIRED")]),
    ('{action="search" query="x" query="x"}', (None, False, True, False, False), [("SCHEMA", "DUPLICATE_ARGUMENT")]),
    ('{action="search" query="x"', (False, False, True, False, False), [("PARSE", "TRUNCATED")]),
    ('{action="search" query=}', (False, False, True, False, False), [("PARSE", "SYNTAX")]),
    ("", (False, False, False, False, False), [("PARSE", "NO_TOOL_CALL")]),
    ("I will search for x.", (False, False, False, False, False), [("PARSE", "LEADING_TEXT")]),
    ("```\n" + SEARCH, (False, False, False, False, False), [("PARSE", "LEADING_TEXT")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "verdicts", "failures"), DIRECT)
def test_a_call_of_one_stage_is_judged(text, verdicts, failures):
    judged = verdict(ONE, text)
    assert shares(judged) == verdicts
    assert [(failure.reason, failure.code) for failure in judged.failures] == failures


def test_a_text_is_not_a_call_in_either_notation():
    """GLYPH reads a word at the beginning as a tool's name, JSON as text before the call: both must count alike."""
    for text in ("Sure! Here it is.", "hello {} there", "Sure thing", "42"):
        glyph, jsoned = (verdict(ONE, text, notation=notation) for notation in ("glyph", "json"))
        assert shares(glyph) == shares(jsoned) == (False, False, False, False, False)
        assert reasons(glyph) == reasons(jsoned) == ["PARSE"]


def test_whether_a_truncated_text_would_have_parsed_is_unknown():
    short = asked(expectation(EXPECTED), request={"max_tokens": 8})
    judged = verdict(short, '{action="search" query="x and much more of it than there is room for"}')
    assert judged.parsed is None and not judged.valid and judged.ended == "length"
    assert [(failure.reason, failure.code) for failure in judged.failures] == [("LENGTH", "TRUNCATED")]
    words = verdict(
        asked(expectation(EXPECTED), request={"max_tokens": 8, "stop_on": "never"}),
        "I would rather talk. " * 9,
    )
    assert words.parsed is False and reasons(words) == ["PARSE"], "an error before the cut remains an error"


def test_an_error_before_the_truncation_counts():
    never = asked(expectation(EXPECTED), request={"stop_on": "never", "max_tokens": 12})
    judged = verdict(never, '{action="nosuch" query="x and much more of it than there is room for"}')
    assert judged.parsed is None and judged.ended == "length"
    assert [(failure.reason, failure.code) for failure in judged.failures] == [("SCHEMA", "UNKNOWN_TOOL")]


def test_an_early_abort_leaves_parsing_unknown_and_records_its_place():
    judged = verdict(ONE, TOO_MANY)
    assert judged.parsed is None and judged.outcome == judged.ended == "aborted"
    assert (judged.stopped_at, judged.stopped_code) == (TOO_MANY.index("500") + 2, "CONSTRAINT_MAX")
    (failure,) = judged.failures
    assert failure.path == "/max_results" and "at most 100" in failure.detail
    whole = verdict(asked(expectation(EXPECTED), request={"stop_on": "never"}), TOO_MANY)
    assert shares(whole) == (True, False, True, False, False) and whole.stopped_at is None


def test_the_place_of_a_wrong_argument_is_reported():
    (failure,) = verdict(
        asked(expectation(call_of("search", query="x", max_results=10))),
        '{action="search" query="x" max_results=5}',
    ).failures
    assert (failure.reason, failure.path, failure.turn) == ("WRONG_ARGUMENTS", "/max_results", 1)
    assert failure.detail == "search: max_results is 5, not 10"


# repairs


def test_a_repaired_call_is_ok_and_parsing_is_that_of_the_first_text():
    judged = verdict(ONE, "I will search.", SEARCH, repair=1)
    assert shares(judged) == (False, True, True, True, True)
    judged = verdict(ONE, TOO_MANY, SEARCH, repair=1)
    assert shares(judged) == (None, True, True, True, True)
    assert judged.text == SEARCH and judged.stopped_code == "CONSTRAINT_MAX"


def test_an_extracted_call_is_ok():
    fenced = asked(expectation(EXPECTED), request={"stop_on": "never"})
    judged = verdict(fenced, f"```\n{SEARCH}\n```", repair=1)
    assert shares(judged) == (False, True, True, True, True)
    assert reasons(verdict(fenced, f"```\n{SEARCH}\n```")) == [
        "PARSE"
    ]  # an arm without repairs makes no changes


def test_a_failed_repair_is_counted_by_its_last_error():
    judged = verdict(ONE, "I will search.", TOO_MANY, repair=1)
    assert [(failure.reason, failure.code) for failure in judged.failures] == [("SCHEMA", "CONSTRAINT_MAX")]
    assert judged.parsed is False


# no call is expected

NONE = asked(expectation())


def test_a_text_is_right_where_no_call_is_expected():
    for notation in ("glyph", "json"):
        judged = verdict(NONE, "I have no tool for that.", notation=notation)
        assert shares(judged) == (None, True, None, None, True)
    assert shares(verdict(NONE, "")) == (None, True, None, None, True)


def test_a_call_is_wrong_where_none_is_expected():
    judged = verdict(NONE, SEARCH)
    assert shares(judged) == (True, True, None, None, False) and reasons(judged) == ["UNWANTED_CALL"]
    assert '"query":"x"' in judged.failures[0].detail


def test_a_call_in_a_text_counts_as_a_call_where_none_is_expected():
    never = asked(expectation(), request={"stop_on": "never"})
    judged = verdict(never, f"I will do it: {SEARCH} There.")
    assert reasons(judged) == ["PARSE", "UNWANTED_CALL"] and not judged.valid
    assert judged.calls == (ModelCall(tool="search", arguments={"query": "x"}),)


def test_an_invalid_call_is_a_failure_where_none_is_expected():
    assert reasons(verdict(NONE, '{action="search" query=}')) == ["PARSE"]
    assert reasons(verdict(NONE, TOO_MANY)) == ["SCHEMA"]


def test_a_final_text_must_meet_its_rules():
    def failed(said: str, **rule: Any) -> list[str]:
        scenario = asked(expectation(final=FinalText(**rule)), request={"stop_on": "never"})
        judged = verdict(scenario, said)
        assert set(reasons(judged)) <= {"FINAL_TEXT"}
        return [failure.detail for failure in judged.failures]

    assert failed(" Done.\n", equals="Done.") == []
    assert failed("Done!", equals="Done.") == ['the answer is "Done!", not "Done."']
    (unsaid,) = verdict(asked(expectation(EXPECTED, final=FinalText(equals="x"))), SEARCH).failures
    assert (unsaid.reason, unsaid.detail) == ("FINAL_TEXT", "there is no answer in words")
    assert failed("It is 5.", contains=("5", "It")) == []
    assert failed("It is 5.", contains=("6",)) == ['the answer is "It is 5.", and does not contain "6"']
    assert failed("It is 5.", pattern=r"\d") == [] and len(failed("It is.", pattern=r"\d")) == 1
    assert failed("Done.", least_characters=6) == ["the answer has 5 characters, and needs 6"]
    assert len(failed("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", pattern="^(a+)+$")) == 1  # and does not hang


# two stages


def test_a_call_in_two_stages_is_judged_as_a_whole():
    judged = verdict(ONE, '"search"', '{query="x"}', strategy="two-stage")
    assert shares(judged) == (True, True, True, True, True) and 'action="search"' in judged.text
    judged = verdict(ONE, '"calculate"', '{expression="1"}', strategy="two-stage")
    assert shares(judged) == (True, True, False, False, False) and reasons(judged) == ["WRONG_TOOL"]
    judged = verdict(ONE, '"nosuch"', strategy="two-stage")
    assert shares(judged) == (None, False, False, False, False)
    judged = verdict(ONE, '"search"', '{query="x" max_results=500}', strategy="two-stage")
    assert shares(judged) == (None, False, True, False, False) and reasons(judged) == ["SCHEMA"]


def test_a_name_that_uses_up_the_tokens_is_a_truncated_text():
    short = asked(expectation(EXPECTED), request={"max_tokens": 3})
    judged = verdict(short, '"search"', '{query="x"}', strategy="two-stage")
    assert shares(judged) == (None, False, True, False, False)
    assert [(failure.reason, failure.code) for failure in judged.failures] == [("LENGTH", "TRUNCATED")]


# the router


def routed(expect: Any, *said: str, **members: Any) -> Any:
    return verdict(asked(expect, **members), *said, strategy="route-execute")


CALL, ASK, NO = chosen("call_tool", "search"), chosen("clarify", None, "Which one?"), chosen("none")


def test_the_routers_choice_must_be_the_expected_one():
    assert shares(routed(expectation(choice="none"), NO)) == (True, True, None, None, True)
    assert shares(routed(expectation(choice="clarify"), ASK)) == (True, True, None, None, True)
    assert shares(routed(expectation(EXPECTED, choice="call_tool"), CALL, SEARCH)) == (
        True,
        True,
        True,
        True,
        True,
    )
    assert reasons(routed(expectation(choice="clarify"), NO)) == ["WRONG_CHOICE"]
    assert reasons(routed(expectation(EXPECTED, choice="call_tool"), NO)) == ["WRONG_CHOICE", "MISSING_CALL"]
    judged = routed(expectation(choice="none"), CALL, SEARCH)
    assert reasons(judged) == ["WRONG_CHOICE", "UNWANTED_CALL"]
    assert judged.failures[0].detail == "the router chose call_tool of 'search', not none"


def test_a_question_that_was_answered_is_its_own_choice():
    both = expectation(EXPECTED, choice="clarify")
    assert routed(both, ASK, CALL, SEARCH, answers=("x",)).ok
    assert reasons(routed(both, CALL, SEARCH, answers=("x",))) == ["WRONG_CHOICE"]
    assert routed(expectation(EXPECTED, choice="call_tool"), ASK, CALL, SEARCH, answers=("x",)).ok


def test_a_router_with_the_wrong_tool_is_wrong_whatever_the_call():
    calculate = chosen("call_tool", "calculate")
    assert reasons(routed(expectation(EXPECTED), calculate, CALCULATE)) == ["WRONG_TOOL"]
    judged = routed(expectation(EXPECTED), calculate, '{action="calculate" expression=5}')
    assert reasons(judged) == ["SCHEMA", "WRONG_TOOL"] and judged.right_tool is False
    judged = routed(expectation(EXPECTED), CALL, TOO_MANY)
    assert shares(judged) == (None, False, True, False, False)


def test_a_router_without_a_choice_is_a_failure_even_where_no_tool_is_expected():
    assert reasons(routed(expectation(choice="none"), "none of them")) == ["PARSE"]
    judged = routed(expectation(choice="none"), chosen("call_tool", "nosuch"))
    assert [(failure.reason, failure.code) for failure in judged.failures] == [("SCHEMA", "UNKNOWN_TOOL")]


def test_without_a_router_a_text_is_any_choice_but_a_call():
    for choice in ("none", "clarify"):
        assert verdict(asked(expectation(choice=choice)), "Which one do you mean?").ok
        assert reasons(verdict(asked(expectation(choice=choice)), SEARCH)) == [
            "WRONG_CHOICE",
            "UNWANTED_CALL",
        ]
    never = asked(expectation(choice="call_tool"), request={"strategy": "loop"})
    assert reasons(verdict(never, "Hello.")) == ["WRONG_CHOICE"]


# the loop


def talked(expect: Any, *said: str, **members: Any) -> Any:
    scenario = asked(expect, **{"script": SCRIPT, **members})
    return verdict(scenario, *said, strategy="loop")


def test_every_call_of_a_conversation_counts_once():
    judged = talked(expectation(EXPECTED), SEARCH, "It is x.")
    assert shares(judged) == (True, True, True, True, True) and judged.text == "It is x."
    assert judged.calls == (ModelCall(tool="search", arguments={"query": "x"}, ok=True),)
    assert (judged.outcome, judged.ended) == ("valid", "answered")
    judged = talked(expectation(EXPECTED), SEARCH, SEARCH, "It is x.")
    assert reasons(judged) == ["EXTRA_CALL"] and judged.right_arguments is True
    assert talked(expectation(EXPECTED, extra_calls=True), SEARCH, CALCULATE, SEARCH, "x").ok
    assert reasons(talked(expectation(EXPECTED), "It is x.")) == ["MISSING_CALL"]


def test_several_expected_calls_come_in_any_order_unless_it_counts():
    two = (EXPECTED, call_of("calculate", expression="1"))
    assert talked(expectation(*two), CALCULATE, SEARCH, "Done.").ok
    assert talked(expectation(*two, ordered=True), SEARCH, CALCULATE, "Done.").ok
    judged = talked(expectation(*two, ordered=True), CALCULATE, SEARCH, "Done.")
    assert reasons(judged) == ["MISSING_CALL"] and "order" in judged.failures[0].detail
    assert judged.right_tool is False and judged.right_arguments is False
    judged = talked(expectation(*two), SEARCH, "Done.")
    assert reasons(judged) == ["MISSING_CALL"] and judged.right_tool is False


def test_calls_of_one_turn_count_each():
    two = (EXPECTED, call_of("search", query="y"))
    many = {"request": {"loop": {"parallel_tool_calls": True}}}
    other = SEARCH.replace("x", "y")
    judged = talked(expectation(*two), f"{other}\n{SEARCH}", "Done.", **many)
    assert judged.ok and [call.arguments["query"] for call in judged.calls] == ["y", "x"]
    assert reasons(talked(expectation(*two), f"{other}\n{SEARCH}", "Done.")) == ["MISSING_CALL"]  # one a turn


def test_a_failed_call_may_be_repeated_where_more_calls_are_allowed():
    script = (
        ScriptedResult(tool="search", text="busy", fault="tool"),
        ScriptedResult(tool="search", text="found"),
    )
    assert talked(expectation(EXPECTED, extra_calls=True), SEARCH, SEARCH, "x", script=script).ok
    judged = talked(expectation(EXPECTED), SEARCH, SEARCH, "x", script=script)
    assert reasons(judged) == ["EXTRA_CALL"] and [call.ok for call in judged.calls] == [False, True]
    judged = talked(expectation(EXPECTED, extra_calls=True), SEARCH, "x", script=script)
    assert [(failure.reason, failure.code) for failure in judged.failures] == [("TOOL_FAILED", "TOOL_ERROR")]
    assert judged.failures[0].detail == "search: busy" and judged.right_arguments is True


def test_a_forbidden_tool_is_reported_beside_everything_else():
    assert reasons(
        talked(expectation(EXPECTED, extra_calls=True, forbidden=("calculate",)), SEARCH, CALCULATE, "x")
    ) == ["FORBIDDEN_TOOL"]
    assert reasons(talked(expectation(EXPECTED, forbidden=("calculate",)), CALCULATE, "x")) == [
        "WRONG_TOOL",
        "FORBIDDEN_TOOL",
    ]


def test_expected_codes_must_occur_in_the_run():
    seen = expectation(EXPECTED, extra_calls=True, seen=("ARGUMENTS_TOO_LARGE",))
    long = '{action="search" query="' + "x" * 200 + '"}'
    guard = {"request": {"loop": {"max_tool_args_bytes": 100}}}
    judged = talked(seen, long, SEARCH, "x", **guard)
    assert judged.ok and judged.calls[0].ok is False
    judged = talked(seen, SEARCH, "x", **guard)
    assert [(failure.reason, failure.code) for failure in judged.failures] == [
        ("NOT_SEEN", "ARGUMENTS_TOO_LARGE")
    ]
    assert (
        verdict(asked(expectation(seen=("CONSTRAINT_MAX",), extra_calls=True)), TOO_MANY).failures[-1].reason
        == "SCHEMA"
    )
    assert talked(expectation(EXPECTED, seen=("CONSTRAINT_MAX",)), TOO_MANY, SEARCH, "x").ok


def test_an_invalid_turn_counts_for_parsing_and_is_forgiven_when_corrected():
    judged = talked(expectation(EXPECTED), '{action="search" query=}', SEARCH, "x")
    assert shares(judged) == (False, True, True, True, True)
    judged = talked(expectation(EXPECTED), TOO_MANY, SEARCH, "x")
    assert shares(judged) == (None, True, True, True, True)


def test_a_guardrail_that_ended_the_conversation_is_a_failure():
    judged = talked(expectation(EXPECTED, extra_calls=True), SEARCH, request={"loop": {"max_turns": 2}})
    assert reasons(judged) == ["LIMIT"] and judged.failures[0].detail.startswith("max_turns: ")
    judged = talked(expectation(EXPECTED), TOO_MANY, request={"loop": {"max_invalid_turns": 2}})
    assert reasons(judged) == ["SCHEMA", "LIMIT"]


def test_an_unmet_requirement_of_a_conversation_is_a_failure():
    enforced = {"request": {"loop": {"tool_use": "enforced"}}}
    script = (ScriptedResult(tool="search", fault="tool", text="no"),)
    assert reasons(talked(expectation(EXPECTED), SEARCH, "x", script=script, **enforced)) == ["TOOL_FAILED"]
    judged = talked(
        expectation(EXPECTED), "Hello.", request={"loop": {"tool_use": "enforced", "max_invalid_turns": 1}}
    )
    assert reasons(judged) == ["PARSE", "LIMIT"] and judged.failures[0].code == "NO_TOOL_CALL"
    assert reasons(talked(expectation(EXPECTED), SEARCH, "", "")) == ["FINAL_TEXT"]


def test_the_strict_answer_of_a_conversation_is_the_last_one():
    strict = expectation(final=FinalText(equals="Done."))
    assert talked(strict, "Done.\n").ok
    assert reasons(talked(strict, "Done. Anything else?")) == ["FINAL_TEXT"]
    assert reasons(talked(strict, SEARCH, "Done.")) == ["UNWANTED_CALL"]


def test_the_final_workspace_must_match_its_schema():
    patch = '{action="state_patch" workspace_id="trip-1" ops=[{op="set" path="/budget/limit" value=%d}]}'
    schema = {"properties": {"budget": {"properties": {"limit": {"const": 950}}}}}
    expect = expectation(ExpectedCall(tools=("state_patch",)), workspace=schema)
    workspace = bundled_registry("workspace")
    scenario = asked(expect, demo=True)
    assert verdict(scenario, patch % 950, "Done.", strategy="loop", registry=workspace).ok
    judged = verdict(scenario, patch % 940, "Done.", strategy="loop", registry=workspace)
    assert reasons(judged) == ["WORKSPACE"] and judged.failures[0].path == "/budget/limit"
    assert judged.failures[0].detail == "budget.limit is 940, not 950"
    judged = verdict(scenario, "Done.", strategy="loop", registry=workspace)
    assert reasons(judged) == ["MISSING_CALL", "WORKSPACE"]
    judged = verdict(asked(expectation(workspace=schema)), "Done.", strategy="loop")
    assert reasons(judged) == ["WORKSPACE"] and "no workspace" in judged.failures[0].detail


# several turns


def test_the_verdicts_of_several_turns_are_those_of_all_together():
    second = Turn(prompt="And 1?", expect=expectation(call_of("calculate", expression="1")))
    scenario = asked(expectation(EXPECTED), turns=(second,))
    judged = verdict(scenario, SEARCH, CALCULATE)
    assert shares(judged) == (True, True, True, True, True) and judged.text == CALCULATE
    judged = verdict(scenario, SEARCH, SEARCH)
    assert shares(judged) == (True, True, False, False, False)
    assert [(failure.reason, failure.turn) for failure in judged.failures] == [("WRONG_TOOL", 2)]
    assert [call.tool for call in judged.calls] == ["search", "search"]
    judged = verdict(scenario, TOO_MANY, "words")
    assert judged.parsed is False and reasons(judged) == ["SCHEMA", "PARSE"]


def test_a_turn_without_an_expected_call_leaves_the_tools_verdict_to_the_others():
    scenario = asked(expectation(EXPECTED), turns=(Turn(prompt="Thanks.", expect=expectation()),))
    assert shares(verdict(scenario, SEARCH, "Welcome.")) == (None, True, True, True, True)


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
    scenario = asked(expectation(EXPECTED), turns=(Turn(prompt="And?", expect=expectation(EXPECTED)),))
    judged = verdict(scenario, model=Failing(ModelDied("died"), CALCULATE))
    assert [(failure.reason, failure.turn) for failure in judged.failures] == [
        ("MODEL_FAILED", 2),
        ("WRONG_TOOL", 1),
    ]


def test_a_model_without_calls_of_its_own_is_a_bad_request():
    judged = verdict(ONE, SEARCH, notation="native")
    assert reasons(judged) == ["BAD_REQUEST"] and judged.ended == "PROMPT_FAILED"
    assert reasons(verdict(ONE, SEARCH, notation="native", strategy="loop")) == ["BAD_REQUEST"]


class Stopped(ScriptedModel):
    """Is stopped from outside after a token."""

    def generate(self, request):
        outputs = super().generate(request)
        yield next(outputs)
        yield next(outputs)
        self.cancel()
        yield from outputs


def test_a_run_that_was_stopped_or_is_missing_is_no_answer():
    assert reasons(verdict(ONE, model=Stopped(SEARCH))) == ["TIMEOUT"]
    judged = verdict(
        asked(expectation(EXPECTED), request={"loop": {"max_seconds": 1e-9}}), SEARCH, strategy="loop"
    )
    assert reasons(judged) == ["TIMEOUT"] and judged.failures[0].detail.startswith("The conversation took")


# the content of a verdict


def test_verdicts_are_visible_text_of_limited_length():
    hostile = "\x1b[2J\u202e" + "x" * 3000
    text = json.dumps({"action": "search", "query": hostile})
    for scenario in (ONE, NONE, asked(expectation(call_of("browse", url="https://a.b")))):
        for failure in verdict(scenario, text, notation="json").failures:
            assert visible(failure.detail) == failure.detail and len(failure.detail) <= MAX_DETAIL
            assert visible(failure.path) == failure.path and len(failure.path) <= MAX_DETAIL


def test_a_hundred_extra_calls_are_reported_together():
    calls = "\n".join(SEARCH.replace("x", str(number)) for number in range(40))
    judged = talked(expectation(), calls, "Done.", request={"loop": {"parallel_tool_calls": True}})
    assert len(judged.calls) == 40 and len(judged.failures) <= 20


def test_unspecified_arguments_may_be_anything():
    anything = asked(expectation(ExpectedCall(tools=("calculate", "search"))))
    assert verdict(anything, SEARCH).ok and verdict(anything, CALCULATE).ok
