"""OpenAI's custom tools: texts of a Lark grammar or a regular expression are imported, written, judged and exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from changed_turns import form
from glyphscope.base.errors import GrammarError, RegistryError
from glyphscope.events import Message, Notation, RunFailed, RunRequest, Shape, ToolCall, Violation
from glyphscope.grammar import MaskReader, example_arguments, match_text, sample_texts, to_lark, uncallable
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.models.remote import DIALECTS
from glyphscope.prompting.signature import signature_pieces
from glyphscope.registry import ToolRegistry, parse_document, to_json, to_openai
from glyphscope.runs import RunState, run_state
from glyphscope.runs.strategies import run
from glyphscope.turns import Expected, TurnOptions, build_call_grammar, build_turn_grammar
from glyphscope.validation import CallValidator
from glyphscope.validation.checker import Checker
from scripted_endpoint import DONE, Answer, chunk, endpoint, remote

SUMS = """
start: sum
sum: part (SIGN part)*
part: NUMBER | "(" sum ")"
SIGN: /[-+]/
NUMBER: /[0-9]+/
"""
QUOTES = r"""
start: "say " TEXT ("\n" TEXT)*
TEXT: /"[a-z\\é]+"/
"""
ADD: dict[str, Any] = {
    "type": "function", "name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
}  # fmt: skip


def custom(definition: Any = SUMS, syntax: Any = "lark", name: str = "calc") -> dict[str, Any]:
    format = {"type": "grammar", "syntax": syntax, "definition": definition}
    return {"type": "custom", "name": name, "description": "Sums", "format": format}


def nested(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool as Chat Completions has it."""
    inner = {key: value for key, value in tool.items() if key != "type"}
    grammar = {key: value for key, value in tool["format"].items() if key != "type"}
    return {"type": "custom", "custom": {**inner, "format": {"type": "grammar", "grammar": grammar}}}


def tools(definition: Any = SUMS, syntax: Any = "lark") -> ToolRegistry:
    return parse_document([custom(definition, syntax), ADD])


def judged(
    registry: ToolRegistry, text: str, notation: Notation = "json", shape: Shape = "flat"
) -> CallValidator:
    validator = CallValidator(registry, notation, shape)
    validator.feed(text)
    validator.finish()
    return validator


# -- import and export


@pytest.mark.parametrize("write", [lambda tool: tool, nested])
def test_a_custom_tool_is_a_tool_whose_input_is_a_text_of_its_grammar(write):
    (tool,) = parse_document([write(custom())]).tools
    assert (tool.name, tool.description) == ("calc", "Sums")
    assert tool.parameters["required"] == ["input"]
    assert tool.parameters["properties"]["input"]["x-grammar"] == custom()["format"] == tool.format
    assert "".join(text for _, text in signature_pieces(tool)).startswith(
        "calc(input: string of the lark grammar "
    )


@pytest.mark.parametrize("tool", [custom(), custom("[a-z]+", "regex"), {"type": "custom", "name": "free"}])
def test_a_custom_tool_is_saved_and_exported_in_its_form(tool):
    registry = parse_document([tool, ADD])
    form = tool.get("format", {"type": "text"})
    saved = json.loads(to_json(registry))["tools"][0]
    assert (saved["type"], saved["format"]) == ("custom", form) and "parameters" not in saved
    responses, chat = to_openai(registry, "responses"), to_openai(registry, "chat")
    assert responses[0] == {
        "type": "custom",
        "name": tool["name"],
        "description": tool.get("description", ""),
        "format": form,
    }
    assert responses[1]["name"] == chat[1]["function"]["name"] == "add"
    assert chat[0]["type"] == "custom" and chat[0]["custom"]["format"]["type"] == form["type"]
    for document in (json.loads(to_json(registry)), responses, chat):
        assert parse_document(document) == registry
    assert to_openai(registry)[0]["type"] == "function", "templates know only functions"


def test_a_tool_with_more_than_its_input_is_exported_as_a_function():
    schema = {"type": "string", "maxLength": 9, "x-grammar": custom()["format"]}
    registry = parse_document(
        {"t": {"type": "object", "properties": {"input": schema}, "required": ["input"]}}
    )
    assert registry.tools[0].format is None and to_openai(registry, "responses")[0]["type"] == "function"


