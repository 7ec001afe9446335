"""`glyphscope …`: everything the engine does, without a window."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

from glyphscope.cli.servers import serves_at_once


def main() -> None:
    """The entry point of `glyphscope`. Ends the process."""
    gc.set_threshold(200_000, 20, 20)  # Python's are for small heaps; a short command collects nothing
    code = _exit_code()
    if isinstance(code, int) and _is_written() and not _other_threads():
        atexit._run_exitfuncs()
        os._exit(code)  # Python would free each object: a fifth of a short command's time
    sys.exit(code)


def _exit_code() -> int | str | None:
    """Run the command that the arguments name, and return what `sys.exit` is given."""
    try:
        if not serves_at_once(sys.argv[1:]):
            try:
                from glyphscope.cli.app import main as whole  # with all commands and their imports
            except KeyboardInterrupt:  # the import takes a second, in which Ctrl-C must work as it does later
                return 130
            whole()
    except SystemExit as end:
        return 0 if end.code is None else end.code
    return 0


def _is_written() -> bool:
    """Whether all output is written; Python reports at its end that it is not."""
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):  # none, not writable, closed
        return False
    return True


def _other_threads() -> bool:
    """Whether there are threads for which Python waits at its end."""
    return any(
        not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate()
    )
