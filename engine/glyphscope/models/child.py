"""The model's process: `python -m glyphscope.models.child`, frames in on stdin, frames out on stdout.

Two threads. One reads frames: it cancels, and answers quick requests such as `Tokenize`. The other loads and computes.
When stdin closes, because the parent closed it or died, the process ends, even in the middle of a computation.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import traceback
from collections import deque
from typing import Any

import llama_cpp as llama

from glyphscope.errors import ContextOverflow, GlyphscopeError, ModelError
from glyphscope.models import wire
from glyphscope.models.generation import Generation
from glyphscope.models.llama_engine import Interrupted
from glyphscope.models.session import Session
from glyphscope.processes.pipe import Pipe, parent_pipe

_WARNING = 3  # ggml_log_level: 1 debug, 2 information, 3 warning, 4 error, 5 continues the previous line
_CONTINUED = 5
_MAX_WRITING = 0.6
"""Seconds after its last generation in which the process may write the prompt to disk before it ends."""


class Child:
    """Both threads and their shared state: the queue of work, and the number of the last cancelled generation."""

    def __init__(self, pipe: Pipe[wire.Envelope], log: deque[str]) -> None:
        self._pipe = pipe
        self._log = log
        self._work: queue.SimpleQueue[wire.Envelope] = queue.SimpleQueue()
        self._session: Session | None = None
        self._generation: Generation | None = None
        self._lock = threading.Lock()
        self._running = 0
        self._cancelled = 0
        self._kept = threading.Event()
        """Clear between a generation's end and the decision to store its prompt."""
        self._kept.set()

    def compute(self) -> None:
        """The main thread: handles one frame of work after another."""
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            frame = self._work.get()
            try:
                self._handle(frame)
            except Interrupted:
                self._generation = None
            except Exception as error:
                self._reply(frame.number, _failure(error))

    def _read(self) -> None:
        try:
            while (frame := self._pipe.read()) is not None:
                match frame.body:
                    case wire.Cancel():
                        self._cancel(frame.number)
                        self._kept.clear()
                        self._work.put(frame)
                    case wire.Tokenize() | wire.Render() | wire.ListVocabulary() if self._session is not None:
                        self._look_up(frame, self._session)
                    case _:
                        self._work.put(frame)
        finally:
            self._finish_writing()
            os._exit(0)

    def _finish_writing(self) -> None:
        prompts = self._session.prompts if self._session else None
        if prompts is not None and prompts.cache is not None:
            end = time.monotonic() + _MAX_WRITING
            self._kept.wait(_MAX_WRITING)
            prompts.finish(max(0.0, end - time.monotonic()))

    def _cancel(self, number: int) -> None:
        with self._lock:
            self._cancelled = max(self._cancelled, number)
            if self._session and self._running == number:
                self._session.engine.interrupt(True)

    def _begin(self, number: int) -> None:
        """Make the generation's evaluations interruptible. Raises Interrupted if it was already cancelled."""
        with self._lock:
            self._running = number
            interrupted = number <= self._cancelled
            if self._session:
                self._session.engine.interrupt(interrupted)
        if interrupted:
            raise Interrupted

    def _look_up(self, frame: wire.Envelope, session: Session) -> None:
        try:
            match frame.body:
                case wire.Tokenize(text=text):
                    self._reply(frame.number, wire.Tokens(session.engine.tokenize(text)))
                case wire.ListVocabulary():
                    self._reply(frame.number, wire.Listed(session.list_vocabulary()))
                case wire.Render(messages=messages, tools=tools, thinking=thinking):
                    self._reply(frame.number, wire.Rendered(session.render(messages, tools, thinking)))
        except Exception as error:
            self._reply(frame.number, _failure(error))

    def _handle(self, frame: wire.Envelope) -> None:
        number = frame.number
        match frame.body:
            case wire.Load() as load:
                self._session = Session(
                    load, progress=lambda share: self._reply(number, wire.Loading(share)), log=self._log
                )
                self._reply(number, wire.Loaded(self._session.info))
            case wire.DeriveForm():
                self._reply(number, wire.FormDerived(self._loaded().turn_form))
            case wire.Generate(request=request, prompts=prompts, sha256=sha256):
                self._generation = None
                session = self._loaded()
                if session.prompts:
                    session.prompts.cache, session.prompts.sha256 = prompts, sha256
                self._begin(number)
                generation = Generation(session, request)
                for progress in generation.evaluate_prompt():
                    self._reply(number, wire.Progress(progress))
                self._generation = generation
                self._reply(number, wire.Ready(generation.ready))
            case wire.Step():
                self._begin(number)
                if self._generation is None:
                    raise ModelError("There is no generation to continue.")
                steps = self._generation.step()
                self._reply(number, wire.Steps(steps, self._generation.ended))
                # while the parent reads, judges and shows them; no token is chosen before it is requested
                self._generation.look_ahead()
            case wire.Cancel():  # every generation ends with one
                self._keep_prompt()
            case _:
                raise ModelError("The model is not loaded.")

    def _keep_prompt(self) -> None:
        """Store the prompt, unless there is other work."""
        try:
            if self._work.empty() and self._session and self._session.prompts:
                self._session.prompts.keep()
        finally:
            self._kept.set()

    def _loaded(self) -> Session:
        if self._session is None:
            raise ModelError("The model is not loaded.")
        return self._session

    def _reply(self, number: int, body: wire.Reply) -> None:
        try:
            self._pipe.write(wire.Answer(number, body))
        except OSError:
            os._exit(0)


def _failure(error: Exception) -> wire.Failed:
    match error:
        case ContextOverflow():
            return wire.Failed("ContextOverflow", "", needed=error.needed, available=error.available)
        case GlyphscopeError():
            return wire.Failed(type(error).__name__, error.message, error.where, error.hint)
        case MemoryError():
            return wire.Failed(
                "ModelError", "There is not enough memory.", "", "Use a smaller model or context."
            )
        case _:
            traceback.print_exception(error)
            return wire.Failed("ModelError", f"The model's process failed: {type(error).__name__}: {error}")


def _listen(log: deque[str]) -> Any:
    """Writes llama.cpp's warnings and errors to `log` and stderr. Keep the returned callback alive while it is used."""
    last = [0]

    @llama.llama_log_callback  # type: ignore[untyped-decorator]
    def listen(level: int, text: bytes, _: object) -> None:
        last[0] = last[0] if level == _CONTINUED else level
        if last[0] >= _WARNING:
            line = text.decode("utf-8", errors="replace")
            sys.stderr.write(line)
            if stripped := line.strip():
                log.append(stripped)

    llama.llama_log_set(listen, None)
    return listen


def main() -> None:
    """Serves until stdin closes."""
    pipe = parent_pipe(wire.Envelope)
    log: deque[str] = deque(maxlen=8)
    listener = _listen(log)
    Child(pipe, log).compute()
    del listener


if __name__ == "__main__":
    main()
