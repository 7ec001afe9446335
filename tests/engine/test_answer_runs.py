"""Masked runs of untrained models whose answer is not a call: it matches and is never cut off.

At temperature 1, without filters. With `GLYPHSCOPE_EXAMPLES=deep` each of three vocabularies runs 200 times per kind,
and as often with each of the twelve grammars in Lark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from examples import rounds
from glyphscope import read_run
from glyphscope.api.runs import recorded
from glyphscope.events import Answer, FinalAnswer, LoadOptions, RunFinished, RunRequest, Sampling
from glyphscope.models import open_model
from glyphscope.models.interface import Model
from glyphscope.registry import ToolRegistry
from glyphscope.runs import branch_request, run_state
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.turns import answer_validator
from untrained_models import PAIRS, model_file
from whole_grammars import LARK_GRAMMARS

pytestmark = [pytest.mark.slow]
pytest.importorskip("llama_cpp")

RUNS = rounds(2, 200)
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "likes": {"type": "array", "items": {"enum": ["tea", "café"]}, "maxItems": 3},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
ANSWERS = {
    "schema": Answer("schema", json.dumps(PERSON)),
    "a list": Answer("schema", '{"type": "array", "items": {"type": "number"}, "minItems": 2}'),
    "a number": Answer("schema", '{"type": "integer", "minimum": 10}'),
    "regex": Answer("regex", "[A-Z][a-z]+( [A-Z][a-z]+)*, [0-9]{4}"),
    "choice": Answer("choice", "positive\npositively\nnegative\nunknown: é"),
    "gbnf": Answer(
        "gbnf",
        'root ::= expr\nexpr ::= term (ws [-+*/] ws term)*\nterm ::= [0-9]+ | "(" expr ")"\nws ::= " "?\n',
    ),
    "lark": Answer(
        "lark",
        'start: "let" NAME "=" sum\nsum: atom ("+" atom)*\natom: NUMBER | NAME | "(" sum ")"\n'
        "NAME: /[a-z]+/\nNUMBER: /[0-9]+(\\.[0-9]+)?/\n%ignore / {1,2}/\n",
    ),
}
WAYS: dict[str, dict[str, Any]] = {
    "alone": {"constrain_from": "start"},
    "json": {"notation": "json"},
    "after text": {"constrain_from": "call", "max_tokens": 80},
    "gbnf": {"constraint": "gbnf", "max_tokens": 1000},
}
KINDS = [(kind, way) for kind in ANSWERS for way in ("alone", "json", "after text")]
KINDS += [(name, "alone") for name in LARK_GRAMMARS]
REQUEST = RunRequest(
    prompt="Answer.",
    registry=ToolRegistry().to_document(),
    sampling=Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0),
    max_tokens=60,
    evidence="none",
    alternatives=0,
)


@pytest.fixture(scope="module", params=PAIRS[:3], ids=lambda pair: f"{pair.vocabulary}, {pair.template}")
def model(request: pytest.FixtureRequest, llama_data: Path) -> Iterator[Model]:
    opened = open_model(model_file(llama_data, request.param), options=LoadOptions(context=2048))
    yield opened
    opened.close()


@pytest.mark.parametrize(("kind", "way"), KINDS)
def test_every_masked_run_of_an_untrained_model_ends_in_a_matching_answer(
    model: Model, kind: str, way: str
) -> None:
    answer = ANSWERS.get(kind) or LARK_GRAMMARS[kind].answer
    wrong, asked = [], msgspec.structs.replace(REQUEST, answer=answer, **WAYS[way])
    for seed in range(RUNS):
        sampling = msgspec.structs.replace(REQUEST.sampling, seed=seed)
        events = list(run(msgspec.structs.replace(asked, sampling=sampling), model))
        end, said = events[-1], [event.text for event in events if isinstance(event, FinalAnswer)]
        if not (isinstance(end, RunFinished) and end.valid and end.reason != "length" and len(said) == 1):
            wrong.append((seed, end))
            continue
        validator = answer_validator(msgspec.structs.replace(asked, constrain_from="start"), ToolRegistry())
        validator.feed(said[0])
        validator.finish()
        if not validator.valid:
            wrong.append((seed, said))
    assert not wrong, f"{len(wrong)} of {RUNS}: {wrong[:3]}"


@pytest.mark.parametrize("kind", ["schema", "choice", "gbnf"])
def test_a_run_with_an_answer_is_exported_repeated_and_continued_like_one_with_a_call(
    model: Model, kind: str, tmp_path: Path
) -> None:
    asked = msgspec.structs.replace(
        REQUEST, answer=ANSWERS[kind], notation="json", evidence="all", alternatives=5
    )
    made = recorded(run(asked, model))
    assert made.valid and made.answer is not None
    made.save(tmp_path / "run.jsonl")
    again = read_run(tmp_path / "run.jsonl")
    assert again.answer == made.answer
    assert again.export("gbnf") and again.export("lark")
    namespace: dict[str, Any] = {}
    exec(again.export("pytest"), namespace)  # a file that the program wrote
    namespace["test_answer"]()
    page = again.export("html")
    assert str(ANSWERS[kind]).partition(" ")[0] in page
    assert ('"style":"glyph"' in page) == (kind == "schema"), "the sizes of a value"
    if kind == "schema":
        assert json.loads(again.export("json-schema")) == PERSON
    state = run_state(again.events)
    branch = branch_request(state, len(state.tokens) // 2)
    continued = recorded(run(branch, model))
    assert continued.valid and continued.text.startswith(made.text[: len(made.text) // 4])
