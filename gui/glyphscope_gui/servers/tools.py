"""Facts about a server's tools: the enforcement of their schemas, and which of them the registry has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError, Stopped
from glyphscope.events import ArgumentOrder, Notation, RunRequest, Shape
from glyphscope.explain.proof.proofs import Proof, iterate_proofs
from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.enforcement.rows import enforcement_rows, prove
from glyphscope_gui.enforcement.table import EnforcementRow
from glyphscope_gui.mcp.server_source import source_key
from glyphscope_gui.mcp.servers import DEMO
from glyphscope_gui.project.argument_schema import free_name
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.language import tr

CACHED = 400
"""Number of tools whose proofs are cached."""


_Form: TypeAlias = tuple[Notation, Shape, ArgumentOrder]


class _Key(NamedTuple):
    digest: str
    form: _Form
    whole: bool


class _Job(NamedTuple):
    tool: Tool
    whole: bool


class ToolProofs(QObject):
    """`proved` is emitted when the `rows` of another tool are known."""

    proved = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._found: dict[_Key, tuple[EnforcementRow, ...]] = {}
        self._form: _Form = ("glyph", "flat", "schema")
        self._queue: list[_Job] = []
        self._at_work: _Job | None = None

    def rows(self, tool: Tool) -> tuple[EnforcementRow, ...] | None:
        """A row for each constraint, for every engine or at least for the mask; None while neither is known."""
        whole = self.whole_rows(tool)
        return whole if whole is not None else self._found.get(self._key(_Job(tool, False)))

    def whole_rows(self, tool: Tool) -> tuple[EnforcementRow, ...] | None:
        """As `rows`, but only once every engine is known."""
        return self._found.get(self._key(_Job(tool, True)))

    def want(self, whole: Sequence[Tool], quick: Sequence[Tool], request: RunRequest) -> None:
        """Prove these tools in this order for the request's form of calls, in place of earlier jobs: `whole` with every
        engine, `quick` only with the mask, which starts no process.
        """
        self._form = (request.notation, request.shape, request.order)
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
                prove(registry, *key.form, found.append, cancelled)
            else:
                notation, shape, order = key.form
                found += iterate_proofs(
                    registry, notation, shape, ("mask",), order=order, cancelled=cancelled
                )
            return None if cancelled() else enforcement_rows(registry, found)

        def over(rows: tuple[EnforcementRow, ...] | None) -> None:
            self._at_work = None
            if rows is not None:
                self._keep(key, rows)
                self._queue = [other for other in self._queue if other != job]
                self.proved.emit()
            self._next()

        def failed(error: BaseException) -> None:
            if isinstance(error, GlyphscopeError):  # the tool cannot be compiled: the import reports that
                over(None if isinstance(error, Stopped) else ())
                return
            self._queue = []
            self._at_work = None
            raise error  # a bug is reported like any other

        self._background.start("prove", work, over, failed)

    def _keep(self, key: _Key, rows: tuple[EnforcementRow, ...]) -> None:
        self._found[key] = rows
        while len(self._found) > CACHED:
            del self._found[next(iter(self._found))]

    def _key(self, job: _Job) -> _Key:
        digest = ToolRegistry((job.tool,)).digest
        return _Key(digest, self._form, job.whole)


@dataclass(frozen=True)
class Import:
    """The tools as in the registry after the import, and the request's `sources` with them."""

    tools: tuple[Tool, ...]
    sources: dict[str, str]


def imported_name(tool: str, server: str, registry: ToolRegistry, sources: Mapping[str, str]) -> str:
    """Return the name of the server's tool in the registry; "" if it is not imported."""
    if registry.get(tool) is not None and sources.get(tool, DEMO) == server:
        return tool
    alias = f"{server}/{tool}"
    return next((name for name, source in sources.items() if source == alias and registry.get(name)), "")


def clashes(
    tools: Iterable[Tool], server: str, registry: ToolRegistry, sources: Mapping[str, str]
) -> list[str]:
    """The names that other tools have in the registry."""
    return [
        tool.name
        for tool in tools
        if registry.get(tool.name) is not None and not imported_name(tool.name, server, registry, sources)
    ]


def plan_import(
    tools: Iterable[Tool], server: str, registry: ToolRegistry, sources: Mapping[str, str], *, rename: bool
) -> Import:
    """Plan an import: known tools are updated; a tool whose name is taken is renamed or replaces the other."""
    taken = {tool.name for tool in registry}
    found: list[Tool] = []
    after = dict(sources)
    for tool in tools:
        name = imported_name(tool.name, server, registry, sources)
        if not name:
            name = free_name(tool.name, taken) if rename else tool.name
        taken.add(name)
        before = registry.get(name)
        found.append(replace(tool, name=name, enabled=before.enabled if before is not None else True))
        key = source_key(name, server, tool.name)
        if key == DEMO:
            after.pop(name, None)
        else:
            after[name] = key
    return Import(tuple(found), after)


def registry_words(tool: Tool, server: str, registry: ToolRegistry, sources: Mapping[str, str]) -> str:
    """Whether the registry contains the tool, in a word or two."""
    name = imported_name(tool.name, server, registry, sources)
    if not name:
        return tr("name in use") if registry.get(tool.name) is not None else ""
    mine = registry.get(name)
    if mine is None:
        return ""
    changed = mine.parameters != tool.parameters or mine.description != tool.description
    if name == tool.name:
        return tr("imported, changed") if changed else tr("imported")
    return tr("as {name}, changed", name=name) if changed else tr("as {name}", name=name)
