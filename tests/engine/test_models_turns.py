"""Models in a conversation: scripts of several turns, and templates without some of its roles."""

import pytest

from glyphscope.base.errors import PromptError
from glyphscope.events import Message, TokenStep
from glyphscope.models import MERGED_SYSTEM, RESULTS_AS_USER, ChatTemplate, open_model
from glyphscope.models.interface import GenerateRequest
from glyphscope.models.scripted import ScriptedModel, split_turns

TALK = [
    Message("system", "Be brief."),
    Message("user", "How much?"),
    Message("assistant", "{call}"),
    Message("tool", '{"ok":true}'),
    Message("tool", '{"ok":false}'),
]
BODY = "{{ m.role }}={{ m.content }};"
PLAIN = f"{{% for m in messages %}}{BODY}{{% endfor %}}"
NO_TOOL = f"{{% for m in messages %}}{{% if m.role != 'tool' %}}{BODY}{{% endif %}}{{% endfor %}}"
REFUSES = (
    "{% for m in messages %}{% if m.role not in ('user', 'assistant') %}{{ raise_exception('roles') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
    f"{BODY}{{% endfor %}}"
)


def said(model, max_tokens=99):
    steps = [
        o for o in model.generate(GenerateRequest(prompt="", max_tokens=max_tokens)) if isinstance(o, tuple)
    ]
    return "".join(step.text for batch in steps for step in batch if isinstance(step, TokenStep))


def test_each_generation_returns_the_next_turn_and_then_the_first_again():
    model = ScriptedModel(turns=["one two", ["th", b"re\xc3", b"\xa9"], ""])
    assert [said(model) for _ in range(4)] == ["one two", "thre\xe9", "", "one two"]


def test_a_script_of_one_turn_repeats_it():
    model = ScriptedModel("one")
    assert [said(model), said(model)] == ["one", "one"]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("one", ["one"]),
        ("", [""]),
        ("one\n---\ntwo\n", ["one", "two\n"]),
        ("one\r\n---\r\ntwo", ["one", "two"]),
        ("one\n---\n---\ntwo\n---", ["one", "", "two", ""]),
        ("a --- b\n----\n-- -", ["a --- b\n----\n-- -"]),
    ],
)
def test_a_line_of_three_dashes_separates_two_turns(text, turns):
    assert split_turns(text) == turns
    model = open_model(f"scripted:{text}")
    assert [said(model) for _ in turns] == turns


def test_a_template_that_supports_all_roles_gets_them():
    assert ChatTemplate(PLAIN).render(TALK) == (
        'system=Be brief.;user=How much?;assistant={call};tool={"ok":true};tool={"ok":false};',
        "",
    )


def test_a_tool_message_that_a_template_omits_becomes_the_users():
    text, note = ChatTemplate(NO_TOOL).render(TALK)
    assert note == RESULTS_AS_USER and '{"ok":true}' in text and '{"ok":false}' in text
    assert text.startswith("system=Be brief.;user=How much?;assistant={call};user=Result of the tool call:")


def test_a_template_that_requires_alternating_roles_gets_them():
    text, note = ChatTemplate(REFUSES).render(TALK)
    assert note == f"{MERGED_SYSTEM} {RESULTS_AS_USER}"
    assert text.count("user=") == 2 and text.count("assistant=") == 1


def test_a_template_that_omits_every_role_is_an_error():
    with pytest.raises(PromptError, match="leaves the system and tool message out"):
        ChatTemplate("nothing").render([TALK[0], TALK[3]])


def test_a_tool_message_that_a_template_writes_as_json_is_not_duplicated():
    body = PLAIN.replace("m.content", "m.content | tojson")
    assert ChatTemplate(body).render(TALK)[1] == ""
