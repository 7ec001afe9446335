"""The cost of each part of a prompt: all of the text, all of the tokens, and the kind of each part."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.events import PromptRendered, RunRequest
from glyphscope.models.interface import Vocabulary
from glyphscope.models.scripted import ScriptedModel, cut
from glyphscope.prompting.costs import ITSELF, part_words, prompt_costs
from glyphscope.prompting.messages import render_messages
from glyphscope.prompting.rendered import spelled, tool_parts
from glyphscope.prompting.template import MessagePart, PartText, render
from glyphscope.registry import Tool, ToolRegistry, default_registry, make_tool, to_openai
from glyphscope.runs.strategies.request import (
    PromptSpan,
    part_spans,
    priced_by_counting,
    priced_by_tokens,
    render_prompt,
)

REGISTRY = default_registry()


class Bytes(ScriptedModel):
    """Tokens of one to three bytes, regardless of characters, and one that begins the sequence."""

    def vocabulary(self):
        return Vocabulary((b"", *PIECES), {"<s>": 0})

    def tokenize(self, text):
        data = text.encode("utf-8", "replace")
        return [PIECES.setdefault(data[at : at + 3], len(PIECES) + 1) for at in range(0, len(data), 3)]

    def count_tokens(self, text):
        return len(self.tokenize(text))

    def render_chat(self, messages, tools=()):
        made = super().render_chat(messages, tools)
        self.tokenize(made.text)
        return type(made)(made.text, made.tokens + 1, made.note, made.added)


PIECES: dict[bytes, int] = {}


def rendered(prompt="Find ☂ news", registry=REGISTRY, **changes) -> PromptRendered:
    request = RunRequest(prompt=prompt, registry=registry.to_document(), **changes)
    return render_prompt(request, registry, Bytes())


def text_of(prompt, of, name="tools"):
    return "".join(prompt.text[p.start : p.end] for p in prompt.parts if (p.name, p.of) == (name, of))


@given(
    prompt=st.text(max_size=60),
    system=st.none() | st.sampled_from(["{{ tools[0].signature }} é", "", "a\n\nb"]),
)
@at_most(40)
def test_the_parts_cover_every_character_and_token(prompt, system):
    made = rendered(prompt, system=system)
    assert "".join(made.text[part.start : part.end] for part in made.parts) == made.text
    assert sum(part.tokens for part in made.parts) == made.tokens == len(made.lengths)
    assert sum(made.lengths) == len(made.text) and made.lengths[0] == 0
    costs = prompt_costs(made)
    assert sum(cost.tokens for cost in costs) == made.tokens
    for cost in costs:
        for _, row in cost.rows():
            assert not row.below or sum(below.tokens for below in row.below) == row.tokens
            assert [below.tokens for below in row.below] == sorted(
                (b.tokens for b in row.below), reverse=True
            )


def test_every_part_of_the_prompt_is_recognized():
    made = rendered()
    assert text_of(made, "/search/description").strip(" -\n") == REGISTRY.get("search").description
    assert text_of(made, "/search/parameters/properties/max_results") == ", max_results?: integer 1..100"
    assert text_of(made, "/search", "examples") == '{action="search" query="AI news" max_results=10}\n'
    assert text_of(made, "line 22", "system") == "2. Use the exact argument names shown\n"
    assert text_of(made, "", "user") == "Find ☂ news"
    words = {part_words(part, made.text) for part in made.parts}
    assert {"description of search", "max_results of search", "system message, line 22"} <= words


def test_the_rows_lead_from_a_tool_to_its_arguments():
    (tools,) = [cost for cost in prompt_costs(rendered()) if cost.kind == "tools"]
    search = next(cost for cost in tools.below if cost.title == "search")
    assert {cost.title for cost in search.below} == {"query", "max_results", "sources", "description", ITSELF}
    assert search.tokens == sum(part.tokens for part in search.parts)


@given(st.text(max_size=80), st.lists(st.integers(0, 12), max_size=12), st.booleans())
@at_most(80)
def test_tokens_are_aligned_with_the_characters_of_a_text(text, cuts, blank):
    data = (b" " if blank else b"") + text.encode("utf-8", "replace")
    pieces, at = [], 0
    for size in cuts:
        pieces.append(data[at : at + size])
        at += size
    pieces.append(data[at:])
    vocabulary = Vocabulary(tuple(pieces))
    lengths = spelled(text, range(len(pieces)), vocabulary)
    assert len(lengths) == len(pieces) and sum(lengths) == len(text)
    if not blank:
        done = b""
        for number, piece in enumerate(pieces):
            done += piece
            whole = len(done.decode("utf-8", "ignore"))
            assert sum(lengths[: number + 1]) == whole


def test_tokens_that_spell_another_text_are_not_aligned():
    assert spelled("abc", [0, 1], Vocabulary((b"ab", b"d"))) == ()
    assert spelled("abc", [0, 9], Vocabulary((b"ab",))) == ()
    assert spelled("ab", [0], Vocabulary((b"abc",))) == ()


def test_a_special_token_includes_the_white_space_it_strips():
    vocabulary = Vocabulary((b"", b"ab"), {"<|end|>": 0})
    assert spelled("<|end|>\n\nab\n", [0, 1], vocabulary) == (9, 3)


def test_a_token_across_a_border_counts_where_it_ends():
    spans = list(part_spans("ab☂c", [MessagePart("system", "ab"), MessagePart("user", "☂c")]))
    parts = priced_by_tokens(spans, (0, 1, 1, 0, 1, 1))
    assert [(part.name, part.tokens) for part in parts] == [("system", 3), ("user", 3)]
    parts = priced_by_tokens(spans, (0, 1, 2, 1))
    assert [(part.name, part.tokens) for part in parts] == [("system", 2), ("user", 2)]


@given(st.lists(st.text(max_size=12), max_size=8), st.text(max_size=5), st.text(max_size=5))
@at_most(60)
def test_parts_that_the_chat_template_trims_or_changes_leave_no_gap(texts, before, after):
    pieces = [MessagePart(f"p{n}", text, "line 1") for n, text in enumerate(texts)]
    text = before + "".join(f"<{piece.text.strip()}>" for piece in pieces) + after
    spans = list(part_spans(text, pieces))
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]
    parts = priced_by_counting(text, len(cut(text)) + 1, spans, lambda one: len(cut(one)))
    assert sum(part.tokens for part in parts) == (len(cut(text)) + 1 if text else 0)


@pytest.mark.parametrize("tokens", [0, 1, 3, 9])
@pytest.mark.parametrize("counted", [{}, {"ab": 4, "a": 1}])
def test_no_part_has_fewer_than_no_tokens_where_tokens_span_the_boundaries(tokens, counted):
    spans = [PromptSpan("template", 0, 2, ""), PromptSpan("user", 2, 3, ""), PromptSpan("template", 3, 6, "")]
    parts = priced_by_counting("abcdef", tokens, spans, lambda one: counted.get(one, len(one)))
    assert min(part.tokens for part in parts) >= 0 and sum(part.tokens for part in parts) == tokens


WRITTEN = (
    lambda tools: "\n".join(json.dumps(tool) for tool in tools),
    lambda tools: "<tools>\n" + json.dumps(tools, indent=4) + "\n</tools> use {them} [well",
    lambda tools: json.dumps([tool["function"] for tool in tools]),
    lambda tools: "".join(f"type {tool['function']['name']} = any;" for tool in tools),
)


@pytest.mark.parametrize("write", WRITTEN)
def test_tools_written_by_a_chat_template_are_split_without_a_gap(write):
    tools = to_openai(REGISTRY)
    written = write(tools)
    parts = tool_parts(written, [tool["function"] for tool in tools])
    assert "".join(part.text for part in parts) == written
    if '"name"' in written:
        texts = {}
        for part in parts:
            texts[part.of] = texts.get(part.of, "") + part.text
        assert texts["/search/description"].startswith('"description": "Search the web')
        assert texts["/browse/parameters/properties/timeout"].startswith('"timeout": {')
    else:
        assert [part.of for part in parts] == [""]


def test_the_description_of_an_argument_is_a_separate_part():
    schema = {"properties": {"a/b": {"type": "string", "description": "What it is."}}}
    tool = make_tool("t", "Do it.", schema)
    written = json.dumps(to_openai(ToolRegistry((tool,)))[0])
    parts = tool_parts(written, [json.loads(written)["function"]])
    of = {part.of: part.text for part in parts}
    assert of["/t/parameters/properties/a~1b/description"] == '"description": "What it is."'


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(sign * 5000, marks=pytest.mark.slow) for sign in "{["),
        *('{"name": ["t"]}', "[[[]]]", '"', ""),
    ],
)
def test_hostile_texts_of_tools_are_split_in_bounded_time(text):
    parts = tool_parts(text, [{"name": "t"}])
    assert "".join(part.text for part in parts) == text


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                " - ",
                "\n",
                "\x0c",
                "\u2028",
                "{{ x }}",
                "{{ tools[0].name }}",
                "{% set y %}b{% endset %}",
                "{{ y }}",
            ]
        )
    )
)
@at_most(60)
def test_the_lines_of_a_template_spell_the_prompt(pieces):
    registry = ToolRegistry((Tool("a", "b"),))
    template = "{% set x = 1 %}{% set y = 2 %}" + "".join(pieces)
    request = RunRequest(prompt="p", registry={}, system=template)
    made = render_messages(request, registry)
    assert "".join(part.text for part in made.parts) == "".join(m.content for m in made.messages)
    lines = template.split("\n")
    for part in made.parts:
        if part.of.startswith("line ") and part.text.strip() and "{" not in template[30:]:
            assert part.text.strip().split("\n")[0] in lines[int(part.of[5:]) - 1]


def test_a_filter_that_removes_digits_leaves_the_text_readable():
    for digit in "0123456789":
        template = f"{{% filter replace('{digit}', '') %}}{{{{ tool }}}} 1{{% endfilter %}}"
        parts = render(template, {"tool": PartText("tools", "search", "/search")}, rest="system")
        assert "".join(part.text for part in parts) == "search 1".replace(digit, "").strip()


@pytest.mark.slow
def test_brackets_in_a_description_are_split_in_bounded_time():
    written = ("[" + "1," * 1000) * 500
    start = time.monotonic()
    assert "".join(part.text for part in tool_parts(written, [{"name": "search"}])) == written
    assert time.monotonic() - start < 20
