"""The bench's installed baselines: environments, processes, and reasons of those that are missing. Not the speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.events import LoadOptions
from glyphscope.models import Model, ScriptedModel
from glyphscope_benchmarks import (
    command,
    documents,
    environments,
    installed_baseline,
    installed_baselines,
    reading,
)
from glyphscope_benchmarks.baseline_process import running, started
from glyphscope_benchmarks.environments import Environment, package_versions
from glyphscope_benchmarks.timing import QUICK, Stamped

TINY = replace(QUICK, prompts=1, call_tokens=12)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLYPHSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(environments, "_wheel", lambda: tmp_path / "llama_cpp_python-1.0-py3-none-any.whl")
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    return tmp_path


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of installations, none of which runs."""
    seen: list[list[str]] = []
    monkeypatch.setattr(environments, "run_step", lambda step, *_: (seen.append(step), _make_folder(step)))
    return seen


def _make_folder(step: list[str]) -> None:
    if "venv" in step:
        Path(step[-1]).mkdir(parents=True)


def test_an_environment_is_made_once_with_the_wheel_of_the_setup(steps: list[list[str]], home: Path) -> None:
    environment = Environment("guidance", ("guidance>=0.3",), extra="server")
    python = environment.python()
    assert python.is_relative_to(home / "home" / "cache" / "bench")
    assert environment.python() == python
    made, installed = steps
    assert made[:3] == [sys.executable, "-m", "venv"] and installed[:4] == [
        str(python),
        "-m",
        "pip",
        "install",
    ]
    assert installed[-2:] == [
        f"llama-cpp-python[server] @ {(home / 'llama_cpp_python-1.0-py3-none-any.whl').as_uri()}",
        "guidance>=0.3",
    ]


def test_other_packages_are_another_environment(steps: list[list[str]]) -> None:
    assert Environment("a", ("x>=1",)).python() != Environment("a", ("x>=2",)).python()


def test_uv_is_used_where_there_is_one(steps: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.shutil, "which", lambda name: "/bin/uv" if name == "uv" else None)
    monkeypatch.setattr(environments, "run_step", lambda step, *_: (steps.append(step), _make_folder(step)))
    Environment("a").python()
    assert [step[:2] for step in steps] == [["/bin/uv", "venv"], ["/bin/uv", "pip"]]


def test_an_installation_that_was_cut_off_is_made_again(
    steps: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(step: list[str], failing: str, *_: object) -> None:
        _make_folder(step)
        if "pip" in step:
            raise GlyphscopeError(failing)

    with monkeypatch.context() as broken:
        broken.setattr(environments, "run_step", fail)
        with pytest.raises(GlyphscopeError, match="the packages of a cannot be installed"):
            Environment("a").python()
    Environment("a").python()
    assert len(steps) == 2


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (["-c", "import sys; sys.exit('ERROR: no matching distribution\\nnotice: 1')"], "ERROR: no matching"),
        (["-c", "raise SystemExit(3)"], "it printed nothing"),
    ],
)
def test_a_step_that_fails_has_its_reason(program: list[str], reason: str) -> None:
    with pytest.raises(GlyphscopeError, match=f"cannot be made: {reason}"):
        environments.run_step([sys.executable, *program], "cannot be made")


def test_a_program_that_is_missing_has_its_reason(home: Path) -> None:
    with pytest.raises(GlyphscopeError, match="No such file"):
        environments.run_step([str(home / "none")], "cannot be made")


def test_a_step_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "_PATIENCE", 0.01)
    with pytest.raises(GlyphscopeError, match="took longer than"):
        environments.run_step([sys.executable, "-c", "import time; time.sleep(9)"], "cannot be made")


def test_a_folder_that_cannot_be_written_is_the_reason(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "run_step", lambda *_: None)
    monkeypatch.setattr(environments, "_setup", lambda: SimpleNamespace(build_options=lambda: ""))
    (home / "home").write_text("a file where the folder would be", encoding="utf-8")
    for install in (Environment("a").python, environments.llama_tools):
        with pytest.raises(GlyphscopeError, match="cannot be installed: "):
            install()


