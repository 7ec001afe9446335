"""Starts a Glyphscope module as a separate process: with this Python, or with the frozen program, which has none."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.processes.calls import Child
    from glyphscope.processes.pipe import Pipe
    from glyphscope.processes.stopping import check_stopped, stopped_by
else:
    __getattr__ = interface(__name__)

RUN_MODULE = "--run-module"
"""With this and a module's name, the frozen program (packaging/launcher.py) only calls that module's `main()`."""


def is_frozen() -> bool:
    """Whether this is the packaged program, whose `sys.executable` is the program itself and not Python."""
    return bool(getattr(sys, "frozen", False))


def module_command(module: str, *arguments: str) -> list[str]:
    """The command line; the module needs a `main()` that reads `sys.argv`, and must call it when it is run."""
    if is_frozen():
        return [sys.executable, RUN_MODULE, module, *arguments]
    # -P: the working folder is the user's, and no module may be imported from it
    return [sys.executable, "-P", "-m", module, *arguments]


def own_command(*arguments: str) -> list[str]:
    """The command line that runs this `glyphscope` with those arguments."""
    return [sys.executable, *arguments] if is_frozen() else module_command("glyphscope", *arguments)


def how_ended(code: int | None) -> tuple[str, str]:
    """From an exit code, the signal that ended the process, if any, and a description of its end."""
    name = signal.Signals(-code).name if code is not None and -code in set(signal.Signals) else ""
    return name, f"was ended by {name}" if name else f"ended with exit code {code}"
