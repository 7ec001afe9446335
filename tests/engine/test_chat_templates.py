"""Chat templates as transformers and llama.cpp run them: calls and reasoning in messages, and endless templates."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from glyphscope.base.errors import PromptError
from glyphscope.events import Message, ToolCall
from glyphscope.models import MERGED_SYSTEM, RESULTS_AS_USER, ChatTemplate, TemplateSource, render_template
from glyphscope.models.chat_messages import (
    CALLS_AS_TEXT,
    SPLIT_CALLS,
    TEXT_APART,
    TEXT_AS_REASONING,
    TEXT_LEFT_OUT,
    link_results,
)
from glyphscope.models.template_environment import MAX_LENGTH

TEMPLATES = 70


def tool(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


TOOLS = [
    tool("weather", city={"type": "string"}, days={"type": "integer"}),
    tool("find", options={"type": "object"}),
]
WEATHER = ToolCall("weather", {"city": "Paris", "days": 3})
FIND = ToolCall("find", {"options": {"a": [1, True, None], "b": "a needle"}})
USER = Message("user", "What now?")
TALK = [
    Message("system", "Be brief."),
    USER,
    Message("assistant", "I look.", (WEATHER,), "Is it warm?"),
    Message("tool", '{"temp": 21}'),
    Message("assistant", "", (FIND,)),
    Message("tool", '{"found": 2}'),
    Message("assistant", "It is warm."),
    Message("user", "Thanks."),
]
BOTH = [USER, Message("assistant", "", (WEATHER, FIND)), Message("tool", "first"), Message("tool", "second")]


def template_of(folder: Path, name: str) -> ChatTemplate:
    (path,) = (folder / "templates").glob(f"{name}*.jinja")
    return ChatTemplate(path.read_text(encoding="utf-8"), bos="<BOS>", eos="<EOS>")


def only(body: str) -> ChatTemplate:
    """A template that writes something once for each message."""
    return ChatTemplate(f"{{% for message in messages %}}{body}{{% endfor %}}")


def text(body: str, *messages: Message, **options) -> str:
    return ChatTemplate(body).render(messages or [USER], **options)[0]


@pytest.mark.slow
def test_every_template_of_llama_cpp_renders_a_conversation_with_calls(llama_data):
    paths = sorted((llama_data / "templates").glob("*.jinja"))
    assert len(paths) == TEMPLATES
    for path in paths:
        template = ChatTemplate(path.read_text(encoding="utf-8"), bos="<BOS>", eos="<EOS>")
        for thinking in (None, True, False):
            prompt, note = template.render(TALK, TOOLS, thinking=thinking)
            expected = ["Be brief.", "What now?", "Paris", "21", "a needle", "It is warm.", "Thanks."]
            assert [part for part in expected if part not in prompt] == [], path.name
            # the template that joins it to the reasoning leaves it out after an answer
            lost = TEXT_LEFT_OUT in note or TEXT_AS_REASONING in note
            assert ("I look." in prompt) is not lost, path.name
            prompt, _ = template.render(BOTH, TOOLS, thinking=thinking)
            assert prompt.index("Paris") < prompt.rindex("a needle"), path.name
            assert "first" in prompt and "second" in prompt, path.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("Qwen3.5-4B", ()),
        ("openai-gpt-oss", (TEXT_AS_REASONING, SPLIT_CALLS)),
        ("meta-llama-Llama-3.3", (TEXT_APART, SPLIT_CALLS)),
        ("mistralai-Mistral-Nemo", (TEXT_LEFT_OUT,)),
        ("LFM2-8B-A1B", (CALLS_AS_TEXT,)),
        ("google-gemma-2", (CALLS_AS_TEXT, MERGED_SYSTEM, RESULTS_AS_USER)),
    ],
)
def test_the_omissions_of_a_template_are_worked_around(llama_data, name, notes):
    template = template_of(llama_data, name)
    given = {
        note for talk in (TALK, [TALK[0], *BOTH]) for note in notes if note in template.render(talk, TOOLS)[1]
    }
    assert given == set(notes)


@pytest.mark.slow
def test_arguments_have_the_form_that_the_template_takes(llama_data):
    for name, arguments, empty in (
        ("meetkai-functionary-medium-v3.2", "string", ""),
        ("deepseek-ai-DeepSeek-R1-Distill-Llama", "string", None),
        ("GLM-4.6", "object", ""),
        ("google-gemma-4-31B-it-interleaved", "object", ""),
    ):
        style = template_of(llama_data, name).call_style
        assert (style.arguments, style.empty) == (arguments, empty), name


def test_reasoning_goes_where_the_template_looks_for_it():
    for key in ("reasoning_content", "reasoning", "thinking"):
        prompt = text(f"{{{{ messages[0].{key} }}}}", Message("assistant", "x", (), "Hm."))
        assert prompt == "Hm."
    assert "Hm." not in text("{{ messages }}", Message("assistant", "x", (), "Hm."))


def test_thinking_has_three_states(llama_data):
    template = template_of(llama_data, "Qwen3.5-4B")
    ends = [
        template.render([USER], thinking=thinking)[0].rpartition("assistant\n")[2]
        for thinking in (None, True, False)
    ]
    assert ends == ["<think>\n", "<think>\n", "<think>\n\n</think>\n\n"]


def test_a_template_gets_only_the_variables_it_reads():
    template = ChatTemplate("{{ tools }}{{ enable_thinking }}{{ reasoning_effort }}", bos="<s>")
    assert template.variables() == {}
    given = template.variables(
        TOOLS, thinking=False, variables={"reasoning_effort": "low", "clear_thinking": True}
    )
    assert given == {"tools": TOOLS, "enable_thinking": False, "reasoning_effort": "low"}


def test_tools_are_given_under_the_name_that_the_template_reads():
    assert "weather" in text(
        "{% for tool in xml_tools %}{{ tool | tojson }}{% endfor %}{{ python_tools }}", tools=TOOLS
    )
    assert "weather" in text(
        "{% for tool in python_tools %}{{ tool.function.name }}{% endfor %}", tools=TOOLS
    )
    assert '"name": "weather"' in text("{{ 'Functions: ' + functions }}", tools=TOOLS)
    assert text("{{ 'Functions: ' + functions }}") == "Functions: "


def test_a_tool_without_a_description_is_given_an_empty_one_where_the_template_needs_it():
    bare = {"type": "function", "function": {"name": "go", "parameters": {"type": "object"}}}
    body = "{% for t in tools %}{{ t.function.name + t.function.description }}{{ t.function.parameters }}{% endfor %}"
    assert text(body, tools=[bare]).startswith("go{")
    assert "required" not in text("{{ tools }}", tools=[bare])


def test_the_body_of_a_generation_block_is_rendered():
    assert text("a{% generation %}{{ messages[0].content }}{% endgeneration %}b") == "aWhat now?b"
    with pytest.raises(PromptError, match="damaged"):
        ChatTemplate("{% generation %}")


def test_a_template_may_modify_its_input_without_an_effect_on_the_next_rendering():
    template = ChatTemplate(
        "{% set _ = messages.append(messages[0]) %}{% set _ = messages[0].update(content='y') %}"
        "{% set _ = tools.pop() %}{{ messages | length }}{{ messages[0].content }}{{ tools | length }}"
    )
    assert [template.render([USER], TOOLS)[0] for _ in range(2)] == ["2y1", "2y1"]
    assert len(TOOLS) == 2 and USER.content == "What now?"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{{ {'b': 'é<', 'a': 1} | tojson }}", '{"b": "é<", "a": 1}'),
        ("{{ {'b': 'é', 'a': 1} | tojson(ensure_ascii=true, sort_keys=true) }}", '{"a": 1, "b": "\\u00e9"}'),
        ("{{ [1, 2] | tojson(separators=(',', ':')) }}", "[1,2]"),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{{ messages | map(attribute='role') | tojson }}", '["user"]'),
        ("{{ ('{\"a\": [null]}' | from_json).a | tojson }}", "[null]"),
        ("{% for i in [1,2,3] %}{% if i==2 %}{% continue %}{% endif %}{{ i }}{{ loop.length }}{% endfor %}", "1333"),
        ("{% set n = namespace(t='') %}{% for c in 'ab' %}{% set n.t = n.t ~ c ~ 1 %}{% endfor %}{{ n.t }}", "a1b1"),
        ("{{ ', '.join(messages | map(attribute='role')) }}{{ '%s|{}'.format(1) % 2 }}", "user2|1"),
        ("{{ missing is defined }}{{ missing }}{{ missing.a is defined }}", "!"),
    ],
)  # fmt: skip
def test_expressions_have_the_meaning_of_transformers(body, expected):
    if expected == "!":  # an attribute of an undefined value
        with pytest.raises(PromptError, match="'missing' is undefined"):
            text(body)
    else:
        assert text(body) == expected


def test_an_undefined_value_is_not_json():
    with pytest.raises(PromptError, match="Undefined is not JSON serializable"):
        text("{{ missing | tojson }}")


NESTED = "{% set n = namespace(x=1) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
HOSTILE = {
    "loop in a loop": "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}",
    "silent loop": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "loop over a growing list": "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
    "range": "{{ range(10 ** 12) | list }}",
    "long products in a filter": "{{ ('x' * 10 ** 8 * 10) | upper | lower | title | length }}" * 9,
    "a long number": "{{ 7 ** 10 ** 8 }}",
    "a macro that calls itself twice": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
    "{{ f(60) }}",
    "sorted letters": "{{ (('x' * 10 ** 6) ~ 'y') | list | sort | length }}" * 50,
    "a sum of lists": "{{ ([[1] * 999] * 99999) | sum(start=[]) | length }}",
    "a pattern that backtracks": "{{ ('<' * 10 ** 6) | striptags }}{{ ('a.' * 10 ** 6) | urlize }}",
    "a format of a list": "{{ '%s' % ([[1] * 9999] * 99999,) }}",
    "a sorted list": "{{ (range(99999) | list * 999) | sort | length }}" * 99,
    "many macros": "".join(f"{{% macro m{n}() %}}{{{{ m{n - 1}() * 9 }}}}{{% endmacro %}}" for n in range(1, 30))
    + "{% macro m0() %}xx{% endmacro %}{{ m29() }}",
    "a deep expression": "{{ " + "-" * 50_000 + "1 }}",
    "a long chain": "{{ 1" + " + 1" * 50_000 + " }}{{ 1 // 0 }}",
    "many conditions": "{% if a %}{% elif b %}" + "{% elif b %}" * 9000 + "{% endif %}{{ 1 // 0 }}",
    "conditions in one another": "{% if a %}" * 2000 + "{% endif %}" * 2000 + "{{ 1 // 0 }}",
    "many blocks": "".join(f"{{% block b{n} %}}{{% endblock %}}" for n in range(9000)) + "{{ 1 // 0 }}",
    "assignments in loops": "{% for i in a %}{% set x = i %}" * 60 + "{% endfor %}" * 60 + "{{ 1 // 0 }}",
    "product": "{{ 'x' * 10 ** 10 }}",
    "product of lists": "{{ [1] * 10 ** 10 }}",
    "power": "{{ 10 ** (10 ** 10) }}",
    "squares": "{% set n = namespace(x=99) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
    "doubled with ~": "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "doubled with +": "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "extended": "{% set l = [1] %}{% for i in range(99) %}{% set _ = l.extend(l) %}{% endfor %}",
    "joined": "{% set s = 'x' * 99999 %}{{ ([s] * 99999) | join }}",
    "joined by a method": "{% set s = 'x' * 99999 %}{{ s.join([s] * 99999) }}",
    "replaced": "{% set s = 'x' * 99999 %}{{ s | replace('x', s) }}",
    "replaced by a method": "{% set s = 'x' * 99999 %}{{ s.replace('x', s) }}",
    "width": "{{ 'x' | center(10 ** 10) }}",
    "width of a method": "{{ 'x'.ljust(10 ** 10) }}",
    "indented": "{{ ('\\n' * 99999) | indent(9999) }}",
    "format": "{{ '%9999999999d' % 1 }}",
    "format by a method": "{{ '{:9999999999}'.format(1) }}",
    "format of a width": "{{ '{:{}}'.format(1, '9999999999') }}",
    "batch": "{{ [1] | batch(10 ** 10, 'x') | list }}",
    "rounded": "{{ 1.5 | round(10 ** 10, 'floor') }}",
    "nested": NESTED + "{{ n.x }}",
    "nested, as JSON": NESTED + "{{ n.x | tojson }}",
    "nested, as a string": NESTED + "{{ (n.x ~ '') | length }}{{ n.x | string | length }}",
    "nested, compared": NESTED + NESTED.replace("n.x", "m.x").replace("set n ", "set m ") + "{{ n.x == m.x }}",
    "nested, hashed": NESTED.replace("[n.x, n.x]", "(n.x, n.x)") + "{{ {n.x: 1} }}",
    "macro for ever": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "macros without number": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
    "{{ f(99) }}",
    "recursive loop": "{% for i in range(2) recursive %}{{ loop(range(99)) }}{% endfor %}",
    "constant text": "{% macro f() %}{% for i in range(99999) %}" + "x" * 9999 + "{% endfor %}{% endmacro %}"
    "{{ f() | length }}",
    "raises": "{{ raise_exception('never') }}",
    "divides": "{{ 1 // 0 }}",
    "circle": "{% set l = [1] %}{% set _ = l.append(l) %}{{ l | tojson }}",
    "random": "{{ range(9) | random }}",
    "another time": "{{ strftime_now('%f') }}",
    "an address": "{{ messages[0].items }}",
    "deep": "{{ " + "(" * 9999 + "1" + ")" * 9999 + " }}",
    "blocks": "{% for i in [1] %}" * 99 + "{% endfor %}" * 99,
    "long": "x" * 10**6,
    "includes": "{% include 'other' %}",
    "escapes": "{{ ''.__class__.__mro__ }}{{ raise_exception.__globals__ }}{{ 1 // 0 }}",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_template_ends_in_a_text_or_an_error_in_time(body, monkeypatch):
    monkeypatch.setattr("glyphscope.processes.limited.SECONDS", 0.5)
    start = time.monotonic()
    try:
        text, _, _ = render_template(TemplateSource(body), [USER])
        assert len(text) <= MAX_LENGTH
    except PromptError as error:
        assert error.message and error.where and error.hint
    assert time.monotonic() - start < 20


def test_a_long_conversation_is_within_the_limits(llama_data):
    talk = [TALK[0], *TALK[1:7] * 60, Message("user", "x" * 400_000)]
    prompt, _ = template_of(llama_data, "Qwen3.5-4B").render(talk, TOOLS)
    assert prompt.count("It is warm.") == 60


def test_results_are_linked_to_their_calls():
    calls = (ToolCall("one", {}, "a"), ToolCall("two", {}, "b"))
    talk = [Message("assistant", "", calls), Message("tool", "2", tool_call_id="b"), Message("tool", "1")]
    linked = link_results(talk)
    assert [(message.tool_call_id, message.name) for message in linked[1:]] == [("b", "two"), ("a", "one")]
    renamed = link_results(talk, rename=True)
    assert [call.id for call in renamed[0].tool_calls] == ["call00001", "call00002"]
    assert [message.tool_call_id for message in renamed[1:]] == ["call00002", "call00001"]


def test_ids_that_a_template_rejects_are_renamed():
    body = (
        "{% for c in message.tool_calls %}{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}"
        "{{ c.id }}{{ c.function.arguments | tojson }}{% endfor %}{{ message.tool_call_id }}{{ message.content }}"
    )
    call = msgspec.structs.replace(WEATHER, id="call_with_a_long_id")
    prompt, _ = only(body).render([Message("assistant", "", (call,)), Message("tool", "21")])
    assert prompt == 'call00001{"city": "Paris", "days": 3}call0000121'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (  # a dictionary would be printed as Python writes it
            '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments }}}',
            '{"name": "weather", "arguments": {"city": "Paris", "days": 3}}',
        ),
        (  # a text marked as safe escapes the texts beside it
            "{% set a = c.function.arguments %}{% set a = a if a is string else a | tojson | safe %}"
            "{{ '{\"name\": \"' + c.function.name + '\", \"arguments\": ' + a + '}' }}",
            '{"name": "weather", "arguments": {"city": "Paris", "days": 3}}',
        ),
        (  # only the id says the tool
            "<|call|>{{ c.id }}<|args|>{{ c.function.arguments | tojson }}",
            '<|call|>functions.weather:0<|args|>{"city": "Paris", "days": 3}',
        ),
    ],
)
def test_calls_of_the_history_are_written_as_json_with_the_name_of_their_tool(body, expected):
    call = msgspec.structs.replace(WEATHER, id="abc")
    talk = [USER, Message("assistant", "", (call,)), Message("tool", "21")]
    calls = f"{{% for c in message.tool_calls or [] %}}{body}{{% endfor %}}"
    prompt, note = only(
        f"{calls}|{{{{ message.content }}}} {{{{ message.tool_call_id }}}} {{{{ message.name }}}}"
    ).render(talk)
    assert prompt.split("|", 1)[1].startswith("What now?") and expected in prompt and not note
    if "functions" in expected:
        assert "21 functions.weather:0" in prompt


def test_a_message_of_an_old_record_opens_and_a_plain_one_has_no_new_fields():
    assert msgspec.json.decode(b'{"role":"user","content":"x"}', type=Message) == Message("user", "x")
    assert msgspec.json.encode(Message("user", "x")) == b'{"role":"user","content":"x"}'
    message = Message("assistant", "", (WEATHER,), "Hm.")
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message
