"""llama.cpp's grammar sampler with triggers: free before them, exact from there on, and never a crash."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from glyphscope.base.errors import GrammarError
from glyphscope.events import Sampling
from glyphscope.grammar import match_text
from glyphscope.grammar.gbnf import load_gbnf
from glyphscope.models import EMBEDDED, open_model
from glyphscope.models.interface import GenerateRequest, Model

pytestmark = pytest.mark.slow

LETTER = 'root ::= "e" [0-9]{1,3} "."'
TAG = 'root ::= "<tool_call>\\n{" [a-z]+ "}"'


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    opened = open_model(EMBEDDED)
    yield opened
    opened.close()


def answer(
    model: Model, grammar: str, *triggers: str, prompt: str = "Once", seed: int = 1, heat: float = 1.5
) -> str:
    request = GenerateRequest(
        prompt=prompt,
        constraint="gbnf",
        grammar=grammar,
        triggers=triggers,
        max_tokens=24,
        sampling=Sampling(temperature=heat, top_k=0, top_p=1.0, min_p=0.0, seed=seed),
        evidence="none",
    )
    batches = [item for item in model.generate(request) if isinstance(item, tuple)]
    return "".join(step.text for batch in batches for step in batch)


@pytest.mark.parametrize("seed", range(6))
def test_the_grammar_applies_from_the_first_trigger_wherever_tokens_end(model: Model, seed: int) -> None:
    said = answer(model, LETTER, "e", seed=seed)
    before, trigger, rest = said.partition("e")
    assert trigger, "a letter that most words have"
    assert match_text(load_gbnf(LETTER), trigger + rest).prefix_ok
    assert before == "" or "e" not in before


def test_a_trigger_is_found_across_token_boundaries(model: Model) -> None:
    prompt = "Say <tool_call>\n{a}\n" * 8 + "Say"
    said = [answer(model, TAG, "<tool_call>", prompt=prompt, seed=seed, heat=0.3) for seed in range(3)]
    called = [text[text.index("<tool_call>") :] for text in said if "<tool_call>" in text]
    assert called
    assert all(match_text(load_gbnf(TAG), text).prefix_ok for text in called)


def test_an_answer_without_a_trigger_is_free(model: Model) -> None:
    assert len(answer(model, 'root ::= "☂" [0-9]', "☂").split()) > 3


@pytest.mark.parametrize("trigger", ["", "x", "e5x"])
def test_a_grammar_that_does_not_begin_with_its_trigger_is_rejected(model: Model, trigger: str) -> None:
    with pytest.raises(GrammarError, match="does not begin with its trigger"):
        answer(model, LETTER, trigger)
