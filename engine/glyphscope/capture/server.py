"""The capture as a whole: the server on this machine, and the process that makes the records."""

from __future__ import annotations

import asyncio
import errno
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from glyphscope.base.errors import GlyphscopeError, ModelError, StorageError
from glyphscope.base.locks import folder_alone
from glyphscope.capture.breakpoints import (
    NOTHING,
    PAUSE_SECONDS,
    Breakpoints,
    BreakRules,
    Decision,
    Paused,
    Released,
)
from glyphscope.capture.exchange import PORT, STALL_SECONDS, Exchange
from glyphscope.capture.proxy import CaptureProxy
from glyphscope.capture.recording import (
    CapturedCall,
    Recorded,
    calls_of,
    left_over,
    open_like,
    record_exchange,
)
from glyphscope.models.remote.address import Address
from glyphscope.processes.calls import CallFailed, Child, ProcessDied

_RECORD_SECONDS = 600.0
_JUDGE_SECONDS = 60.0
_MEMORY = 64 << 30
_GRACE = 2


class CaptureServer:
    """Captures what agents send to `to`, from `run` to `stop`.

    `recorded` gets each record, in the order of the ends; `note` gets sentences about what is not recorded, and is
    called from other threads than `run`'s. `model` names the model whose template and tokenizer count the prompts.
    The runs are also added to the `history`, if any. By the rules `hold`, requests and answers wait for `decide`, for
    at most `pause_seconds`; `paused` and `released` report them.
    """

    def __init__(
        self,
        to: Address,
        folder: Path,
        *,
        port: int = PORT,
        model: str = "",
        history: Path | None = None,
        recorded: Callable[[Recorded], None],
        note: Callable[[str], None],
        stall: float = STALL_SECONDS,
        hold: BreakRules = NOTHING,
        pause_seconds: float = PAUSE_SECONDS,
        paused: Callable[[Paused], None] = lambda _: None,
        released: Callable[[Released], None] = lambda _: None,
    ) -> None:
        """Opens the model and the port. Raises ModelError for the model, and for a port that is in use or the server's;
        StorageError for the folder.
        """
        self._child = Child("the recorder", "glyphscope.capture.recording", memory=_MEMORY)
        with ExitStack() as opened:
            opened.callback(self._child.close)
            if model:
                self._child.call(_RECORD_SECONDS, open_like, model)
            # another capture's open files are not left over
            busy = StorageError(
                "Another capture writes to this folder.",
                where=str(folder),
                hint="End that capture, or choose another folder.",
            )
            opened.enter_context(folder_alone(folder, busy))
            self._sockets = _bound(port)
            for made in self._sockets:
                opened.enter_context(made)
            self.port: int = self._sockets[0].getsockname()[1]
            if to.loopback and to.origin.rpartition(":")[2] == str(self.port):
                hint = "Give the server's address."
                raise ModelError("The capture cannot forward to itself.", where=str(to), hint=hint)
            self._opened = opened.pop_all()
        self._history = str(history or "")
        self._model, self._recorded, self._note, self._abandoned = model, recorded, note, False
        self._files: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        for path in left_over(folder):
            self._files.put(path)
        self.breakpoints = Breakpoints(hold, pause_seconds, paused, released)
        self._judge = Child("the judge", "glyphscope.capture.recording", memory=_MEMORY)
        self._opened.callback(self._judge.close)
        self._proxy = CaptureProxy(to, folder, self._files.put, note, self.breakpoints, self._judged, stall)
        self._proxy.listens_at(self.port)
        self._server = _Server(
            self.breakpoints.end,
            uvicorn.Config(
                self._proxy, loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None,
                log_level="critical", access_log=False, server_header=False, date_header=False,
                timeout_graceful_shutdown=_GRACE, proxy_headers=False,
            )
        )  # fmt: skip

    @property
    def url(self) -> str:
        """The address for agents, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def run(self) -> None:
        """Serve until `stop`; then make the records that are due. Running answers are cut, and recorded as such."""
        recorder = threading.Thread(target=self._record, name="glyphscope-recorder", daemon=True)
        self._child.start()
        recorder.start()
        try:
            asyncio.run(self._served())
        finally:
            self._files.put(None)
            try:
                recorder.join()
            finally:  # a second interrupt leaves what is due to the next capture
                self._abandoned = True
                self._opened.close()

    def stop(self) -> None:
        """End `run`. From any thread, and from a signal's handler."""
        self._server.should_exit = True

    def decide(self, decision: Decision) -> None:
        """Release what is paused. From any thread. Raises GlyphscopeError, as `Breakpoints.decide`."""
        self.breakpoints.decide(decision)

    async def _served(self) -> None:
        try:
            await self._server.serve(sockets=self._sockets)
        finally:
            await self._proxy.close()

    def _judged(self, exchange: Exchange) -> list[CapturedCall]:
        return self._judge.call(_JUDGE_SECONDS, calls_of, exchange)

    def _record(self) -> None:
        while (path := self._files.get()) is not None and not self._abandoned:
            try:
                self._recorded(
                    self._child.call(_RECORD_SECONDS, record_exchange, str(path), self._model, self._history)
                )
            except GlyphscopeError as error:
                self._note(f"There is no record of {path.name}: {error.words}")
            except (CallFailed, ProcessDied) as error:
                if not self._abandoned:
                    self._note(f"There is no record of {path.name}, which is kept: {error}")


class _Server(uvicorn.Server):
    """The server without handlers of signals: whoever runs it has them. It calls `ending` before it waits for answers
    to end.
    """

    def __init__(self, ending: Callable[[], None], config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bound(port: int) -> list[socket.socket]:
    """Sockets of loopback, also of IPv6 if the system has it, and of no other network. Raises ModelError."""
    sockets: list[socket.socket] = []
    given = port
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            sockets.append(socket.socket(family, socket.SOCK_STREAM))
            sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sockets[-1].bind((host, port))
            sockets[-1].listen(128)  # an agent that is faster than the server waits
        except (OSError, OverflowError) as error:
            taken = getattr(error, "errno", None) == errno.EADDRINUSE
            without = family == socket.AF_INET6 and not taken  # the system has no IPv6
            for made in sockets[without:]:
                made.close()
            if without:
                return sockets[:1]
            if not given and taken:  # of 127.0.0.1 it was free
                return _bound(0)
            said: Any = getattr(error, "strerror", None) or error
            raise ModelError(
                f"The port {port} cannot be used: {said}.",
                hint="Another capture may be running; choose another port.",
            ) from None
        port = sockets[0].getsockname()[1]
    return sockets
