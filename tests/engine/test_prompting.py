"""The prompt follows registry, notation and shape; its parts add up to it; a user's template is strict and harmless."""

from __future__ import annotations

import time
from itertools import groupby

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glyphscope.base.errors import PromptError
from glyphscope.events import NOTATIONS, SHAPES, RunRequest
from glyphscope.notation import call_document
from glyphscope.prompting.messages import example_calls, render_messages
from glyphscope.prompting.signature import signature_pieces
from glyphscope.prompting.template import MessagePart, presets
from glyphscope.registry import Tool, ToolRegistry, default_registry, load_registry, make_tool

SEED_PROMPT = """\
You respond ONLY with GLYPH tool calls. No text before or after.

FORMAT: {action="TOOLNAME" argument="value"}

EXAMPLES:
{action="search" query="AI news" max_results=10}
{action="calculate" expression="15 * 230 / 100"}
{action="browse" url="https://example.com"}
{action="execute" command="ls -la"}

RULES:
1. Always start with action="toolname"
2. Use the exact argument names shown
3. Strings in double quotes, numbers bare
4. No commas between fields

RESPOND WITH ONLY THE TOOL CALL."""


def render(registry: ToolRegistry | None = None, prompt: str = "Hi", **request):
    registry = registry or default_registry()
    return render_messages(RunRequest(prompt=prompt, registry=registry.to_document(), **request), registry)


def system(registry: ToolRegistry | None = None, **request) -> str:
    return render(registry, **request).messages[0].content


def first(count: int) -> ToolRegistry:
    return ToolRegistry(default_registry().tools[:count])


def test_the_short_preset_equals_the_effective_glyph_prompt():
    assert system(first(4), preset="short") == SEED_PROMPT


def test_the_json_prompt_has_the_same_rules():
    text = system(first(1), preset="short", notation="json")
    assert 'FORMAT: {"action":"TOOLNAME","argument":"value"}' in text
    assert '{"action":"search","query":"AI news","max_results":10}' in text
    assert "4. Commas between fields" in text


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("preset", list(presets()))
def test_parts_add_up_to_the_messages(notation, shape, preset):
    rendered = render(notation=notation, shape=shape, preset=preset, prompt=" Find\nme ")
    assert "".join(part.text for part in rendered.parts) == "".join(
        message.content for message in rendered.messages
    )
    assert [message.role for message in rendered.messages] == ["system", "user"]
    assert rendered.messages[1].content == " Find\nme "
    names = [name for name, _ in groupby(part.name for part in rendered.parts)]
    listed = ["system", "tools"] if preset == "default" else []
    assert names == [*listed, "system", "examples", "system", "user"]
    assert next(iter(call_document("x", {}, shape))) in system(notation=notation, shape=shape, preset=preset)


def test_examples_and_list_follow_the_edited_registry():
    tool = make_tool(
        "weather", "Tell it.", {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    )
    registry = default_registry().with_tool(tool, "search")
    text = system(registry)
    assert '{action="weather" city="Paris"}' in text
    assert "weather(city: string) - Tell it." in text
    assert "search" not in text
    hidden = registry.with_tool(Tool("weather", "", tool.parameters, enabled=False))
    assert "weather" not in system(hidden)


def test_a_custom_template_replaces_the_presets_words_with_the_same_variables():
    template = (
        "{{ notation }} {{ shape }} {{ registry | length }}\n"
        "{% for tool in tools %}{{ tool.name }}:{% for a in tool.arguments %}"
        " {{ a.name }}{% if a.required %}!{% endif %}{% endfor %} {{ tool.example }}\n{% endfor %}"
    )
    rendered = render(first(1), system=template, notation="json", shape="tool-args")
    assert rendered.messages[0].content == (
        "json tool-args 1\nsearch: query! max_results sources "
        '{"tool":"search","args":{"query":"AI news","max_results":10}}'
    )
    names = [name for name, _ in groupby(part.name for part in rendered.parts)]
    assert names == ["system", "tools", "system", "examples", "user"]


def test_an_empty_prompt_or_template_makes_no_message():
    assert render(prompt="").messages[-1].role == "system"
    assert [message.role for message in render(system=" \n").messages] == ["user"]
    assert render(system="", prompt="").messages == ()


def test_the_users_prompt_is_not_a_template():
    assert render(prompt="{{ 1 / 0 }}{% raw").messages[1].content == "{{ 1 / 0 }}{% raw"


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("ok\n{{ nothing }}", 2),
        ("{% for x in tools %}\n{{ x.nme }}\n{% endfor %}", 2),
        ("a\nb\n{% if %}", 3),
        ("{{ 1 / 0 }}", 1),
        ("\n{% include 'x' %}", 2),
        ("{{ ''.__class__.__mro__ }}", 1),
        ("{{ registry.tools[0].parameters.clear() }}", 1),
        ("{{ 'a' * 10 ** 10 }}", 1),
        pytest.param("{{ 9 ** 99999999 }}", 0, marks=pytest.mark.slow),
        pytest.param(
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            0,
            marks=pytest.mark.slow,
        ),
        (
            "{% for a in range(99999) %}{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}{% endfor %}",
            0,
        ),
    ],
)
def test_a_template_that_cannot_be_rendered_is_reported_with_its_line(template, line, monkeypatch):
    monkeypatch.setattr("glyphscope.processes.limited.SECONDS", 0.5)
    start = time.perf_counter()
    with pytest.raises(PromptError) as caught:
        system(system=template)
    assert caught.value.where == (f"line {line}" if line else "")
    assert default_registry().tools[0].parameters
    assert time.perf_counter() - start < 20