@pytest.mark.parametrize(
    ("document", "problems"),
    [
        ([{"type": "custom", "format": custom()["format"]}], ["/0/name: A tool has a name"]),
        ([custom(syntax="ebnf")], ['/0/format/syntax: Unknown syntax "ebnf"']),
        (
            [nested(custom(5, None))],
            ["/0/custom/format/grammar/syntax: The grammar has no syntax", "definition of a"],
        ),
        (
            [{"type": "custom", "name": "a", "format": {"type": "xml"}}],
            ["/0/format/type: The type of a format"],
        ),
        ([{"type": "custom", "name": "a", "format": 5}], ["/0/format/type: The type of a format"]),
        ([custom(), nested(custom())], ["/1/custom/name: Another tool has this name: /0"]),
        ({"glyphscope": 1, "tools": [{**custom(), "parameters": {}}]}, ["/tools/0/parameters: Unknown key"]),
    ],
)
def test_errors_in_the_form_of_a_custom_tool_have_their_place(document, problems):
    with pytest.raises(RegistryError) as error:
        parse_document(document)
    assert all(problem in str(error.value) for problem in problems), str(error.value)


# -- grammars that cannot be used


@pytest.mark.parametrize(
    ("definition", "syntax", "why"),
    [
        (
            SUMS.replace("NUMBER |", "NUMBRE |"),
            "lark",
            "line 4, column 7: The terminal NUMBRE is not defined",
        ),
        ("start: sum", "lark", "line 1, column 8"),
        ("start: start", "lark", "matches no text"),
        ("start: <think>", "lark", "names tokens of a vocabulary"),
        ("start: %json {}", "lark", "line 1, column 8: `%json` is not possible"),
        ("", "lark", "There is no rule `start`"),
        ("(?=a)b", "regex", "line 1, column 1: Look-around is not possible"),
        ("[a-z", "regex", "line 1, column"),
        (
            "start: "
            + "".join(f"a{i} " for i in range(1_100))
            + "".join(f'\na{i}: "x"' for i in range(1_100)),
            "lark",
            "has more than 1,000 rules",
        ),
        ("(" * 140 + "a" + ")*" * 140, "regex", "llguidance rejects it"),
        ("x" * 1_000_000, "lark", "has 1,000,000 characters, more than 100,000"),
        ("x" * 1_000_000, "regex", "has 1,000,000 characters, more than 100,000"),
    ],
)
def test_only_the_tool_of_a_grammar_that_cannot_be_read_is_left_out(definition, syntax, why):
    registry = tools(definition, syntax)
    (found,) = uncallable(registry)
    assert (found.tool, found.pointer) == ("calc", "/properties/input/x-grammar") and why in found.why
    grammar = build_call_grammar(registry, "json", "flat")
    assert match_text(grammar, '{"action":"add","a":1}').accepted
    assert not match_text(grammar, '{"action":"calc"').prefix_ok and why in grammar.unenforced[0].why
    with pytest.raises(GrammarError, match="No call of this tool can be valid") as error:
        build_call_grammar(parse_document([custom(definition, syntax)]), "json", "flat")
    assert error.value.where == "calc: /properties/input/x-grammar" and why in error.value.message


# -- calls


@pytest.mark.parametrize("shape", get_args(Shape))
@pytest.mark.parametrize("notation", get_args(Notation))
@pytest.mark.parametrize(
    ("definition", "syntax"), [(SUMS, "lark"), (QUOTES, "lark"), ('say "[a-z\\\\\né]+"', "regex")]
)
def test_texts_of_the_grammar_are_valid_calls_and_the_mask_writes_them(definition, syntax, notation, shape):
    registry = parse_document([custom(definition, syntax)])
    grammar = build_call_grammar(registry, notation, shape)
    reader = MaskReader(lark=to_lark(grammar))
    assert not grammar.unenforced and not emit_gbnf(grammar).unenforced
    for text in sample_texts(grammar, 12):
        assert judged(registry, text, notation, shape).valid and reader.accepts(text), text


