"""Engines in separate environments, with a program in place of the environment, and the real one where it is."""

import json
import os
from pathlib import Path

import pytest

from cli_command import command
from engine_environment import LAX, environment
from glyphscope.base.errors import GrammarError, Stopped
from glyphscope.explain.proof import prove
from glyphscope.explain.proof.outside import OUTSIDE, _Ran, install, installed, read_outside
from glyphscope.processes import stopped_by
from glyphscope.processes.compilers.service import CompilerDied
from glyphscope.registry import load_registry
from glyphscope.store import places

pytestmark = pytest.mark.slow
TOOL = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}
REAL = "GLYPHSCOPE_ENGINES"
"""The folder of installed engines: `glyphscope grammar build --report --notation json --engine outlines`."""


def test_an_engine_that_accepts_a_text_which_the_validator_rejects_is_shown_with_it(tmp_path):
    report = prove(
        load_registry({"f": TOOL}), "json", "tool-args", ("outlines",), outside=environment(tmp_path, LAX)
    )
    proof = next(each for each in report.proofs if each.keyword == "minimum")
    assert proof.status == "checked" and json.loads(proof.witness)["args"]["n"] == 2
    assert installed(tmp_path) == ("outlines",)


@pytest.mark.parametrize(
    ("program", "error", "words"),
    [
        (
            "print(json.dumps({'refused': 'no minimum here'}))",
            GrammarError,
            "rejects the schema: no minimum here",
        ),
        ("print('hello')", CompilerDied, "ended with code 0"),
        ("sys.exit('broken')", CompilerDied, "ended with code 1: broken"),
    ],
)
def test_an_engine_that_rejects_a_schema_or_fails_says_why(tmp_path, program, error, words):
    with pytest.raises(error, match=words):
        read_outside(environment(tmp_path, program), "outlines", "{}", ["x"])


def test_an_engine_that_does_not_answer_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope.explain.proof.outside._SECONDS", 0.3)
    with pytest.raises(CompilerDied, match="did not finish"):
        read_outside(environment(tmp_path, "import time; time.sleep(60)"), "outlines", "{}", ["x"])


def test_an_installation_that_fails_is_reported_and_leaves_no_engine(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope.explain.proof.outside.sys.executable", "/missing/python")
    with pytest.raises(GrammarError, match="cannot be installed"):
        install(tmp_path, "outlines")
    assert installed(tmp_path) == () and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_pip_installs_of_an_engine_is_in_place_only_when_it_is_complete(tmp_path, monkeypatch, name):
    seen = []

    def run(_package, command, _seconds):
        seen.append((command[1:3], command[-1], installed(tmp_path)))
        if command[2] == "venv":
            environment(tmp_path, LAX, f"{name}.part")
        return _Ran(0, "", "")

    monkeypatch.setattr("glyphscope.explain.proof.outside._run", run)
    install(tmp_path, name)
    assert installed(tmp_path) == (name,)
    assert not any(there for *_, there in seen) and seen[-1][1] == OUTSIDE[name].package


def test_an_installation_that_is_stopped_leaves_nothing(tmp_path):
    begun = []

    def stopped():
        begun.append((tmp_path / "outlines.part").exists())
        return begun[-1]

    with pytest.raises(Stopped), stopped_by(stopped):
        install(tmp_path, "outlines")
    assert begun[-1] and not [*tmp_path.iterdir()]


def test_a_report_installs_an_engine_only_after_consent_and_tests_it_then_always(tmp_path, monkeypatch):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps({"f": TOOL}))
    report = ["grammar", "build", "-r", tools, "--report"]
    wrong = command(*report, "--engine", "outlines")
    assert wrong.exit_code == 2 and "--notation json" in wrong.stderr
    refused = command(*report, "--notation", "json", "--engine", "outlines")
    assert refused.exit_code == 2 and "--yes" in refused.stderr and not installed(places().engines)
    monkeypatch.setattr(
        "glyphscope.cli.grammar.report.install", lambda folder, _name: environment(folder, LAX)
    )
    done = command(*report, "--notation", "json", "--shape", "tool-args", "--engine", "outlines", "--yes")
    assert done.exit_code == 0 and "would be installed by pip" in done.stderr
    again = command(*report, "--notation", "json", "--shape", "tool-args")
    assert "outlines: outlines-core with the JSON Schema" in again.stdout


@pytest.mark.skipif(REAL not in os.environ, reason=f"no installed engines: {REAL}")
def test_outlines_core_drops_the_bounds_of_numbers_and_enforces_lengths():
    schema = {**TOOL, "properties": {**TOOL["properties"], "text": {"type": "string", "maxLength": 5}}}
    folder = Path(os.environ[REAL])
    report = prove(load_registry({"f": schema}), "json", "tool-args", ("outlines",), outside=folder)
    found = {proof.keyword: proof.status for proof in report.proofs}
    assert found["minimum"] == "checked" and found["maxLength"] == found["required"] == "enforced"


@pytest.mark.skipif(REAL not in os.environ, reason=f"no installed engines: {REAL}")
def test_xgrammar_enforces_bounds_and_drops_what_it_does_not_know():
    lists = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    both = {"allOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 4}]}
    schema = {**TOOL, "properties": {**TOOL["properties"], "list": lists, "both": both}}
    folder = Path(os.environ[REAL])
    report = prove(load_registry({"f": schema}), "json", "tool-args", ("xgrammar",), outside=folder)
    found = {proof.keyword: proof.status for proof in report.proofs}
    assert found["minimum"] == found["required"] == "enforced"
    assert found["uniqueItems"] == found["minLength"] == found["maxLength"] == "checked"
    with pytest.raises(GrammarError, match='rejects the schema: Unsupported type "nope"'):
        read_outside(folder, "xgrammar", '{"type": "nope"}', ["x"])
