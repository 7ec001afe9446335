"""Answers other than calls: a schema's value, a text of a pattern or grammar, one of several texts."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from bad_answers import BAD_ANSWERS
from cli_command import command
from glyphscope import open_model
from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import Answer, PromptRendered, RepairSettings, RunRequest, Violation
from glyphscope.registry import ToolRegistry
from glyphscope.runs import settle
from glyphscope.runs.strategies.turns import expected_answer

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
}
SCHEMA = Answer("schema", json.dumps(PERSON))
SUMS = Answer("gbnf", "root ::= term ([+] term)*\nterm ::= [0-9]+\n")
LARK = Answer(
    "lark",
    'start: "let" NAME "=" sum\nsum: NUMBER ("+" NUMBER)*\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore / +/\n',
)
LINES = Answer("gbnf", 'root ::= ("- " [a-z]+ "\\n")+\n')
WORDS = Answer("choice", "yes\nno\nnone")
CODE = Answer("regex", "[0-9]{2}-[a-z]+")


def request(answer: Answer, **settings) -> RunRequest:
    return RunRequest(prompt="Go on.", registry=ToolRegistry().to_document(), answer=answer, **settings)


@pytest.mark.parametrize(
    "before", ["", "Let me think. An Answer follows.\nAnswer: "], ids=["alone", "after text"]
)
@pytest.mark.parametrize(
    ("answer", "text", "char", "said"),
    [
        (SCHEMA, '{name="Ann" age=3}', None, ""),
        (SCHEMA, '{name="Ann" age=-3}', 17, "age -3 cannot become at least 0"),
        (SCHEMA, "Ann", 0, "the answer must be of type object"),
        (SCHEMA, '{name="Ann"', 11, "the text ends before the answer does"),
        (SCHEMA, '{name="Ann" age=3} and', 19, "'a' follows the end of the answer"),
        (WORDS, "yes", None, ""),
        (WORDS, "no", None, ""),
        (WORDS, "none", None, ""),
        (WORDS, "nope", 2, 'the choices cannot continue with "p"'),
        (WORDS, "yes!", 3, '"!" follows the end of the answer'),
        (WORDS, "", 0, "there is no answer"),
        (CODE, "12-ab", None, ""),
        (CODE, "1a", 1, 'the pattern cannot continue with "a"'),
        (CODE, "12-", 3, "the text ends before the answer does"),
        (SUMS, "1+23", None, ""),
        (SUMS, "1+2-", 3, 'the rule term (in root) cannot continue with "-"'),
        (SUMS, " 1+2\n", None, ""),
        (LINES, "\n- a\n- b\n ", None, ""),
        (LINES, "- a", 3, "the text ends before the answer does"),
        (SUMS, "1+2\n3", 4, '"3" follows the end of the answer'),
        (SUMS, "1 +2", 2, '"+" follows the end of the answer'),
        (LARK, "let a = 1 +  2", None, ""),
        (LARK, "let a = b", 8, 'the rule start cannot continue with "b"'),
        (SUMS, "1+", 2, "the text ends before the answer does"),
    ],
)
def test_the_verdict_names_the_character_at_which_a_text_left_the_answer(answer, text, char, said, before):
    validator = expected_answer(request(answer, free_text=bool(before))).validator(ToolRegistry())
    events = [event for piece in before + text for event in validator.feed(piece)] + validator.finish()
    found = [event for event in events if isinstance(event, Violation)]
    assert [(one.char - len(before), one.message) for one in found[:1]] == (
        [] if char is None else [(char, said)]
    )
    assert validator.valid == (char is None)
    assert not validator.valid or validator.content == text.strip() + "\n" * (answer is LINES)


@pytest.mark.parametrize(("answer", "said"), BAD_ANSWERS)
def test_an_answer_that_no_text_can_be_is_a_problem_of_the_request(answer, said):
    (problem,) = settle(request(answer), None).problems
    assert problem.field == "answer"
    assert said in problem.error.message
    assert problem.error.hint


@pytest.mark.parametrize(("answer", "said"), BAD_ANSWERS)
def test_the_command_line_rejects_such_an_answer_before_anything_is_generated(answer, said, tmp_path):
    (tmp_path / "text").write_text(answer.text)
    described = {
        "regex": f"regex:{answer.text}",
        "choice": f"choice:{'|'.join(answer.choices)}",
    }.get(answer.kind, f"{answer.kind}:{tmp_path / 'text'}")
    done = command("run", "--model", "scripted:a", "--answer", described, "Go on.")
    assert done.exit_code == 2 and "CONSTRAINT_FAILED: " in done.output
    assert said in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("answer", "text", "right"),
    [
        (Answer("choice", "yes\nyes, please\nye"), "yes, please", True),
        (Answer("choice", "yes\nyes, please\nye"), "yes,", False),
        (Answer("schema", "{}"), "[3, null]", True),
        (Answer("schema", '{"minLength": 2}'), '"a"', False),
        (Answer("gbnf", 'root ::= "a"*'), "aa", True),
        (Answer("regex", "(a|b)*"), "ab", True),
    ],
)
@pytest.mark.parametrize("constraint", ["off", "mask"])
def test_unusual_answers_are_judged_like_others(answer, text, right, constraint):
    with open_model(f"scripted:{text}") as model:
        made = model.run("?", answer=answer, constraint=constraint, notation="json")
    assert (made.valid, made.text) == (right, text)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"strategy": "loop"}, "answer"),
        ({"strategy": "two-stage"}, "answer"),
        ({"grammar": 'root ::= "a"'}, "grammar"),
    ],
)
def test_what_excludes_an_answer_without_a_call_is_a_problem(settings, field):
    assert [problem.field for problem in settle(request(WORDS, **settings), None).problems] == [field]


def test_python_takes_literals_schemas_and_models_as_answers():
    class Model:
        model_json_schema = staticmethod(lambda: PERSON)

    with open_model("scripted:no") as model:
        assert model.run("?", answer=Literal["yes", "no"], constraint="off").answer == "no"
        with pytest.raises(GlyphscopeError, match="An answer cannot be a int"):
            model.run("?", answer=3)
    with open_model('scripted:{"name":"Ann","age":3}') as model:
        assert model.run("?", answer=Model, constraint="off").answer == {"name": "Ann", "age": 3}
        assert model.run("?", answer=Literal[1, 2], constraint="off").valid is False


def test_a_wrong_answer_is_asked_for_again_with_the_reason():
    with open_model("scripted:maybe\n---\nno") as model:
        run = model.run("?", answer=WORDS, constraint="off", repair=RepairSettings(attempts=1))
        assert run.answer == "no"
        prompts = [event.text for event in run.events if isinstance(event, PromptRendered)]
    assert "the answer as described above" in prompts[1] and "CONSTRAINT_ENUM" in prompts[1]
