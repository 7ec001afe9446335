"""Long work of the window's thread in slices, between which the window handles input and is painted."""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from inspect import GEN_RUNNING, getgeneratorstate
from time import perf_counter
from typing import TypeAlias

from PySide6.QtCore import QObject, QTimer

SLICE_MS = 8
"""Half a frame. The last step of a slice may exceed it."""
PAUSE_MS = 1
"""A timer of 0 ms would keep Qt from sleeping, and so from receiving the window system's events."""

Steps: TypeAlias = Generator[None, None, None]
"""Work that may be interrupted or abandoned at each `yield`: its `finally` clauses restore what it changed."""


_NAMED_IN = ("QtCore", "QtGui", "QtWidgets", "QtSvg", "QtOpenGL", "QtOpenGLWidgets", "QtTest")
"""The modules of Qt whose names pyqtgraph reads, all of the first three's."""


_CHARTS = "pyqtgraph"


class _Charts:
    """The import of the library of charts, which all who need it continue; None before it begins."""

    steps: Steps | None = None
    done = False


def are_charts_imported() -> bool:
    return _Charts.done


def import_charts() -> Steps:
    """Import the library of charts, the window's slowest, in the window's thread: in another one beside the event loop
    it crashed, rarely: PySide makes a type of Qt when its name is first read. These names are read one at a time,
    and the library's own imports are executed one by one: in one piece, they would take 100 to 200 ms.
    """
    if _Charts.steps is None:
        _Charts.steps = _import_charts()
    for _ in _Charts.steps:
        yield


def charts_imported() -> None:
    """Import the library of charts now, or the rest of it."""
    for _ in import_charts():
        pass


def _import_charts() -> Steps:
    for name in _NAMED_IN:
        with suppress(ImportError):  # a package may lack what the charts can do without
            module = import_module(f"PySide6.{name}")
            for each in dir(module):
                getattr(module, each)
                yield
    if _CHARTS not in sys.modules and (source := _source_of(spec := find_spec(_CHARTS))):
        assert spec is not None, "it has a source"
        library = sys.modules[_CHARTS] = module_from_spec(spec)
        try:
            for statement in ast.parse(source).body:
                exec(compile(ast.Module([statement], []), spec.origin or _CHARTS, "exec"), vars(library))
                yield
        except BaseException:
            _Charts.steps = None
            del sys.modules[_CHARTS]
            raise
    import_module(_CHARTS)
    _Charts.done = True


def _source_of(spec: ModuleSpec | None) -> str | None:
    """The source of a module, if its package has it."""
    found = getattr(spec.loader, "get_source", None) if spec is not None else None
    return found(spec.name) if found is not None and spec is not None else None


class Slices(QObject):
    """Does one piece of work at a time, beginning in the next iteration of the event loop."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: Steps | None = None
        self._ends = False
        self._timer = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._timer.timeout.connect(self._slice)

    @property
    def is_busy(self) -> bool:
        return self._steps is not None

    def start(self, steps: Steps) -> None:
        """Start this work; unfinished work is abandoned."""
        self.stop()
        self._steps = steps
        self._timer.start()

    def begin(self, steps: Steps) -> None:
        """Start this work with its first slice, which is all of most work."""
        self.start(steps)
        self._slice()

    def end_slice(self) -> None:
        """End the slice at the next `yield` of the work: before a step that is long by itself, or where what it caused
        in Qt's queue is to be handled first.
        """
        self._ends = True

    def finish(self) -> None:
        """Do all remaining work now. Does nothing if the work itself calls it."""
        self._continue(float("inf"))

    def stop(self) -> None:
        """Abandon the remaining work."""
        steps, self._steps = self._steps, None
        self._timer.stop()
        if steps is not None:
            steps.close()

    def _slice(self) -> None:
        self._continue(perf_counter() + SLICE_MS / 1000)

    def _continue(self, until: float) -> None:
        steps = self._steps
        if steps is None or getgeneratorstate(steps) == GEN_RUNNING:
            return
        try:
            for _ in steps:
                ends, self._ends = self._ends, False
                if perf_counter() >= until or (ends and until < float("inf")):
                    self._timer.start()
                    return
        except BaseException:
            self._steps = None
            raise
        if self._steps is steps:  # its last step may have started other work
            self._steps = None
