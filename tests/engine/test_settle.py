"""A request is accepted or rejected in one place, with all of its problems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glyphscope.base.errors import GlyphscopeError, RequestError
from glyphscope.events import LoopSettings, PrefixPart, Relaxed, RunRequest, Sampling
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import prepare, run_state, settle
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.running import first_prompt

GOOD = '{action="search" query="AI news" max_results=10}'
TOOLS = default_registry().to_document()
NEVER = {"t": {"type": "object", "properties": {"n": {"enum": []}}, "required": ["n"]}}
MAXIMUM = Relaxed("search", "/properties/max_results/maximum")
WRITTEN = (PrefixPart(b"{"),)
FORM = {"calls": [{"pieces": [{"kind": "name"}, {"kind": "arguments"}]}]}


class Local(ScriptedModel):
    """Plays the text as a model of llama.cpp's kind."""

    def __init__(self) -> None:
        super().__init__(GOOD)
        self.info = type(self.info)(name="x", tool_calls="hermes")


REFUSED = [
    ("max_tokens", {"max_tokens": 0}, "Max tokens is", "BAD_REQUEST"),
    ("sampling.top_p", {"sampling": Sampling(top_p=2)}, "Top-p is", "BAD_REQUEST"),
    ("loop.max_turns", {"loop": LoopSettings(max_turns=0)}, "Turns is", "BAD_REQUEST"),
    ("stop", {"stop": ("",)}, "at least one character", "BAD_REQUEST"),
    ("constraint", {"constraint": "endpoint"}, "for models of an address", "BAD_REQUEST"),
    ("form", {"form": {"calls": 1}}, "form of turns is invalid", "PROMPT_FAILED"),
    ("native", {"native": "openai"}, "this model is local", "PROMPT_FAILED"),
    ("strategy", {"native": "openai", "strategy": "loop"}, "returns its own calls as a whole", "PROMPT_FAILED"),
    ("grammar", {"native": "openai", "grammar": 'root ::= "a"'}, "cannot be used", "PROMPT_FAILED"),
    ("strategy", {"native": "template", "form": FORM, "strategy": "two-stage"}, "in parts", "BAD_REQUEST"),
    ("form", {"native": "template", "form": {"ends": ["x"]}}, "no notation for calls", "PROMPT_FAILED"),
    ("strategy", {"native": "auto", "strategy": "route-execute"}, "has its own prompts", "BAD_REQUEST"),
    ("strategy", {"native": "hermes", "strategy": "loop"}, "has its own prompts", "BAD_REQUEST"),
    ("native", {"native": "template"}, "no form of calls can be derived", "PROMPT_FAILED"),
    ("free_text", {"native": "hermes", "free_text": True}, "not possible under a constraint", "PROMPT_FAILED"),
    ("written", {"written": WRITTEN, "strategy": "loop"}, "A branch needs the strategy direct", "BAD_REQUEST"),
    ("written", {"written": (PrefixPart(b"", 2**31),)}, "so large an id", "BAD_REQUEST"),
    ("relaxed", {"relaxed": (MAXIMUM,), "strategy": "two-stage"}, "strategy direct", "BAD_REQUEST"),
    ("relaxed", {"relaxed": (MAXIMUM,), "grammar": 'root ::= "a"'}, "nothing can be relaxed", "BAD_REQUEST"),
    ("relaxed", {"relaxed": (Relaxed("search", "/no"),)}, 'There is no "no"', "BAD_REQUEST"),
    ("relaxed", {"relaxed": (Relaxed("none", "/no"),)}, 'There is no tool "none"', "BAD_REQUEST"),
    ("registry", {"registry": {"t": 1}}, "", "BAD_REQUEST"),
    ("registry", {"registry": NEVER}, "No call of this tool can be written", "CONSTRAINT_FAILED"),
    ("tool_choice", {"tool_choice": "sreach"}, "not one of the registry's", "PROMPT_FAILED"),
    ("free_text", {"free_text": True, "strategy": "two-stage"}, "exclude each other", "BAD_REQUEST"),
    ("grammar", {"grammar": 'root ::= "a"', "strategy": "two-stage"}, "in parts", "CONSTRAINT_FAILED"),
    ("grammar", {"grammar": 'root ::= "a"', "strategy": "route-execute"}, "in parts", "CONSTRAINT_FAILED"),
    ("grammar", {"grammar": 'root ::= "a'}, "", "CONSTRAINT_FAILED"),
    ("loop.allow", {"loop": LoopSettings(allow=("serach",)), "strategy": "loop"}, "allow list", "BAD_REQUEST"),
    ("loop.deny", {"loop": LoopSettings(deny=("serach",)), "strategy": "loop"}, "deny list", "BAD_REQUEST"),
    ("loop.transforms", {"loop": LoopSettings(transforms=("x",)), "strategy": "loop"}, "transform", "BAD_REQUEST"),
    (
        "loop.tool_use",
        {"loop": LoopSettings(allow=(), tool_use="enforced"), "strategy": "loop"},
        "no tool may be called",
        "BAD_REQUEST",
    ),
]  # fmt: skip
"""For every reason: the field, the settings, some words of the message, and the code of the run's failure."""


