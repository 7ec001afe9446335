"""The prompts that tests save for one another (tests/support/every_process) change nothing but the time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from glyphscope.events import AnyEvent, PromptRendered, RunRequest, Sampling
from glyphscope.models.opening import EMBEDDED, open_model
from glyphscope.registry import default_registry
from glyphscope.sessions.compare import strip_times
from glyphscope.strategies import run

pytestmark = [pytest.mark.model, pytest.mark.slow]

DRAWN = Sampling(temperature=1.0, seed=3)
REQUESTS = (
    {},
    {"sampling": DRAWN, "constraint": "off", "stop_on": "never", "max_tokens": 20},
    {"notation": "json"},
    {"notation": "json", "prompt": "Read notes.txt and tell what is in it", "strategy": "two-stage"},
    {"prompt": "Read notes.txt", "sampling": DRAWN, "repeatable": True},
)
"""In this order each begins with another part of the context that the one before it left."""


def reported() -> list[AnyEvent | int | None]:
    """Return all events of these requests in a new process, without times, and the cached tokens of each prompt."""
    events: list[AnyEvent | int | None] = []
    with closing(open_model(EMBEDDED)) as model:
        for changes in REQUESTS:
            fields = {"prompt": "Search for AI news", "max_tokens": 40, **changes}
            request = RunRequest(registry=default_registry().to_document(), **fields)
            events += [
                event.cached if isinstance(event, PromptRendered) else strip_times(event)
                for event in run(request, model)
            ]
    return events


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of saved prompts."""
    monkeypatch.setenv("GLYPHSCOPE_SAVED_PROMPTS", str(tmp_path))
    return tmp_path


def test_a_cached_prompt_gives_the_same_figures_as_a_new_one(folder: Path) -> None:
    writing = reported()
    saved = sorted(folder.iterdir())
    assert saved, "the model's process saves its prompts"
    assert reported() == writing
    assert sorted(folder.iterdir()) == saved, "the whole prompt was cached"
    assert next(reported for reported in writing if isinstance(reported, int)) == 0, (
        "a new process has an empty cache"
    )
