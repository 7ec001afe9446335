"""The model's native notation: derived from its chat template, begun under a constraint, validated in place."""

import itertools
import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.events import (
    BEGUN,
    Aborted,
    CallReady,
    FieldChanged,
    FieldClosed,
    PromptRendered,
    RunFailed,
    RunRequest,
    RunStarted,
    ToolKnown,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.grammar import match_text
from glyphscope.models import RecordedModel, template_form
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import continue_aborted, run
from glyphscope.store import first_difference
from glyphscope.turns import Expected, build_turn_grammar, own_form
from glyphscope.turns.own import NAMED, named_call
from talks import Talker
from toolbox import of

REGISTRY = default_registry()
DOCUMENT = REGISTRY.to_document()

# Each with the markers and the order of its family, in newly written words.
HERMES = """{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}
{% endif %}Functions:
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
Answer with <tool_call>
{"name": <name>, "arguments": <object>}
</tool_call><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}{% for message in messages if message.role != 'system' %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
LLAMA = """{%- if tools is not defined %}{% set tools = none %}{% endif %}
{{- '<|begin_of_text|>' }}{% for message in messages %}
{%- if 'tool_calls' in message %}{{ '{"name": "' + message.tool_calls[0].name + '", ' }}{{ '"parameters": ' }}
{%- else %}{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
{%- if tools and message.role == 'user' %}Functions in JSON:
{% for tool in tools %}{{ tool | tojson(indent=4) }}
{% endfor %}{% endif %}{{ message.content }}<|eot_id|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""
MISTRAL = """{{- bos_token }}{% for message in messages %}{% if message.role == 'user' %}
{%- if tools %}[AVAILABLE_TOOLS] {{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}[INST] {{ message.content }}[/INST]
{%- elif message.tool_calls %}{{ '[TOOL_CALLS] [' }}{{ message.tool_calls[0].function | tojson }}]
{%- elif message.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}{% endfor %}"""
TEMPLATES = {"hermes": HERMES, "llama": LLAMA, "mistral": MISTRAL}
NO_TOOLS = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}<|assistant|>"

ARGUMENTS = {"query": "AI news", "max_results": 10}
CALLS = {
    "hermes": '{"name": "search", "arguments": {"query": "AI news", "max_results": 10}}',
    "llama": '{"name": "search", "parameters": {"query": "AI news", "max_results": 10}}',
    "mistral": '{"name": "search", "arguments": {"query": "AI news", "max_results": 10}}',
}
WRITTEN = {
    "hermes": f"I look it up.\n<tool_call>\n{CALLS['hermes']}\n</tool_call>",
    "llama": f"I look it up: {CALLS['llama']}",
    "mistral": f"[TOOL_CALLS] [{CALLS['mistral']}]",
}
FORMS = NAMED


def recording(*turns, form: str = "hermes", template: str | None = None) -> Talker:
    """A model with the template of that form."""
    return Talker(*turns, template=template or TEMPLATES[form])


request = partial(RunRequest, prompt="Search for AI news", registry=DOCUMENT, constraint="off", native="auto")


@pytest.mark.parametrize("form", FORMS)
def test_a_template_writes_the_tools_and_its_form_is_recognized(form):
    assert template_form(TEMPLATES[form]) == form
    events = list(run(request(native=form), recording(WRITTEN[form], form=form)))
    started, prompt = of(RunStarted, events)[0], of(PromptRendered, events)[0]
    assert (started.request.native, started.request.notation) == (form, "json")
    assert started.request.shape == named_call(form).shape
    tools = [part for part in prompt.parts if part.name == "tools"]
    written = {part.of: prompt.text[part.start : part.end] for part in reversed(tools)}  # the first of each
    for tool in REGISTRY.allowed:
        assert f'"{tool.name}"' in written[f"/{tool.name}"]
        assert tool.description in written[f"/{tool.name}/description"]
    assert '"query"' in written["/search/parameters/properties/query"]
    assert "RESPOND WITH ONLY" not in prompt.text, "the preset's own words are for calls in another notation"
    assert "Search for AI news" in prompt.text
    assert prompt.tokens == sum(part.tokens for part in prompt.parts)


@pytest.mark.parametrize("form", FORMS)
def test_without_a_constraint_the_call_is_found_after_free_text_and_validated(form):
    events = list(run(request(native=form), recording(WRITTEN[form], form=form)))
    (call,) = of(CallReady, events)
    assert (call.tool, call.arguments) == ("search", ARGUMENTS) and events[-1].valid
    text = run_state(events).text
    key = "parameters" if form == "llama" else "arguments"
    closed = {e.path: text[e.start : e.end] for e in of(FieldClosed, events)}
    assert closed[f"/{key}/query"] == '"AI news"'
    assert text[: of(ToolKnown, events)[0].char + 1].endswith('"search"')


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_under_a_constraint_the_answer_begins_with_the_marker_and_the_call_is_enforced(form, constraint):
    model = recording(CALLS[form], form=form)
    events = list(run(request(native=form, constraint=constraint), model))
    (prompt,) = of(PromptRendered, events)
    begun = [prompt.text[part.start : part.end] for part in prompt.parts if part.name == BEGUN]
    opening = named_call(form).section_open
    assert begun == ([opening] if opening else [])
    assert model.requests[0].prompt == prompt.text and prompt.text.endswith(opening)
    assert '"name' in model.requests[0].grammar.replace("\\", "")
    assert of(CallReady, events)[0].text == CALLS[form] and events[-1].reason == "complete"


@pytest.mark.parametrize("form", FORMS)
def test_the_grammar_accepts_a_call_in_the_models_spelling_and_in_compact_json(form):
    grammar = build_turn_grammar(own_form("json", named_call(form).shape, white_space="single"), REGISTRY)
    assert match_text(grammar, CALLS[form]).accepted
    assert match_text(grammar, json.dumps(json.loads(CALLS[form]), separators=(",", ":"))).accepted
    other = CALLS["hermes" if form == "llama" else "llama"]
    assert not match_text(grammar, other).prefix_ok


@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_can_no_longer_be_valid_stops_at_its_character(form):
    wrong = WRITTEN[form].replace("10", "500")
    events = list(run(request(native=form), recording(list(wrong), form=form)))
    (aborted,) = of(Aborted, events)
    assert (aborted.code, wrong[: aborted.char + 1][-3:]) == ("CONSTRAINT_MAX", "500")
    no_tool = list(
        run(request(native=form), recording(list(WRITTEN[form].replace("search", "delete")), form=form))
    )
    assert of(Aborted, no_tool)[0].code == "UNKNOWN_TOOL"


@pytest.mark.parametrize("form", FORMS)
def test_a_text_without_the_marker_is_not_a_call(form):
    text = "There is nothing to look up." if form == "llama" else CALLS[form]
    events = list(run(request(native=form, stop_on="never"), recording(text, form=form)))
    assert [e.code for e in of(Violation, events)] == ["NO_TOOL_CALL"] and not events[-1].valid


@pytest.mark.parametrize("form", FORMS)
def test_only_the_forms_own_text_may_follow_the_call(form):
    good = list(run(request(native=form, stop_on="never"), recording(list(WRITTEN[form] + "\n"), form=form)))
    assert not of(Violation, good) and of(CallReady, good)
    more = list(
        run(request(native=form, stop_on="never"), recording(list(WRITTEN[form] + " and more"), form=form))
    )
    assert [e.code for e in of(Violation, more)] == ["TRAILING_TEXT"]
    assert of(Violation, more)[0].char == len(WRITTEN[form]) + 1


@at_most(300)
@given(st.data())
def test_any_chunking_gives_the_same_verdicts(data):
    form = data.draw(st.sampled_from(FORMS))
    text = data.draw(st.sampled_from([WRITTEN[form], WRITTEN[form].replace("10", "500"), "<tool_call [TOOL"]))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1))))

    def verdicts(pieces):
        own = own_form("json", named_call(form).shape, native=form, text_before=True)
        validator = Expected(own).validator(REGISTRY)
        events = []
        for piece in pieces:
            reported = validator.feed(piece, 0)
            grown = [event.path for event in reported if isinstance(event, FieldChanged)]
            assert len(grown) == len(set(grown))
            events += reported
        events += validator.finish()
        return [e for e in events if isinstance(e, Violation | FieldClosed | ToolKnown)], validator.valid

    pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
    assert verdicts(pieces) == verdicts([text])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("constraint", ["off", "mask"])
