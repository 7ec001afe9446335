"""The capture as a whole: the server on this machine, and the process that makes the records."""

from __future__ import annotations

import asyncio
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
from glyphscope.capture.proxy import STALL_SECONDS, CaptureProxy
from glyphscope.capture.recording import Recorded, left_over, open_like, record_exchange
from glyphscope.models.remote.address import Address
from glyphscope.processes.calls import CallFailed, Child, ProcessDied

PORT = 4321
_RECORD_SECONDS = 600.0
_MEMORY = 64 << 30
_GRACE = 2


class CaptureServer:
    """Captures what agents send to `to`, from `run` to `stop`.

    `recorded` gets each record, in the order of the ends; `note` gets sentences about what is not recorded, and is
    called from other threads than `run`'s. `model` names the model whose template and tokenizer count the prompts.
    The runs are also added to the `history`, if any.
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
                hint="Choose another one with --records.",
            )
            opened.enter_context(folder_alone(folder, busy))
            self._socket = opened.enter_context(_bound(port))
            self.port: int = self._socket.getsockname()[1]
            if to.loopback and to.origin.rpartition(":")[2] == str(self.port):
                hint = "Give the server's address."
                raise ModelError("The capture cannot forward to itself.", where=str(to), hint=hint)
            self._opened = opened.pop_all()
        self._history = str(history or "")
        self._model, self._recorded, self._note, self._abandoned = model, recorded, note, False
        self._files: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        for path in left_over(folder):
            self._files.put(path)
        self._proxy = CaptureProxy(to, folder, self._files.put, note, stall)
        self._proxy.listens_at(self.port)
        self._server = _Server(
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

    async def _served(self) -> None:
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            await self._proxy.close()

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
    """The server without handlers of signals: whoever runs it has them."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bound(port: int) -> socket.socket:
    """A socket of loopback, and of no other network. Raises ModelError."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen(128)  # an agent that is faster than the server waits
    except (OSError, OverflowError) as error:
        made.close()
        said: Any = getattr(error, "strerror", None) or error
        raise ModelError(
            f"The port {port} cannot be used: {said}.",
            hint="Another capture may be running; choose one with --port.",
        ) from None
    return made
