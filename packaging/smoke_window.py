"""The packaged window, used with the keyboard and judged by its effects.

These are a run with a valid call in its history, exit code 0, and no remaining processes; there are no test hooks.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from screen import Screen, open_screen
from setup_env import say
from smoke import Place, SmokeFailed

T = TypeVar("T")
_START, _RUN, _END = 60.0, 120.0, 20.0  # seconds
_AGAIN = 15.0
"""Seconds after which Run is pressed again: a press while the model is loading may have no effect."""


def try_window(place: Place, picture: Path) -> None:
    """Open the window, run the prompt of a first start, take a picture, quit. Raises SmokeFailed."""
    with open_screen(place) as screen, _opened(place, screen) as window:
        window.run_prompt()
        time.sleep(2)  # until the completed call is drawn
        screen.picture(picture)
        window.quit()
    if left := _processes_of(place):
        raise SmokeFailed(f"{place.name}: processes are left behind: {left}")
    say(f"{place.name}: the window ran the model to a valid call and quit: {picture}")


class Window:
    """The running program, and its window on the screen."""

    def __init__(self, place: Place, screen: Screen, process: subprocess.Popen[bytes], log: Path) -> None:
        self._place, self._screen, self._process, self._log = place, screen, process, log
        began = time.monotonic()
        self._number = self._wait(_START, "shows no window", lambda: screen.window("Glyphscope"))
        say(f"{place.name}: the window is there after {time.monotonic() - began:.1f} s")

    def run_prompt(self) -> None:
        """Press Run's key until the history has one more run. Raises SmokeFailed unless it is a valid call."""
        before = len(outcomes(self._place))
        self._screen.press(self._number, "Escape")  # closes a dialog of the first start
        pressed = 0.0

        def over() -> str | None:
            nonlocal pressed
            found = outcomes(self._place)
            if len(found) > before:
                return found[-1]
            if time.monotonic() > pressed + _AGAIN:
                self._screen.press(self._number, "ctrl+Return")
                pressed = time.monotonic()
            return None

        outcome = self._wait(_RUN, "has no run in its history", over)
        if outcome != "valid":
            raise SmokeFailed(f"{self._place.name}: the run of the window came to “{outcome}”")

    def quit(self) -> None:
        """Quit with its key. Raises SmokeFailed unless the exit code is 0."""
        self._screen.press(self._number, "ctrl+q")
        try:
            code = self._process.wait(_END)
        except subprocess.TimeoutExpired:
            raise self._failure("does not quit") from None
        if code:
            raise self._failure(f"ended with exit code {code}")

    def _wait(self, seconds: float, failure: str, look: Callable[[], T | None]) -> T:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = look()
            if found is not None:
                return found
            if self._process.poll() is not None:
                raise self._failure(f"ended with exit code {self._process.returncode}")
            time.sleep(0.3)
        self._screen.picture(self._log.with_suffix(".png"))
        raise self._failure(f"{failure} after {seconds:.0f} s (see {self._log.with_suffix('.png')})")

    def _failure(self, what: str) -> SmokeFailed:
        log = self._log.read_text(errors="replace")[-2000:]
        return SmokeFailed(f"{self._place.name}: the program {what}. {log}")


@contextlib.contextmanager
def _opened(place: Place, screen: Screen) -> Iterator[Window]:
    with tempfile.NamedTemporaryFile(prefix="glyphscope-smoke-", suffix=".log") as log:
        process = subprocess.Popen(
            place.command(place.program),
            env=place.environment(DISPLAY=screen.display),
            stdout=log,
            stderr=log,
        )
        try:
            yield Window(place, screen, process, Path(log.name))
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.terminate()
                process.wait(_END)
            process.kill()
            process.wait()


def outcomes(place: Place) -> list[str]:
    """The outcomes of the runs in that place's history, oldest first."""
    file = place.outside(f"{place.home}/.local/share/glyphscope/history.sqlite3")
    if not file.exists():
        return []
    with contextlib.closing(sqlite3.connect(file)) as history:
        try:
            return [row[0] for row in history.execute("SELECT outcome FROM runs ORDER BY time")]
        except sqlite3.OperationalError:  # it is being created or written
            return []


def _processes_of(place: Place) -> list[str]:
    """The command lines of the program's processes there, a second after it has ended."""
    time.sleep(1)
    program = place.outside(place.program).resolve()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(entry / "exe")) in (program, Path(place.program)):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
