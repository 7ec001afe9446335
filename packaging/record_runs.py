"""Regenerate the bundled recorded runs: `make records`, with the embedded model.

Needed if a run's events have changed, which `glyphscope replay --verify` finds. Times are measured, so nothing else
should be running on the machine. Turns in a model's own notation are by the embedded model's weights with another
model's chat template (`native_runs.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from native_runs import NATIVE, TEMPLATES, model_file

from glyphscope.events import AnyEvent, ApprovalRule, RunRequest, RunStarted, Sampling
from glyphscope.models.opening import EMBEDDED, open_model
from glyphscope.registry import bundled_registry, default_registry
from glyphscope.runs import NonInteractive
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.loop.presets import compose
from glyphscope.store import RecordWriter
from glyphscope.tools.demo import DemoTools

FOLDER = Path(__file__).parent.parent / "assets" / "glyphscope_assets" / "runs"

_REGISTRY = default_registry().to_document()
_SEARCH = RunRequest(prompt="Search for AI news, 10 results", registry=_REGISTRY, model=EMBEDDED)
_SOURCES = RunRequest(
    prompt="Calculate 2/3 with 20 decimal places",
    registry=_REGISTRY,
    model=EMBEDDED,
    constraint="off",
    sampling=Sampling(temperature=0.7, seed=3),
)
_VERBS = RunRequest(
    prompt="What is the past simple of go for she?",
    registry=bundled_registry("verbs").to_document(),
    model=EMBEDDED,
    shape="name-arguments",
    strategy="loop",
    loop=msgspec.structs.replace(compose(["strict"]), max_turns=4),
    approvals=(ApprovalRule(action="allow"),),
)
RUNS = {
    "search-mask": _SEARCH,
    "search-mask-json": msgspec.structs.replace(_SEARCH, notation="json"),
    # a list that begins as a string: stopped at its quote, and its continuation
    "sources-abort": _SOURCES,
    "sources-whole": msgspec.structs.replace(_SOURCES, stop_on="never"),
    # a conversation that a guardrail ends: the same call twice
    "verbs-loop": _VERBS,
    **NATIVE,
}


def record(name: str, folder: Path = FOLDER) -> Path:
    """Record a run with a newly opened model, so that no part of the prompt is cached."""
    path, request = folder / f"{name}.jsonl", RUNS[name]
    file = str(model_file(request.model)) if request.model in TEMPLATES else request.model
    model, tools = open_model(file), DemoTools()
    try:
        with RecordWriter(path) as writer:
            for event in run(request, model, NonInteractive({"demo": tools})):
                writer.write(_without_place(event))
    finally:
        tools.close()
        model.close()
    return path


def _without_place(event: AnyEvent) -> AnyEvent:
    """The event without the model's folder, which a published record must not contain."""
    if not isinstance(event, RunStarted):
        return event
    asked = event.request.model
    model = msgspec.structs.replace(
        event.model, path=asked if asked in TEMPLATES else Path(event.model.path).name
    )
    return msgspec.structs.replace(event, model=model)


if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        print(record(name))
