"""`--order any`: the commands' output, a proof, and a run's constraint."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from cli_command import command
from glyphscope.cli.app import app
from glyphscope.events import (
    NOTATIONS,
    ArgumentOrder,
    ConstraintKind,
    Notation,
    RunRequest,
    default_order,
    under_constraint,
)
from glyphscope.explain.proof import prove
from glyphscope.grammar import sample_texts
from glyphscope.registry import default_registry, load_registry
from glyphscope.runs.strategies.constraints import call_constraint
from glyphscope.runs.strategies.turns import expected_part
from glyphscope.turns import TurnOptions, build_call_grammar
from glyphscope.validation import CallValidator
from lark_reader import lark_reader

PROBED = importlib.util.find_spec("llama_cpp") is not None
ORDERS: tuple[ArgumentOrder, ...] = ("schema", "any")
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "maximum": 9},
        "many": {"type": "object", "properties": {f"k{i}": {"type": "integer"} for i in range(65)}},
        "few": {"type": "object", "properties": {f"k{i}": {"type": "integer"} for i in range(5)}, "minProperties": 2},
    },
    "required": ["n"],
}  # fmt: skip


@pytest.fixture
def registry(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"f": SCHEMA}))
    return str(path)


def called(*words: str) -> Any:
    return command("grammar", *words)


def test_match_sample_and_diff_read_the_grammar_of_any_order(registry: str) -> None:
    form = ["--notation", "json", "--order", "any"]
    text = '{"action":"f","few":{"k3":1,"k1":2},"n":3}'
    assert called("match", "-r", registry, *form, text).exit_code == 0
    assert called("match", "-r", registry, "--notation", "json", text).exit_code == 0, (
        "the mask's, by default"
    )
    assert called("match", "-r", registry, "--notation", "json", "--order", "schema", text).exit_code == 1
    sampled = called("sample", "-r", registry, *form, "-n", "30", "--json")
    texts = [json.loads(line)["text"] for line in sampled.stdout.splitlines()]
    assert len(texts) == 30
    assert any(text.index('"n"') > text.index('"many"') for text in texts if '"many"' in text)
    orders = ["--order", "schema", "--second-order", "any"]
    both = [registry, registry, "--notation", "json", *orders, "--seconds", "3", "--json"]
    found = json.loads(called("diff", *both).stdout)
    assert found["only_first"] == '{"action":"f","n":0,"few":{}}', (
        "the number of members is enforced in any order only"
    )
    assert found["only_second"]


@pytest.mark.slow
def test_a_grammar_reports_the_objects_in_the_schemas_order(registry: str) -> None:
    reported = called("build", "-r", registry, "--order", "any", "--json")
    answer = json.loads(reported.stdout)
    assert "set_bit(" in answer["grammar"]
    assert [(one["tool"], one["pointer"]) for one in answer["ordered"]] == [("f", "/properties/many")]
    gbnf = json.loads(called("build", "-r", registry, "--order", "any", "--to", "gbnf", "--json").stdout)
    assert [one["pointer"] for one in gbnf["ordered"]] == ["/properties/many", "/properties/few"]
    assert "/properties/few/minProperties" in {one["pointer"] for one in gbnf["unheld"]}
    said = called("build", "-r", registry, "--order", "any", "--to", "gbnf")
    assert "in the schema's order only" in said.stderr
    assert "ordered" in json.loads(called("build", "-r", registry, "--json").stdout), "the mask's, by default"
    assert "ordered" not in json.loads(called("build", "-r", registry, "--to", "gbnf", "--json").stdout)
    assert "ordered" not in json.loads(called("build", "-r", registry, "--order", "schema", "--json").stdout)


@pytest.mark.skipif(not PROBED, reason="needs llama-cpp-python")
@pytest.mark.model
def test_a_report_of_any_order_names_the_objects_with_one_for_each_engine(registry: str) -> None:
    done = called("build", "-r", registry, "--order", "any", "--report", "--json")
    answer = json.loads(done.stdout)
    assert answer["order"] == "any"
    assert [one["pointer"] for one in answer["ordered"]["mask"]] == ["/properties/many"]
    assert [one["pointer"] for one in answer["ordered"]["gbnf"]] == ["/properties/many", "/properties/few"]
    enforced = {(one["engine"], one["pointer"]): one["status"] for one in answer["proofs"]}
    assert enforced["mask", "/properties/few/minProperties"] == "enforced"
    assert enforced["gbnf", "/properties/few/minProperties"] == "checked"
    assert (
        "in the schema's order only" in called("build", "-r", registry, "--order", "any", "--report").output
    )


@pytest.mark.parametrize("notation", NOTATIONS)
def test_what_the_schema_s_order_enforces_any_order_enforces_too(notation: Notation) -> None:
    statuses = []
    for order in ORDERS:
        report = prove(default_registry(), notation, "flat", ["mask"], order=order)
        statuses.append({(one.tool, one.pointer): one.status for one in report.proofs})
    assert statuses[0] == statuses[1]
    assert set(statuses[1].values()) == {"enforced"}


def test_a_proof_also_tests_examples_in_another_order() -> None:
    properties = {"a": {"type": "integer", "maximum": 5}, "b": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["a", "b"]}
    tools = load_registry({"glyphscope": 1, "tools": [{"name": "f", "parameters": schema}]})
    counts = {}
    for order in ORDERS:
        report = prove(tools, "json", "flat", ["mask"], order=order)
        counts[order] = {one.pointer: one.examples for one in report.proofs}["/properties/a/maximum"]
    assert counts["any"] > counts["schema"]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_sample_of_the_default_tools_is_a_valid_call(notation: Notation) -> None:
    tools = default_registry()
    grammar = build_call_grammar(tools, notation, "flat", TurnOptions(order="any"))
    mask = lark_reader(grammar)
    for text in sample_texts(grammar, 100, seed=3):
        validator = CallValidator(tools, notation, "flat")
        validator.feed(text)
        validator.finish()
        assert validator.valid, text
        assert mask(text), text


def test_a_requests_order_is_that_of_its_constraint_and_of_each_part() -> None:
    tools = default_registry()
    request = RunRequest(prompt="p", registry=tools.to_document(), notation="json", order="any")
    assert "set_bit(" in call_constraint(request, tools).text
    assert "set_bit(" in call_constraint(request, tools, expected_part(request, "arguments", "search")).text
    schema = msgspec.structs.replace(request, order="schema")
    assert "set_bit(" not in call_constraint(schema, tools).text
    assert "set_bit(" not in call_constraint(schema, tools, expected_part(schema, "arguments", "search")).text


@pytest.mark.slow
def test_the_constraint_decides_the_default_order() -> None:
    said = CliRunner().invoke
    script = 'scripted:{action="search" query="x"}'
    usual: dict[ConstraintKind, ArgumentOrder] = {"mask": "any", "gbnf": "schema", "off": "schema"}
    for constraint, order in usual.items():
        assert default_order(constraint) == order
        for asked in (None, *ORDERS):
            words = ["run", "p", "-m", script, "--constraint", constraint, "--json"]
            done = said(app, [*words, *(("--order", asked) if asked else ())])
            started = json.loads(done.stdout.splitlines()[0])
            assert started["request"].get("order", "schema") == (asked or order), (constraint, asked)


def test_another_constraint_brings_its_own_order_unless_another_was_chosen() -> None:
    request = RunRequest(prompt="p", registry={}, constraint="mask", order="any")
    assert under_constraint(request, "endpoint").order == "schema"
    assert under_constraint(under_constraint(request, "gbnf"), "mask") == request
    chosen = msgspec.structs.replace(request, order="schema")
    assert under_constraint(chosen, "gbnf").order == "schema"
    assert under_constraint(msgspec.structs.replace(request, constraint="gbnf"), "endpoint").order == "any"


def test_an_old_record_without_an_order_has_the_schemas() -> None:
    request = msgspec.json.decode(b'{"prompt":"p","registry":{}}', type=RunRequest)
    assert request.order == "schema"
