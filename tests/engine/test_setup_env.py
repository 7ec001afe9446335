"""`make run` and the script that prepares the machine for it, without preparing anything."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import llguidance
import pytest

from glyphscope.cli.probes import DEBIAN

ROOT = Path(__file__).parents[2]


@pytest.fixture
def setup_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, with a separate cache and without any program to run."""
    spec = importlib.util.spec_from_file_location("setup_env", ROOT / "packaging" / "setup_env.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    monkeypatch.delenv("LLAMA_INDEX", raising=False)
    return module


def download(*command: str | Path, **_: str) -> None:
    """Replace `pip download`: write a source package with one file that is saved and one that is discarded."""
    with tarfile.open(Path(command[command.index("-d") + 1], "llama_cpp_python.tar.gz"), "w:gz") as archive:
        for name in ("vendor/llama.cpp/models/templates/one.jinja", "vendor/llama.cpp/src/llama.cpp"):
            member = tarfile.TarInfo(f"llama_cpp_python-0.3.36/{name}")
            member.size = 14
            archive.addfile(member, io.BytesIO(b"{{ messages }}"))


def test_templates_and_vocabularies_are_downloaded_once_beside_a_cached_wheel(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[tuple[str | Path, ...]] = []

    def fetch(*command: str | Path, **_: str) -> None:
        commands.append(command)
        download(*command)

    monkeypatch.setattr(setup_env, "run", fetch)
    for _ in range(2):
        setup_env.fetch_llama_data()
    saved = [path.name for path in setup_env.cache_folder().rglob("*") if path.is_file()]
    assert saved == ["one.jinja"]
    assert len(commands) == 1 and "download" in commands[0]


def test_a_wheel_in_the_cache_is_not_built_again(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def build(*command: str | Path, **environment: str) -> None:
        if "download" in command:
            download(*command)
            return
        assert Path(command[-1]).is_file()
        built.append(environment["CMAKE_ARGS"])
        folder = Path(command[command.index("-w") + 1])
        (folder / "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl").touch()

    monkeypatch.setattr(setup_env, "run", build)
    first = setup_env.llama_wheel()
    assert (setup_env.llama_data() / "templates" / "one.jinja").read_text() == "{{ messages }}"
    assert first.is_file()
    assert setup_env.llama_wheel() == first
    assert len(built) == 1
    assert "-DLLAMA_BUILD_SERVER=OFF" in built[0]


def built_with_index(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, library: bytes | None
) -> bool:
    """Whether llama.cpp is built although the user named an index, with a wheel of this library or without any."""
    files = folder / "llama-cpp-python"
    files.mkdir()
    if library is not None:
        name = "llama_cpp_python-0.3.36"
        with zipfile.ZipFile(files / f"{name}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("llama_cpp/lib/libllama.so", library)
            wheel.writestr(
                f"{name}.dist-info/METADATA",
                "Metadata-Version: 2.1\nName: llama-cpp-python\nVersion: 0.3.36\n",
            )
            wheel.writestr(
                f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{name}.dist-info/RECORD", "")
    links = (f'<a href="{path.name}">{path.name}</a>' for path in files.iterdir())
    (files / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    monkeypatch.setenv("LLAMA_INDEX", folder.as_uri())
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    def build(*command: str | Path, **environment: str) -> None:
        if "download" in command:
            download(*command)
        else:
            Path(command[command.index("-w") + 1], "built.whl").touch()

    monkeypatch.setattr(setup_env, "run", build)
    return bool(setup_env.llama_wheel(python=Path(sys.executable)).name == "built.whl")


@pytest.mark.slow
def test_a_published_wheel_is_used_if_it_fits_and_loads_and_else_llama_cpp_is_built(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = Path(llguidance.__file__).parent.glob("*.so")
    for case, (content, built) in enumerate(
        [(next(library).read_bytes(), False), (b"not one", True), (None, True)]
    ):
        folder = tmp_path / str(case)
        folder.mkdir()
        assert built_with_index(setup_env, monkeypatch, folder, content) is built


def test_an_interrupted_build_leaves_no_wheel(setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(*command: str | Path, **environment: str) -> None:
        if "download" in command:
            download(*command)
            return
        Path(command[command.index("-w") + 1], "half.whl").touch()
        raise SystemExit(1)

    monkeypatch.setattr(setup_env, "run", break_off)
    with pytest.raises(SystemExit):
        setup_env.llama_wheel()
    assert not list(setup_env.wheel_folder().iterdir())


def test_other_build_options_have_their_own_wheel(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, stamp = setup_env.wheel_folder(), setup_env.fingerprint()
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")
    assert setup_env.wheel_folder() != plain
    assert setup_env.fingerprint() != stamp
    assert setup_env.build_options().endswith("-DGGML_CUDA=on")


def test_without_root_the_missing_packages_are_printed(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup_env, "missing_to_show", lambda: ["libegl1"])
    monkeypatch.setattr(setup_env, "missing_to_build", list)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert setup_env.system_packages() is False
    assert "sudo apt-get install -y --no-install-recommends libegl1" in capsys.readouterr().out


def test_without_a_compiler_and_root_setup_stops_before_the_build(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="nothing can be built"):
        setup_env.system_packages()


@pytest.mark.parametrize(("display", "expected"), [("", "run Search for"), (":0", "gui")])
def test_make_run_opens_the_window_or_the_terminal(display: str, expected: str, tmp_path: Path) -> None:
    command = tmp_path / "glyphscope"
    command.write_text('#!/bin/sh\necho "called: $*"\n')
    command.chmod(0o755)
    environment = {**os.environ, "DISPLAY": display, "WAYLAND_DISPLAY": ""}
    done = subprocess.run(
        ["make", "-s", "run", "PYTHON=true", f"BIN={tmp_path}"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"called: {expected}" in done.stdout
    assert ("no display here" in done.stdout) is (not display)


def test_setup_and_doctor_name_the_same_package_for_a_library(setup_env: ModuleType) -> None:
    assert setup_env.LIBRARIES.items() <= DEBIAN.items()


def test_a_portable_build_of_llama_cpp_has_no_amx(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env, "processor", lambda: "flags: avx2 avx512f amx_tile amx_int8")
    options = setup_env.build_options()
    assert "-DGGML_NATIVE=OFF" in options
    assert "-DGGML_AVX512=ON" in options
    assert "AMX" not in options
    assert "AVX512" not in setup_env.build_options(portable=True)
    monkeypatch.setattr(setup_env, "processor", lambda: "flags: avx2 avx512f")
    assert "NATIVE" not in setup_env.build_options()


def test_the_environment_of_another_python_is_replaced(
    setup_env: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[tuple[str, ...]] = []
    folder = tmp_path / "venv"
    for name, value in (("VENV", folder), ("PYTHON", folder / "bin" / "python"), ("STAMP", folder / "ready")):
        monkeypatch.setattr(setup_env, name, value)
    monkeypatch.setattr(setup_env, "run", lambda *words, **_: commands.append(tuple(map(str, words))))
    for name in ("system_packages", "llama_wheel", "fetch_llama_data"):
        monkeypatch.setattr(setup_env, name, lambda: True)
    (folder / "bin").mkdir(parents=True)
    for name, made in (("python3.10", True), (f"python{sys.version_info[0]}.{sys.version_info[1]}", False)):
        (folder / "bin" / "pip").touch()
        (folder / "bin" / name).touch()
        setup_env.STAMP.unlink(missing_ok=True)
        commands.clear()
        setup_env.main()
        assert (commands[0][1:3] == ("-m", "venv")) is made
