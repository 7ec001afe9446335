"""Engines of other servers, each installed into a separate environment, on request only.

Their packages are never those of this program: they are large, and change what they enforce with each version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.base.figures import duration
from glyphscope.processes import is_frozen
from glyphscope.processes.compilers.service import CompilerDied
from glyphscope.processes.stopping import wait_for

OutsideName: TypeAlias = Literal["outlines"]

_SECONDS, _INSTALL_SECONDS = 30.0, 600.0


class OutsideEngine(NamedTuple):
    """The package, and the program beside this module that reads texts with it."""

    package: str
    program: str


OUTSIDE: dict[OutsideName, OutsideEngine] = {
    "outlines": OutsideEngine("outlines-core", "outlines_reader.py"),
}


def python_of(folder: Path, engine: OutsideName) -> Path:
    """The interpreter of the engine's environment in that folder, which may be missing."""
    return folder / engine / ("Scripts" if os.name == "nt" else "bin") / "python"


def installed(folder: Path) -> tuple[OutsideName, ...]:
    """The engines that are installed in the folder; none for a packaged program, whose modules they cannot read."""
    return () if is_frozen() else tuple(name for name in OUTSIDE if python_of(folder, name).exists())


def install(folder: Path, engine: OutsideName) -> None:
    """Make the environment of an engine, with the user's consent: pip fetches its package from the user's index.

    Raises GrammarError.
    """
    home, package = folder / engine, OUTSIDE[engine].package
    if is_frozen():
        raise GrammarError(
            f"{package} cannot be installed: this is the packaged program, which has no Python for it.",
            where=str(home),
            hint="Test with a Glyphscope that was installed by pip.",
        )
    steps = (
        [sys.executable, "-m", "venv", str(home)],
        [
            str(python_of(folder, engine)),
            "-m",
            "pip",
            "install",
            "--no-input",
            "--disable-pip-version-check",
            package,
        ],
    )
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
            problem = "" if done.returncode == 0 else (done.stderr.strip() or done.stdout.strip())[-600:]
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
        if problem:
            hint = f"Install it yourself: python -m venv {home}, then pip install {package} in it."
            python_of(folder, engine).unlink(missing_ok=True)
            raise GrammarError(f"{package} cannot be installed: {problem}", where=str(home), hint=hint)


def read_outside(folder: Path, engine: OutsideName, schema: str, texts: Sequence[str]) -> list[bool | str]:
    """Whether the engine accepts each text under a JSON Schema.

    Raises GrammarError for a schema that it rejects, CompilerDied if it crashes or takes too long, and Stopped.
    """
    package, program = OUTSIDE[engine]
    request = json.dumps({"schema": schema, "texts": list(texts)})
    command = [str(python_of(folder, engine)), "-I", str(Path(__file__).with_name(program))]
    with (
        tempfile.TemporaryFile("w+") as sent,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile() as err,
    ):
        sent.write(request)
        sent.seek(0)
        try:
            process = subprocess.Popen(command, stdin=sent, stdout=out, stderr=err)
        except OSError as error:
            raise GrammarError(f"{package} cannot be started: {error}", where=command[0]) from None
        try:
            in_time = wait_for(lambda seconds: _has_ended(process, seconds), _SECONDS)
        finally:
            process.kill()
            process.wait()
        if not in_time:
            raise CompilerDied(f"{package} did not finish within {duration(_SECONDS)}.")
        out.seek(0)
        try:
            answer = json.loads(out.read())
        except ValueError:
            err.seek(0)
            last = err.read()[-300:].decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise CompilerDied(f"{package} ended with code {process.returncode}: {last}") from None
    if "refused" in answer:
        raise GrammarError(f"{package} rejects the schema: {answer['refused']}")
    return list(answer["answers"])


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
