"""`doctor` names each missing, broken or wrong thing, and the command that fixes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections import namedtuple
from importlib import metadata
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest

from cli_command import command
from glyphscope.cli import probes
from glyphscope.cli.probes import Requirement, requirements


def findings() -> dict[str, probes.Finding]:
    return {each.name: each for each in probes.packages()}


@pytest.fixture
def sound(monkeypatch):
    """Do not import packages to check that they can be imported."""
    monkeypatch.setattr(probes, "_broken", lambda modules: {})


@pytest.mark.parametrize("package", ["numpy", "mcp", "pyside6-essentials", "llama-cpp-python", "keyring"])
def test_doctor_reports_a_missing_package(sound, monkeypatch, package):
    version = metadata.version

    def listed(name: str) -> str:
        if name.lower() == package:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", listed)
    wrong = [each for each in findings().values() if not each.ok]
    (extra,) = {each.extra for each in requirements() if each.package == package}
    assert [each.name for each in wrong] == [package]
    assert wrong[0].fix == ("pip install " + (f"'glyphscope[{extra}]'" if extra else "glyphscope"))
    assert ("needed for" in wrong[0].detail) == bool(extra)


def test_each_required_package_is_imported_by_a_module_that_exists():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    lines = chain(project["dependencies"], *project["optional-dependencies"].values())
    asked = [each for line in lines if (each := probes._read(line)) is not None]
    modules = [module for each in asked if (module := probes._module(each))]
    assert len(modules) > 10
    assert [module for module in modules if find_spec(module.partition(".")[0]) is None] == []


def test_doctor_reports_an_optional_package_only_in_the_wrong_version(sound, monkeypatch):
    real, found = metadata.version, {"pyarrow": ""}
    monkeypatch.setattr(metadata, "version", lambda name: found.get(name) if name in found else real(name))
    monkeypatch.setattr(probes, "requirements", lambda: [Requirement("pyarrow", "parquet", "17")])
    assert findings() == {}
    found["pyarrow"] = "16.1"
    wrong = findings()["pyarrow"]
    assert not wrong.ok and "16.1, which is not >=17; needed for" in wrong.detail


def test_a_frozen_program_has_everything_in_it(monkeypatch):
    def unlisted(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", unlisted)
    monkeypatch.setattr(probes, "is_frozen", lambda: True)
    assert [each for each in findings().values() if not each.ok] == []
    monkeypatch.setattr(probes, "requirements", lambda: [Requirement("nothing.of.this", "otel")])
    assert findings() == {}, "an optional package, of which not even the outer one is there"
    monkeypatch.setattr(probes, "requirements", list)
    assert findings()["packages"].ok
    monkeypatch.setattr(probes, "is_frozen", lambda: False)
    assert findings()["packages"].fix == "pip install 'glyphscope[all]'"


@pytest.mark.parametrize(("package", "version"), [("llguidance", "1.8.2"), ("pyside6-essentials", "6.12.0")])
def test_doctor_reports_a_version_outside_the_range(sound, monkeypatch, package, version):
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: version if name == package else real(name))
    found = findings()[package]
    assert not found.ok and f"{version}, which is not >=" in found.detail
    assert found.fix.startswith(f"pip install '{package}>=")


def test_doctor_reports_a_broken_package(monkeypatch, tmp_path):
    for name, text in (
        ("sound", "print('[welcome]')"),
        ("broken", "import nowhere"),
        ("deadly", "import os; os._exit(7)"),
    ):
        (tmp_path / f"glyphtest_{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    names = [f"glyphtest_{name}" for name in ("broken", "deadly", "sound")]
    said = probes._broken(names)
    assert said == {
        "glyphtest_broken": "ModuleNotFoundError: No module named 'nowhere'",
        "glyphtest_deadly": "its process ended with 7",
    }
    finding = probes._finding(Requirement("keyring", "remote", "25"), "25.1", said["glyphtest_broken"])
    assert not finding.ok and "cannot be imported: ModuleNotFoundError" in finding.detail
    assert finding.fix == "pip install --force-reinstall --no-deps 'keyring>=25'"


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        ("6.8", True),
        ("6.8.0", True),
        ("6.11.3", True),
        ("6.12", False),
        ("6.12.0", False),
        ("6.7.9", False),
        ("?", True),
    ],
)
def test_a_version_range_includes_and_excludes_its_bounds(version, holds):
    assert Requirement("x", "", "6.8", "6.12").allows(version) is holds


def test_the_checked_packages_are_the_required_ones():
    extras = {each.extra for each in requirements()}
    assert "" in extras and "all" not in extras and extras - {""} <= set(probes.USES)
    assert {"numpy", "msgspec", "regex"} <= {each.package for each in requirements() if not each.extra}


# -- the system ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        ("ModuleNotFoundError: No module named 'llama_cpp'", "pip install 'glyphscope[local]'"),
        ("OSError: undefined symbol: ggml_x", "pip install --force-reinstall 'glyphscope[local]'"),
        ("OSError: libgomp.so.1: cannot open shared object file", "apt-get install libgomp1"),
    ],
)
def test_doctor_reports_a_model_process_that_cannot_start(monkeypatch, lines, fix):
    done = subprocess.CompletedProcess([], 1, stdout="", stderr=f"Traceback\n{lines}\n")
    monkeypatch.setattr(probes.subprocess, "run", lambda *args, **kwargs: done)
    finding = probes.model_process()
    assert (finding.ok, finding.detail, finding.fix) == (False, lines, fix)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="DISPLAY matters on Linux only")
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "there is none"),
        ({"DISPLAY": ":7731"}, "DISPLAY is :7731, and no server answers"),
        ({"WAYLAND_DISPLAY": "wayland-77"}, "nothing answers at"),
        ({"DISPLAY": ":7731", "WAYLAND_DISPLAY": "wayland-77"}, "DISPLAY is :7731"),
        ({"DISPLAY": "far.example:0"}, ""),
        ({"QT_QPA_PLATFORM": "offscreen"}, ""),
        ({"QT_QPA_PLATFORM": "vnc:size=800x600"}, ""),
        ({"QT_QPA_PLATFORM": "xcb"}, "there is none"),
        ({"QT_QPA_PLATFORM": "wayland;xcb", "DISPLAY": ":7731"}, "DISPLAY is :7731"),
        ({"QT_QPA_PLATFORM": "wayland", "DISPLAY": "far.example:0"}, "there is none"),
    ],
)
def test_a_missing_display_is_reported(monkeypatch, tmp_path, variables, words):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    problem = probes.display_problem()
    assert words in problem if words else not problem
    finding = probes.display()
    assert finding.ok is not bool(problem) and bool(finding.fix) is bool(problem)


def test_a_window_that_cannot_be_loaded_is_an_error_with_a_hint(monkeypatch):
    class Window:
        name = value = "gui"
        dist = None

        @staticmethod
        def load():
            raise ImportError("libEGL.so.1: cannot open shared object file")

    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr(
        "glyphscope.base.plugins._entries", lambda _path: {"glyphscope.apps": {"gui": Window}}
    )
    monkeypatch.setattr("glyphscope.cli.gui.gc.disable", lambda: None)
    result = command("gui")
    assert result.exit_code == 2 and "libEGL.so.1" in result.stderr and "glyphscope doctor" in result.stderr


def test_doctor_reports_a_full_disk_and_a_place_that_is_a_file(monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**7, 10**7))
    disk = probes.disk(tmp_path / "new")
    assert not disk.ok and "10 MB free" in disk.detail and "GLYPHSCOPE_HOME" in disk.fix
    (tmp_path / "file").write_text("")
    finding = probes.writable("history", tmp_path / "file")
    assert not finding.ok and "GLYPHSCOPE_HOME" in finding.fix


ANSWERS = {
    "nvidia-smi": "GPU 0: NVIDIA H200 (UUID: GPU-0)",
    "rocminfo": "  Name:                    gfx1100\n  Marketing Name:          Radeon",
    "vulkaninfo": "\tdeviceType         = PHYSICAL_DEVICE_TYPE_CPU\n\tdeviceName         = llvmpipe\n"
    "\tdeviceType         = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU\n\tdeviceName         = Arc A770",
}


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        ([], {}),
        (["nvidia-smi"], {"CUDA": ("NVIDIA H200;", "CMAKE_ARGS=-DGGML_CUDA=on", "needs nvcc")}),
        (["nvidia-smi", "nvcc"], {"CUDA": ("NVIDIA H200;", "llama-cpp-python")}),
        (
            ["rocminfo", "hipconfig"],
            {"ROCm": ("gfx1100;", 'HIPCXX="$(hipconfig -l)/clang"', "-DGGML_HIP=on")},
        ),
        (["vulkaninfo", "glslc"], {"Vulkan": ("Arc A770;", "-DGGML_VULKAN=on")}),
    ],
)
def test_doctor_says_how_llama_cpp_is_built_for_a_card_that_it_finds(monkeypatch, tmp_path, programs, found):
    for name in programs:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{ANSWERS.get(name, '')}\nEND\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if programs else str(tmp_path))
    known = {each.name.removeprefix("graphics, "): each for each in probes.graphics()}
    assert known.keys() == found.keys() and all(each.ok for each in known.values())
    for name, words in found.items():
        assert all(word in known[name].detail for word in words)
        assert ("needs" in known[name].detail) == (programs == ["nvidia-smi"])


def test_a_driver_that_finds_no_card_is_not_a_card(monkeypatch, tmp_path):
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'; exit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert list(probes.graphics()) == []
