"""Progress bars on stderr: tqdm's where it is installed, otherwise Rich's. In notebooks only tqdm's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeAlias

Show: TypeAlias = Callable[[int, int | None, str], None]
"""Called with the number done, the total (None: unknown), and words on the present step."""
DELAY = 0.5
"""Seconds before a bar appears: shorter waits have none."""
INTERVAL = 0.1
"""Seconds between two pictures of a bar, at least."""


@contextmanager
def progress_bar(shown: bool | None, unit: str) -> Iterator[Show]:
    """A bar for the time of the context. `shown` None: in a terminal and in a notebook."""
    notebook = _in_notebook()
    if shown is None:
        shown = notebook or sys.stderr.isatty()
    if shown and find_spec("tqdm") is not None:
        bar: _TqdmBar | _RichBar = _TqdmBar(unit, widgets=notebook and find_spec("ipywidgets") is not None)
    elif shown and not notebook:
        bar = _RichBar(unit)
    else:
        yield lambda _done, _total, _words: None
        return
    try:
        yield bar.show
    finally:
        bar.close()


class _TqdmBar:
    def __init__(self, unit: str, *, widgets: bool) -> None:
        if widgets:
            from tqdm.notebook import tqdm
        else:
            from tqdm.std import tqdm
        unmonitored = type("Bar", (tqdm,), {"monitor_interval": 0})  # without a thread that outlives the bar
        self._bar = unmonitored(
            unit=f" {unit}", delay=DELAY, miniters=0, mininterval=INTERVAL, leave=False, file=sys.stderr
        )

    def show(self, done: int, total: int | None, words: str) -> None:
        if total != self._bar.total:
            self._bar.reset(total)
        self._bar.set_description_str(words, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _RichBar:
    def __init__(self, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = ("{task.description}", "{task.completed:.0f}{task.fields[of]} " + unit)
        first, count = (TextColumn(text, markup=False) for text in columns)
        self._bar = Progress(
            first, BarColumn(), count, TimeElapsedColumn(), console=Console(stderr=True), transient=True
        )
        self._task = self._bar.add_task("", total=None, of="")
        self._began = time.monotonic()

    def show(self, done: int, total: int | None, words: str) -> None:
        changes: dict[str, Any] = {"of": "" if total is None else f"/{total}", "description": words}
        self._bar.update(self._task, completed=done, total=total, **changes)
        if not self._bar.live.is_started and time.monotonic() - self._began > DELAY:
            self._bar.start()

    def close(self) -> None:
        self._bar.stop()


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