def test_without_the_wheel_of_the_setup_no_environment_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(environments, "_setup", lambda: SimpleNamespace(wheel_folder=lambda: Path("/none")))
    with pytest.raises(GlyphscopeError, match="make setup"):
        environments._wheel()


def test_the_setups_wheel_and_build_options_are_found() -> None:
    setup = environments._setup()
    assert setup.LLAMA.startswith("llama-cpp-python==") and setup.wheel_folder().parent.name == "wheels"
    made = environments._configured(Path("source"), Path("build"), setup.build_options().split())
    assert made.index("-DLLAMA_BUILD_SERVER=OFF") < made.index("-DLLAMA_BUILD_SERVER=ON")


def test_the_versions_of_an_environment_are_those_of_its_packages(tmp_path: Path) -> None:
    for name in ("llama_cpp_python-0.3.36", "guidance-0.3.1"):
        (tmp_path / "lib" / "python3.11" / "site-packages" / f"{name}.dist-info").mkdir(parents=True)
    assert package_versions(tmp_path / "bin" / "python") == {
        "llama-cpp-python": "0.3.36",
        "guidance": "0.3.1",
    }


@pytest.fixture
def fake_baselines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Baselines that are a few lines of Python: four tokens in a second."""

    def python(self: Environment) -> Path:
        if self.name == "outlines":
            raise GlyphscopeError("the packages of outlines cannot be installed: no network")
        return Path(sys.executable)

    monkeypatch.setattr(Environment, "python", python)
    monkeypatch.setattr(installed_baselines, "llama_tools", _no_compiler)
    yield


def _no_compiler() -> Path:
    raise GlyphscopeError("llama.cpp's own programs cannot be compiled: no compiler")


ANSWERING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if sys.argv[1] == "python-server" and asked["max_tokens"] == 13:
        print(json.dumps({"error": "OSError: gone"}), flush=True)
    else:
        print(json.dumps({"start": 1.0, "stamps": [1.5, 1.5, 1.5, 2.0], "text": asked["prompt"]}), flush=True)
"""


def _requests(model: Model, plan: object) -> Iterator[tuple[Any, dict[str, Any]]]:
    yield SimpleNamespace(prompt="p"), {}


@pytest.mark.slow
def test_a_baseline_that_cannot_be_measured_has_its_reason_and_the_others_their_figures(
    fake_baselines: None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = home / "script.py"
    script.write_text(ANSWERING, encoding="utf-8")
    monkeypatch.setattr(installed_baselines, "_SCRIPT", script)
    monkeypatch.setattr(installed_baselines, "_calls", _requests)
    monkeypatch.setattr(installed_baselines, "stamped", lambda *_: Stamped(5.0, ((5.5, 4), (6.0, 2))))
    found = {figure.name: figure for figure in installed_baselines.figures(ScriptedModel("{a=1}"), TINY)}
    assert [*found] == [row.name for row in installed_baselines.ROWS]
    over = "tokens/s, our mask over "
    guidance = found[f"{over}guidance"]
    assert guidance.measured == 1.5 and guidance.better == "higher" and guidance.note.startswith("guidance ")
    assert guidance.samples["ours_tokens"] == 6 and guidance.samples["baseline_tokens"] == 4
    assert found[f"{over}llama_cpp.server"].measured == 1.5
    assert "no network" in found[f"{over}Outlines"].note
    for name in (f"{over}llama-server", reading.OVER_LLAMA_BENCH.name):
        assert found[name].note == "not measured: llama.cpp's own programs cannot be compiled: no compiler"


def test_a_baseline_that_fails_in_a_round_has_no_figure() -> None:
    some = Stamped(5.0, ((5.5, 1), (6.0, 1)))
    taken: dict[tuple[str, int], list[Stamped | str]] = {
        ("ours", 0): [some, some],
        ("guidance", 0): [some, "the peer failed"],
        ("outlines", 0): [some, Stamped(5.0, ())],
    }
    guidance, outlines, *_ = installed_baselines.BASELINES
    assert installed_baselines._figure(guidance, taken, "").note == "not measured: the peer failed"
    assert "no token that could be timed" in installed_baselines._figure(outlines, taken, "").note


@pytest.mark.slow
def test_a_baseline_that_hangs_is_killed_after_its_time() -> None:
    hanging = [sys.executable, "-c", "import time; time.sleep(60)"]
    with (
        running(hanging, dict(os.environ)) as process,
        pytest.raises(ModelError, match="did not answer within"),
    ):
        process.ask_within(0.2, task="grammar")


def test_the_arguments_of_baselines_are_the_models_options() -> None:
    options = LoadOptions(context=512, threads=3, gpu_layers=0, kv_type="q8_0", flash_attention="on")
    assert installed_baselines._arguments(options) == {
        "n_ctx": 512,
        "n_threads": 3,
        "n_threads_batch": 3,
        "n_gpu_layers": 0,
        "type_k": 8,
        "type_v": 8,
        "flash_attn": True,
    }


def test_the_process_of_a_baseline_sees_none_of_this_programs_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "here")
    assert "PYTHONPATH" not in installed_baselines._environment()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(installed_baseline.BASELINES))
