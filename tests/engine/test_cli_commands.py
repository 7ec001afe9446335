import json
import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from cli_command import command
from glyphscope.cli import probes
from glyphscope.cli.probes import Finding


def test_the_version_is_the_packages():
    result = command("--version")
    assert (result.exit_code, result.stdout.split()) == (0, ["glyphscope", version("glyphscope")])


def test_a_file_in_place_of_a_command_is_named_with_the_command_that_opens_it(tmp_path):
    file = tmp_path / "agent.glyphscope"
    file.write_text("{}")
    result = command(str(file))
    assert result.exit_code == 2
    assert (
        f"{file} is a file, not a command. To open it in the window: glyphscope gui {file}" in result.stderr
    )


@pytest.mark.slow
def test_the_engines_commands_start_without_qt_or_llama_cpp():
    script = (
        "import sys, typer.main; from glyphscope.cli.app import app; program = typer.main.get_command(app); "
        "assert all(program.get_command(None, name) for name in program.list_commands(None)); "
        "sys.exit(str([m for m in sys.modules if m.split('.')[0] in ('PySide6', 'llama_cpp', 'glyphscope_gui')] or 0))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() in ("", "0")


# sizes


DEEP = json.dumps({"function": {"name": "search", "arguments": "[" * 100_000}})


@pytest.mark.parametrize(
    "text",
    [
        "\n\n", "[]\n", "{}", b"\xff\xfe", DEEP,
    ],
)  # fmt: skip
def test_sizes_of_no_calls_are_bad_input(text):
    result = command("sizes", "--json", "-", text=text)
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.startswith("error: ")


# models, doctor, gui, grammar


def test_an_empty_list_of_models_is_exit_code_1_with_a_hint(monkeypatch, tmp_path):
    monkeypatch.setattr("glyphscope.cli.models.find_models", lambda folders: [])
    result = command("models", "--json", "--folder", str(tmp_path))
    assert (result.exit_code, json.loads(result.stdout)) == (1, {"models": []})
    assert "glyphscope[demo]" in command("models").stdout


@pytest.mark.slow
def test_models_show_a_file_that_cannot_be_used_with_its_reason(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    assert "✗" in command("models", "--folder", str(tmp_path)).stdout
    found = json.loads(command("models", "--json", "--folder", str(tmp_path)).stdout)["models"]
    assert [each["problem"] != "" for each in found if each["name"] == "broken"] == [True]


@pytest.mark.slow
def test_doctor_gives_a_fix_for_every_missing_thing(monkeypatch):
    monkeypatch.setattr(probes, "_broken", lambda modules: {})  # importing them all takes seconds
    result = command("doctor", "--json")
    findings = json.loads(result.stdout)["findings"]
    assert all(finding["fix"] for finding in findings if not finding["ok"])
    assert result.exit_code == (0 if all(finding["ok"] for finding in findings) else 1)
    monkeypatch.setattr(probes, "python", lambda: Finding("python", False, "too old", "install a newer one"))
    result = command("doctor")
    assert (
        result.exit_code == 1 and "✗ missing" in result.stdout and "fix: install a newer one" in result.stdout
    )


def test_doctor_names_the_debian_package_of_a_missing_library(monkeypatch):
    listing = "\tlibxcb-cursor.so.0 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x0)\n"
    done = subprocess.CompletedProcess([], 0, stdout=listing)
    monkeypatch.setattr(probes.subprocess, "run", lambda *args, **kwargs: done)
    finding = probes.qt_libraries()
    assert (finding.ok, finding.fix) == (False, "apt-get install libxcb-cursor0")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_doctor_names_a_folder_that_cannot_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    assert not probes.writable("settings", tmp_path / "new").ok


def test_without_a_display_the_window_says_so_and_what_works(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for arguments in ([], ["gui"]):
        result = command(*arguments)
        assert result.exit_code == 2 and "No display" in result.stderr and "glyphscope run" in result.stderr


def test_without_pyside_the_window_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("glyphscope.cli.gui.find_spec", lambda name: None)
    result = command("gui")
    assert result.exit_code == 2 and "pip install 'glyphscope[gui]'" in result.stderr


def test_the_window_is_found_by_its_entry_point(monkeypatch):
    opened, disabled = [], []

    class Window:
        @staticmethod
        def load():
            return lambda arguments: opened.append(arguments) or 3

    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr(
        "glyphscope.base.plugins._entries", lambda _path: {"glyphscope.apps": {"gui": Window}}
    )
    monkeypatch.setattr("glyphscope.cli.gui.gc.disable", lambda: disabled.append(len(opened)))
    assert command("gui", "a.glyphscope").exit_code == 3
    assert command().exit_code == 3
    assert opened == [["a.glyphscope"], []] and disabled == [0, 1]


def imported_by(*arguments: str, text: str = "") -> set[str]:
    """The modules that a command has imported when it ends, as `glyphscope` starts it."""
    code = (
        "import atexit, sys; from glyphscope.cli import main\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "main()"
    )
    command_line = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command_line, input=text, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.slow
def test_the_program_ends_after_its_threads_and_what_is_registered_for_its_end():
    code = (
        "import atexit, threading; from glyphscope.cli import main\n"
        "atexit.register(print, 'end')\n"
        "threading.Thread(target=lambda: (threading.main_thread().join(), print('thread'))).start()\n"
        "main()"
    )
    command_line = [sys.executable, "-c", code, "grammar", "check", "-"]
    done = subprocess.run(command_line, input="root ::= x", capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.splitlines()[-2:] == ["thread", "end"]


HEAVY = {
    "PySide6",
    "pyqtgraph",
    "numpy",
    "llguidance",
    "llama_cpp",
    "mcp",
    "anyio",
    "asyncio",
    "httpx2",
}
HEAVY |= {"huggingface_hub", "keyring", "pyarrow", "jinja2", "rapidfuzz", "markdown_it", "glyph"}


def test_the_version_is_printed_without_loading_what_it_does_not_need():
    assert not imported_by("--version") & (HEAVY | {"rich", "pydantic", "jsonschema", "glyphscope.events"})


@pytest.mark.slow
def test_a_check_loads_nothing_that_a_call_does_not_need():
    modules = imported_by("check", "-", text='calculate{expression="1+1"}')
    assert "glyphscope.validation.call" in modules
    assert not modules & (HEAVY | {"glyphscope.turns", "glyphscope.grammar.builder", "glyphscope.models"})


@pytest.mark.slow
def test_a_command_imports_only_what_it_needs():
    modules = imported_by("keys", "--help")
    assert "glyphscope.cli.keys" in modules and "glyphscope.cli.run" not in modules


@pytest.mark.slow
def test_the_help_of_a_run_imports_only_its_options():
    modules = imported_by("run", "--help")
    assert "glyphscope.cli.run" in modules and "glyphscope.cli.running" not in modules
    assert not modules & (HEAVY - {"jinja2"} | {"pydantic", "jsonschema", "glyphscope.turns.read"})
    assert not modules & {"glyphscope.grammar.builder", "glyphscope.validation", "glyphscope.evals"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("gram", ["grammar"]),
        ("grammar ch", ["check"]),
        ("run --constraint ", ["off", "mask", "gbnf", "endpoint"]),
    ],
)
def test_the_shell_completes_commands_and_the_values_of_options(typed, expected):
    words = f"glyphscope {typed}"
    variables = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "from glyphscope.cli import main; main()"],
        env=os.environ | variables | {"_GLYPHSCOPE_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == expected
