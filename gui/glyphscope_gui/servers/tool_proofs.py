"""Proves the enforcement of the schemas of a server's tools, one after the other, the chosen tool first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal

from glyphscope.errors import GlyphscopeError, Stopped
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.proof.proofs import Proof, iterate_proofs
from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.enforcement.rows import enforcement_rows, prove
from glyphscope_gui.enforcement.table import EnforcementRow
from glyphscope_gui.shared.background import Background, this_task

CACHED = 400
"""Number of tools whose proofs are cached."""


class _Key(NamedTuple):
    digest: str
    notation: Notation
    shape: Shape
    order: ArgumentOrder
    whole: bool


class _Job(NamedTuple):
    tool: Tool
    whole: bool


class ToolProofs(QObject):
    """`proved` carries the name of a tool whose `rows` are now known."""

    proved = Signal(str)
    crashed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._found: dict[_Key, tuple[EnforcementRow, ...]] = {}
        self._notation: Notation = "glyph"
        self._shape: Shape = "flat"
        self._order: ArgumentOrder = "schema"
        self._queue: list[_Job] = []
        self._at_work: _Job | None = None

    def rows(self, tool: Tool) -> tuple[EnforcementRow, ...] | None:
        """A row for each constraint, for every engine or at least for the mask; None while neither is known."""
        whole = self.whole_rows(tool)
        return whole if whole is not None else self._found.get(self._key(_Job(tool, False)))

    def whole_rows(self, tool: Tool) -> tuple[EnforcementRow, ...] | None:
        """As `rows`, but only once every engine is known."""
        return self._found.get(self._key(_Job(tool, True)))

    def want(
        self,
        whole: Sequence[Tool],
        quick: Sequence[Tool],
        notation: Notation,
        shape: Shape,
        order: ArgumentOrder = "schema",
    ) -> None:
        """Prove these tools in this order, in place of earlier jobs: `whole` with every engine, `quick` only with the
        mask, which starts no process.
        """
        self._notation, self._shape, self._order = notation, shape, order
        jobs = [_Job(tool, True) for tool in whole]
        jobs += [_Job(tool, False) for tool in quick if self.rows(tool) is None and tool not in whole]
        self._queue = [job for job in jobs if self._key(job) not in self._found]
        if self._at_work is not None and self._at_work not in self._queue[:1]:
            self._background.stop("prove")
        self._next()

    def _next(self) -> None:
        if self._at_work is not None or not self._queue:
            return
        job = self._at_work = self._queue[0]
        key = self._key(job)
        registry = ToolRegistry((replace(job.tool, enabled=True),))

        def work() -> tuple[EnforcementRow, ...] | None:
            found: list[Proof] = []
            cancelled = this_task().stopped.is_set
            if job.whole:
                prove(registry, key.notation, key.shape, key.order, found.append, cancelled)
            else:
                found += iterate_proofs(
                    registry, key.notation, key.shape, ("mask",), order=key.order, cancelled=cancelled
                )
            return None if cancelled() else enforcement_rows(registry, found)

        def over(rows: tuple[EnforcementRow, ...] | None) -> None:
            self._at_work = None
            if rows is not None:
                self._keep(key, rows)
                self._queue = [other for other in self._queue if other != job]
                self.proved.emit(job.tool.name)
            self._next()

        def failed(error: BaseException) -> None:
            if isinstance(error, GlyphscopeError):  # the tool cannot be compiled: the import reports that
                over(None if isinstance(error, Stopped) else ())
                return
            self._queue = []
            self._at_work = None
            self.crashed.emit(error)

        self._background.start("prove", work, over, failed)

    def _keep(self, key: _Key, rows: tuple[EnforcementRow, ...]) -> None:
        self._found[key] = rows
        while len(self._found) > CACHED:
            del self._found[next(iter(self._found))]

    def _key(self, job: _Job) -> _Key:
        digest = ToolRegistry((job.tool,)).digest
        return _Key(digest, self._notation, self._shape, self._order, job.whole)
