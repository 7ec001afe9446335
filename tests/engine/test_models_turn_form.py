"""Formats of models' turns: derived from the chat template, saved, and used in prompts and grammars."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from glyphscope.base.errors import ModelError, PromptError
from glyphscope.events import (
    LoadOptions,
    LoopSettings,
    Message,
    PromptRendered,
    RunFailed,
    RunRequest,
    RunStarted,
    ToolCall,
    decode_event,
    encode_event,
)
from glyphscope.models import RecordedModel, TemplateSource, open_model, read_special_texts
from glyphscope.models.scripted import ScriptedModel
from glyphscope.models.turn_forms import TemplateRenderer, derived_form, template_turn_form
from glyphscope.registry import default_registry
from glyphscope.runs import run_state, settle
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.running import first_prompt
from glyphscope.turns import TurnForm, form_of
from small_templates import SMALL

DOCUMENT = default_registry().to_document()

TAGS = """{% if tools %}[tools]{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}
<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>
{%- endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>
{%- if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}{% endif %}"""
OPENS = TAGS.replace("{% if enable", "{% if false and enable").replace(
    "<|assistant|>\n{%- if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}",
    "<|assistant|><think>",
)
PLAIN = TAGS.replace("{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}", "")
PLAIN = PLAIN.replace("<think></think>", "")
NO_CALLS = "{{ tools | tojson if tools }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"


def request(**fields: Any) -> RunRequest:
    return RunRequest(**{"prompt": "Hi", "registry": DOCUMENT, "constraint": "off", **fields})


# -- models ----------------------------------------------------------------------------------------------------------


def test_a_scripted_model_has_the_form_of_its_template() -> None:
    form = ScriptedModel("x", template=TAGS).turn_form()
    assert form is not None and form.reasoning is not None
    assert (form.calls[0].opening, form.reasoning.open, form.header) == ("<call>", "<think>", "<|assistant|>")
    assert ScriptedModel("x").turn_form() is None


@pytest.mark.parametrize(
    ("template", "call"),
    [
        (
            "every value between markers",
            "<start_function_call>call:search{query:<escape>x<escape>}<end_function_call>",
        ),
        ("Python with quoted values", '[search(query="x")]'),
        ("no marker after a value", "<call>search|query=x</call>"),
    ],
)
def test_a_run_reads_parameters_that_begin_with_their_key_or_have_no_closing(
    template: str, call: str
) -> None:
    source = SMALL[template].replace("tools | tojson", "(tools or []) | tojson")
    asked = request(native="auto", tool_choice="required")
    state = run_state(list(run(asked, ScriptedModel(f"{call}<|done|>", template=source))))
    assert state.outcome == "valid" and state.call is not None
    assert (state.call.tool, state.call.arguments) == ("search", {"query": "x"})


@pytest.mark.parametrize("constraint", ["off", "mask"])
def test_a_template_lists_the_tools_that_a_search_has_loaded(constraint) -> None:
    calls = [
        {"name": "search_tools", "arguments": {"query": "search"}},
        {"name": "search", "arguments": {"query": "x"}},
    ]
    turns = [*(f"<call>{json.dumps(call)}</call>" for call in calls), "Done."]
    loop = LoopSettings(defer_tools=0.0, max_found_tools=1)
    asked = request(native="auto", strategy="loop", loop=loop, constraint=constraint)
    events = list(run(asked, ScriptedModel(turns=turns, template=TAGS)))
    state = run_state(events)
    first, second, _ = (
        json.loads(event.text.partition("[tools]")[2].partition("\n<|")[0].partition("<|")[0])
        for event in events
        if isinstance(event, PromptRendered)
    )
    assert [tool["function"]["name"] for tool in first] == ["search_tools"]
    assert [tool["function"]["name"] for tool in second] == ["search_tools", "search"]
    assert state.call.tool == "search" and state.answer.text == "Done."


def test_an_answer_in_the_markers_of_another_notation_has_a_note() -> None:
    answer = '<|tool_call>call:search{query:<|"|>x<|"|>}<tool_call|>'
    events = list(run(request(native="auto", tool_choice="auto"), ScriptedModel(answer, template=TAGS)))
    state = run_state(events)
    (note,) = state.notes
    assert note.startswith("From character 0 on, this looks like the notation <|tool_call>call:NAME")
    assert note.endswith("which would read calls of search.") and state.call is None
    plain = run(request(native="auto", tool_choice="auto"), ScriptedModel("It rains.", template=TAGS))
    assert run_state(list(plain)).notes == ()


def test_a_form_is_derived_once_for_a_template() -> None:
    first = ScriptedModel("x", template=TAGS).turn_form()
    assert ScriptedModel("y", template=TAGS).turn_form() is first


def test_a_recorded_model_has_the_form_of_its_request() -> None:
    model = ScriptedModel("x", template=TAGS)
    (started, *rest) = run(request(native="auto", stop_on="never"), model)
    assert isinstance(started, RunStarted) and started.request.native == "template"
    again = decode_event(encode_event(started))
    assert isinstance(again, RunStarted) and again.request == started.request
    assert RecordedModel([again, *rest]).turn_form() == model.turn_form()
    assert RecordedModel(list(run(request(), ScriptedModel("x")))).turn_form() is None


def test_a_record_with_an_invalid_form_has_none() -> None:
    (started, *rest) = run(request(), ScriptedModel("x"))
    assert isinstance(started, RunStarted)
    broken = msgspec.structs.replace(started.request, form={"calls": 3})
    assert RecordedModel([msgspec.structs.replace(started, request=broken), *rest]).turn_form() is None


@pytest.mark.parametrize(
    "source",
    [
        "{% for x %}", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 10**12 }}{{ messages }}",
    ],
)  # fmt: skip
def test_a_damaged_or_endless_template_has_no_form(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glyphscope.processes.limited.SECONDS", 0.5)
    start = time.monotonic()
    assert template_turn_form(TemplateSource(source)) is None
    assert time.monotonic() - start < 60


@pytest.mark.slow
def test_a_slow_template_reaches_its_time_limit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glyphscope.processes.limited.SECONDS", 1.0)
    body = "{% for i in range(100000) %}{% set x = i * i %}{% endfor %}"
    source = "{% for k in range(100000) %}" + body + "{% endfor %}{{ messages }}"
    start = time.monotonic()
    with pytest.raises(PromptError, match="was stopped: it takes longer than 1 s"):
        derived_form(TemplateSource(source))
    assert time.monotonic() - start < 25, "a form takes a hundred renderings"


def test_a_template_that_raises_has_a_form_without_calls() -> None:
    form = template_turn_form(TemplateSource("{{ raise_exception('never') }}"))
    assert form is not None and not any(call.strict for call in form.calls)


@pytest.mark.slow
def test_the_form_of_a_model_file_is_derived_once_in_its_process() -> None:
    try:
        model = open_model("embedded", options=LoadOptions(context=256))
    except ModelError as error:
        pytest.skip(str(error))
    try:
        form = model.turn_form()
        assert isinstance(form, TurnForm) and form.header == "<|im_start|>assistant\n"
        assert "<|im_end|>" in form.ends and "<|endoftext|>" in form.ends, "of the vocabulary"
        assert form.reasoning is not None and form.reasoning.derived == "table"
        assert model.turn_form() is form
        for notation in ("glyph", "json"):
            asked = request(notation=notation, constraint="mask")
            assert settle(asked, model).request == asked, "nothing changes for a model that does not reason"
    finally:
        model.close()


def test_the_texts_of_a_files_special_tokens_are_its_own(llama_data: Path) -> None:
    special = read_special_texts(llama_data / "ggml-vocab-phi-3.gguf")
    assert special == ("<s>", "<|endoftext|>", ("<|endoftext|>",))


def test_the_end_tokens_of_a_vocabulary_end_a_turn() -> None:
    form, _ = form_of(TemplateRenderer(TAGS), ("<eos>", "", "<|end|>"))
    assert form.ends.count("<|end|>") == 1 and "<eos>" in form.ends and "" not in form.ends


# -- requests --------------------------------------------------------------------------------------------------------


def test_native_is_resolved_to_the_form_of_the_template() -> None:
    asked = settle(request(native="auto"), ScriptedModel("x", template=TAGS)).request
    assert (asked.native, asked.notation, asked.shape) == ("template", "json", "name-arguments")
    assert msgspec.convert(asked.form, TurnForm) == template_turn_form(TemplateSource(TAGS))
    assert settle(asked, ScriptedModel("x")).request == asked, "a resolved request is unchanged"


def test_a_custom_form_is_preserved() -> None:
    own = {"calls": [{"pieces": [{"kind": "object"}], "object": {}}]}
    asked = settle(request(native="auto", form=own), ScriptedModel("x", template=TAGS)).request
    assert asked.native == "template" and asked.form == own


@pytest.mark.parametrize("native", ["hermes", "llama", "mistral"])
def test_a_form_requested_by_name_is_preserved(native: Any) -> None:
    assert settle(request(native=native), ScriptedModel("x", template=TAGS)).request.native == native


@pytest.mark.parametrize(
    ("template", "thinking", "filled"),
    [
        (TAGS, "auto", True), (TAGS, "on", True), (TAGS, "off", False),
        (OPENS, "auto", True), (OPENS, "off", True), (PLAIN, "auto", False), (None, "auto", False),
    ],
)  # fmt: skip
def test_the_projects_notations_know_the_reasoning_of_the_prompt(
    template: str | None, thinking: Any, filled: bool
) -> None:
    model = ScriptedModel("x", template=template)
    asked = settle(request(thinking=thinking), model).request
    assert bool(asked.form) == filled
    if filled:
        form = msgspec.convert(asked.form, TurnForm)
        assert form.reasoning is not None and not form.calls and not form.corrections
    assert not settle(request(thinking=thinking, strategy="two-stage"), model).request.form


def failure(asked: RunRequest, model: Any) -> RunFailed:
    last = list(run(asked, model))[-1]
    assert isinstance(last, RunFailed), last
    assert last.code == "PROMPT_FAILED"
    return last


def test_a_template_without_calls_is_distinguished_from_one_without_tools() -> None:
    assert (
        "no form of calls" in failure(request(native="auto"), ScriptedModel("x", template=NO_CALLS)).message
    )
    assert "no place for tools" in failure(request(native="auto"), ScriptedModel("x")).message


def test_a_request_for_a_missing_form_is_an_error() -> None:
    record = RecordedModel(list(run(request(), ScriptedModel("x"))))
    assert "does not contain" in failure(request(native="template"), record).message
    assert "no place for tools" in failure(request(native="template"), ScriptedModel("x")).message


# -- what was said before --------------------------------------------------------------------------------------------

TALK = (
    Message("user", "What is new?"),
    Message(
        "assistant",
        "I look it up.",
        (ToolCall("search", {"query": "AI", "max_results": 7}), ToolCall("search", {"query": "ML"})),
        "They want news.",
    ),
    Message("tool", "AI"),  # which is also an argument of the call
    Message("tool", "Nothing."),
    Message("assistant", "Nothing new."),
)


def parts(prompt: PromptRendered) -> dict[str, str]:
    return {part.of: prompt.text[part.start : part.end] for part in prompt.parts if part.name == "history"}


@pytest.mark.parametrize("native", ["auto", ""])
def test_calls_and_reasoning_of_the_history_are_written_by_the_template(
    native: Any,
) -> None:
    prompt = first_prompt(request(native=native, history=TALK), ScriptedModel("x", template=TAGS))
    of = parts(prompt)
    assert of["message 2, reasoning"] == "They want news." and of["message 2"] == "I look it up."
    name, end = ('<call>{"name": "', "}}</call>") if native else ("", "")
    first = f'{name}search", "arguments": {{"query": "AI", "max_results": 7{end}'
    assert of["message 2, call 1"] == first
    assert "ML" in of["message 2, call 2"]
    assert "".join(prompt.text[part.start : part.end] for part in prompt.parts) == prompt.text
    assert sum(part.tokens for part in prompt.parts) == prompt.tokens


@pytest.mark.slow
def test_every_template_with_a_form_shows_the_calls_of_the_history_as_parts(llama_data: Path) -> None:
    shown = 0
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        model = ScriptedModel("x", template=path.read_text(encoding="utf-8"))
        asked = request(native="auto", history=TALK)
        if settle(asked, model).request.native != "template":
            continue
        of = parts(first_prompt(asked, model))
        for number, words in ((1, "AI"), (2, "ML")):
            call = of.get(f"message 2, call {number}", "")
            found = "search" in call and words in call
            assert found, (path.stem, number, call)
        shown += 1
    assert shown >= 60


def test_a_message_that_is_only_a_call_is_rendered() -> None:
    talk = (Message("user", "Go"), Message("assistant", "", (ToolCall("search", {"query": "AI"}),)))
    prompt = first_prompt(
        request(native="auto", history=(*talk, Message("tool", "x"))), ScriptedModel("x", template=TAGS)
    )
    assert json.loads(parts(prompt)["message 2, call 1"][6:-7])["arguments"] == {"query": "AI"}
