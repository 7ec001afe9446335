"""A process that a test starts is a fork of one that has imported the program: most of a short command's time.

`python -m glyphscope …` and the model's process start as always, and come here before they have imported anything.
The first with its module, search path, variables and limits makes a server, which imports the program. The server
forks a process for each: it gets their arguments, variables, folder, cores and streams, and continues where they
would, in `runpy`. The process that was started represents the fork until its end: it passes signals on, and ends with
the same exit code or signal. If it is killed, so is the fork.

Tests of how processes start and end use the fixture `unforked`. Whatever is unusual, such as a terminal, another
process group or more open files, starts without a fork.
"""

from __future__ import annotations

import _signal as signals  # what wraps these modules takes longer to import than Python to start
import _socket as sockets
import fcntl
import gc
import importlib
import marshal
import os
import resource
import select
import struct
import sys
from _blake2 import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHILD = "glyphscope.processes.child"
MODULES = {
    "glyphscope": (), "glyphscope.models.child": (),
    f"{CHILD} regex": ("glyphscope.processes.compilers.child",),
    f"{CHILD} glyphscope.processes.compilers.masks": ("glyphscope.processes.compilers.child",),
    f"{CHILD} glyphscope.evals.checking.child": (),
    f"{CHILD} glyphscope.models.probe_child": ("glyphscope.models.probe_calls",),
    f"{CHILD} ": ("glyphscope.models.inspection", "glyphscope.prompting.template"),
    "dask_process": ("distributed", "glyphscope_plugins.dask.worker", "dask_models"),
}  # fmt: skip
"""The modules that processes are started with, each with those that it imports later; `CHILD` with its argument."""
OWN_TO_EACH = {
    "GLYPHSCOPE_HOME", "GLYPHSCOPE_PROMPT_CACHE_MB", "HOME", "OLDPWD", "PWD", "PYTEST_CURRENT_TEST",
    "PYTEST_XDIST_WORKER", "SHLVL", "WORKER", "_",
}  # fmt: skip
"""Variables that no import reads."""
IDLE = 600_000
"""Milliseconds without a process after which a server ends."""
PASSED_ON = (signals.SIGINT, signals.SIGTERM, signals.SIGHUP)
STREAMS = (("stdin", "r", -1), ("stdout", "w", -1), ("stderr", "w", 1))
"""Name, mode and buffering, by file descriptor."""
LIMITS = [value for name, value in sorted(vars(resource).items()) if name.startswith("RLIMIT_")]
_NUMBER = struct.Struct("<q")
_FILES = struct.Struct(f"{len(STREAMS) + 1}i")


def continue_in_fork(place: str) -> None:
    """Return in the process that is to continue: a fork, or this one.

    `place` has the folder of the servers' sockets, and the process group and number of whoever ends them by its end.
    """
    folder, group, owner = place.rsplit(":", 2)
    words = [*sys.orig_argv[1:5], ""]
    module, first = words[2:4] if words[0] == "-P" else words[1:3]
    if module == CHILD:
        module = f"{module} {first}"
    if module not in MODULES or os.getpgrp() != int(group) or _unusual():
        return
    signals.pthread_sigmask(signals.SIG_BLOCK, PASSED_ON)
    connection = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    if _connected(connection, f"{folder}/{_surroundings(module)}", module, int(owner)):
        _represent(connection)
    connection.close()
    signals.pthread_sigmask(signals.SIG_UNBLOCK, PASSED_ON)


def _unusual() -> bool:
    files = len(os.listdir("/proc/self/fd")) - 1  # without that of the folder itself
    streams = [getattr(sys, name) for name, _, _ in STREAMS]
    return files > len(STREAMS) or any(stream is None or stream.isatty() for stream in streams)


def _surroundings(module: str) -> str:
    """Return a name for everything that a fork has from its server and cannot change."""
    limits = [resource.getrlimit(limit) for limit in LIMITS]
    ignored = [signals.getsignal(each) == signals.SIG_IGN for each in PASSED_ON]
    variables = sorted(each for each in os.environ.items() if each[0] not in OWN_TO_EACH)
    cores = len(os.sched_getaffinity(0))  # an import may start as many threads; a fork chooses its own cores
    surroundings = (module, sys.flags, sys.executable, sys.path, variables, limits, ignored, cores)
    return blake2b(repr(surroundings).encode(errors="surrogateescape"), digest_size=12).hexdigest()


def _connected(connection: Any, path: str, module: str, owner: int) -> bool:
    """Whether there is a server, made here if need be; returns in its forks too: False, as they continue."""
    try:
        connection.connect(path)
        return True
    except OSError:
        listener = _listener(path)
    if listener is not None:
        if os.fork() == 0:
            connection.close()
            Server(listener, path, owner).serve(module)
            return False
        listener.close()
    try:
        connection.connect(path)
        return True
    except OSError:  # another process is about to make the server
        return False


def _listener(path: str) -> Any:
    """Return the socket of a new server; None if another process was faster."""
    listener = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    own = f"{path}-{os.getpid()}"
    listener.bind(own)
    listener.listen(64)
    try:
        os.link(own, path)
    except FileExistsError:
        listener.close()
        return None
    finally:
        os.unlink(own)
    return listener


# -- the process that was started --------------------------------------------------------------------------------


