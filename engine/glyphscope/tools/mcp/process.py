"""A server's process: started in a separate group with few variables, and ended with all its children."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

from glyphscope.base.errors import ServerError
from glyphscope.processes import how_ended
from glyphscope.tools.mcp.config import ServerConfig

INHERITED = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
)  # fmt: skip
"""The environment variables that a server inherits. Others may be secrets; `env` adds those that it needs."""

_POLL = 0.01


class ServerProcess:
    """A running server. Raises ServerError if it cannot be started. Its pipes are non-blocking."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._exit_code: int | None = None
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        try:
            self._process = subprocess.Popen(
                [config.command, *config.args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment | config.env,
                cwd=config.cwd or None,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise _not_started(config, error) from None
        assert self._process.stdin and self._process.stdout and self._process.stderr, "all three are pipes"
        self.stdin = self._process.stdin.fileno()
        self.stdout = self._process.stdout.fileno()
        self.stderr = self._process.stderr.fileno()
        for pipe in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(pipe, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_exited(self) -> bool:
        """Whether it has exited. It is not reaped yet: its process and group ids stay reserved until `reap`."""
        if self._exit_code is not None:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return found is not None and found.si_pid == self.pid

    @property
    def ending(self) -> str:
        """The end of the process in words; empty while it runs."""
        if not self.has_exited:
            return ""
        return how_ended(self.reap())[1]

    def signal(self, number: int) -> None:
        """Send a signal to the process and its group; until it is reaped, its group id cannot be reused."""
        if self._exit_code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def close_stdin(self) -> None:
        """Close its input, which asks the server to end."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def reap(self) -> int:
        """The exit code of a process that has exited; ends the rest of its group."""
        if self._exit_code is None:
            self.signal(signal.SIGKILL)
            self._exit_code = self._process.wait()
        return self._exit_code

    def kill(self) -> None:
        """Kill the group now and wait at most a second for it. For processes that could not be ended otherwise."""
        self.signal(signal.SIGKILL)
        deadline = time.monotonic() + 1.0
        while not self.has_exited and time.monotonic() < deadline:
            time.sleep(_POLL)
        if self.has_exited:
            self.reap()

    def close(self) -> None:
        """Close the pipes, which must no longer be in use."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()


def _not_started(config: ServerConfig, error: OSError | ValueError) -> ServerError:
    if (
        config.cwd
        and isinstance(error, FileNotFoundError | NotADirectoryError)
        and not os.path.isdir(config.cwd)
    ):
        wrong = "is not a directory" if os.path.exists(config.cwd) else "does not exist"
        return ServerError(
            f"The server's working directory {wrong}.", where=config.cwd, hint="Fix its `cwd`."
        )
    reason = getattr(error, "strerror", None) or str(error)
    hint = "Try the command in a terminal."
    if isinstance(error, FileNotFoundError):
        reason = "there is no such command"
        hint = "Install it, or give its whole path: only what is on the PATH is found by its name."
    elif isinstance(error, PermissionError):
        reason, hint = "it may not be executed", "If it is a program, make it executable (chmod +x)."
    return ServerError(f"The server does not start: {reason}.", where=config.identity, hint=hint)
