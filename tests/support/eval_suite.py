"""A small suite and models that answer by the prompt: for tests of whole evaluations."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

from glyphscope.base.errors import ModelDied
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.running.progress import EvaluationEnded, Progress
from glyphscope.models.interface import GenerateRequest, Output
from glyphscope.models.scripted import ScriptedModel

SUITE = {
    "glyphscope_suite": 1,
    "name": "small",
    "about": "Four questions.",
    "scenarios": [
        {
            "id": "news",
            "group": "search",
            "prompt": "QUESTION news",
            "expect": {"calls": [{"tools": ["search"], "arguments": {"query": "news"}}]},
        },
        {
            "id": "sum",
            "group": "calculate",
            "prompt": "QUESTION sum",
            "expect": {"calls": [{"tools": ["calculate"], "arguments": {"expression": "1+1"}}]},
        },
        {
            "id": "site",
            "group": "browse",
            "prompt": "QUESTION site",
            "expect": {"calls": [{"tools": ["browse"]}]},
        },
        {"id": "file", "prompt": "QUESTION file", "expect": {"calls": [{"tools": ["read_file"]}]}},
    ],
}

ANSWERS = {
    "news": '{action="search" query="news"}',
    "sum": '{action="calculate" expression="2+2"}',
    "site": '{action="browse" url="file:///etc/passwd"}',
    "file": "I would rather not.",
}
"""Right; wrong arguments; stopped at the `f`; no call."""


def suite_file(folder: Path) -> str:
    path = folder / "small.json"
    path.write_text(json.dumps(SUITE))
    return str(path)


class AnsweringModel(ScriptedModel):
    """Answers the question in the prompt; dies if the question is in `deadly`."""

    def __init__(self, name: str = "scripted", deadly: tuple[str, ...] = ()) -> None:
        super().__init__(name=name)
        self.deadly = deadly
        self.asked: list[str] = []
        self.closed = False

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        asked = next(key for key in ANSWERS if f"QUESTION {key}" in request.prompt)
        self.asked.append(asked)
        if asked in self.deadly or "*" in self.deadly:
            raise ModelDied("The model's process died.", stderr="")
        yield from ScriptedModel(ANSWERS[asked]).generate(request)

    def close(self) -> None:
        self.closed = True


def folder_of(reported: list[Progress]) -> ResultFolder:
    """The folder of an evaluation that ended."""
    assert isinstance(reported[-1], EvaluationEnded)
    return ResultFolder.open(reported[-1].folder)


def plain(samples: list[Sample]) -> list[dict[str, Any]]:
    """The samples without their times, by id."""
    times = {"time", "first_token_ms", "total_ms"}
    found = ({name: getattr(s, name) for name in s.__struct_fields__ if name not in times} for s in samples)
    return sorted(found, key=lambda each: each["id"])
