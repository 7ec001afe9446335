"""The pytest plugin: runs with a live model are recorded, and replayed without a model in later test sessions.

pytest imports it in each session, so it imports the interface only when a test uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from glyphscope.api import Model, Run

FOLDER = "recordings"
"""The folder of recordings, beside the test file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("glyphscope").addoption(
        "--glyphscope-model",
        metavar="MODEL",
        default="",
        help="Run `glyphscope_run` with this model and record the runs; without it, recorded runs are replayed.",
    )


@pytest.fixture(scope="session")
def glyphscope_model(request: pytest.FixtureRequest) -> Iterator[Model | None]:
    """The model of `--glyphscope-model`, open for the session; None without the option."""
    name = request.config.getoption("--glyphscope-model")
    if not name:
        yield None
        return
    from glyphscope import open_model

    with open_model(name) as model:
        yield model


@pytest.fixture
def glyphscope_run(request: pytest.FixtureRequest, glyphscope_model: Model | None) -> Callable[..., Run]:
    """`glyphscope_run(prompt, tools, **settings)`: a finished run, as from `Model.run`.

    With `--glyphscope-model`, it is live, and recorded in `recordings/` beside the test file. Otherwise, the recorded
    tokens are validated again with the current tools. A request that differs from the recorded one fails the test.
    """
    numbers = count(1)
    name = re.sub(r"[^\w.-]+", "-", f"{request.path.stem}.{request.node.name}").strip("-")

    def run(prompt: str, tools: Any = "default", **settings: Any) -> Run:
        __tracebackhide__ = True
        path = request.path.parent / FOLDER / f"{name}.{next(numbers)}.jsonl"
        if glyphscope_model is None:
            return _replayed(path, prompt, tools, settings)
        live = glyphscope_model.run(prompt, tools, **settings).wait()
        path.parent.mkdir(exist_ok=True)
        live.save(path)
        return live

    return run


def _replayed(path: Path, prompt: str, tools: Any, settings: dict[str, Any]) -> Run:
    from glyphscope import open_model, read_run

    __tracebackhide__ = True
    if not path.is_file():
        pytest.fail(f"No run is recorded in {path}. Record it with --glyphscope-model embedded.")
    with open_model(f"recorded:{path}") as recorded:
        run = recorded.run(prompt, tools, **settings).wait()
    one, other = (_request(each) for each in (run, read_run(path)))
    if changed := ", ".join(key for key in one if one[key] != other[key]):
        pytest.fail(
            f"The request is not the recorded one of {path}: {changed}. Record it with --glyphscope-model."
        )
    return run


def _request(run: Run) -> dict[str, Any]:
    """The settings of a run, except the name of its model."""
    started: Any = run.events[0]
    return {key: getattr(started.request, key) for key in started.request.__struct_fields__ if key != "model"}