def asked(**settings) -> RunRequest:
    return RunRequest(**{"prompt": "x", "registry": TOOLS, **settings})


@pytest.mark.parametrize(("field", "settings", "words", "code"), REFUSED)
def test_every_refusal_names_its_field_before_anything_starts(field, settings, words, code):
    request, model = asked(**settings), Local()
    found = {problem.field: problem for problem in settle(request, model).problems}
    assert field in found, list(found)
    error = found[field].error
    assert words in error.message
    events = list(run(request, model))
    assert [event.type if hasattr(event, "type") else type(event).__name__ for event in events] == [
        "RunStarted", "RunFailed"
    ]  # fmt: skip
    failed = run_state(events).failed
    assert failed.code == code
    assert error.message in f"{failed.message}\n{failed.detail}", "it may have another problem as well"


def test_an_accepted_request_is_the_one_that_is_run():
    settled = settle(asked(), Local())
    assert settled.problems == () and settled.accepted is settled.prepared
    (started, *_) = run(asked(), Local())
    assert started.request == settled.request


THREE = {"max_tokens": 0, "stop": ("",), "tool_choice": "sreach"}


def test_a_request_with_three_faults_reports_three_problems():
    settled = settle(asked(**THREE), ScriptedModel(GOOD))
    assert [problem.field for problem in settled.problems] == ["max_tokens", "stop", "tool_choice"]
    with pytest.raises(RequestError) as raised:
        settled.accepted  # noqa: B018
    failed = run_state(run(asked(**THREE), ScriptedModel(GOOD))).failed
    with pytest.raises(RequestError) as priced:
        first_prompt(asked(**THREE), ScriptedModel(GOOD))
    for problem in settled.problems:
        shown = f"{failed.message} {failed.hint} {failed.detail}"
        for text in (shown, str(raised.value), str(priced.value)):
            assert problem.error.message in text and problem.error.hint in text


@given(st.lists(st.sampled_from(range(len(REFUSED))), min_size=2, max_size=4, unique=True))
def test_no_problem_hides_another_of_an_independent_field(chosen):
    """Settings of different fields are combined: each of their problems is there, and nothing is raised."""
    settings: dict[str, object] = {}
    fields: dict[str, str] = {}
    for field, given_settings, words, _ in (REFUSED[index] for index in chosen):
        if len(given_settings) == 1 and not given_settings.keys() & settings.keys():
            settings |= given_settings
            fields[field] = words
    independent = {"max_tokens", "sampling.top_p", "loop.max_turns", "stop", "constraint"}
    found = [problem.field for problem in settle(asked(**settings), Local()).problems]
    assert independent & fields.keys() <= set(found)


def test_without_a_model_only_its_own_problems_are_unknown():
    request = asked(native="openai", max_tokens=0)
    assert [problem.field for problem in settle(request, None).problems] == ["max_tokens"]
    assert settle(prepare(asked(native="auto")), None).problems == ()
    assert isinstance(settle(asked(registry={"t": 1}), None).problems[0].error, GlyphscopeError)