def test_a_baseline_that_is_not_there_answers_with_the_reason(name: str) -> None:
    options = {
        "n_ctx": 64,
        "n_threads": 1,
        "n_gpu_layers": 0,
        "flash_attn": False,
        "server": "/none/llama-server",
    }
    asked = [sys.executable, "-P", str(installed_baselines._SCRIPT), name, "/none.gguf", json.dumps(options)]
    task = {"task": "grammar", "prompt": "p", "schema": {}, "max_tokens": 2}
    done = subprocess.run(asked, input=json.dumps(task), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["error"]


def test_baselines_are_installed_only_when_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.validators, "figures", lambda plan: iter([]))
    for module in (command.window, command.start):
        monkeypatch.setattr(module, "figures", lambda plan: [])
    monkeypatch.setattr(command.grammars, "keystroke", lambda plan: iter([]))
    names = {row.name for row in installed_baselines.ROWS}
    assert not names & {figure.name for figure in command.measure(TINY, None)}
    assert names <= {figure.name for figure in command.measure(TINY, None, with_baselines=True)}


def test_an_output_of_llama_bench_without_a_figure_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = subprocess.CompletedProcess([], 1, b"[]", b"loading\ncannot open the file\n")
    monkeypatch.setattr(reading, "_ours", lambda model: 1.0)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: printed)
    with pytest.raises(ModelError, match="llama-bench failed: cannot open the file"):
        reading.beside_llama_bench(Path("llama-bench"), ScriptedModel("{a=1}"), LoadOptions(), TINY)


@pytest.mark.slow
@pytest.mark.model
def test_all_tokens_of_a_prompt_but_the_last_are_read_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    from glyphscope.models import open_model

    model = open_model("embedded", options=LoadOptions(context=1024))
    try:
        with started(model.info.path, LoadOptions(context=1024)) as baseline:
            assert len(model.tokenize(reading._prompt())) == pytest.approx(reading.TOKENS, rel=0.05)
            monkeypatch.setattr(reading, "_TEXT", documents.STORY)
            answer = baseline.ask(task="read", prompt=reading._prompt())
            assert len(answer.ids) < 100 and len(answer.spent) == 1 and answer.spent[0] > 0
            (figure,) = reading.figures(model, baseline, TINY)
    finally:
        model.close()
    assert figure.measured is not None and set(figure.samples) == {
        "ours_tokens_per_second",
        "llama_decode_tokens_per_second",
    }
