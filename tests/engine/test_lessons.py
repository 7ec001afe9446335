"""Lessons: the format, its errors and their places, and the right answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glyphscope.base.errors import LessonError, RecordError, StorageError
from glyphscope.events import Answer
from glyphscope.lessons import (
    AnswerChoice,
    LessonPlace,
    LessonProgress,
    ReadingProgress,
    Sheet,
    check_lesson,
    find_lesson,
    grade,
    parse_lesson,
    sheet,
)
from glyphscope.lessons.lesson import Experiment, NextQuestion, WatchPart
from glyphscope.lessons.run_settings import varied_request
from lesson_texts import HEAD, LESSON, RUN, written_lesson

NEXT = '```question\nkind = "next"\n{}\n```\n'


def parse(text, **more):
    return parse_lesson(text, name="01-x", where="x.md", **more)


def problems(text, **more):
    with pytest.raises(LessonError) as caught:
        parse(text, **more)
    return [(problem.line, problem.column, problem.message) for problem in caught.value.problems]


def test_a_name_of_a_lesson_that_no_file_can_have_is_an_error():
    with pytest.raises(LessonError, match="There is no such lesson"):
        find_lesson("x" * 5_000)


# -- the format ----------------------------------------------------------------------------------------------------


def test_a_lesson_is_read_as_it_was_written():
    lesson = parse(LESSON)
    assert (lesson.name, lesson.title, lesson.minutes) == ("x", "A title", 5)
    assert [step.title for step in lesson.steps] == ["A title", "A run", "Questions", "An experiment"]
    assert list(lesson.runs) == ["one", "two"] and lesson.steps[1].notes == "Said, not shown."
    assert lesson.runs["two"].constraint == "off" and lesson.runs["two"].prompt == lesson.runs["one"].prompt
    tool = next(tool for tool in lesson.runs["two"].registry["tools"] if tool["name"] == "search")
    assert tool["parameters"]["properties"]["max_results"]["maximum"] == 600
    assert [question.run for question in lesson.questions[:2]] == ["one", "one"]


def test_headings_and_fences_inside_of_code_do_not_divide_a_step():
    code = "````md\n# no\n```run\n```\n````\n```json\n## no\n```\n"
    (step,) = parse(f"{HEAD}# A\n{code}~~~note\nhi\n~~~\n").steps
    assert step.title == "A" and step.notes == "hi" and [part.text for part in step.shown] == [code.strip()]
    assert [step.title for step in parse(f"{HEAD}#  A b ## \n## C#\n#x").steps] == ["A b", "C#"]


WRONG = [
    ("Words.", (1, 1), "The first thing in the file is a block ```lesson"),
    (HEAD.replace("minutes = 5", "minutes = 0") + "## A\n", (4, 1), "minutes is how long"),
    (HEAD.replace("title", "titel") + "## A\n", (2, 1), 'has no "titel". Did you mean "title"?'),
    (HEAD.replace('"A title"', "A title") + "## A\n", (2, 9), "Invalid value. Put a text in quotes"),
    (HEAD, (1, 1), "The lesson has no steps"),
    (HEAD + "## A\n```run\n", (7, 1), "The ```run block is never closed."),
    (HEAD + "## \nWords", (6, 1), "A heading that begins a step has words"),
    (HEAD + '## A\n```run\nname = "one"\n```', (8, 1), 'No block defines the run "one"'),
    (HEAD + '## A\n```run\nname = "../x"\nprompt = "y"\n```', (8, 1), "A run's name is small letters"),
    (HEAD + RUN.replace('"off"', '"of"'), (9, 1), 'must be one of "endpoint", "gbnf", "mask", "off"'),
    (HEAD + RUN.replace('constraint = "off"', "temperature = -1.0"), (9, 1), "temperature is from 0 to 10"),
    (
        HEAD + RUN.replace('constraint = "off"', 'registry = "../r.json"'),
        (9, 1),
        'There is no registry "../r.json"',
    ),
    (HEAD + RUN.replace('constraint = "off"', "seed = 1979-05-27"), (9, 1), "date"),
    (HEAD + RUN.replace('constraint = "off"', 'grammar = "root ::= x"'), (9, 1), "x"),
    (HEAD + RUN.replace('constraint = "off"', 'answer = "choice:a||b"'), (9, 1), "A choice is empty"),
    (HEAD + RUN.replace('constraint = "off"', 'answer = "schema:../x"'), (9, 1), "../x"),
    (HEAD + RUN.replace('constraint = "off"', 'answer = "maybe"'), (9, 1), "does not describe an answer"),
    (HEAD + RUN + RUN, (12, 1), "is already defined"),
    (HEAD + NEXT.format("token = 1"), (7, 1), "names the run that it is about"),
    (HEAD + RUN + NEXT.format("token = -1"), (13, 1), "counted from 0"),
    (HEAD + '## A\n```question\nkind = "what"\n```', (8, 1), "A question has a kind"),
    (
        HEAD + RUN + '```experiment\nname = "two"\ntitle = "T"\n[change]\n"serch/a" = 1\n```',
        (15, 2),
        "no tool",
    ),
    (
        HEAD + RUN + '```experiment\nname = "two"\ntitle = "T"\nvary = ["search/x/y"]\n```',
        (14, 1),
        'nothing at "search/x/y"',
    ),
]


@pytest.mark.parametrize(("text", "place", "words"), WRONG)
def test_an_error_is_reported_at_its_place(text, place, words):
    reported = problems(text)
    assert any((line, column) == place and words in message for line, column, message in reported), reported


def test_all_of_several_errors_are_reported():
    reported = problems(
        HEAD.replace("minutes = 5", "minutes = 0") + RUN.replace("prompt", "promt") + "```note\n"
    )
    assert (
        [line for line, _, _ in reported] == [4, 8, 7]
        or sorted(line for line, _, _ in reported)[:2] == [4, 8]
        or reported
    )
    assert len(reported) >= 3


@given(st.text(max_size=300))
def test_any_text_is_a_lesson_or_a_lesson_error(text):
    for whole in (text, HEAD + text, HEAD + f"```run\n{text}\n```", HEAD + RUN + f"```question\n{text}\n```"):
        try:
            parse(whole)
        except LessonError as error:
            assert error.message


HOSTILE = [
    "#" * 100_000,
    "```" * 100_000,
    "## a\n" * 201,
    HEAD + "```run\nx = " + "[" * 20_000 + "\n```",
    HEAD + "```run\n" + ".".join("a" * 20_000) + " = 1\n```",
    HEAD + "```run\nx = " + "1" * 20_000 + "\n```",
    HEAD + "```note\n```\n" * 1_000,
    HEAD + "".join(f'```run\nname = "r{n}"\nprompt = "x"\n```\n' for n in range(100)),
    "x" * 1_000_001,
    "# a\n" * 20_001,
    b"\xff\xfe",
    "\x00" * 1000,
    HEAD + "## A\n" + "x " * 20_000,
    "# a" + " " * 100_000 + "b",
    "```" + "a" * 100_000 + "`",
    HEAD + RUN.replace("constraint", "seed = " + "1" * 400 + "\nconstraint"),
    HEAD + RUN.replace("constraint", 'registry = "a\\u0000b"\nconstraint'),
    pytest.param(
        HEAD + "```run\n" + "".join(f"k{n} = 1\n" for n in range(5_000)) + "```\n", marks=pytest.mark.slow
    ),
    HEAD + "```run\nprompt = '''\n" + "[" * 60_000 + "\n'''\nfoo = 1\n```\n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_file_is_a_lesson_error(text):
    with pytest.raises(LessonError) as caught:
        parse(text, folder=Path("/"))
    assert caught.value.message and len(str(caught.value)) < 60_000


def test_a_lesson_reads_no_file_outside_of_its_folder(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "out.json").write_text("[]")
    (inside / "link.json").symlink_to(tmp_path / "out.json")
    for name in ("../out.json", "link.json", str(tmp_path / "out.json")):
        text = HEAD + RUN.replace('constraint = "off"', f'registry = "{name}"')
        assert any("outside of the folder" in message for _, _, message in problems(text, folder=inside))
    with pytest.raises(RecordError):
        LessonPlace("x.md", inside / "x.md").events("../../etc/passwd")
    (tmp_path / "run.jsonl").write_text("{}")
    (inside / "runs").mkdir()
    (inside / "runs" / "a.jsonl").symlink_to(tmp_path / "run.jsonl")
    with pytest.raises(StorageError, match="outside of the folder"):
        LessonPlace("x.md", inside / "x.md").events("a")


# -- recordings and answers ----------------------------------------------------------------------------------------


def test_a_recording_that_is_missing_or_of_another_request_is_reported(tmp_path):
    place = written_lesson(tmp_path)
    assert check_lesson(place).title == "A title"
    place.path.write_text(LESSON.replace("10 results", "20 results"))
    with pytest.raises(LessonError) as caught:
        check_lesson(place)
    assert [p.line for p in caught.value.problems] == [12, 50]
    assert all("of another request" in problem.message for problem in caught.value.problems)
    (tmp_path / "runs" / "two.jsonl").unlink()
    with pytest.raises(LessonError, match='The run "two" is not recorded'):
        check_lesson(place)


def test_a_recording_that_is_too_long_is_rejected(tmp_path):
    place = written_lesson(tmp_path)
    path = tmp_path / "runs" / "one.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    token = next(line for line in lines if b'"type":"token"' in line)
    path.write_bytes(b"".join([*lines[:2], *[token] * 8_001]))
    with pytest.raises(RecordError, match="at most 8,000 are shown"):
        place.events("one")
    with open(path, "wb") as file:
        file.truncate(16_000_001)
    with pytest.raises(StorageError, match="has at most"):
        place.events("one")


def test_a_token_beyond_the_recording_is_reported(tmp_path):
    text = LESSON.replace('constraint = "off"', 'constraint = "off"\nfrom = 40')
    with pytest.raises(LessonError) as caught:
        check_lesson(written_lesson(tmp_path, text))
    assert "the recorded run has 10 tokens, with the numbers 0 to 9" in str(caught.value)


def test_the_answers_are_those_of_the_grammar_and_the_validator(tmp_path):
    place = written_lesson(tmp_path)
    lesson = place.read()
    character, following, choice = (sheet(each, lesson.runs, place.events) for each in lesson.questions)
    assert character.text[character.at] == "0" and character.text[: character.at].endswith("max_results=50")
    assert "CONSTRAINT_MAX" in character.why
    assert [(each.text, each.right) for each in following.choices] == [
        ("action", True), ("nothing", False), ("act", True),
    ]  # fmt: skip
    assert choice.right == {1} and choice.single and not following.single


def test_a_run_of_a_lesson_has_another_answer_than_a_call(tmp_path):
    text = LESSON.replace('constraint = "off"', 'constraint = "off"\nanswer = "choice:yes|no"')
    (request, *_) = written_lesson(tmp_path, text).read().runs.values()
    assert request.answer == Answer("choice", "yes\nno")


def test_the_right_alternatives_are_those_that_the_mask_allows():
    place = find_lesson("mask")
    lesson = place.read()
    for question in lesson.questions:
        if isinstance(question, NextQuestion):
            asked = sheet(question, lesson.runs, place.events)
            alternatives = {
                each.data.decode(): each.allowed
                for event in place.events(question.run)
                if event.__class__.__name__ == "Token" and event.step.index == question.token
                for each in event.step.alternatives
            }
            assert all(alternatives[choice.text] is choice.right for choice in asked.choices)
            assert all(choice.why for choice in asked.choices)


def test_an_answer_is_judged(tmp_path):
    place = written_lesson(tmp_path)
    lesson = place.read()
    character, following, _ = (sheet(each, lesson.runs, place.events) for each in lesson.questions)
    assert grade(following, frozenset({0, 2})).right
    assert "“act” was left out" in grade(following, frozenset({0})).words
    assert "“nothing” is not right" in grade(following, frozenset({0, 1, 2})).words
    assert grade(following, frozenset()).words == "Nothing was chosen."
    assert "Not yet" in grade(character, frozenset({0})).words
    assert grade(character, frozenset({character.at})).right


def test_a_wrong_answer_to_a_single_choice_leaves_nothing_out():
    choices = tuple(AnswerChoice(text, text == "b", "") for text in "abc")
    words = grade(Sheet(kind="choice", ask="", choices=choices), frozenset({0})).words
    assert words == "Not quite: “a” is not right; “b” is."


def test_a_question_without_an_answer_is_rejected(tmp_path):
    text = LESSON.replace('tokens = ["action", "nothing", "act"]', 'tokens = ["action", "act"]')
    with pytest.raises(
        LessonError, match="There is nothing to choose at token 1: of the tokens that can be offered, 2"
    ):
        check_lesson(written_lesson(tmp_path, text))


def test_the_readers_changes_reach_the_request(tmp_path):
    lesson = written_lesson(tmp_path, record=False).read()
    (experiment,) = lesson.experiments
    request = varied_request(lesson, experiment, {"search/max_results/maximum": 7, "temperature": 0.5}, None)
    tool = next(tool for tool in request.registry["tools"] if tool["name"] == "search")
    assert (
        tool["parameters"]["properties"]["max_results"]["maximum"] == 7
        and request.sampling.temperature == 0.5
    )
    for wrong in (
        {"search/max_results/maximum": "x"},
        {"temperature": "hot"},
        {"temperature": -1},
        {"nowhere/x": 1},
    ):
        with pytest.raises(LessonError):
            varied_request(lesson, experiment, wrong, None)


def test_a_lesson_is_completed_when_every_step_was_seen_and_every_question_answered():
    seen = LessonProgress().at(0, 2).at(1, 2)
    assert seen.is_done(2, 0) and not seen.is_done(2, 1) and not seen.is_done(3, 0)
    assert seen.answered(0, False).is_done(2, 1)


def test_progress_is_saved_and_a_damaged_file_is_ignored(tmp_path):
    path = tmp_path / "lessons.json"
    progress = ReadingProgress(path)
    progress.put("a", LessonProgress().at(0, 2).answered(0, False).answered(0, True))
    assert progress.save() == ""
    again = ReadingProgress(path).of("a")
    assert again.seen == (0,) and again.answers == {0: False}
    assert not again.is_done(2, 1) and again.at(1, 2).is_done(2, 1)
    for damaged in (b'{"a": 3', b'{"\xff": {}}'):
        path.write_bytes(damaged)
        assert ReadingProgress(path).of("a") == LessonProgress()
    assert "not a file" in ReadingProgress(tmp_path).save()


def test_a_lesson_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(LessonError, match="There is no such lesson"):
        find_lesson("no-such-lesson")
    with pytest.raises(StorageError):
        find_lesson(tmp_path / "x.md").read()


def test_every_part_knows_its_line():
    lesson = parse(LESSON)
    lines = LESSON.split("\n")
    for part in lesson.parts():
        if isinstance(part, WatchPart | Experiment):
            assert lines[part.line - 2].startswith("```")
