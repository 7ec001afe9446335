"""Explanations of a template by `models inspect` and the window: pairs, slots, thinking, marker tokens, the proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from glyphscope.base import resources
from glyphscope.base.errors import ModelError, PromptError
from glyphscope.models import read_token_types
from glyphscope.models.inspection import (
    Inspection,
    MarkerToken,
    TemplateMarker,
    VocabularyMarkers,
    find_markers,
    inspect_template,
    with_proof,
)
from glyphscope.models.turn_forms import open_template, template_of_text
from glyphscope.turns.pairs import differences, readable

TEMPLATE = resources.read_text("forms/example.jinja")


@pytest.fixture(scope="module")
def found() -> Inspection:
    return inspect_template(template_of_text(TEMPLATE, "example.jinja"))


def marked(text: str, marks: tuple[tuple[int, int], ...]) -> list[str]:
    return [text[start:end] for start, end in marks]


def test_the_differences_of_two_texts_are_whole_tokens() -> None:
    one, other = differences("<a>\nx y\n</a>", "<b>\nx z\n</b>")
    assert marked("<a>\nx y\n</a>", one) == ["<a>", "y\n</a>"]
    assert marked("<b>\nx z\n</b>", other) == ["<b>", "z\n</b>"]


def test_texts_without_a_difference_have_no_marks() -> None:
    assert differences("", "") == ((), ())
    assert differences("<a>b", "<a>b") == ((), ())


def test_text_of_only_one_side_is_marked_there() -> None:
    assert differences("ab", "ab cd") == ((), ((2, 5),))
    assert differences("", "x") == ((), ((0, 1),))


def test_a_long_difference_is_one_mark() -> None:
    one, other = "a " * 4000, "b " * 4000
    assert differences(one, other) == (((0, 7999),), ((0, 7999),))


def test_pairs_are_shown_in_everyday_words(found: Inspection) -> None:
    assert readable('{"zq_key_a": "zq_val_a"}') == '{"city": "Zurich"}'
    assert not any("zq" in side.text for pair in found.pairs for side in pair.sides)


def test_the_pair_of_two_arguments_marks_the_second_one(found: Inspection) -> None:
    pair = next(pair for pair in found.pairs if pair.key == "arguments")
    first, second = pair.sides
    assert first.marks == ()
    assert "".join(marked(second.text, second.marks)).strip() == '<arg name="day">\nBasel\n</arg>'


def test_each_slot_shows_its_text_and_the_pairs_that_show_it(found: Inspection) -> None:
    slots = {slot.key: slot for slot in found.slots}
    assert slots["reasoning"].value == "<think>\nREASONING\n</think>\n\n"
    assert slots["arguments"].value.startswith('<arg name="KEY">\nVALUE\n</arg>')
    assert slots["arguments"].note == "a tag for each argument"
    assert "NAME" in slots["name"].value
    assert slots["ends"].value == "<|end|>"
    keys = {pair.key for pair in found.pairs if not pair.same}
    assert all(set(slot.pairs) <= keys for slot in found.slots)


def test_the_three_states_of_thinking_say_how_the_prompt_ends(found: Inspection) -> None:
    assert [(each.state, each.part, each.like) for each in found.thinking] == [
        ("on", "opens", ""),
        ("off", "closes", ""),
        ("undefined", "leaves", ""),
    ]
    assert found.thinking[0].prompt == "<|assistant|>\n<think>\n"


def test_the_proof_is_a_second_step(found: Inspection) -> None:
    assert found.proof is None
    proved = with_proof(found, template_of_text(TEMPLATE, ""), 30)
    assert proved.proof["proved"] is True
    assert proved.proof["turns"] == proved.proof["equal"] == 30
    assert proved.slots == found.slots


def test_omissions_of_a_conversation_are_listed(found: Inspection) -> None:
    assert {fault.level for fault in found.faults} == {"note"}
    lossy = inspect_template(
        template_of_text("{% for m in messages if m.role != 'system' %}{{ m.content }}\n{% endfor %}", "")
    )
    assert "SYSTEM_DROPPED" in {fault.code for fault in lossy.faults}
    assert any("no calls of the history" in words for words in lossy.warnings)


CALLS = "{% for c in m.tool_calls or [] %}CALL{% endfor %}"
TURNS = (
    "{{ tools | tojson }}{% for m in messages %}<|{{ m.role }}|>\n{{ m.content or '' }}"
    + CALLS
    + "{% endfor %}"
)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("", "the template writes no calls of the history"),
        ("{{ m.metadata }}", "the template writes no calls of the history"),
        ("{{ raise_exception('no calls') }}", "the template rejects a message with a call"),
        ("{{ c.function.name }}", "the template's calls have no structure that can be derived"),
    ],
)
def test_a_template_without_a_form_of_calls_says_why(call: str, why: str) -> None:
    source = TURNS.replace("CALL", call) + "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    (warning,) = (
        each
        for each in inspect_template(template_of_text(source, "x.jinja")).warnings
        if "form of calls" in each
    )
    assert warning.startswith(f"There is no form of calls: {why}, ")


def test_errors_in_forms_of_messages_that_the_template_does_not_accept_are_not_warnings() -> None:
    source = """{% for m in messages %}<|{{ m.role }}|>{{ m.content + '' }}{% for c in m.tool_calls or [] %}
{%- if not loop.first %}{{ raise_exception('One call at once') }}{% endif -%}
<call>{{ c.function.name }} {{ c.function.arguments + '' }}</call>{% endfor %}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""
    found = inspect_template(template_of_text(source, ""))
    assert found.arguments_as == "string"  # an object raises Python's error about dict and str
    rejected = [words for words in found.warnings if "rejects" in words]
    assert rejected == ["It rejects some conversations. The template raises: One call at once"]


