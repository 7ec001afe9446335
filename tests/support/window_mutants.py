"""Damaged and hostile files in the whole window: each is shown, or rejected with an error that says what, where and how
to fix it; the window answers meanwhile, and closes at any moment.

    python tests/support/window_mutants.py KIND COUNT [SEED]

KIND is one of `STEPS`. Seeded: a number is always the same file and the same steps. Prints what ended otherwise, and
the longest block of the window's thread with its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QDialog

from glyphscope.base.errors import GlyphscopeError
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import main_window, project_dialogs
from glyphscope_gui.shell.main_window import MainWindow
from glyphscope_gui.tools import actions as tool_actions
from hostile_files import Mutants
from mutants import json_value, with_a_long_value
from window_blocks import Blocks, make_window, settle

LONGEST = 0.4
"""Seconds of processor time in which the window's thread always answers; making a page needs a part of it."""
WAITING, ENDING = 2.0, 30.0
"""Seconds that a step has for its work in the background, which then continues, and a run to end after Stop."""
CLOSING = 5.0
"""Seconds in which the window is closed."""
EXPORTS = ("openai-messages", "pytest", "html", "curl", "calls")
Actions: TypeAlias = Iterator[None]
"""Steps, each of which ends in a `yield`."""


# the steps with a file of each kind


def _project(window: MainWindow, path: Path, chance: random.Random) -> Actions:
    project, tools = window.services.project, window.services.project.tools
    project.open(path)
    yield
    name = chance.choice(tools.registry.tools).name if tools.registry.tools else ""
    window_actions = _use(window)
    window_actions += [
        partial(project.save, path.with_name("saved.glyphscope")),
        project.reload,
        tools.undo_stack.undo,
        partial(window.panels.reveal_argument, name, None),
        partial(tools.set_enabled, name, False),
        partial(tools.set_description, name, "d"),
        partial(project.prompt.set_user, "other"),
        partial(project.set_options, notation="json"),
    ]
    yield from _some(window_actions, chance)


def _record(window: MainWindow, path: Path, chance: random.Random) -> Actions:
    window.files.open_run(path)
    yield
    yield from _some([*_use(window), window.actions_.focus_tokens.trigger], chance)


def _registry(window: MainWindow, path: Path, chance: random.Random) -> Actions:
    project = window.services.project
    window.panels.tools.actions_.read_file(path)
    yield
    yield from _some([*_use(window), project.tools.undo_stack.undo], chance)


def _use(window: MainWindow) -> list[Callable[[], object]]:
    """The actions on any project or record."""
    return [
        *(partial(window.navigator.show, page) for page in PageId),
        window.actions_.run.trigger,
        window.actions_.run.trigger,
        window.actions_.step.trigger,
        window.actions_.stop.trigger,
        window.panels.reveal_rendered_prompt,
        window.panels.reveal_messages,
        *(partial(_export, window, form) for form in EXPORTS),
    ]


def _export(window: MainWindow, form: Any) -> None:
    if window.runs.events and not window.runs.is_busy:
        window.files.export_shown(form)


def _suite(window: MainWindow, path: Path, chance: random.Random) -> Actions:
    page = window.page(PageId.EVALUATE)
    window.navigator.show(PageId.EVALUATE)
    yield
    page._add_suites([path])
    yield
    setup = page.view.setup
    setup.show_matrix({"suites": (str(path),), "constraints": ("off",)})
    page._setup_changed()
    yield
    actions = [
        setup.start.click,
        setup.start.click,
        partial(setup.scenarios.search.setText, chance.choice(("", "a", "zz"))),
        page.evaluations.stop,
        page.suite_editing.edit_current,
        page.suite_editing.edit_current,
        partial(window.navigator.show, PageId.PLAYGROUND),
        partial(window.navigator.show, PageId.EVALUATE),
    ]
    yield from _some(actions, chance)


def _opened(window: MainWindow, path: Path, chance: random.Random) -> Actions:
    """A lesson or a template."""
    window.files.open_file(path)
    yield
    pages = PageId.PLAYGROUND, PageId.TEMPLATE, PageId.LESSONS
    yield from _some([partial(window.navigator.show, page) for page in pages], chance)


def _some(actions: list[Callable[[], object]], chance: random.Random) -> Actions:
    for action in chance.choices(actions, k=4):
        action()
        yield


STEPS: dict[str, Callable[..., Actions]] = {
    "projects": _project,
    "suites": _suite,
    "records": _record,
    "registries": _registry,
    "lessons": _opened,
    "templates": _opened,
}
"""Of the files that `hostile_files.py` makes."""


def make_file(mutants: Mutants, number: int, folder: Path) -> tuple[Path, random.Random]:
    """Make the mutant of that number; in one of ten of JSON, a text or a list is very long."""
    path, rng = mutants.make(number, folder)
    if path.suffix in (".json", ".glyphscope") and rng.random() < 0.1:
        with contextlib.suppress(ValueError):
            path.write_bytes(json_value(with_a_long_value(json.loads(path.read_bytes()), rng)))
    return path, rng