def test_two_stages_continue_from_the_marker(form, constraint):
    key = "parameters" if form == "llama" else "arguments"
    model = recording('"search"', '{"query": "AI news", "max_results": 10}}', form=form)
    events = list(run(request(strategy="two-stage", constraint=constraint), model))
    first, second = (asked.prompt for asked in model.requests)
    opening = named_call(form).section_open
    assert first.endswith(opening + '{"name":')
    assert second.endswith(f'{opening}{{"name":"search","{key}":')
    (call,) = of(CallReady, events)
    assert json.loads(call.text) == {"name": "search", key: ARGUMENTS}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("constraint", "strategy"), [("off", "direct"), ("mask", "direct"), ("mask", "two-stage")]
)
def test_a_record_replays_without_the_model(form, constraint, strategy):
    turns = ['"search"', '{"query":"x"}}'] if strategy == "two-stage" else [WRITTEN[form], CALLS[form]]
    if constraint == "mask" and strategy == "direct":
        turns = [CALLS[form]]
    asked = request(native=form, constraint=constraint, strategy=strategy)
    events = [decode_event(encode_event(event)) for event in run(asked, recording(*turns, form=form))]
    again = list(run(events[0].request, RecordedModel(events)))
    assert first_difference(events[1:], again[1:]) == "" and again[0].request == events[0].request


