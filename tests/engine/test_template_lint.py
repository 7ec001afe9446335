"""The lint of chat templates and their comparison: every fault is named, and what is right has none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from expected_texts import as_in_file
from glyphscope.base.errors import PromptError
from glyphscope.models import TemplateSource, compare_templates, lint_template
from glyphscope.models.turn_forms import open_template, renderer_of, template_of_text
from glyphscope.turns import CONVERSATIONS, FAULTS, TemplateLint, find_faults

GOOD = """{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}
<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
CALLS = GOOD[GOOD.index("{% for c in") : GOOD.index("<|im_end|>\n{% endfor %}{% if add")]


def linted(source: str) -> TemplateLint:
    return find_faults(renderer_of(TemplateSource(source, bos="<s>", eos="</s>")), "<s>")


def codes(found: TemplateLint) -> dict[str, tuple[str, ...]]:
    """The faults other than the note that every template has, with their conversations."""
    shown: dict[str, tuple[str, ...]] = {}
    for fault in found.faults:
        if fault.code != "CONTROL_TEXT":
            shown[fault.code] = (*shown.get(fault.code, ()), *fault.conversations)
    return shown


def test_a_template_without_a_fault_has_only_the_note_on_control_tokens() -> None:
    found = linted(GOOD)
    assert codes(found) == {}
    assert [fault.message for fault in found.faults] == [
        "<|im_end|> in a text of the user is written unchanged."
    ]


LOOP, ITS_END = "{% for m in messages %}", "{% endfor %}{% if add"


def changed(*pieces: str) -> str:
    """The good template with one piece in place of another."""
    assert pieces[0] in GOOD
    return GOOD.replace(*pieces)


def without(condition: str) -> str:
    """The good template that skips these messages."""
    opened = changed(LOOP, f"{LOOP}{{% if not ({condition}) %}}")
    return opened.replace(ITS_END, f"{{% endif %}}{ITS_END}")


CHANGES = {
    "a turn with calls is not closed": (
        changed(
            f"<|im_end|>\n{ITS_END}",
            f"{{% if not m.tool_calls and m.role != 'tool' %}}<|im_end|>\n{{% endif %}}{ITS_END}",
        ),
        "TURN_OPEN", "result and question",
    ),
    "no generation prompt after a result": (
        changed("{% if add_generation_prompt %}", "{% if add_generation_prompt and messages[-1].role != 'tool' %}"),
        "PROMPT_MISSING", "result",
    ),
    "the first token twice": ("<s>{{ bos_token }}" + GOOD, "BOS_TWICE", "question"),
    "a later system message is skipped": (
        without("m.role == 'system' and not loop.first"), "SYSTEM_DROPPED", "system in the middle",
    ),
    "only the last question is written": (without("m.role == 'user' and not loop.last"), "USER_DROPPED", "answered"),
    "an answer is skipped": (without("m.role == 'assistant' and not m.tool_calls"), "ANSWER_DROPPED", "answered"),
    "only the first call is written": (
        changed("m.tool_calls or []", "(m.tool_calls or [])[:1]"), "CALL_DROPPED", "two results",
    ),
    "tools are described and no call is written": (
        changed("m.tool_calls or []", "[]"), "CALL_DROPPED", "result",
    ),
    "only the first result is written": (
        without("m.role == 'tool' and loop.previtem.role == 'tool'"), "RESULT_DROPPED", "two results",
    ),
    "an empty result leaves no trace": (
        without("m.role == 'tool' and not m.content"), "RESULT_DROPPED", "empty result",
    ),
    "tools are not written": (changed("{{ tools | tojson }}", "There are tools."), "TOOL_DROPPED", "tools"),
    "only names of arguments are written": (
        changed(
            "{{ tools | tojson }}",
            "{% for t in tools %}{{ t.function.name }}: {{ t.function.description }} "
            "{{ t.function.parameters.properties | list }}{% endfor %}",
        ),
        "DETAIL_DROPPED", "tools",
    ),
    "names are escaped": (
        changed("arguments | tojson", "arguments | tojson(ensure_ascii=true)"), "NAME_CHANGED", "odd names",
    ),
    "arguments are escaped": (changed("arguments | tojson", "arguments | tojson | escape"), "ARGUMENT_CHANGED", ""),
    "a null becomes a text": (changed("{{ m.content or '' }}", "{{ m.content }}"), "NULL_PRINTED", "null"),
    "a text next to a call is dropped": (
        changed("{{ m.content or '' }}", "{{ '' if m.tool_calls else m.content }}"), "TEXT_DROPPED", "text and call",
    ),
    "reasoning is dropped once there is a result": (
        changed("{% if m.reasoning_content %}", "{% if m.reasoning_content and not m.tool_calls %}"),
        "REASONING_DROPPED", "reasoning before a result",
    ),
    "reasoning of earlier turns is dropped": (
        changed("{% if m.reasoning_content %}", "{% if m.reasoning_content and m.tool_calls %}"),
        "THOUGHTS_DROPPED", "reasoning before a question",
    ),
    "system messages come first": (
        changed(
            LOOP,
            "{% for m in (messages | selectattr('role', 'equalto', 'system') | list) "
            "+ (messages | rejectattr('role', 'equalto', 'system') | list) %}",
        ),
        "ORDER", "system in the middle",
    ),
    "it raises for a result": (
        changed(LOOP, LOOP + "{% if m.role == 'tool' %}{{ raise_exception('No tools!') }}{% endif %}"),
        "RAISES", "result",
    ),
}  # fmt: skip
"""A template with one fault, its code, and a conversation that shows it."""