class Windows:
    """A window in which mutants are opened, and a new one after each that is closed; `found` are the broken rules, and
    `errors` counts the errors that were shown.
    """

    def __init__(self, app: QApplication, *, where: bool = False) -> None:
        self._app, self._where = app, where
        self._shown: list[BaseException] = []
        self.found: list[str] = []
        self.errors: Counter[str] = Counter()
        self.longest = (0.0, "")
        self._window: MainWindow | None = None
        self._mutants = cache(lambda kind: Mutants(kind, "window"))
        for module in (main_window, project_dialogs, tool_actions):
            module.show_error = lambda _parent, error: self._shown.append(error)

    def try_mutant(self, kind: str, number: int, folder: Path) -> None:
        """Open the mutant of that number, and use it; one of ten times, the window is then closed at any moment."""
        place = folder / f"{number}"
        place.mkdir()
        path, chance = make_file(self._mutants(kind), number, place)
        window, blocks = self._open()
        closes = chance.randrange(6) if chance.random() < 0.1 else -1
        steps, step = STEPS[kind](window, path, chance), 0
        while True:
            blocks.begin()
            try:
                next(steps)
            except StopIteration:
                break
            except Exception:
                self._broken(number, step, traceback.format_exc())
            if closes == step:
                until = time.monotonic() + chance.choice((0.0, 0.02, 0.2))
                while time.monotonic() < until:
                    self._app.processEvents()
                self.close(number)
                return
            settle(self._app, window, quiet=0.05, most=WAITING)
            self._look(number, step, blocks)
            step += 1
        window.runs.stop()
        until = time.monotonic() + ENDING
        while window.runs.is_busy and time.monotonic() < until:
            self._app.processEvents()
        if window.runs.is_busy:
            self._broken(number, step, "the run does not end")

    def _look(self, number: int, step: int, blocks: Blocks) -> None:
        """Look at the errors and blocks of a step, and close its dialogs."""
        self.longest = max(self.longest, (blocks.longest_cpu, f"{number} step {step}: {blocks.place}"))
        if blocks.longest_cpu > LONGEST:
            self._broken(number, step, f"blocked for {blocks.longest_cpu:.2f} s: {blocks.place}")
        for error in self._shown:
            if not isinstance(error, GlyphscopeError):
                self._broken(number, step, "".join(traceback.format_exception(error)))
            elif not error.message or "Traceback" in str(error) or not (error.where or error.hint):
                self._broken(number, step, f"a useless message: {error}")
            else:
                self.errors[type(error).__name__] += 1
        self._shown.clear()
        for widget in QApplication.topLevelWidgets():
            if isinstance(widget, QDialog) and widget.isVisible():
                QDialog.reject(widget)

    def _broken(self, number: int, step: int, what: str) -> None:
        self.found.append(f"{number} step {step}: {what}")

    def hook(self, _kind: object, error: BaseException, trace: Any) -> None:
        """`sys.excepthook`: exceptions in slots."""
        self._shown.append(error.with_traceback(trace))

    def _open(self) -> tuple[MainWindow, Blocks]:
        if self._window is None:
            self._owner = QObject()
            self._window = make_window(self._app, self._owner)
            self._blocks = Blocks(self._owner, where=self._where)
            settle(self._app, self._window)
        return self._window, self._blocks

    def close(self, number: int = -1) -> None:
        """Close the window, as from outside."""
        if self._window is None:
            return
        began = time.monotonic()
        self._window.shut_down()
        if (took := time.monotonic() - began) > CLOSING:
            self._broken(number, -1, f"closing took {took:.1f} s")
        self._window.deleteLater()
        self._owner.deleteLater()
        self._window = None
        self._app.processEvents()
        self._shown.clear()


def main(kind: str, count: int, seed: int = 0) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["GLYPHSCOPE_HOME"] = tempfile.mkdtemp()
    windows = Windows(QApplication([]), where=True)
    sys.excepthook = windows.hook
    folder, printed = Path(tempfile.mkdtemp()), 0
    for number in range(seed * 10**6, seed * 10**6 + count):
        windows.try_mutant(kind, number, folder)
        for what in windows.found[printed:]:
            print(what, flush=True)
        printed = len(windows.found)
        if number % 100 == 99:
            print(f"{number + 1} … {windows.longest}", flush=True)
    windows.close()
    found, errors = len(windows.found), dict(windows.errors)
    print(f"{count} of {kind}: {found} broken rules, errors {errors}, {windows.longest}", flush=True)
    os._exit(bool(windows.found))


if __name__ == "__main__":
    try:
        main(sys.argv[1], *map(int, sys.argv[2:]))
    except Exception:  # not one of a slot
        traceback.print_exc()
        os._exit(2)