def test_a_text_is_judged_at_the_character_that_leaves_a_rule():
    at = '{"action":"calc","input":"1+(2-'
    (found,) = judged(tools(), at + 'x)"}').violations
    assert (found.code, found.char, found.rule) == (
        "CONSTRAINT_PATTERN",
        len(at),
        "/properties/input/x-grammar",
    )
    assert found.message == 'input leaves the rule SIGN (in sum, in part, in start) with "x"'
    assert found.viable == '"(" or 0-9'
    (found,) = judged(tools(), '{"action":"calc","input":"1+(2"}').violations
    assert found.message.startswith("input ends inside the rule NUMBER (in part, in sum")
    assert not match_text(build_call_grammar(tools(), "json", "flat"), at + "x").prefix_ok


@pytest.mark.parametrize(
    ("definition", "text", "unenforced"),
    [
        ('start: WORD ("," WORD)*\nWORD: /[a-z]+/', "abc,abc", []),
        (SUMS, "12+3456", ["/properties/v/maxLength"]),
    ],
)
def test_recursive_rules_replace_the_other_keywords_of_a_text(definition, text, unenforced):
    schema = {"type": "string", "maxLength": 5, "x-grammar": custom(definition)["format"]}
    registry = parse_document({"t": {"properties": {"v": schema}, "required": ["v"]}})
    grammar = build_call_grammar(registry, "json", "flat")
    call = json.dumps({"action": "t", "v": text}, separators=(",", ":"))
    assert match_text(grammar, call.replace(text, text[:2])).accepted
    assert match_text(grammar, call).accepted is bool(unenforced) and not judged(registry, call).valid
    assert [each.pointer for each in grammar.unenforced] == unenforced


def test_the_final_verdict_and_the_example_of_a_prompt_know_the_grammar():
    for definition, syntax in ((SUMS, "lark"), ("[0-9]{3}-x", "regex")):
        parameters = tools(definition, syntax).tools[0].parameters
        made = example_arguments(parameters)
        verdict = Checker(parameters).best_error
        assert verdict(made) is None
        assert verdict({"input": made["input"] + "?"}).message.endswith("is not a text of its grammar")


# -- the notations of models


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Qwen3.5-4B", "Qwen-Qwen3-0.6B", "google-gemma-4-31B-it", "openai-gpt-oss-120b"]
)
@pytest.mark.parametrize(
    ("definition", "syntax", "enforced"),
    [
        (SUMS, "lark", True),
        ('say "[a-z\\\\\n<]+"', "regex", True),
        (SUMS.replace("[-+]", "[<]"), "lark", None),
    ],
)
def test_custom_tools_are_called_in_the_notations_of_models(
    llama_data: Path, name, definition, syntax, enforced
):
    turn = form(llama_data, name)[1]
    registry = parse_document([custom(definition, syntax)])
    options = TurnOptions(choice="required", thinking=False)
    grammar = build_turn_grammar(turn, registry, options)
    assert not grammar.unenforced or enforced is None
    reader = MaskReader(lark=to_lark(grammar))
    for text in sample_texts(grammar, 8):
        validator = Expected(turn, options).validator(registry)
        found = [
            event for event in (*validator.feed(text), *validator.finish()) if isinstance(event, Violation)
        ]
        assert reader.accepts(text) and (not found or grammar.unenforced), (text, found)


# -- endpoints


def piece(number: int, name: str = "", text: str = "", **more: Any) -> bytes:
    """A piece of the call of a custom tool as OpenAI streams it."""
    given = {key: value for key, value in (("name", name), ("input", text)) if value}
    return chunk(delta={"tool_calls": [{"index": number, "type": "custom", "custom": given, **more}]})


def asked(registry: ToolRegistry, **fields: Any) -> RunRequest:
    return RunRequest(
        prompt="Add.", registry=registry.to_document(), native="auto", constraint="mask", **fields
    )


def run_at(dialect: str, request: RunRequest, *pieces: bytes) -> tuple[RunState, dict[str, Any], str]:
    """The run at a server of that dialect which answers so, the request's body, and the note beside the prompt."""
    answer = Answer((*pieces, chunk(finish="tool_calls"), DONE))
    with endpoint(answer) as server, remote(server, f"?dialect={dialect}") as model:
        state = run_state(run(request, model))
    assert state.prompt is not None
    return state, server.asked[-1].body, state.prompt.note