def test_a_template_without_a_place_for_tools_fails_the_run_with_a_hint():
    for template in (NO_TOOLS, None):
        model = ScriptedModel("{}", template=template)
        failed = list(run(request(), model))[-1]
        assert isinstance(failed, RunFailed) and failed.code == "PROMPT_FAILED"
        assert "no place for tools" in failed.message and "Qwen" in failed.hint
    # a form requested by name does not help either: the template writes the same without the tools
    meant = list(run(request(native="hermes"), ScriptedModel("{}", template=NO_TOOLS)))[-1]
    assert isinstance(meant, RunFailed) and "no place for tools" in meant.message


ASKED = '{"name": <name>, "arguments": <object>}'


@pytest.mark.parametrize(
    "template",
    [
        HERMES.replace(ASKED, "<function=name><parameter=p>value</parameter>"),
        HERMES.replace(ASKED, '{name}<arg_key>k</arg_key> "arguments"'),
        HERMES.replace("<tool_call>\n", "<tool_call> tags: <tool_calls>["),
        LLAMA.replace('"parameters": ', '"arguments": ').replace('{"name"', '<TOOLCALL>[{"name"'),
        "{{ tools }}{{ messages[0].content }}<|tool_call|>",
    ],
)
def test_a_template_that_describes_calls_and_writes_none_is_rejected(template):
    assert template_form(template) == "other"
    failed = list(run(request(), recording("{}", template=template)))[-1]
    assert isinstance(failed, RunFailed) and "no form of calls" in failed.message and "inspect" in failed.hint


@pytest.mark.parametrize(
    "asked",
    [
        r'"<tool_call>\n{\"name\": <name>, \"arguments\": <object>}\n</tool_call>"',  # in a string of the template
        '\'<tool_call>\n{"name": "\'',
        r'"<tool_call>{{\"arguments\": <object>, \"name\": <name>}}</tool_call>"',  # the older order
    ],
)
def test_each_spelling_of_the_same_form_in_templates_is_recognized(asked):
    assert template_form("{% if tools %}{{ " + asked + " }}{% endif %}") == "hermes"


def test_a_form_can_be_requested_whatever_the_template_describes():
    template = HERMES.replace('{"name": <name>, "arguments": <object>}', "<function=name>")
    model = recording(CALLS["hermes"], template=template)
    assert list(run(request(native="hermes", constraint="mask"), model))[-1].valid


def test_a_custom_system_message_is_rendered_with_the_tools():
    for form in FORMS:
        events = list(
            run(request(system="Be brief about {{ tools | length }} tools."), recording("x", form=form))
        )
        (prompt,) = of(PromptRendered, events)
        assert "Be brief about 7 tools." in prompt.text
    assert "no system message" in prompt.note


def test_a_template_that_fails_on_tools_is_reported():
    broken = MISTRAL.replace("{{ tools | tojson }}", "{{ raise_exception('too many tools') }}")
    failed = list(run(request(), recording("{}", template=broken)))[-1]
    assert isinstance(failed, RunFailed) and "too many tools" in failed.message


def test_the_continuation_of_an_aborted_call_is_judged_in_the_same_form():
    wrong = WRITTEN["hermes"].replace("10", "500")
    asked = request(stop_on="error")
    aborted = list(run(asked, recording(list(wrong))))
    rest = wrong[len(run_state(aborted).text) :]
    reported = list(continue_aborted(asked, aborted, recording(list(rest))))
    assert run_state([*aborted, *reported]).text == wrong
    assert [e.code for e in of(Violation, reported)] == []
