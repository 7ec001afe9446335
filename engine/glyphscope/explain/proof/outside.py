"""Engines of other servers, each installed into a separate environment, on request only.

Their packages are never those of this program: they are large, and change what they enforce with each version.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.base.figures import duration
from glyphscope.processes import is_frozen
from glyphscope.processes.compilers.service import CompilerDied
from glyphscope.processes.stopping import wait_for

OutsideName: TypeAlias = Literal["outlines", "xgrammar"]

_SECONDS, _INSTALL_SECONDS = 30.0, 600.0


class OutsideEngine(NamedTuple):
    """The package, about how many MB its environment has, and its dependencies if not those that it declares."""

    package: str
    megabytes: int
    needs: tuple[str, ...] = ()


OUTSIDE: dict[OutsideName, OutsideEngine] = {
    "outlines": OutsideEngine("outlines-core", 30),
    # PyTorch and transformers, some GB, are for the arrays of its masks and for tokenizers
    "xgrammar": OutsideEngine("xgrammar", 125, ("apache-tvm-ffi", "numpy", "pydantic", "typing-extensions")),
}


def python_of(folder: Path, engine: OutsideName) -> Path:
    """The interpreter of the engine's environment in that folder, which may be missing."""
    return _python_in(folder / engine)


def _python_in(home: Path) -> Path:
    return home / ("Scripts" if os.name == "nt" else "bin") / "python"


def installed(folder: Path) -> tuple[OutsideName, ...]:
    """The engines that are installed in the folder; none for a packaged program, whose modules they cannot read."""
    return () if is_frozen() else tuple(name for name in OUTSIDE if python_of(folder, name).exists())


def install(folder: Path, engine: OutsideName) -> None:
    """Make the environment of an engine, with the user's consent: pip fetches its package from the user's index.

    Raises GrammarError and Stopped; then nothing is left of it.
    """
    home, (package, _, needs) = folder / engine, OUTSIDE[engine]
    if is_frozen():
        raise GrammarError(
            f"{package} cannot be installed: this is the packaged program, which has no Python for it.",
            where=str(home),
            hint="Test with a Glyphscope that was installed by pip.",
        )
    part = home.with_name(f"{engine}.part")  # renamed when it is complete
    pip = [str(_python_in(part)), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    packages = [[*needs], ["--no-deps", package]] if needs else [[package]]
    steps = [[sys.executable, "-m", "venv", "--clear", str(part)], *([*pip, *each] for each in packages)]
    try:
        for step in steps:
            try:
                done = _run(package, step, _INSTALL_SECONDS)
                problem = (done.err.strip() or done.out.strip())[-600:] if done.code else ""
            except (OSError, CompilerDied) as error:
                problem = str(error)
            if problem:
                manual = ", ".join(f"pip install {' '.join(each)}" for each in packages)
                raise GrammarError(
                    f"{package} cannot be installed: {problem}",
                    where=str(home),
                    hint=f"Install it yourself: python -m venv {home}, then {manual} in it.",
                )
        part.replace(home)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def read_outside(folder: Path, engine: OutsideName, schema: str, texts: Sequence[str]) -> list[bool | str]:
    """Whether the engine accepts each text under a JSON Schema.

    Raises GrammarError for a schema that it rejects, CompilerDied if it crashes or takes too long, and Stopped.
    """
    package, reader = OUTSIDE[engine].package, str(Path(__file__).with_name("engine_reader.py"))
    command = [str(python_of(folder, engine)), "-I", reader, engine]
    try:
        done = _run(package, command, _SECONDS, json.dumps({"schema": schema, "texts": list(texts)}))
    except OSError as error:
        raise GrammarError(f"{package} cannot be started: {error}", where=command[0]) from None
    try:
        answer = json.loads(done.out)
    except ValueError:
        last = done.err[-300:].strip().rpartition("\n")[2]
        raise CompilerDied(f"{package} ended with code {done.code}: {last}") from None
    if "refused" in answer:
        raise GrammarError(f"{package} rejects the schema: {answer['refused']}")
    return list(answer["answers"])


class _Ran(NamedTuple):
    code: int
    out: str
    err: str


def _run(name: str, command: Sequence[str], seconds: float, sent: str = "") -> _Ran:
    """Run a program to its end. Raises OSError, CompilerDied if it takes longer, and Stopped."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(sent.encode())
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=err, start_new_session=True)
        try:
            in_time = wait_for(lambda left: _has_ended(process, left), seconds)
        finally:
            if os.name != "nt" and process.poll() is None:
                with suppress(ProcessLookupError, PermissionError):  # with its children, such as venv's pip
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        if not in_time:
            raise CompilerDied(f"{name} did not finish within {duration(seconds)}.")
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        return _Ran(process.returncode, *texts)


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
