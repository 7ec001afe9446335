"""Plug-ins of other packages: the package of docs/plugins.md works as written, and a broken one harms nothing else."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
import typer.testing

from cli_command import command as glyphscope
from glyphscope.base import plugins, resources
from glyphscope.base.errors import GlyphscopeError
from glyphscope.cli import serves_at_once
from glyphscope.cli.probes import other_plugins
from glyphscope.evals.results import export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.running import read_place
from glyphscope.evals.suites import IMPORTERS, endings
from glyphscope.evals.suites.reading import load_suite
from glyphscope.tools.demo import DemoTools, demo_tools
from made_results import made_result

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
BROKEN = {f"glyphscope.{kind}": {"bad": "glyphscope_bad:missing"} for kind in ("importers", "commands")}


def install(folder: Path, name: str, points: dict[str, dict[str, str]], module: str) -> None:
    """Install a package of one module as pip does."""
    file = name.replace("-", "_")
    info = folder / f"{file}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in named.items())
        for group, named in points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    (folder / f"{file}.py").write_text(module)


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """The package of the page, and another one that cannot be imported, on the path."""
    text = PAGE.read_text(encoding="utf-8")
    toml, module = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("toml", "python"))
    folder = tmp_path / "packages"
    install(folder, "glyphscope-notes", tomllib.loads(toml)["project"]["entry-points"], module)
    install(folder, "glyphscope-bad", BROKEN, "raise ImportError('no libnotes.so')")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    forget_what_was_read()
    yield folder
    for module in ("glyphscope_notes", "glyphscope_bad"):
        sys.modules.pop(module, None)
    forget_what_was_read()


def forget_what_was_read():
    demo_tools.cache_clear()
    typer.testing._get_command.cache_clear()


def command(*arguments):
    return glyphscope(*arguments)


def program(*arguments, **more):
    words = [sys.executable, "-m", "glyphscope", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **more)


def test_an_importer_reads_a_file_that_is_evaluated(notes, tmp_path):
    file = tmp_path / "sums.notes"
    file.write_text("2 + 2 => 4\nnothing\n")
    suite = load_suite(file)
    assert [each.prompt for each in suite.scenarios] == ["2 + 2"] and "line 2" in suite.notes[0]
    assert ".notes" in endings() and ".yaml" in endings()
    done = command("eval", file, "--model", "scripted:It is 4.", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_exporters_write_a_result_and_a_run(notes, tmp_path):
    folder = ResultFolder.open(made_result(tmp_path))
    (written,) = export_samples(folder, tmp_path / "all.ids").files
    assert written.read_text().splitlines() == [each.id for each in folder.samples()]
    record = tmp_path / "run.jsonl"
    record.write_bytes(resources.read_bytes("runs/verbs-loop.jsonl"))
    # in other processes: the command has the forms that there were when it was imported
    done = program("export", "--to", "words", record)
    assert done.returncode == 0 and int(done.stdout) >= 2, done.stderr
    asked = program("export", "--to", "words", record, "--endpoint", "http://x")
    assert "only for OpenTelemetry" in asked.stderr


def test_a_place_a_command_and_a_tool(notes, tmp_path):
    assert read_place("share://1000").jobs == 1
    with pytest.raises(GlyphscopeError, match="Not a share"):
        read_place("share://none")
    (tmp_path / "a.notes").write_text("1 => 1\n2 => 2\n")
    done = command("notes", tmp_path / "a.notes")
    assert (done.exit_code, done.stdout) == (0, "2\n"), done.output
    assert "Print the number of notes" in command("--help").stdout
    tools = DemoTools()
    assert tools.call("double", {"number": 21}, cancel=threading.Event()).structured == {"result": 42}
    tools.close()


@pytest.mark.slow
def test_a_server_answers_over_stdin_and_stdout(notes):
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
    done = program("mcp", "serve-notes", input=request)
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "notes", done.stderr


def test_a_broken_plug_in_is_named_and_the_others_work(notes, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        assert {"promptfoo", "inspect", "notes"} <= {name for name, _ in IMPORTERS.all()}
    assert "bad of glyphscope-bad cannot be loaded: ImportError: no libnotes.so" in caplog.text
    with pytest.raises(plugins.PluginError, match="no libnotes"):
        IMPORTERS.get("bad")
    listed = command("--help")
    assert listed.exit_code == 0 and "bad " in listed.stdout and "doctor" in listed.stdout
    called = command("bad")
    assert called.exit_code == 2 and "glyphscope-bad" in called.stderr and "uninstall" in called.stderr
    found = {each.name: each for each in other_plugins()}
    bad = found["glyphscope-bad"]
    assert not bad.ok and "no libnotes.so" in bad.detail and bad.fix and found["glyphscope-notes"].ok


def test_a_plug_in_of_another_kind_and_one_named_as_a_bundled_one(tmp_path, monkeypatch):
    points = {"glyphscope.importers": {"promptfoo": "other_one:X", "wrong": "other_one:X"}}
    install(tmp_path / "packages", "other-one", points, "X = 1")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    with pytest.raises(
        plugins.PluginError,
        match=r"wrong of other-one .* not of the kind Importer",
    ):
        IMPORTERS.get("wrong")
    assert IMPORTERS.get("promptfoo").endings == (".yaml", ".yml")


def test_no_plug_in_is_looked_up_before_it_is_needed(tmp_path):
    install(
        tmp_path, "never-read", {"glyphscope.commands": {"check2": "never_read:x"}}, "raise SystemExit(7)"
    )
    call = tmp_path / "call.txt"
    call.write_text('{action="search" query="x"}')
    code = (
        "import sys; import importlib.metadata as m; m.entry_points = lambda **_: sys.exit(9); "
        "from glyphscope.cli import main; main()"
    )
    for arguments in (["--version"], ["check", str(call)]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["mcp"], ["mcp", "serve-nothing"], ["mcp", "serve-notes", "--help"]]
)
def test_only_a_request_for_a_server_is_served_without_the_other_commands(notes, arguments):
    assert not serves_at_once(arguments)
