"""Forms derived from chat templates, the table of corrections, and their proof by rendered turns."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import settings

import corrections_table
from examples import FULL
from glyphscope.base.errors import PromptError
from glyphscope.events import RunFailed, RunRequest, RunStarted
from glyphscope.models.scripted import ScriptedModel
from glyphscope.models.turn_forms import TemplateRenderer
from glyphscope.registry import default_registry, parse_document
from glyphscope.runs.strategies import run
from glyphscope.turns import (
    FormProof,
    Transcription,
    TurnTools,
    corrections,
    form_of,
    load_form,
    prove,
    read_turn,
)
from glyphscope.turns.form import save_form
from glyphscope.turns.probe import IDS, KEYS, NAMES, Probe, SampleCall, sample_tools
from glyphscope.turns.slots import written
from renderers import derived_at, renderer_at

DROPS_CALLS = {
    "HuggingFaceTB-SmolLM3-3B", "LFM2-8B-A1B", "LFM2.5-Instruct", "google-gemma-2-2b-it",
    "ibm-granite-granite-3.3-2B-Instruct", "llama-cpp-rwkv-world", "microsoft-Phi-3.5-mini-instruct",
}  # fmt: skip
"""The templates of llama.cpp that omit the calls of the history."""

ENCODINGS = {
    "Qwen-Qwen3-0.6B": "json", "Qwen3.5-4B": "tagged", "GLM-4.6": "tagged", "MiniMax-M3": "tagged",
    "Kimi-K2-Instruct": "json", "Kimi-K3": "tagged", "LFM2.5-8B-A1B": "pythonic", "google-gemma-4-31B-it": "dict",
    "openai-gpt-oss-120b": "json", "muse-glimmer": "tagged", "Apertus-8B-Instruct": "json",
}  # fmt: skip
ONE_EACH = {"Qwen-Qwen3-0.6B", "Qwen3.5-4B", "LFM2.5-8B-A1B", "google-gemma-4-31B-it"}
TEMPLATES = [
    pytest.param(name, marks=[] if name in ONE_EACH else [pytest.mark.slow]) for name in sorted(ENCODINGS)
]


@pytest.mark.slow
def test_every_template_that_can_render_calls_has_a_proved_form(llama_data: Path) -> None:
    paths = sorted((llama_data / "templates").glob("*.jinja"))
    assert len(paths) >= 70
    unproved = {}
    for path in paths:
        renderer, form, found = derived_at(path)
        proof = prove(renderer, found, form, turns=40)
        if not proof.proved:
            unproved[path.stem] = proof
    assert set(unproved) == DROPS_CALLS
    assert all(not proof.turns for proof in unproved.values())


@pytest.mark.slow
def test_random_turns_of_every_template_are_read_back_equal(llama_data: Path) -> None:
    """docs/native-templates.md has the counts of a thousand for each."""
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        renderer, form, found = derived_at(path)
        proof = prove(renderer, found, form, turns=200 if settings().max_examples <= FULL else 1000, seed=14)
        assert proof.equal == proof.turns, (path.stem, proof.failures)


@pytest.mark.slow
@pytest.mark.parametrize("template", TEMPLATES)
def test_the_encoding_of_arguments_is_derived_from_the_template(llama_data: Path, template: str) -> None:
    _, form, _ = derived_at(llama_data / "templates" / f"{template}.jinja")
    assert form.encoding == ENCODINGS[template]


def test_reasoning_is_derived_from_three_prompts(llama_data: Path) -> None:
    _, form, _ = derived_at(llama_data / "templates" / "Qwen3.5-4B.jinja")
    assert form.reasoning is not None
    assert (form.reasoning.open, form.reasoning.close) == ("<think>\n", "\n</think>\n\n")
    assert form.reasoning.prompt == {"on": "opens", "off": "closes", "undefined": "opens"}
    assert form.reasoning.call_ends


@pytest.mark.slow
def test_the_styles_of_ids_are_distinguished(llama_data: Path) -> None:
    styles = {
        name: derived_at(llama_data / "templates" / f"{name}.jinja")[1].calls[0].id
        for name in (
            "Kimi-K2-Instruct", "Qwen-Qwen3-0.6B", "upstage-Solar-Open-100B", "Kimi-K3",
            "CohereForAI-c4ai-command-r7b-12-2024-tool_use", "mistralai-Mistral-Nemo-Instruct-2407",
        )
    }  # fmt: skip
    assert list(styles.values()) == ["functions", "none", "given", "index", "index", "given"]


def test_the_proof_names_the_values_that_a_template_cannot_represent(llama_data: Path) -> None:
    renderer, form, found = derived_at(llama_data / "templates" / "MiniMax-M3.jinja")
    proof = prove(renderer, found, form, turns=20)
    missing = {value.kind for value in proof.values if not value.expressible}
    assert missing == {"null", "a list with true and null"}
    assert proof.proved


@pytest.mark.slow
def test_reasoning_that_only_the_prompt_closes_is_derived_with_the_word_after_its_tag(
    llama_data: Path,
) -> None:
    form, _ = form_of(renderer_at(llama_data / "ggml-vocab-gemma-4.gguf"))
    assert form.reasoning is not None
    assert (form.reasoning.open, form.reasoning.close) == ("<|channel>thought\n", "<channel|>")
    assert form.reasoning.prompt == {"on": "leaves", "off": "closes", "undefined": "closes"}


def test_omissions_of_a_template_are_named(llama_data: Path) -> None:
    _, _, found = derived_at(llama_data / "templates" / "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja")
    assert set(found.drops) == {"reasoning", "text beside a call"}
    _, _, found = derived_at(llama_data / "templates" / "ibm-granite-granite-3.3-2B-Instruct.jinja")
    assert "calls" in found.drops


@pytest.mark.slow
def test_a_form_is_saved_and_loaded_unchanged(llama_data: Path, tmp_path: Path) -> None:
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        _, form, _ = derived_at(path)
        (tmp_path / "form.json").write_bytes(save_form(form))
        assert load_form(tmp_path / "form.json") == form


def test_arguments_whose_values_come_before_their_keys_are_no_form_of_calls() -> None:
    pairs = "{% for k, v in c.function.arguments.items() %} {{ v }}={{ k }}{% endfor %}"
    calls = f"{{% for c in m.tool_calls or [] %}}<call>{{{{ c.function.name }}}}{pairs}</call>{{% endfor %}}"
    renderer = TemplateRenderer(f"{{% for m in messages %}}{{{{ m.content }}}}{calls}\n{{% endfor %}}")
    _, found = form_of(renderer)
    assert (found.form.calls, "calls" in found.drops) == ((), True)


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b'{"calls": 3}',
        b"[]",
        b"\xff",
        b'{"calls": [{"pieces": []}]}',
        b'{"calls": [{"pieces": [{"kind": "name"}], "arguments": {"encoding": "tagged"}}]}',
        b'{"calls": [{"pieces": [{"kind": "object"}]}]}',
        b'{"calls": [{"pieces": [{"kind": "object"}, {"kind": "name"}], "object": {}}]}',
        b'{"calls": [{"pieces": [{"kind": "arguments"}, {"kind": "name"}]}]}',
        b'{"calls": [{"pieces": [{"kind": "name"}, {"kind": "value"}]}]}',
        b'{"reasoning": {"open": "<think>", "close": " "}}',
    ],
)
def test_an_invalid_form_file_is_a_prompt_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "form.json").write_bytes(content)
    with pytest.raises(PromptError, match="Invalid form of turns"):
        load_form(tmp_path / "form.json")


def test_a_run_with_an_invalid_form_fails_before_its_first_stage() -> None:
    form = {"calls": [{"pieces": [{"kind": "index"}]}]}
    request = RunRequest(prompt="x", registry=default_registry().to_document(), native="template", form=form)
    started, failed = run(request, ScriptedModel("x"))
    assert isinstance(started, RunStarted) and isinstance(failed, RunFailed)
    assert failed.message.startswith("form: ") and "a call has a piece `name`" in failed.message


def test_every_row_of_the_table_has_a_reason_and_a_source() -> None:
    assert all(len(row.reason) > 30 and row.source for row in corrections())


def test_the_table_of_the_docs_is_the_one_of_the_assets() -> None:
    assert corrections_table.PAGE.read_text(encoding="utf-8") == corrections_table.page(), (
        "update it: python tests/support/corrections_table.py"
    )


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_complete_part_of_a_prefix_is_part_of_the_whole(llama_data: Path, template: str) -> None:
    renderer, form, found = derived_at(llama_data / "templates" / f"{template}.jinja")
    bare = msgspec.structs.replace(form, begun={})
    tools = TurnTools(parse_document(sample_tools()))
    calls = (SampleCall(NAMES[0], {KEYS[0]: "Paris", KEYS[1]: "x y"}), SampleCall(NAMES[1], {}, IDS[1]))
    probe = Probe(renderer, found.dialect, sample_tools())
    written = probe.turn("", calls if form.parallel else calls[:1])
    assert written is not None
    text = written[written.index(form.header) + len(form.header) :]
    whole = [(call.name, call.arguments) for call in read_turn(text, bare, tools).calls]
    assert whole == [(call.name, call.arguments) for call in (calls if form.parallel else calls[:1])]
    for end in range(len(text)):
        turn = read_turn(text[:end], bare, tools)
        complete = [(call.name, call.arguments) for call in turn.calls if call.complete]
        assert complete == whole[: len(complete)]
        assert len(turn.calls) - len(complete) <= 1
        assert turn.complete <= (len(turn.calls) == len(complete))


def test_no_code_of_turns_names_a_family() -> None:
    folder = Path(__file__).parents[2] / "engine" / "glyphscope" / "turns"
    families = re.compile(
        r"qwen|mistral|llama[-_ ]?[234]|gpt.?oss|\bglm\b|kimi|granite|hermes|deepseek|command-r|functionary",
        re.I,
    )
    named = {
        path.name: found
        for path in folder.glob("*.py")
        if (found := families.findall(path.read_text("utf-8")))
    }
    assert named == {}


HERMES = """{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}

