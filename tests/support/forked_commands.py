"""`glyphscope …` in a separate process for each command, without waiting for Python's imports each time.

One process imports the program once and then forks for every command: the child has its own memory, limits, folder and
streams, and ends as `python -m glyphscope` does. For tests of a command's handling of its input; others test how the
program starts.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

STREAMS = ("stdin", "stdout", "stderr")


class ForkedCommands:
    """Commands of these modules of `glyphscope.cli`, which are imported once. Close it afterwards."""

    def __init__(self, folder: Path, modules: Sequence[str]) -> None:
        self._folder = folder
        self._server = subprocess.Popen(
            [sys.executable, "-P", __file__, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        arguments: Sequence[str],
        *,
        given: bytes = b"",
        cwd: Path,
        memory: int | None = None,
        seconds: int | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it, limited to so many bytes of addresses and seconds of CPU time, as `setrlimit` counts them."""
        assert self._server.stdin and self._server.stdout, "both are pipes"
        files = {name: self._folder / name for name in STREAMS}
        files["stdin"].write_bytes(given)
        task = {
            "arguments": list(arguments), "folder": str(cwd), "memory": memory, "seconds": seconds,
            "streams": {name: str(file) for name, file in files.items()},
        }  # fmt: skip
        self._server.stdin.write(json.dumps(task) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        return subprocess.CompletedProcess(
            task["arguments"], code, files["stdout"].read_bytes(), files["stderr"].read_bytes()
        )

    def close(self) -> None:
        assert self._server.stdin and self._server.stdout, "both are pipes"
        self._server.stdin.close()
        self._server.wait(60)
        self._server.stdout.close()


def serve(modules: Sequence[str]) -> int | None:
    """Return the exit code in the child of each task; None when there are no more tasks."""
    for module in modules:
        importlib.import_module(module)
    gc.freeze()  # the children's collector does not touch shared objects
    for line in sys.stdin:
        task = json.loads(line)
        if (pid := os.fork()) == 0:
            return command(task)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def command(task: dict) -> int:
    """Run the command as the interpreter runs a program: return its exit code, and print uncaught exceptions."""
    from glyphscope.cli import main

    for number, name in enumerate(STREAMS):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(task["streams"][name], flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - the server has read from the other one
    os.chdir(task["folder"])
    for limit, most in ((resource.RLIMIT_AS, task["memory"]), (resource.RLIMIT_CPU, task["seconds"])):
        if most is not None:
            resource.setrlimit(limit, (most, most))
    sys.argv = ["glyphscope", *task["arguments"]]
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