@pytest.mark.parametrize("change", CHANGES)
def test_each_fault_of_a_template_is_named_with_a_conversation_that_shows_it(change: str) -> None:
    template, code, conversation = CHANGES[change]
    found = codes(linted(template))
    assert code in found, found
    assert conversation in found[code] or not conversation


def test_every_code_has_a_template_with_that_fault() -> None:
    assert {code for _, code, _ in CHANGES.values()} | {"CONTROL_TEXT"} == set(FAULTS)


def test_a_fault_marks_the_turn_that_stays_open() -> None:
    template, code, _ = CHANGES["a turn with calls is not closed"]
    found = linted(template)
    fault = next(each for each in found.faults if each.code == code)
    text = next(each.text for each in found.conversations if each.key == fault.conversations[0])
    turn = text[fault.start : fault.end]
    assert turn.startswith("<|im_start|>assistant\n") and "<|im_end|>" not in turn


def test_a_usual_conversation_that_raises_is_an_error_with_the_templates_words() -> None:
    found = linted(CHANGES["it raises for a result"][0])
    (fault,) = (each for each in found.faults if each.code == "RAISES")
    assert (fault.level, fault.message) == ("error", "The template raises: No tools!")


def test_a_template_without_calls_is_checked_without_them() -> None:
    found = linted(GOOD.replace(CALLS, "").replace("{{ tools | tojson }}", ""))
    assert codes(found) == {}


@pytest.mark.slow
def test_the_faults_of_the_templates_that_llama_cpp_ships(llama_data: Path) -> None:
    blocks = []
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        found = lint_template(open_template(path))
        lines = [
            f"{each.level} {each.code}: {each.message} {', '.join(each.conversations)}".replace(
                " is not a container or iterable",
                " is not iterable",  # before Python 3.14
            )
            for each in found.faults
        ]
        blocks.append(
            "\n".join([f"# {path.stem}", *(line.rstrip() for line in lines if "CONTROL_TEXT" not in line)])
        )
    as_in_file(Path(__file__).with_name("template_lint.txt"), blocks)


@pytest.mark.slow
def test_the_turn_of_gemma_4_that_stays_open_after_a_result_is_named(llama_data: Path) -> None:
    found = lint_template(open_template(llama_data / "templates" / "google-gemma-4-31B-it.jinja"))
    fault = found.faults[0]
    assert (fault.code, fault.conversations) == ("TURN_OPEN", ("result and question", "tools withdrawn"))
    assert fault.message == "The turn of the assistant is not closed by <turn|>."
    other = lint_template(open_template(llama_data / "templates" / "google-gemma-4-31B-it-interleaved.jinja"))
    assert not other.count("error") and not other.count("warning")