def _represent(connection: Any) -> None:
    """End as the fork ends; return if there is none.

    The streams stay open until then: whoever finds one closed asks at once how this process ended.
    """
    os.umask(mask := os.umask(0))
    task = marshal.dumps((sys.orig_argv, dict(os.environ), mask, os.sched_getaffinity(0)))
    folder = os.open(".", os.O_RDONLY)
    files = _FILES.pack(*range(len(STREAMS)), folder)
    try:
        connection.sendmsg([_NUMBER.pack(len(task))], [(sockets.SOL_SOCKET, sockets.SCM_RIGHTS, files)])
        connection.sendall(task)
    except OSError:
        return
    finally:
        os.close(folder)
    fork = _received(connection)
    if fork is None:
        return
    for each in PASSED_ON:
        if signals.getsignal(each) != signals.SIG_IGN:
            signals.signal(each, lambda number, _: os.kill(fork, number))
    signals.pthread_sigmask(signals.SIG_UNBLOCK, PASSED_ON)
    code = _received(connection)
    if code is None:  # the server was killed
        code = -signals.SIGKILL
        os.kill(fork, signals.SIGKILL)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if code != -signals.SIGKILL:
            signals.signal(-code, signals.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _received(connection: Any) -> int | None:
    """Return a number; None if the other end is closed."""
    try:
        data = connection.recv(_NUMBER.size, sockets.MSG_WAITALL)
    except ConnectionError:
        return None
    return int(_NUMBER.unpack(data)[0]) if len(data) == _NUMBER.size else None


def _send(connection: Any, number: int) -> None:
    try:
        connection.send(_NUMBER.pack(number))
    except OSError:
        return  # the other end was killed


# -- the server --------------------------------------------------------------------------------------------------


class Server:
    """Forks a process for each connection; sends its number, and its exit code once it has ended."""

    def __init__(self, listener: Any, path: str, owner: int) -> None:
        self._listener, self._path, self._pid = listener, path, os.getpid()
        self._owner = os.pidfd_open(owner)
        self._forks: dict[int, tuple[int, Any]] = {}  # by the descriptor of the fork's process
        self._poll = select.poll()
        for each in (listener.fileno(), self._owner):
            self._poll.register(each, select.POLLIN)

    def serve(self, module: str) -> None:
        """Return in the forks only."""
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(len(STREAMS)):
                os.dup2(null, stream)
            os.close(null)
            os.chdir("/")
            if module == "glyphscope":
                from glyphscope.cli.app import COMMANDS, app

                for command in COMMANDS.values():
                    importlib.import_module(f"glyphscope.cli.{command.rpartition('.')[0]}")
                # typer imports pydantic for the first argument: most of the time of a short command
                app(["grammar", "check", "--json", os.devnull], standalone_mode=False)
            else:
                started, *first = module.split()
                for each in (started, *first, *MODULES[module]):
                    importlib.import_module(each)
                del sys.modules[started]  # `runpy` executes it as `__main__`
            gc.collect()
            gc.freeze()
            while ready := {file for file, _ in self._poll.poll(None if self._forks else IDLE)} - {
                self._owner
            }:
                for file in ready:
                    if file in self._forks:
                        self._report_end(file)
                    elif self._forked():
                        return
        finally:
            if os.getpid() == self._pid:
                self._end()

    def _end(self) -> None:
        try:
            os.unlink(self._path)
        finally:  # the folder may be gone
            os._exit(0)

    def _forked(self) -> bool:
        """Whether this is the fork."""
        connection = sockets.socket(fileno=self._listener._accept()[0])
        head, ancillary, _, _ = connection.recvmsg(_NUMBER.size, sockets.CMSG_SPACE(_FILES.size))
        if len(head) < _NUMBER.size:  # it was killed meanwhile
            connection.close()
            return False
        files = _FILES.unpack(ancillary[0][2])
        task = connection.recv(_NUMBER.unpack(head)[0], sockets.MSG_WAITALL)
        pid = os.fork()
        if pid == 0:
            try:
                self._become(connection, files, *marshal.loads(task))
            except BaseException:
                os._exit(1)
            return True
        for file in files:
            os.close(file)
        _send(connection, pid)
        process = os.pidfd_open(pid)
        self._forks[process] = pid, connection
        self._poll.register(process, select.POLLIN)
        return False

    def _report_end(self, process: int) -> None:
        pid, connection = self._forks.pop(process)
        self._poll.unregister(process)
        os.close(process)
        _, status = os.waitpid(pid, 0)
        _send(connection, os.waitstatus_to_exitcode(status))
        connection.close()

    def _become(
        self,
        connection: Any,
        files: tuple[int, ...],
        arguments: list[str],
        variables: dict[str, str],
        mask: int,
        cores: set[int],
    ) -> None:
        """Make this fork the process that is connected."""
        for process, (_, other) in self._forks.items():
            os.close(process)
            other.close()
        self._listener.close()
        os.close(self._owner)
        _kept.append(connection)
        fcntl.fcntl(connection.fileno(), fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(connection.fileno(), fcntl.F_SETSIG, signals.SIGKILL)
        fcntl.fcntl(connection.fileno(), fcntl.F_SETFL, fcntl.FASYNC)
        if _hung_up(connection):
            os._exit(1)
        *streams, folder = files
        os.fchdir(folder)
        os.close(folder)
        os.umask(mask)
        os.sched_setaffinity(0, cores)
        os.environ.clear()
        os.environ.update(variables)
        for number, (stream, (name, mode, buffering)) in enumerate(zip(streams, STREAMS, strict=True)):
            os.dup2(stream, number)
            os.close(stream)
            old = getattr(sys, name)
            new = open(  # noqa: SIM115 - the old one may have read, and knows whether its file was a pipe
                number, mode, buffering, encoding=old.encoding, errors=old.errors, newline="\n", closefd=False
            )
            new.buffer.raw.name = f"<{name}>"
            setattr(sys, name, new)
            setattr(sys, f"__{name}__", new)
        sys.orig_argv[:] = arguments
        sys.argv[1:] = arguments[arguments.index("-m") + 2 :]


_kept: list[Any] = []
"""The connection of a fork, which kills it when the other end is closed."""


def _hung_up(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLHUP)
    return bool(poll.poll(0))