<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>
{%- endfor %}<|end|>{% endfor %}"""


def test_an_unknown_template_has_a_form_too() -> None:
    renderer = TemplateRenderer(HERMES + "{% if add_generation_prompt %}<|assistant|>{% endif %}")
    form, found = form_of(renderer)
    assert form.calls[0].opening == "<call>"
    assert form.header == "<|assistant|>"
    assert prove(renderer, found, form, turns=20).proved
    assert not form.describes_tools


@pytest.mark.parametrize(
    "source",
    [
        "", "{{ messages }}", "no messages at all", "{{ raise_exception('never') }}",
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        "{% for i in range(10**9) %}{% for j in range(10**9) %}x{% endfor %}{% endfor %}",
        "{{ 'x' * 10**12 }}",
    ],
)  # fmt: skip
def test_a_template_without_turns_has_a_form_without_calls(source: str) -> None:
    renderer = TemplateRenderer(source)
    form, found = form_of(renderer)
    assert all(not call.strict for call in form.calls)
    assert not prove(renderer, found, form, turns=5).turns


def turns(call: str, *, between: str = "", around: tuple[str, str] = ("", ""), head: str = "<|{}|>") -> str:
    """A template whose turns end in `<|end|>`, with calls written as `call` says; `c` is a call, `m` its message."""
    separator = f"{{% if not loop.last %}}{between}{{% endif %}}"
    calls = f"{{% for c in m.tool_calls %}}{call}{separator}{{% endfor %}}"
    written = f"{{% if m.tool_calls %}}{around[0]}{calls}{around[1]}{{% endif %}}"
    name = head.format("{{ m.role }}")
    prompt = f"{{% if add_generation_prompt %}}{head.format('assistant')}{{% endif %}}"
    return f"{{% for m in messages %}}{name}{{{{ m.content or '' }}}}{written}<|end|>{{% endfor %}}{prompt}"


NAMED = '{"name": "{{ c.function.name }}", "arguments": '
ONLY_FILLED = "{% if not m.content %}{{ raise_exception('empty') }}{% endif %}"
STRUCTURES = {  # the template, and a call of its form
    "an id alone": (
        turns("<|call|>{{ c.id }}<|args|>{{ c.function.arguments | tojson }}<|end_call|>"),
        "<|call|>functions.NAME:INDEX<|args|>ARGUMENTS<|end_call|>",
    ),
    "arguments that are printed": (
        turns(f"<call>{NAMED}{{{{ c.function.arguments }}}}}}</call>"),
        '<call>{"name": "NAME", "arguments": ARGUMENTS}</call>',
    ),
    "arguments marked as safe": (
        turns(
            "{% set a = c.function.arguments %}{% set a = a if a is string else a | tojson | safe %}"
            "{{ '<call>{\"name\": \"' + c.function.name + '\", \"arguments\": ' + a + '}</call>' }}"
        ),
        '<call>{"name": "NAME", "arguments": ARGUMENTS}</call>',
    ),
    "objects behind the header": (
        turns(f"{NAMED}{{{{ c.function.arguments | tojson }}}}}}", between=", "),
        '{"name": "NAME", "arguments": ARGUMENTS}, …',
    ),
    "a list behind the header": (
        turns(f"{NAMED}{{{{ c.function.arguments | tojson }}}}}}", between=", ", around=("[", "]")),
        '[{"name": "NAME", "arguments": ARGUMENTS}, …]',
    ),
    "Python without quotation marks": (
        turns(
            "{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}"
            "{% if not loop.last %}, {% endif %}{% endfor %})",
            between=", ",
            around=("[", "]"),
        ),
        '[NAME(KEY="VALUE", …), …]',
    ),
    "content that must not be empty": (
        turns(
            f"{ONLY_FILLED}<call>{NAMED}{{{{ c.function.arguments | tojson }}}}}}</call>",
        ),
        '<call>{"name": "NAME", "arguments": ARGUMENTS}</call>',
    ),
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_template_of_this_structure_has_a_proved_form(structure: str) -> None:
    source, expected = STRUCTURES[structure]
    renderer = TemplateRenderer(source)
    form, found = form_of(renderer)
    assert (written(form.calls[0]), form.ends) == (expected, ("<|end|>",))
    proof = prove(renderer, found, form, turns=20)
    assert proof.proved and proof.strict == proof.turns


def test_markers_between_brackets_and_bars_end_a_turn() -> None:
    call = "\n<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>"
    renderer = TemplateRenderer(turns(call, head="[|{}|]\n").replace("<|end|>", "[|endofturn|]\n"))
    form, found = form_of(renderer)
    assert (form.header, form.ends) == ("[|assistant|]\n", ("[|endofturn|]",))
    assert prove(renderer, found, form, turns=20).proved


def test_a_proof_without_a_value_that_can_be_read_back_is_none() -> None:
    values = tuple(Transcription(kind, False) for kind in ("a text", "an integer"))
    assert not FormProof(turns=5, equal=5, strict=5, values=values).proved


ASKED = {  # the part of a system prompt that asks for calls, and their notation; the history has none
    "Return each with its arguments within <tool_call> </tool_call> tags.": (
        '<tool_call>\n{"name": "NAME", "arguments": ARGUMENTS}\n</tool_call>\n…'
    ),
    "Write <tool_call>function_name\n<arg_key>parameter_name</arg_key>": (
        "<tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n…</tool_call>\n…"
    ),
    "[END OF FORMAT INSTRUCTION]": '[{"name": "NAME", "arguments": ARGUMENTS}, …]',
    "<|start_of_role|>available_tools<|end_of_role|>": '<|tool_call|>[{"name": "NAME", "arguments": ARGUMENTS}, …]',
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_template_that_asks_for_calls_and_drops_them_has_the_form_of_the_table(asked: str) -> None:
    described = f"{{% if tools %}}{asked}{{{{ tools | tojson }}}}{{% endif %}}"
    form, found = form_of(TemplateRenderer(described + turns("{#c#}")))
    assert "calls" in found.drops and form.describes_tools
    assert written(form.calls[0]) == ASKED[asked] and form.calls[0].strict


def test_an_answer_between_tags_that_no_template_shows_is_content() -> None:
    call = "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}"
    source = turns(call, between=", ", around=("<tool_calls>[", "]</tool_calls>"))
    form, _ = form_of(TemplateRenderer("<|extra_0|>" + source))
    turn = read_turn(
        "<think>\nhm\n</think>\n<answer>\nIt rains.\n</answer>",
        form,
        TurnTools(parse_document(sample_tools())),
    )
    assert (turn.reasoning, turn.content, turn.strict) == ("hm", "It rains.", True)
