"""`glyphscope mcp serve` as a process, asked by the official client; and its limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from cli_command import command
from glyphscope.base.errors import ToolError
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.registry import load_registry
from glyphscope_plugins import checks

mcp = pytest.importorskip("mcp")
anyio = pytest.importorskip("anyio")
start_blocking_portal = pytest.importorskip("anyio.from_thread").start_blocking_portal
stdio = pytest.importorskip("mcp.client.stdio")

SERVER = ["-m", "glyphscope", "mcp", "serve"]
MINUTES = {"type": "integer", "minimum": 1, "maximum": 60}
TIMER = {
    "name": "set_timer",
    "parameters": {"type": "object", "properties": {"minutes": MINUTES}, "required": ["minutes"]},
}
CALL = '{"name": "set_timer", "arguments": {"minutes": %d}}'
ASSETS = Path(__file__).parents[2] / "assets" / "glyphscope_assets"
RUN = str(ASSETS / "runs" / "search-mask-json.jsonl")
TEMPLATE = str(ASSETS / "forms" / "example.jinja")


Ask = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """A function that returns the results of calls of one server, each of which holds what its tool's schema says."""
    server = mcp.Client(stdio.stdio_client(stdio.StdioServerParameters(command=sys.executable, args=SERVER)))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(server) as client:
        schemas = {tool.name: tool.output_schema for tool in portal.call(client.list_tools).tools}

        def answers(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
            results = [portal.call(client.call_tool, name, arguments) for name, arguments in calls]
            for (name, _), result in zip(calls, results, strict=True):
                if not result.is_error:
                    jsonschema.validate(result.structured_content, schemas[name])
            return results

        yield answers


def words(result: Any) -> str:
    assert result.is_error, result.structured_content
    return str(result.content[0].text)


def test_the_choices_of_arguments_are_those_of_the_program() -> None:
    choices = {"notation": Notation, "shape": Shape, "order": ArgumentOrder}
    for tool in load_registry((ASSETS / "checks.json").read_text()).tools:
        for name, schema in tool.parameters["properties"].items():
            if name in choices:
                assert schema["enum"] == list(get_args(choices[name]))
            elif name == "part":
                assert f"<{'|'.join(schema['enum'])}>" in command("grammar", "build", "--help").stdout


@pytest.mark.slow
def test_a_call_is_checked_in_any_notation(ask: Ask) -> None:
    turn = f"<tool_call>\n{CALL % 500}\n</tool_call>"
    found = ask(
        ("check_call", {"text": CALL % 120, "tools": [TIMER]}),
        ("check_call", {"text": '{action="set_timer" minutes=12}', "tools": [TIMER]}),
        ("check_call", {"text": turn, "tools": [TIMER], "template": TEMPLATE}),
    )
    wrong, right, whole = (result.structured_content for result in found)
    assert wrong["errors"][0] | {"code": "CONSTRAINT_MAX", "char": 49} == wrong["errors"][0]
    assert (wrong["valid"], wrong["notation"], right["valid"]) == (False, "json", True)
    assert whole["calls"][0]["violations"][0]["path"] == "/minutes"


@pytest.mark.slow
def test_a_grammar_is_checked_and_fixed_without_changing_its_file(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "one.gbnf"
    file.write_text('root = "a"')
    checked, fixed = ask(
        ("check_grammar", {"file": str(file)}), ("check_grammar", {"file": str(file), "fix": True})
    )
    assert not checked.structured_content["ok"] and checked.structured_content["diagnostics"][0]["fix"]
    assert fixed.structured_content["ok"] and fixed.structured_content["text"] == 'root ::= "a"'
    assert file.read_text() == 'root = "a"'


@pytest.mark.slow
def test_what_is_not_enforced_is_answered_with_a_text_that_gets_through(ask: Ask) -> None:
    tested, built = ask(
        ("test_enforcement", {"schema": TIMER["parameters"]}),
        ("build_grammar", {"schema": MINUTES, "to": "gbnf", "notation": "json"}),
    )
    found = tested.structured_content
    assert found["counts"]["mask"]["checked"] == 0
    assert {proof["engine"] for proof in found["proofs"] if proof["witness"]} == {"converter"}
    assert "[1-9]" in built.structured_content["grammar"] and not built.structured_content["unheld"]


@pytest.mark.slow
def test_tools_and_schemas_may_be_json_as_text_or_a_file(ask: Ask, tmp_path: Path) -> None:
    """Models often write an argument that is a list or an object as text."""
    file = tmp_path / "minutes.json"
    file.write_text(json.dumps(TIMER["parameters"]))
    called, built, *tested = ask(
        ("check_call", {"text": CALL % 12, "tools": json.dumps([TIMER], indent=1)}),
        ("build_grammar", {"schema": json.dumps(MINUTES), "to": "gbnf", "notation": "json"}),
        ("test_enforcement", {"schema": json.dumps(TIMER["parameters"])}),
        ("test_enforcement", {"schema": str(file)}),
    )
    assert called.structured_content["valid"] and "[1-9]" in built.structured_content["grammar"]
    assert [result.structured_content["counts"]["mask"]["enforced"] for result in tested] == [5, 5]


@pytest.mark.slow
def test_a_record_is_explained_in_figures_and_in_words(ask: Ask) -> None:
    [result] = ask(("explain_record", {"file": RUN}))
    assert result.structured_content["stages"][0]["fields"]
    assert "masked tokens" in result.content[0].text


@pytest.mark.slow
def test_an_error_says_what_where_and_what_to_do(ask: Ask) -> None:
    missing, broken, unnamed, both, of_schema, not_json, idle, twice = ask(
        ("check_call", {"text": "", "tools": "/none/tools.json"}),
        ("check_call", {"text": "", "tools": [{"name": "x", "parameters": {"type": "objct"}}]}),
        ("check_call", {"text": ""}),
        ("build_grammar", {"tools": [TIMER], "schema": MINUTES}),
        ("test_enforcement", {"schema": MINUTES}),
        ("build_grammar", {"tools": '[{"name": "x",]'}),
        ("check_call", {"text": "", "tools": [TIMER], "thinking": True}),
        ("check_call", {"text": "", "tools": [TIMER], "template": TEMPLATE, "notation": "json"}),
    )
    assert words(missing) == "error: There is no such file.\n  in: /none/tools.json\n  do: Check the path."
    assert "in: tools\n" in words(broken) and "/0/parameters/type" in words(broken)
    assert "in: schema\n" in words(of_schema) and "  /type: " in words(of_schema)
    assert "in: tools\n" in words(not_json) and "line 1, column" in words(not_json)
    assert words(idle).startswith("thinking needs a template.") and "no notation" in words(twice)
    assert words(unnamed) == "tools is missing."
    assert words(both) == "Give tools or schema, and only one of them."


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [("SECONDS", 0.01, "takes longer than 10 ms"), ("MOST_ANSWERED", 9, "more than 9 B")],
)
def test_a_call_has_limits_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: float, reason: str
) -> None:
    monkeypatch.setattr(checks, limit, value)
    with pytest.raises(ToolError, match=reason):
        anyio.run(partial(checks.check_call, text=CALL % 1, tools=[TIMER]))
