"""Masked runs of untrained models: for any vocabulary and template, the turn is valid and complete.

At temperature 1, without filters. With `GLYPHSCOPE_EXAMPLES=deep` each pair runs 200 times, and so do ten vocabularies
with a template of every encoding of arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from examples import rounds
from glyphscope.events import CallReady, LoadOptions, RunFinished, RunRequest, Sampling
from glyphscope.models import open_model
from glyphscope.models.interface import Model
from glyphscope.registry import default_registry, parse_document
from glyphscope.runs.strategies import run
from untrained_models import PAIRS, Pair, model_file

pytestmark = [pytest.mark.slow]
pytest.importorskip("llama_cpp")

RUNS = rounds(1, 200)
ENCODINGS = ("Qwen-Qwen3-0.6B", "Qwen3.5-4B", "LFM2.5-8B-A1B", "google-gemma-4-31B-it")
"""Templates whose arguments are JSON, tagged, Python's and a dictionary's."""
VOCABULARIES = list(dict.fromkeys(pair.vocabulary for pair in PAIRS))[-10:]
CROSSED = [Pair(vocabulary, template) for vocabulary in VOCABULARIES for template in ENCODINGS]
TOKENS = rounds(160, 80)

TOOLS: dict[str, Any] = {
    "tools": [
        {
            "name": "book_table",
            "description": "Books a table.",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string"},
                    "guests": {"type": "integer", "minimum": 1, "maximum": 20},
                    "budget": {"type": ["number", "null"]},
                    "outside": {"type": "boolean"},
                    "wishes": {"type": "array", "items": {"enum": ["quiet", "view", "café"]}},
                    "contact": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "maxLength": 30},
                            "call": {"type": "boolean"},
                        },
                        "required": ["name"],
                        "additionalProperties": False,
                    },
                },
                "required": ["place", "guests"],
                "additionalProperties": False,
            },
        },
        {
            "name": "note",
            "description": "Keeps a note.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string", "maxLength": 80}},
                "required": ["text"],
                "additionalProperties": False,
            },
        },
        {"name": "ping", "description": "Answers.", "parameters": {"type": "object", "properties": {}}},
    ]
}
NO_NESTED_ARGUMENTS = {
    "CohereForAI-c4ai-command-r-plus-tool_use",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use",
}
"""Templates that fail on the description of a list, an object or a choice of types; `models inspect` warns of it."""
REQUEST = RunRequest(
    prompt="Book a table for two.",
    registry=parse_document(TOOLS).to_document(),
    constraint="mask",
    sampling=Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0),
    max_tokens=TOKENS,
    evidence="none",
    alternatives=0,
)
WAYS: dict[str, dict[str, Any]] = {"template": {"native": "template"}, "json": {"notation": "json"}}


@pytest.fixture(
    scope="module",
    params=(*PAIRS, *CROSSED[: rounds(0, 40)]),
    ids=lambda pair: f"{pair.vocabulary}, {pair.template}",
)
def model(request: pytest.FixtureRequest, llama_data: Path) -> Iterator[Model]:
    pair: Pair = request.param
    opened = open_model(model_file(llama_data, pair), options=LoadOptions(context=4096))
    yield opened
    opened.close()


@pytest.mark.parametrize("way", WAYS)
def test_every_masked_run_of_an_untrained_model_is_valid_and_complete(model: Model, way: str) -> None:
    wrong, asked = [], msgspec.structs.replace(REQUEST, **WAYS[way])
    if any(name in model.info.path for name in NO_NESTED_ARGUMENTS):
        asked = msgspec.structs.replace(asked, registry=default_registry().to_document())
    for seed in range(RUNS):
        sampling = msgspec.structs.replace(REQUEST.sampling, seed=seed)
        events = list(run(msgspec.structs.replace(asked, sampling=sampling), model))
        end = events[-1]
        calls = [event for event in events if isinstance(event, CallReady)]
        if not (isinstance(end, RunFinished) and end.valid and end.reason != "length" and calls):
            wrong.append((seed, end))
    assert not wrong, f"{len(wrong)} of {RUNS}: {wrong[:3]}"
