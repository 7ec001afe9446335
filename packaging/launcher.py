"""The entry point of the frozen program: the command line, or one of its modules as a separate process.

There is no Python for starting processes, so it starts itself (`glyphscope.processes`): with `--run-module NAME`, it is
the model's process, llama.cpp's sandboxed grammar engine, or any other module with a `main()`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, MutableMapping, Sequence
from importlib import import_module
from pathlib import Path

RUN_MODULE = "--run-module"
PROCESSOR = {"avx2", "fma", "f16c", "bmi2"}
"""The x86-64 features that the package's llama.cpp needs (setup_env.PORTABLE), by their names in /proc/cpuinfo."""
_ILLEGAL = 132  # the exit code that a shell reports for a program ended by SIGILL


def main(arguments: Sequence[str]) -> None:
    """Run like `glyphscope` with these arguments."""
    give_back_environment(os.environ)
    if arguments[:1] == [RUN_MODULE] and arguments[1:]:
        run_module(arguments[1], arguments[2:])
        return
    sys.argv = ["glyphscope", *arguments]
    entry: Callable[[], None] = import_module("glyphscope.cli").main
    entry()


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Run a module as a program. Exits with a message on stderr if the processor is too old for llama.cpp."""
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
    """The features of `PROCESSOR` that Linux does not list for an x86-64 processor; empty if nothing is known."""
    try:
        lines = listed.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return PROCESSOR.difference(flags) if flags else set()


def give_back_environment(environment: MutableMapping[str, str]) -> None:
    """Restore the user's library path, which PyInstaller changed, for the programs that we start (servers, a browser).

    PyInstaller's markers are also removed: with them, a child would assume that the path is already set.
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
