"""Transforms: each changes its target only, and reports its change."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import LoopSettings, Message, RunRequest
from glyphscope.registry import ToolRegistry, default_registry, make_tool
from glyphscope.runs import TRANSFORMS, Chain, Form, chain_of, transforms

REGISTRY = default_registry()
GLYPH = Form("glyph", "flat", REGISTRY)
JSON = Form("json", "name-arguments", REGISTRY)
OWN = '{action="search" query="x"}'
PLAIN = '{"name":"search","arguments":{"query":"x"}}'
TEXT = r'{"name":"search","arguments":"{\"query\":\"x\"}"}'


def response(text, *names, form=GLYPH):
    changed, acted = Chain(transforms(names), form).response(text)
    assert (changed == text) == (not acted)
    return changed, [event.name for event in acted]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (f"<tool_call>{PLAIN}</tool_call>", OWN),
        (f"Well.\n<tool_call>\n{PLAIN}\n</tool_call>\n", f"Well.\n{OWN}\n"),
        (f"<tool_call>{PLAIN}", OWN),
        (f"<tool_call>\n```json\n{PLAIN}\n```\n</tool_call>", OWN),
        (f"<function_call>{PLAIN}</function_call><tool_call>{PLAIN}</tool_call>", OWN + OWN),
        (f"<tool_call>[{PLAIN},{PLAIN}]</tool_call>", f"{OWN}\n{OWN}"),
        (f"<tool_call>{OWN}</tool_call>", OWN),
        ('<tool_call>{"tool": "search", "args": {"query": "x"}}</tool_call>', OWN),
        ("<tool_call>nothing</tool_call>", None),
        ("<tool_call>{not a call}</tool_call>", None),
        ('<tool_call>{"a": 1}</tool_call>', None),
        ("the tag <tool_call> is used", None),
        (OWN, None),
        (PLAIN, None),
    ],
)
def test_content_tags_reads_calls_in_tags(text, changed):
    assert response(text, "content-tags") == (changed or text, ["content-tags"] if changed else [])


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (f"```json\n{PLAIN}\n```", OWN),
        (f"Here:\n```\n{OWN}\n```", f"Here:\n{OWN}"),
        (f"```tool_call\n{PLAIN}", OWN),
        ("```python\nprint({})\n```", None),
        ('```json\n{"a": 1}\n```', None),
    ],
)
def test_fenced_calls_reads_calls_in_fences(text, changed):
    assert response(text, "fenced-calls") == (changed or text, ["fenced-calls"] if changed else [])


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("function-call", f'{{"function_call": {PLAIN}}}', PLAIN),
        ("function-call", f'{{"content": null, "function_call": {PLAIN}}} done', f"{PLAIN} done"),
        ("function-call", '{"function_call": "search"}', None),
        ("function-call", PLAIN, None),
        ("tool-calls", f'{{"tool_calls": [{{"id": "1", "type": "function", "function": {PLAIN}}}]}}', PLAIN),
        ("tool-calls", f'{{"tool_calls": {{"function": {PLAIN}}}}}', PLAIN),
        ("tool-calls", f'{{"tool_calls": {PLAIN}}}', PLAIN),
        ("tool-calls", f'{{"type": "function", "function": {PLAIN}}}', PLAIN),
        ("tool-calls", f"[{PLAIN}, {PLAIN}]", f"{PLAIN}\n{PLAIN}"),
        ("tool-calls", '{"tool_calls": []}', None),
        ("tool-calls", '{"tool_calls": [1]}', None),
        ("tool-calls", '[{"a": 1}]', None),
        ("tool-calls", "[1, 2]", None),
        ("tool-calls", PLAIN, None),
        ("arguments-from-text", TEXT, PLAIN),
        ("arguments-from-text", '{"name":"search","arguments":"[1]"}', None),
        ("arguments-from-text", '{"name":"search","arguments":"query"}', None),
        ("arguments-from-text", '{"arguments":"{}"}', None),
        ("arguments-from-text", PLAIN, None),
        ("blank-arguments", '{"name":"search","arguments":""}', '{"name":"search","arguments":{}}'),
        ("blank-arguments", '{"name":"search","arguments":" \\n"}', '{"name":"search","arguments":{}}'),
        ("blank-arguments", '{"name":"search","arguments":null}', '{"name":"search","arguments":{}}'),
        ("blank-arguments", '{"name":"search"}', '{"name":"search","arguments":{}}'),
        ("blank-arguments", '{"name":"search","query":"x"}', None),
        ("blank-arguments", PLAIN, None),
        (
            "blank-values",
            '{"name":"send_email","arguments":{"to":"","subject":" ","cc":""}}',
            '{"name":"send_email","arguments":{"to":"","subject":" "}}',
        ),
        ("blank-values", PLAIN, None),
    ],
)
def test_wrappers_of_apis_and_their_variants_are_read(name, text, changed):
    assert response(text, name, form=JSON) == (changed or text, [name] if changed else [])


def test_transforms_act_in_the_order_of_the_request_with_an_event_each():
    text = f'```json\n{{"tool_calls": {{"function": {TEXT}}}}}\n```'
    names = ["fenced-calls", "function-call", "tool-calls", "arguments-from-text"]
    assert response(text, *names) == (OWN, ["fenced-calls", "tool-calls", "arguments-from-text"])


@pytest.mark.parametrize("name", [t.name for t in TRANSFORMS.values() if t.surface in ("response", "call")])
@at_most(300)
@given(text=st.text('{}[]":,<tool_cal>/`a\n\\', max_size=60))
def test_a_transform_of_any_text_changes_it_or_reports_nothing(name, text):
    changed, acted = response(text, name)
    assert acted == ([] if changed == text else [name])


HOSTILE = [("{", 200_000), ('{"name":', 50_000), ("[", 200_000), ('["[",', 40_000), ("<tool_call>", 20_000),
           ("```\n", 50_000), ('{"a":1}', 30_000)]  # fmt: skip


def seconds_of(text, name):
    """Return the CPU seconds: the load of the machine does not count."""
    start = time.thread_time()
    response(text, name)
    return time.thread_time() - start


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", [t.name for t in TRANSFORMS.values() if t.surface in ("response", "call")])
@pytest.mark.parametrize(("piece", "count"), HOSTILE)
def test_a_hostile_text_takes_linear_time(name, piece, count):
    sixteenth, whole = seconds_of(piece * (count // 16), name), seconds_of(piece * count, name)
    assert whole < 0.1 + 16 * 4 * sixteenth, "its square would be 16 times 16"


@pytest.mark.parametrize("name", [t.name for t in TRANSFORMS.values() if t.surface in ("response", "call")])
def test_hostile_texts_are_transformed_in_time(name):
    for piece, count in HOSTILE:
        assert seconds_of(piece * (count // 200), name) < 1


def test_a_call_that_the_form_cannot_write_is_left_in_its_spelling():
    text = '<tool_call>{"name":"search","arguments":{"query":"\\ud800"}}</tool_call>'
    changed, acted = response(text, "content-tags")
    assert acted == ["content-tags"] and "ud800" in changed


# the model's input

TALK = (
    Message("user", "a"),
    Message("tool", "b"),
    Message("tool", "c"),
    Message("assistant", "{d}"),
    Message("user", "e"),
)


def messages(name, talk=TALK):
    changed, acted = Chain(transforms([name]), GLYPH).messages(talk)
    return [(message.role, message.content) for message in changed], bool(acted)


def test_tool_results_become_messages_of_the_user():
    changed, acted = messages("tool-results-as-user")
    assert acted and [role for role, _ in changed] == ["user", "assistant", "user"]
    assert messages("tool-results-as-user", TALK[:1]) == ([("user", "a")], False)


def test_alternate_roles_joins_neighbours():
    changed, acted = messages("alternate-roles")
    assert acted and changed[1] == ("tool", "b\n\nc") and len(changed) == 4
    assert messages("alternate-roles", TALK[:2])[1] is False


def test_calls_in_tags_writes_the_assistants_calls_in_tags():
    changed, acted = messages("calls-in-tags")
    assert acted and changed[3] == ("assistant", "<tool_call>\n{d}\n</tool_call>")
    assert messages("calls-in-tags", (Message("assistant", "words"),))[1] is False


def shown(registry, *names):
    request = RunRequest(prompt="", registry={}, loop=LoopSettings(transforms=names))
    return chain_of(request, registry)[1]


def test_snake_case_names_lead_back_to_the_tools_own():
    names = ["getHTTPPage", "files.read", "ok_name", "fine.Name", "fine_name"]
    registry = ToolRegistry(tuple(make_tool(name, "", {}) for name in names))
    found = shown(registry, "snake-case-names")
    assert [tool.name for tool in found.registry] == [
        "get_http_page",
        "files_read",
        "ok_name",
        "fine.Name",
        "fine_name",
    ]
    assert found.own_names["get_http_page"] == "getHTTPPage" and found.own_names["ok_name"] == "ok_name"
    assert [event.surface for event in found.acted] == ["tool"]
    assert not shown(registry).acted and shown(registry).registry is registry


def test_short_descriptions_are_the_first_sentence():
    registry = ToolRegistry((make_tool("a", "One. Two.", {}), make_tool("b", "No end", {})))
    found = shown(registry, "short-descriptions")
    assert [tool.description for tool in found.registry] == ["One.", "No end"]
    assert not shown(found.registry, "short-descriptions").acted


@pytest.mark.parametrize(
    ("reported", "plain"),
    [
        ({"ok": True, "result": "a"}, "a"),
        ({"ok": True, "result": {"a": 1}}, '{"a":1}'),
        ({"ok": False, "error": {"code": "TOOL_ERROR", "message": "no"}}, "Error TOOL_ERROR: no"),
        ({"ok": True, "result": 1, "edited": {"q": "y"}}, '1\nThe arguments were changed to {"q":"y"}.'),
    ],
)
def test_plain_results_have_no_envelope(reported, plain):
    chain = Chain(transforms(["plain-results"]), GLYPH)
    assert chain.result(json.dumps(reported))[0] == plain
    for text in ("no json", "[1]", '{"ok": false, "error": "a tool\'s own JSON"}'):
        assert chain.result(text) == (text, ())


def test_every_transform_is_described_and_named_once():
    for name, transform in TRANSFORMS.items():
        assert transform.name == name and transform.about.endswith(".")


def test_an_unknown_transform_is_reported_with_the_existing_ones():
    with pytest.raises(GlyphscopeError, match=r'no transform "nonsense".*content-tags'):
        transforms(["content-tags", "nonsense"])
