"""Engines in separate environments, with a program in place of the environment, and the real one where it is."""

import json
import os
import sys
from pathlib import Path

import pytest

from cli_command import command
from glyphscope.base.errors import GrammarError
from glyphscope.explain.proof import prove
from glyphscope.explain.proof.outside import install, installed, python_of, read_outside
from glyphscope.processes.compilers.service import CompilerDied
from glyphscope.registry import load_registry
from glyphscope.store import places

pytestmark = pytest.mark.slow
TOOL = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}
REAL = "GLYPHSCOPE_ENGINES"
"""The folder of installed engines: `glyphscope grammar build --report --notation json --engine outlines`."""


def environment(folder: Path, program: str) -> Path:
    """A folder in which `outlines` is a program that gets the request, as `request`, and prints."""
    python = python_of(folder, "outlines")
    python.parent.mkdir(parents=True)
    code = folder / "program.py"
    code.write_text(f"import json, sys\nrequest = json.load(sys.stdin)\n{program}\n")
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}"\n')
    python.chmod(0o755)
    return folder


LAX = "print(json.dumps({'answers': ['\"tool\"' in text for text in request['texts']]}))"
"""An engine that accepts every call."""


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
    assert installed(tmp_path) == ()


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
