"""Runs of the embedded model under grammars: the registry's, and ones that a user wrote, in both engines."""

import pytest

from glyphscope.events import NOTATIONS, FinalAnswer, RunRequest
from glyphscope.grammar import match_text
from glyphscope.grammar.gbnf import check_gbnf
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.turns import build_call_grammar
from whole_grammars import WHOLE_GRAMMARS

pytestmark = [pytest.mark.model, pytest.mark.slow]

REGISTRY = default_registry()
PROMPT = "Search for AI news, 10 results"
OWN = r"""
root ::= "{\"action\":\"search\",\"query\":" text (",\"max_results\":" [1-9] [0-9]?)? "}"
text ::= "\"" word (" " word){0,4} "\""
word ::= [a-zA-Z]{1,12}
"""


def outcome(model, **fields):
    return run_state(run(RunRequest(prompt=PROMPT, registry=REGISTRY.to_document(), **fields), model))


@pytest.mark.parametrize("notation", NOTATIONS)
def test_llamas_own_sampler_gets_the_registrys_grammar_when_none_is_given(model, notation):
    state = outcome(model, constraint="gbnf", notation=notation)
    assert state.outcome == "valid", state
    assert match_text(build_call_grammar(REGISTRY, notation, "flat"), state.text).accepted


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_a_custom_grammar_is_enforced_by_either_engine_and_the_registry_validates(model, constraint):
    state = outcome(model, constraint=constraint, notation="json", grammar=OWN)
    assert state.outcome == "valid", state
    assert match_text(check_gbnf(OWN).grammar, state.text).accepted


def test_both_engines_leave_the_model_the_same_choices(model):
    """Sampled with the same seed: engines differ in how they compile a language, not in the language."""
    texts = {
        constraint: outcome(model, constraint=constraint, notation="json", grammar=OWN).text
        for constraint in ("mask", "gbnf")
    }
    assert texts["mask"] == texts["gbnf"]


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_a_text_of_a_grammar_without_calls_is_not_a_call(model, constraint):
    state = outcome(model, constraint=constraint, grammar='root ::= "yes" | "no"')
    assert state.outcome != "valid" and state.text in ("yes", "no", "y", "n", "ye")


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_a_token_of_the_vocabulary_can_be_named_by_its_number(model, constraint):
    token = model.tokenize("{")[0]
    text = f'root ::= <[{token}]> "\\"action\\":\\"search\\",\\"query\\":\\"" [a-z]{{1,9}} "\\"}}"'
    state = outcome(model, constraint=constraint, notation="json", grammar=text)
    assert state.outcome == "valid", state


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_text_may_come_before_the_call_and_the_call_is_valid(model, constraint):
    state = outcome(model, constraint=constraint, free_text=True, max_tokens=60)
    if state.outcome != "valid":  # a small model may use up its tokens: then there is only text
        assert '{action="' not in state.text
    else:
        assert '{action="' in state.text


@pytest.mark.parametrize("name", WHOLE_GRAMMARS)
def test_a_run_with_a_grammar_as_the_answer_ends_with_one_of_its_texts(model, name):
    of = WHOLE_GRAMMARS[name]
    asked = RunRequest(
        prompt="Write an example.",
        registry={"tools": []},
        answer=of.answer,
        constrain_from="start",
        max_tokens=24,
    )
    (said,) = [event.text for event in run(asked, model) if isinstance(event, FinalAnswer)]
    assert said and match_text(of.language.check(of.text).grammar, said).accepted
