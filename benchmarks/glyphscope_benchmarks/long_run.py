"""A long run made without a model: every kind of event, at any speed. For measurements, not for display."""

from __future__ import annotations

import itertools
import math

import msgspec

from glyphscope.base.resources import read_bytes
from glyphscope.events import Alternative, AnyEvent, RunRequest, Token
from glyphscope.models.scripted import ScriptedModel, cut
from glyphscope.registry import Tool, ToolRegistry, default_registry
from glyphscope.runs.strategies import run

_LIST = "items"


def long_run(tokens: int) -> tuple[AnyEvent, ...]:
    """A call with a list of about `tokens` tokens, judged by the real validator, with synthetic evidence."""
    registry = ToolRegistry(
        (
            Tool(
                "collect",
                "Collect numbers.",
                {
                    "type": "object",
                    "properties": {_LIST: {"type": "array", "items": {"type": "integer", "maximum": 9999}}},
                    "required": [_LIST],
                },
            ),
        )
    )
    numbers = " ".join(str(n % 1000) for n in range(max(tokens // 2, 1)))
    script = f'{{action="collect" {_LIST}=[{numbers}]}}'
    pieces = [script[at : at + 2] for at in range(0, len(script), 2)][:tokens]
    request = RunRequest(
        prompt="Collect", registry=registry.to_document(), max_tokens=tokens, constraint="off"
    )
    return tuple(_with_evidence(event) for event in run(request, ScriptedModel(pieces)))


def reasoning_run(tokens: int) -> tuple[AnyEvent, ...]:
    """So many tokens of reasoning and then a call, in the notation of the example of a template, with synthetic
    evidence.
    """
    words = itertools.cycle(["So ", "the ", "user ", "wants ", "news ", "about ", "x = 1, ", "not that.\n"])
    call = cut('\n</think>\n\n<call tool="search">\n<arg name="query">\nAI news\n</arg>\n</call>')
    request = RunRequest(
        prompt="Search for AI news",
        registry=default_registry().to_document(),
        max_tokens=tokens + 100,
        native="auto",
        thinking="on",
        constraint="off",
    )
    template = read_bytes("forms/example.jinja").decode()
    model = ScriptedModel([*itertools.islice(words, tokens), *call], template=template)
    return tuple(_with_evidence(event) for event in run(request, model))


def _with_evidence(event: AnyEvent) -> AnyEvent:
    """The event with synthetic probabilities, as many as a model's, which scripted tokens do not have."""
    if not isinstance(event, Token):
        return event
    n = event.step.index
    share = 0.5 + 0.4 * math.sin(n)
    alternatives = tuple(
        Alternative(
            id=k, data=b"x%d" % k, text=f"x{k}", raw=share / (k + 1), final=share / (k + 1), allowed=k % 3 > 0
        )
        for k in range(10)
    )
    step = msgspec.structs.replace(
        event.step,
        logprob=math.log(share),
        rank=n % 7,
        probability=share,
        allowed=(n * 37) % 40_000 + 1,
        feasible=share,
        entropy=2.0 + math.cos(n),
        forced=n % 5 == 0,
        alternatives=alternatives,
        mask_ms=0.1,
        sample_ms=0.2,
        decode_ms=12.0 + n % 4,
    )
    return msgspec.structs.replace(event, step=step)
