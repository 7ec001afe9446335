"""Asks in the terminal about the requests and answers that wait at breakpoints of a capture, one after the other."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rich.text import Text

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import byte_size, duration
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.output import diagnostics, print_note

if TYPE_CHECKING:
    from glyphscope.capture.breakpoints import Decision, Paused, Released

_LOOK = 0.2
"""Seconds between two looks at whether it still waits."""
_SHOWN = 1200
"""Characters of a body that are printed; an editor has all of it."""
_ENDS = {
    "late": "the time limit is over, and the agent got an error",
    "agent": "the agent has left",
    "stop": "the capture ends, and the agent got an error",
}


class PausedInTerminal:
    """Asks on stderr and reads the terminal, in a thread, as long as it is a context. `decide` releases."""

    def __init__(self) -> None:
        self.decide: Callable[[Decision], None] = lambda _: None
        self._waiting: list[Paused] = []
        self._changed = threading.Condition()
        self._has_ended = False

    def add(self, paused: Paused) -> None:
        """Ask about it after those before it."""
        with self._changed:
            self._waiting.append(paused)
            self._changed.notify()

    def remove(self, released: Released) -> None:
        """It no longer waits."""
        with self._changed:
            there = [
                each for each in self._waiting if (each.number, each.side) == (released.number, released.side)
            ]
            self._waiting = [each for each in self._waiting if each not in there]
        if there and released.end in _ENDS:
            print_note(
                f"The {released.side} {released.number} is not sent on: {_ENDS[released.end]}.", "yellow"
            )

    def __enter__(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._has_ended = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._has_ended)
                if self._has_ended:
                    return
                paused = self._waiting[0]
            self._ask(paused)

    def _ask(self, paused: Paused) -> None:
        """Ask until it is released."""
        from glyphscope.capture.breakpoints import Decision

        out = diagnostics()
        facts = (paused.model, paused.path, byte_size(len(paused.body)))
        out.print(Text(visible(f"The {paused.side} {paused.number} is paused. {paused.why}"), "bold yellow"))
        out.print(
            Text(visible(f"  {' · '.join(filter(None, facts))}, for at most {duration(paused.seconds)}"))
        )
        text = paused.text
        out.print(Text(visible(shorten(text or "It is not UTF-8.", _SHOWN), lines=True), "dim"))
        calls = paused.calls
        while self._waits(paused):
            edits = ("" if text is None else ", e edit", ", c edit the calls' arguments" if calls else "")
            out.print(Text(f"s send{''.join(edits)}, d drop: "), end="")
            letter = self._line(paused)
            body = None
            try:
                if letter == "e" and text is not None:
                    text = _in_editor(text)
                    body = text.encode()
                elif letter == "c" and calls:
                    calls = _in_editor(calls)
                    body = paused.with_calls(calls)
                elif letter not in ("s", "d"):
                    continue
                self.decide(Decision(paused.number, paused.side, "drop" if letter == "d" else "send", body))
            except GlyphscopeError as error:
                out.print(Text(visible(str(error)), "red"))
                continue
            if body is not None and paused.side == "answer":
                with suppress(Exception):  # it is sent, also if it cannot be judged
                    out.print(
                        Text(visible(paused.verdict(body) or "Each call of the edited answer is valid."))
                    )
            with self._changed:  # `remove` comes later
                self._waiting = [each for each in self._waiting if each is not paused]
            return

    def _line(self, paused: Paused) -> str:
        """The next line of the terminal; empty if it no longer waits, or the terminal is closed."""
        while self._waits(paused):
            if select.select([sys.stdin], [], [], _LOOK)[0]:
                line = os.read(sys.stdin.fileno(), 4096)
                if not line:
                    self._has_ended = True
                return line.decode(errors="replace").strip().lower()[:1]
        diagnostics().print()
        return ""

    def _waits(self, paused: Paused) -> bool:
        with self._changed:
            return paused in self._waiting and not self._has_ended


def _in_editor(text: str) -> str:
    """The text as the user left it in the editor that VISUAL or EDITOR names; unchanged if that does not run."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "paused.json"
        file.write_text(text, encoding="utf-8", newline="")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
            with file.open(encoding="utf-8", newline="") as written:
                return written.read()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            print_note(f"The editor {editor} cannot be used: {error}. VISUAL or EDITOR names another.", "red")
            return text
