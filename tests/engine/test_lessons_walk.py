"""Every bundled lesson, from its first step to its last, without any model.

New lessons are covered automatically: nothing here names one, apart from their least number.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli_command import command
from glyphscope.base.resources import names
from glyphscope.lessons import bundled_lessons, check_lesson, grade, is_of, parse_lesson, sheet
from glyphscope.lessons.lesson import Experiment, PresenterNote, Question, WatchPart
from glyphscope.runs import run_state

LESSONS = bundled_lessons()


@pytest.fixture(autouse=True)
def without_llama_cpp(monkeypatch):
    """Make every import of llama_cpp fail, as on a machine without it."""
    monkeypatch.setitem(sys.modules, "llama_cpp", None)


@pytest.mark.parametrize("place", LESSONS, ids=lambda place: place.name)
def test_every_lesson_can_be_taken_from_its_first_step_to_its_last(place):
    lesson = check_lesson(place)
    assert lesson.order == int(place.file.split("-")[0]), "the number of the file and `order` are the same"
    assert 3 <= len(lesson.steps) <= 9 and all(step.title and step.shown for step in lesson.steps)
    assert sum(isinstance(part, PresenterNote) for part in lesson.parts()) >= 2
    changed = {field for part in lesson.experiments for field in part.given}
    assert changed & {"answer", "change", "remove", "tools"}, "no experiment changes tools or grammar"
    assert any(type(question).__name__ != "ChoiceQuestion" for question in lesson.questions)
    for part in lesson.parts():
        if isinstance(part, WatchPart | Experiment):
            state = run_state(place.events(part.run))
            assert state.finished is not None and is_of(place.events(part.run), lesson.runs[part.run])
        elif isinstance(part, Question):
            asked = sheet(part, lesson.runs, place.events)
            right = grade(asked, asked.right)
            assert right.right and not right.missed and not right.wrong
            everything = range(len(asked.text) if asked.kind == "character" else len(asked.choices))
            wrong = next(number for number in everything if number not in asked.right)
            graded = grade(asked, frozenset({wrong}))
            assert not graded.right and graded.words
            assert asked.why or all(choice.why for choice in asked.choices)


@pytest.mark.parametrize("place", LESSONS, ids=lambda place: place.name)
def test_a_recording_names_no_machine(place):
    for run in place.read().runs:
        started = place.events(run)[0]
        assert "/" not in started.model.path and started.model.sha256


def test_every_recording_belongs_to_a_lesson_and_equal_names_to_equal_runs():
    runs = {}
    for place in LESSONS:
        for name, request in place.read().runs.items():
            assert runs.setdefault(name, request) == request, name
    assert {f"{name}.jsonl" for name in runs} == set(names("lessons/runs", ".jsonl"))


def test_a_lesson_is_taken_in_the_terminal_with_typed_answers(own_home):
    lines = "\n".join(["", "0", "", "", "1", "", "1 3 4", "1 2 3 4 6", "", "1"]) + "\n"
    done = command("lesson", "run", "mask", text=lines)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("Right.") == 5 and "Not quite" not in done.stdout
    saved = json.loads((own_home / "lessons.json").read_bytes())["mask"]
    assert (
        saved["answers"] == {str(number): True for number in range(5)}
        and len(saved["seen"]) == saved["steps"]
    )


def test_the_example_for_authors_is_a_valid_lesson():
    page = Path(__file__).parents[2] / "docs" / "lessons.md"
    text = page.read_text(encoding="utf-8").split("````markdown 01-date.md\n")[1].split("````")[0]
    lesson = parse_lesson(text, name="01-date")
    assert list(lesson.runs) == ["date-free"] and lesson.questions
