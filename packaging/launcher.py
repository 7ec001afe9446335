"""What the frozen program starts with: the command line, or one module of ours as a process of its own.

It has no Python to start processes with, so it starts itself (`glyphscope.processes`): with `--run-module NAME` it is
the model's process, llama.cpp's grammar engine in its cage, or whatever else has a `main()`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, MutableMapping, Sequence
from importlib import import_module
from pathlib import Path

RUN_MODULE = "--run-module"
PROCESSOR = {"avx2", "fma", "f16c", "bmi2"}
"""What llama.cpp in the package was compiled for on x86-64 (setup_env.PORTABLE), as /proc/cpuinfo names it."""
_ILLEGAL = 132  # what a shell tells of a program that SIGILL ended


def main(arguments: Sequence[str]) -> None:
    """As `glyphscope` with these arguments."""
    give_back_environment(os.environ)
    if arguments[:1] == [RUN_MODULE] and arguments[1:]:
        run_module(arguments[1], arguments[2:])
        return
    sys.argv = ["glyphscope", *arguments]
    entry: Callable[[], None] = import_module("glyphscope.cli").main
    entry()


def run_module(name: str, arguments: Sequence[str]) -> None:
    """A module of ours as a program. Ends with a sentence on stderr where the processor is too old for llama.cpp."""
    if name.partition(".")[0] not in ("glyphscope", "glyphscope_gui"):
        sys.exit(f"glyphscope: {name} is no module of Glyphscope")
    missing = missing_instructions() if name.startswith("glyphscope.models.") else set()
    if missing:
        print(
            f"This package's llama.cpp needs a processor with {', '.join(sorted(missing))}, which this one has not. "
            "Built on this machine (make run) it will do without.",
            file=sys.stderr,
        )
        sys.exit(_ILLEGAL)
    sys.argv = [name, *arguments]
    import_module(name).main()


def missing_instructions(listed: Path = Path("/proc/cpuinfo")) -> set[str]:
    """Those of `PROCESSOR` that Linux does not list of an x86-64 processor; none where nothing is known."""
    try:
        lines = listed.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return PROCESSOR.difference(flags) if flags else set()


def give_back_environment(environment: MutableMapping[str, str]) -> None:
    """PyInstaller puts its folder before the user's libraries; what we start (servers, a browser) gets theirs.

    Its own marks go as well: with them, a process of ours would take it that the libraries' folder is set already.
    """
    if not hasattr(sys, "_MEIPASS"):
        return
    for name in [name for name in environment if name.startswith("_PYI_")]:
        del environment[name]
    before = environment.pop("LD_LIBRARY_PATH_ORIG", None)
    if before:
        environment["LD_LIBRARY_PATH"] = before
    else:
        environment.pop("LD_LIBRARY_PATH", None)


if __name__ == "__main__":
    main(sys.argv[1:])