WRITES = (
    "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}<call>"
    "{{{{ c.function | tojson }}}}</call>{{% endfor %}}{{% endfor %}}{tools}"
)


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ("{% for t in tools %}{{ t }}{% endfor %}", ["prints an object"]),
        ("{{ tools }}", ["prints a list"]),
        ("{{ tools[0].missing or none }}", ["prints a missing value"]),
        ("{% if messages[0].content | length > 3 %}{% endif %}", ["counts the characters"]),
        (
            "{% for t in tools %}{{ t | tojson }}{{ t | string }}{{ 'a' ~ t }}{% endfor %}{{ tools | length }}",
            [],
        ),
    ],
)
def test_a_text_that_llama_server_writes_otherwise_is_a_warning(tools: str, words: list[str]) -> None:
    found = inspect_template(template_of_text(WRITES.format(tools=tools), ""))
    warned = [warning for warning in found.warnings if "llama-server" in warning]
    assert len(warned) == len(words) and all(
        part in warning for part, warning in zip(words, warned, strict=True)
    )


@pytest.mark.slow
def test_few_real_templates_are_written_otherwise_by_llama_server(llama_data: Path) -> None:
    names = ("Qwen3.5-4B", "meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b", "LFM2-8B-A1B")
    for name in names:
        found = inspect_template(open_template(llama_data / "templates" / f"{name}.jinja"))
        assert not [warning for warning in found.warnings if "prints" in warning], name


@pytest.mark.parametrize(
    "source", ["{% for m in range(10**12) %}x{% endfor %}", "{{ raise_exception('no') }}", "x"]
)
def test_a_template_that_loops_raises_or_ignores_everything_is_inspected(source: str) -> None:
    found = inspect_template(template_of_text(source, ""))
    assert not any(call.strict for call in found.form.calls)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("none.jinja", None, "There is no such file"),
        ("empty.jinja", b" \n", "empty"),
        ("latin.jinja", b"\xe9", "UTF-8"),
        ("damaged.jinja", b"{% for", "damaged"),
        ("large.jinja", b"x" * ((1 << 22) + 1), "at most 4 MB"),
    ],
)
def test_an_invalid_template_file_is_an_error_with_its_place(
    tmp_path: Path, name: str, data: bytes | None, words: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(PromptError, match=words) as caught:
        inspect_template(open_template(path))
    assert name in caught.value.where


@pytest.mark.slow
def test_a_model_without_a_template_is_an_error(llama_data: Path) -> None:
    with pytest.raises(ModelError, match="no chat template"):
        open_template(llama_data / "ggml-vocab-falcon.gguf")


# -- tokens of a vocabulary ------------------------------------------------------------------------------------------


def token(number: int, text: str, kind: str = "text") -> MarkerToken:
    return MarkerToken(number, text, kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("control",), "one special token"),
        (("defined",), "one token, not special"),
        (("text",), "one text token"),
        (("text",) * 4, "4 text tokens"),
        (("control", "text"), "2 tokens, 1 of them special"),
    ],
)
def test_a_marker_describes_its_tokens(kinds: tuple[str, ...], words: str) -> None:
    assert TemplateMarker("x", tuple(token(n, "x", kind) for n, kind in enumerate(kinds))).words == words


def test_an_end_token_that_is_not_written_is_unexpected() -> None:
    ends = (token(1, "</s>"), token(2, "<|end|>", "control"), token(3, "<eos>"), token(4, "<done>"))
    found = VocabularyMarkers((), ends)
    surprising = found.surprising_ends(("<eos>",), ("hello<done>",))
    assert [each.id for each in surprising] == [1]
    assert found.known_ends(("<|end|>\n", "<other>")) == ("<|end|>\n",)


@pytest.mark.slow
def test_markers_are_tokens_of_a_vocabulary_without_its_weights(llama_data: Path) -> None:
    path = llama_data / "ggml-vocab-qwen2.gguf"
    found = find_markers(path, ("<|im_end|>", "<function="))
    assert [marker.words for marker in found.markers] == ["one special token", "3 text tokens"]
    assert "".join(token.text for token in found.markers[1].tokens) == "<function="
    assert len(read_token_types(path)) > 150_000


@pytest.mark.slow
def test_an_end_that_llama_cpp_recognizes_by_its_text_is_a_warning(llama_data: Path) -> None:
    template = open_template(llama_data / "templates" / "Qwen3-Coder.jinja")
    found = inspect_template(template, llama_data / "ggml-vocab-qwen35.gguf")
    assert sum("</s>" in words and "stops there" in words for words in found.warnings) == 1
    assert any(marker.text == "<tool_call>" for marker in found.markers)


@pytest.mark.slow
def test_a_vocabulary_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"not a model")
    found = inspect_template(template_of_text(TEMPLATE, ""), path)
    assert found.markers == ()
    assert any("not shown as tokens" in words for words in found.warnings)