def test_a_template_that_is_rendered_again_has_the_parts_of_its_new_values():
    template = "{{ 'A' ~ ' tool' }}: {% for tool in tools %}{{ tool.description }} {% endfor %}"
    for descriptions in (("one", "two"), ("three",), ("one", "two")):
        registry = ToolRegistry(tuple(Tool(f"t{i}", words) for i, words in enumerate(descriptions)))
        parts = [(part.name, part.text, part.of) for part in render(registry, system=template).parts]
        assert parts[0] == ("system", "A tool: ", "line 1")
        shown = [part for part in parts if part[0] == "tools"]
        assert [text.strip() for _, text, _ in shown] == list(descriptions)
        assert [of.partition("/")[2].split("/")[0] for _, _, of in shown] == [
            f"t{i}" for i in range(len(descriptions))
        ]


def test_filters_may_change_printed_text_and_the_parts_add_up():
    template = "{% filter upper %}{{ examples[0] }}{% endfilter %}"
    template += " {% set x %}{{ examples[0] }}{% endset %}{{ x | tojson }}"
    rendered = render(first(1), system=template)
    assert "\x02" not in rendered.messages[0].content
    assert rendered.parts[0] == MessagePart("system", rendered.messages[0].content)


@pytest.mark.slow
@given(text=st.text(), description=st.text())
@settings(max_examples=60, deadline=None)
def test_no_text_of_user_or_tool_confuses_the_parts(text, description):
    registry = ToolRegistry((Tool("a", description),))
    rendered = render(registry, prompt=text, system="<{{ tools[0].description }}|{{ tools[0].name }}>")
    assert rendered.messages[0].content == f"<{description}|a>"
    assert "".join(p.text for p in rendered.parts) == f"<{description}|a>{text}"


def test_an_unknown_preset_is_reported_and_examples_have_the_shape_that_fits():
    with pytest.raises(PromptError, match="default, short"):
        system(preset="none")
    registry = load_registry({"x": {"properties": {"action": {"type": "string"}}, "required": ["action"]}})
    assert 'tool="x"' in system(registry, shape="flat") and 'tool="x"' in system(registry, shape="tool-args")


def test_the_seven_tools_have_the_known_examples():
    calls = dict(example_calls(default_registry()))
    assert calls["search"] == {"query": "AI news", "max_results": 10}
    assert calls["calculate"] == {"expression": "15 * 230 / 100"}
    assert calls["browse"] == {"url": "https://example.com"}
    assert calls["execute"] == {"command": "ls -la"}
    assert len(calls) == 7


def test_a_signature_is_short_and_has_the_constraints():
    properties = {
        "a": {"type": "integer", "minimum": 1, "maximum": 9},
        "b": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "maxItems": 3},
        "c": {"enum": ["x", 1, None]},
        "d": {"$ref": "#/$defs/d"},
        "e": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "f": {"type": ["string", "null"], "pattern": "^a", "maxLength": 5},
        "g": True,
        "h": {"allOf": [{"$ref": "#/$defs/h"}], "maximum": 5},
    }
    schema = {"type": "object", "properties": properties, "required": ["a"]}
    schema["$defs"] = {
        "h": {"type": "integer", "minimum": 1, "maximum": 9},
        "d": {"type": "object", "properties": {"self": {"$ref": "#/$defs/d"}}},
    }
    assert "".join(text for _, text in signature_pieces(Tool("t", "", schema))) == (
        't(a: integer 1..9, b?: array of number > 0 with <= 3 items, c?: "x"|1|null, '
        "d?: {self?: {self?: {self?: object}}}, "
        "e?: string (date)|null, f?: string of length <= 5 matching ^a|null, g?: any, "
        "h?: integer 1..5)"
    )


@pytest.mark.parametrize(
    "references", [["#"], [f"#/$defs/d{n}" for n in range(40)]], ids=["itself", "each other"]
)
def test_the_signature_of_schemas_that_refer_to_each_other_is_bounded(references):
    properties = {f"q{n}": {"$ref": references[n % len(references)]} for n in range(40)}
    inner = {"type": "object", "properties": properties}
    schema = {**inner, "$defs": {f"d{n}": inner for n in range(40)}}
    start = time.process_time()
    text = "".join(piece for _, piece in signature_pieces(Tool("t", "", schema)))
    assert time.process_time() - start < 2 and len(text) < 2_000_000
    assert text.startswith("t(q0?: {q0?: ")


@pytest.mark.parametrize("preset", ["default", "short"])
def test_a_prompt_without_examples_has_no_heading_for_them(preset):
    registry = default_registry()
    asked = RunRequest(prompt="x", registry=registry.to_document(), preset=preset)
    texts = [
        render_messages(msgspec.structs.replace(asked, examples=examples), registry).messages[0].content
        for examples in (True, False)
    ]
    assert "EXAMPLES:" in texts[0] and "AI news" in texts[0]
    assert "EXAMPLES" not in texts[1] and "AI news" not in texts[1] and "\n\n\n" not in texts[1]
