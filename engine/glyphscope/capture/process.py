"""A capture in a separate process, as the window has it, and what the two processes send to each other.

The process is `python -P -m glyphscope.capture.process`; it ends when its parent does.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.shorten import shorten
from glyphscope.capture.breakpoints import PAUSE_SECONDS, Decision, Paused, Released, read_rules
from glyphscope.capture.exchange import PORT
from glyphscope.capture.recording import Recorded
from glyphscope.models.remote import read_address
from glyphscope.processes import how_ended, module_command
from glyphscope.processes.pipe import Pipe, SentError, parent_pipe, start_child

_END_SECONDS = 15.0
"""Answers are cut, and what is due is recorded, in this time; the rest becomes records at the next start."""


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """The settings of a capture, as those of `CaptureServer`; `hold` are the texts of its rules."""

    to: str
    folder: str
    port: int = PORT
    history: str = ""
    model: str = ""
    hold: tuple[str, ...] = ()
    pause_seconds: float = PAUSE_SECONDS


class End(msgspec.Struct, frozen=True, tag="end"):
    """End the capture."""


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """The capture has begun; `url` is the address for agents, without a path."""

    url: str


class Noted(msgspec.Struct, frozen=True, tag="noted"):
    """A sentence about what is not recorded, or cannot be released."""

    words: str


class Came(msgspec.Struct, frozen=True, tag="came"):
    """A request was recorded."""

    recorded: Recorded


class _Failed(msgspec.Struct, frozen=True, tag="failed"):
    error: SentError


News: TypeAlias = Begun | Noted | Came | Paused | Released


class _Order(msgspec.Struct, frozen=True):
    order: Begin | End | Decision


class _Report(msgspec.Struct, frozen=True):
    news: News | _Failed


class CaptureProcess:
    """A capture that runs from the beginning on. `news` is for one thread, the others for any."""

    def __init__(self, begin: Begin) -> None:
        """Raises ModelError for the address; GlyphscopeError for a rule."""
        read_address(begin.to)
        read_rules(begin.hold)
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        command = module_command("glyphscope.capture.process")
        self._child, self._pipe = start_child(command, _Report, {}, self._stderr)
        self._ending = self._closed = False
        self._writing = threading.Lock()
        self._last_end: threading.Timer | None = None
        self._send(begin)

    def news(self) -> Iterator[News]:
        """Its reports, until it has ended. Raises the error of its start, and ModelError if it died."""
        try:
            while (report := self._pipe.read()) is not None:
                if isinstance(report.news, _Failed):
                    raise report.news.error.arrived()
                yield report.news
            code = self._child.wait()
            if not self._ending:
                self._stderr.seek(0)
                words = self._stderr.read()[-4096:].decode("utf-8", "replace").strip()
                last = shorten(words.rpartition("\n")[2], 200)
                raise ModelError(
                    f"The process of the capture {how_ended(code)[1]}{f': {last}' if last else '.'}",
                    hint="Start the capture again: that completes the records of this one.",
                )
        finally:
            with self._writing:
                self._closed = True
            self._child.kill()
            self._child.wait()
            if self._last_end is not None:
                self._last_end.cancel()
            for file in (self._child.stdin, self._child.stdout, self._stderr):
                if file is not None:
                    file.close()

    def decide(self, decision: Decision) -> None:
        """Release what is paused; what cannot be released is reported as a note."""
        self._send(decision)

    def stop(self) -> None:
        """End the capture, and with it `news`, within seconds."""
        if self._ending or self._closed:
            return
        self._ending = True
        self._send(End())
        self._last_end = threading.Timer(_END_SECONDS, self._child.kill)
        self._last_end.daemon = True
        self._last_end.start()

    def _send(self, order: Begin | End | Decision) -> None:
        with self._writing, suppress(OSError, ValueError):  # it may have ended, as `news` reports
            if not self._closed:
                self._pipe.write(_Order(order))


def _serve(pipe: Pipe[_Order], begin: Begin) -> None:
    """Capture until the parent ends it, or ends itself. Raises GlyphscopeError at the start."""
    from glyphscope.capture.server import CaptureServer  # imports the server's library

    def report(news: News) -> None:
        try:
            pipe.write(_Report(news))
        except OSError:
            server.stop()

    def obey() -> None:
        while (read := pipe.read()) is not None and not isinstance(read.order, End):
            if isinstance(read.order, Decision):
                try:
                    server.decide(read.order)
                except GlyphscopeError as error:
                    report(Noted(str(error)))
        server.stop()

    server = CaptureServer(
        read_address(begin.to),
        Path(begin.folder),
        port=begin.port,
        model=begin.model,
        history=Path(begin.history) if begin.history else None,
        recorded=lambda recorded: report(Came(recorded)),
        note=lambda words: report(Noted(words)),
        hold=read_rules(begin.hold),
        pause_seconds=begin.pause_seconds,
        paused=report,
        released=report,
    )
    report(Begun(server.url))
    threading.Thread(target=obey, daemon=True).start()
    server.run()


def main() -> None:
    """The process of a `CaptureProcess`."""
    pipe = parent_pipe(_Order)
    first = pipe.read()
    if first is None or not isinstance(first.order, Begin):
        return
    try:
        _serve(pipe, first.order)
    except GlyphscopeError as error:
        pipe.write(_Report(_Failed(SentError.of(error))))


if __name__ == "__main__":
    main()
