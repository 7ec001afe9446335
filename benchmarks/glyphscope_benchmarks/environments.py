"""Environments of baselines, created on request and kept in the cache folder, and llama.cpp's programs.

llama-cpp-python is the wheel that the setup built for this machine, so nothing is compiled for a Python baseline.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import duration
from glyphscope.cli.output import print_note
from glyphscope.store.folders import places
from glyphscope_benchmarks.baseline_process import last_line

TOOLS = ("llama-server", "llama-bench")
_ROOT = Path(__file__).parents[2]
_PATIENCE = 1800.0
"""The time limit of a step, in seconds: packages over a slow network, or compiling llama.cpp on a slow machine."""
_NOT_COMPILED = "llama.cpp's own programs cannot be compiled"


@dataclass(frozen=True)
class Environment:
    """`packages` are requirements in addition to llama-cpp-python, which is installed with its extra `extra`."""

    name: str
    packages: tuple[str, ...] = ()
    extra: str = ""

    def python(self) -> Path:
        """Its Python, after installing its packages. Raises GlyphscopeError with the reason if that fails."""
        try:
            return self._installed()
        except OSError as error:  # the folder is not writable, or the disk is full
            reason = error.strerror or error
            raise GlyphscopeError(f"the packages of {self.name} cannot be installed: {reason}") from error

    def _installed(self) -> Path:
        wheel = _wheel()
        named = f"llama-cpp-python[{self.extra}]" if self.extra else "llama-cpp-python"
        requirements = (f"{named} @ {wheel.as_uri()}", *self.packages)
        folder = _folder(self.name, *requirements, sys.version)
        python, done = folder / "bin" / "python", folder / "ready"
        if not done.is_file():
            print_note(f"installing {self.name} once, in {folder}", "dim")
            shutil.rmtree(folder, ignore_errors=True)
            for command in _installing(folder, python, requirements):
                run_step(command, f"the packages of {self.name} cannot be installed")
            done.touch()
        return python


def llama_tools() -> Path:
    """The folder with llama.cpp's `TOOLS`, compiled once like the wheel, from the same source.

    Raises GlyphscopeError with the reason if they cannot be compiled.
    """
    try:
        return _compiled()
    except OSError as error:
        raise GlyphscopeError(f"{_NOT_COMPILED}: {error.strerror or error}") from error


def _compiled() -> Path:
    setup, wheel = _setup(), _wheel()
    options = setup.build_options()
    folder = _folder("llama.cpp", wheel.parent.name, options)
    if all((folder / tool).is_file() for tool in TOOLS):
        return folder
    python = Environment("build", ("cmake", "ninja")).python()
    print_note(f"compiling {' and '.join(TOOLS)} once, for minutes, in {folder}", "dim")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        by_name = ("--no-deps", "--no-binary", "llama-cpp-python", "-d", unfinished, setup.LLAMA)
        run_step([sys.executable, "-m", "pip", "download", "--quiet", *by_name], _NOT_COMPILED)
        source, build = _unpacked(Path(unfinished)), Path(unfinished, "build")
        path = os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])
        environment = {**os.environ, "PATH": path}
        cmake = str(python.with_name("cmake"))
        run_step([cmake, *_configured(source, build, options.split())], _NOT_COMPILED, environment)
        compiling = ["--build", str(build), "--parallel", str(os.cpu_count() or 1), "--target", *TOOLS]
        run_step([cmake, *compiling], _NOT_COMPILED, environment)
        shutil.copytree(build / "bin", folder, symlinks=True, dirs_exist_ok=True)
    return folder


def package_versions(python: Path) -> dict[str, str]:
    """The versions of an environment's packages, by normalised name."""
    folders = python.parents[1].glob("lib/python*/site-packages/*.dist-info")
    names = (folder.name.removesuffix(".dist-info").rpartition("-") for folder in folders)
    return {name.lower().replace("_", "-"): version for name, _, version in names}


def _configured(source: Path, build: Path, options: list[str]) -> list[str]:
    """Options like the wheel's, but with programs, in a relocatable folder. The later of two options counts."""
    off = ("LLAMA_BUILD_APP", "LLAMA_BUILD_UI", "LLAMA_USE_PREBUILT_UI", "LLAMA_OPENSSL")
    on = ("LLAMA_BUILD_COMMON", "LLAMA_BUILD_TOOLS", "LLAMA_BUILD_SERVER", "CMAKE_BUILD_RPATH_USE_ORIGIN")
    more = [*(f"-D{part}=OFF" for part in off), *(f"-D{part}=ON" for part in on)]
    return ["-S", str(source), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options, *more]


def _unpacked(folder: Path) -> Path:
    """llama.cpp's source from the source package in the folder."""
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    archive.unlink()
    return next(folder.glob("*/vendor/llama.cpp"))


def _wheel() -> Path:
    folder: Path = _setup().wheel_folder()
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise GlyphscopeError("there is no wheel of llama-cpp-python in the cache; `make setup` builds it")
    return wheels[0]


def _setup() -> ModuleType:
    """packaging/setup_env.py, which knows the place of the wheel and its build options."""
    path = _ROOT / "packaging" / "setup_env.py"
    spec = spec_from_file_location("setup_env", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise GlyphscopeError("packaging/setup_env.py is missing")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _folder(name: str, *decides: str) -> Path:
    return places().cache / "bench" / f"{name}-{hashlib.sha256(repr(decides).encode()).hexdigest()[:12]}"


def _installing(folder: Path, python: Path, requirements: tuple[str, ...]) -> list[list[str]]:
    if uv := shutil.which("uv"):
        return [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "--quiet", "--python", str(python), *requirements],
        ]
    return [
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
    ]


def run_step(command: list[str], failing: str, environment: Mapping[str, str] | None = None) -> bytes:
    """The output of a command. Raises GlyphscopeError with the last line of its error."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise GlyphscopeError(f"{failing}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired:
        raise GlyphscopeError(f"{failing}: it took longer than {duration(_PATIENCE)}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).splitlines()
        errors = [line for line in lines if b"error" in line.lower()]
        raise GlyphscopeError(f"{failing}: {last_line(errors[-1] if errors else done.stderr)}")
    return done.stdout