def test_openai_gets_custom_tools_as_such_and_their_calls_are_read():
    registry, talk = (
        parse_document([custom(), ADD]),
        (
            Message("assistant", "", (ToolCall("calc", {"input": "1+1"}), ToolCall("add", {"a": 1}))),
            Message("tool", "2"),
        ),
    )
    streamed = (piece(0, "calc", id="a"), piece(0, text="1+"), piece(0, text="(2-3)"))
    state, body, note = run_at("openai", asked(registry, tool_choice="calc", history=talk), *streamed)
    assert body["tools"] == to_openai(registry, "chat") and body["tools"][0]["type"] == "custom"
    assert body["tool_choice"] == {"type": "custom", "custom": {"name": "calc"}}
    past = next(message for message in body["messages"] if message.get("tool_calls"))["tool_calls"]
    assert [each["type"] for each in past] == ["custom", "function"]
    assert (
        past[0]["custom"] == {"name": "calc", "input": "1+1"} and past[0]["id"] and "function" not in past[0]
    )
    assert state.outcome == "valid" and state.call is not None and "custom tool" not in note
    assert (state.call.tool, state.call.arguments) == ("calc", {"input": "1+(2-3)"})
    assert any(part.of == "/calc" for part in state.prompt.parts)


@pytest.mark.parametrize("dialect", ["openai", "vllm", "llama-server"])
def test_strict_is_sent_to_endpoints_for_the_tools_that_have_it(dialect):
    registry = parse_document([{**ADD, "strict": True}, {**ADD, "name": "other"}])
    streamed = (piece(0, "add", id="a"), piece(0, text='{"a": 1}'))
    _state, body, note = run_at(dialect, asked(registry, tool_choice="required"), *streamed)
    assert [tool["function"].get("strict") for tool in body["tools"]] == [True, None]
    assert "strict is sent for 1 of 2 tools" in note


def test_a_text_with_quotes_and_lines_arrives_as_it_is_and_other_calls_follow():
    registry = parse_document([custom(QUOTES), ADD])
    said = 'say "a\\é"\n"b"'
    function = {"index": 1, "function": {"name": "add", "arguments": '{"a": 1}'}, "custom": {}}
    state, _, _ = run_at(
        "openai", asked(registry, most_calls=None),
        *(piece(0, "calc" if not at else "", letter, id="a") for at, letter in enumerate(said)),
        chunk(delta={"tool_calls": [function]}), piece(2, "calc", 'say "c"', id="c"),
    )  # fmt: skip
    assert [call.arguments for call in state.stages[-1].calls] == [
        {"input": said},
        {"a": 1},
        {"input": 'say "c"'},
    ]


def test_a_text_that_leaves_the_grammar_is_found_at_its_character_though_openai_constrains_it():
    state, _, _ = run_at(
        "openai", asked(tools()), piece(0, "calc", "1+"), piece(0, text="x"), piece(0, text="2")
    )
    (found,) = state.violations
    assert found.message.startswith("input leaves the rule") and state.text[found.char] == "x"


@pytest.mark.slow
@pytest.mark.parametrize("dialect", sorted({*DIALECTS} - {"openai"}))
def test_other_servers_get_custom_tools_as_functions_and_the_note_says_so(dialect):
    written = chunk(
        delta={"tool_calls": [{"index": 0, "function": {"name": "calc", "arguments": '{"input": "1"}'}}]}
    )
    state, body, note = run_at(dialect, asked(tools()), written)
    assert {each["type"] for each in body["tools"]} == {"function"} and state.outcome == "valid"
    assert "The custom tool calc was sent as a function with the argument input" in note


def test_a_model_without_custom_tools_is_reported_with_the_way_to_send_functions():
    words = json.dumps({"error": {"message": "Unsupported value: tools[0].type 'custom'."}}).encode()
    with (
        endpoint(Answer((words,), 400, "application/json")) as server,
        remote(server, "?dialect=openai") as model,
    ):
        failed = list(run(asked(tools()), model))[-1]
    assert isinstance(failed, RunFailed) and "?dialect=compatible" in failed.hint
