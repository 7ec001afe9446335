"""A prompt that another process evaluated: the same figures, tokens and events; only where it came from is reported."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from glyphscope.events import AnyEvent, LoadOptions, PromptRendered, RunRequest, Sampling
from glyphscope.models import EMBEDDED, SUFFIX, PromptCache, open_model, stored_files
from glyphscope.models.interface import GenerateRequest, Model, PromptProgress
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from glyphscope.store.records import strip_times

pytestmark = [pytest.mark.model, pytest.mark.slow]

REQUESTS = (
    {"prompt": "Search for AI news"},
    {"prompt": "Read notes.txt", "sampling": Sampling(temperature=1.0, seed=3)},
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the model's processes store prompts, in place of the tests' own way to share them."""
    monkeypatch.delenv("GLYPHSCOPE_SAVED_PROMPTS", raising=False)
    return tmp_path / "prompts"


@contextmanager
def opened(folder: Path) -> Iterator[Model]:
    """A model in a new process, which ends once a prompt is stored."""
    cache = PromptCache(str(folder), 200_000_000)
    with closing(open_model(EMBEDDED, options=LoadOptions(context=1024), prompts=lambda: cache)) as model:
        yield model
        end = time.monotonic() + 20
        while not any(file.path.name.endswith(SUFFIX) for file in stored_files(folder)):
            assert time.monotonic() < end, "no prompt was stored"
            time.sleep(0.02)


def events_of(model: Model) -> list[AnyEvent]:
    """Those of a run of each request, with two of the tools: a prompt of a few hundred tokens."""
    document = default_registry().to_document()
    document["tools"] = [tool for tool in document["tools"] if tool["name"] in ("search", "read_file")]
    found: list[AnyEvent] = []
    for fields in REQUESTS:
        request = RunRequest(registry=document, max_tokens=12, repeatable=True, **fields)  # type: ignore[arg-type]
        found += run(request, model)
    return found


def figures_of(events: list[AnyEvent]) -> list[AnyEvent]:
    """All events but the progress of evaluating a prompt, of which there is less; without times."""
    return [stripped for event in events if (stripped := strip_times(event)) is not None]


def prompts_of(events: list[AnyEvent]) -> list[PromptRendered]:
    return [event for event in events if isinstance(event, PromptRendered)]


def test_a_restored_prompt_gives_the_same_figures_as_an_evaluated_one(folder: Path) -> None:
    with opened(folder) as model:
        evaluated = events_of(model)
    with opened(folder) as model:
        restored = events_of(model)
    assert [(prompt.cached > 0, prompt.restored) for prompt in prompts_of(evaluated)] == [
        (False, 0),
        (True, 0),
    ]
    first, second = prompts_of(restored)
    assert first.restored == first.cached == first.tokens - 1
    assert second.restored == 0 < second.cached, "then it was in memory"
    assert figures_of(restored) == figures_of(evaluated)


def test_the_prompt_of_a_run_that_was_stopped_while_it_was_read_is_stored(folder: Path) -> None:
    request = GenerateRequest(prompt=" ".join(f"{n} words" for n in range(90)), max_tokens=9)
    with opened(folder) as model, closing(model.generate(request)) as outputs:
        for output in outputs:
            if isinstance(output, PromptProgress) and output.done >= 192:
                break
    with opened(folder) as model, closing(model.generate(request)) as outputs:
        progress = next(outputs)
    assert isinstance(progress, PromptProgress) and progress.restored >= 128