# -- two templates ---------------------------------------------------------------------------------------------------


def source(text: str) -> TemplateSource:
    return template_of_text(text, "x.jinja")


def test_a_template_is_the_same_as_itself() -> None:
    pairs = compare_templates(source(GOOD), source(GOOD))
    assert len(pairs) == len(CONVERSATIONS) and all(pair.same for pair in pairs)


def test_the_first_difference_of_each_conversation_has_its_place() -> None:
    pairs = compare_templates(source(GOOD), source(GOOD.replace('"name": ', '"name":')))
    different = {pair.key for pair in pairs if not pair.same}
    assert different == {each.key for each in CONVERSATIONS if each.has_calls}
    (first,) = (pair for pair in pairs if pair.key == "tools withdrawn")
    assert (first.line, first.column) == (5, 9)
    assert first.first.text[first.at :].startswith(' "find_train"')


def test_a_template_that_raises_differs_from_one_that_does_not() -> None:
    pairs = compare_templates(source(GOOD), source(CHANGES["it raises for a result"][0]))
    (pair,) = (each for each in pairs if each.key == "result")
    assert not pair.same and pair.second.raised == "No tools!"


def test_a_template_in_a_file_gets_the_special_tokens_of_the_other() -> None:
    text = "{{ bos_token }}" + GOOD.replace("<|im_end|>", "{{ eos_token }}")
    known = TemplateSource(text, bos="<bos>", eos="<eos>", ends=("<eos>",))
    for pair in (compare_templates(known, source(text)), compare_templates(source(text), known)):
        assert all(each.same for each in pair)
        assert pair[0].second.text.startswith("<bos>")


# -- files -----------------------------------------------------------------------------------------------------------


def write_config(folder: Path, **members: object) -> Path:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(members), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "template",
    [
        GOOD,
        [{"name": "default", "template": GOOD}],
        [{"name": "default", "template": "x"}, {"name": "tool_use", "template": GOOD}],
    ],
)
def test_the_template_of_a_tokenizer_config_has_its_special_tokens(template: object, tmp_path: Path) -> None:
    path = write_config(tmp_path, chat_template=template, bos_token={"content": "<b>"}, eos_token="<e>")
    found = open_template(path)
    assert (found.source, found.bos, found.eos, found.ends) == (GOOD, "<b>", "<e>", ("<e>",))
    assert open_template(tmp_path) == found, "the folder's"


def test_a_template_beside_the_tokenizer_config_is_read(tmp_path: Path) -> None:
    write_config(tmp_path, bos_token=None)
    (tmp_path / "chat_template.jinja").write_text(GOOD, encoding="utf-8")
    assert open_template(tmp_path).source == GOOD


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a tokenizer_config.json"),
        (b"[]", "not a tokenizer_config.json"),
        (b"\xff", "not a tokenizer_config.json"),
        (b"{}", "no chat template"),
        (b'{"chat_template": 3}', "no chat template"),
        (b'{"chat_template": [{"name": "rag", "template": "x"}, 7]}', "no chat template"),
        (None, "no such file"),
    ],
)
def test_an_unusable_tokenizer_config_is_an_error_with_its_place(
    data: bytes | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer_config.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(PromptError, match=re.escape(words)) as caught:
        open_template(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{% for", "damaged"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "takes longer"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_an_error(
    text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glyphscope.processes.limited.SECONDS", 0.5)
    for work in (lambda: lint_template(source(text)), lambda: compare_templates(source(GOOD), source(text))):
        with pytest.raises(PromptError, match=words) as caught:
            work()
        assert "x.jinja" in caught.value.where


def test_the_page_names_every_code_and_every_conversation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "template-lint.md").read_text(encoding="utf-8")
    assert [key for key in (*FAULTS, *(each.key for each in CONVERSATIONS)) if f"`{key}`" not in page] == []
