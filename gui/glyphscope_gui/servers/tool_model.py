"""The tools of a server, in any number: rows are made only when they are painted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from PySide6.QtCore import QObject

from glyphscope.registry import Tool
from glyphscope_gui.calls.call_texts import hint_words
from glyphscope_gui.enforcement.table import EnforcementRow
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import PILL_ROLE, FilteredModel

NAME, ENFORCEMENT, ANNOTATIONS, IN_REGISTRY = range(4)
"""The columns."""


class ToolRow(NamedTuple):
    """A tool that a server lists. `tool` is None if it cannot be used; `problem` says why."""

    name: str
    tool: Tool | None
    problem: str = ""


class EnforcementSummary(NamedTuple):
    """The part of a tool's schema that the engine in use enforces: words, their pill's role, and the details."""

    words: str
    role: str
    tip: str


class ServersToolModel(FilteredModel[ToolRow]):
    """The checked tools are those to import."""

    checks = NAME
    titles = (tr("Tool"), tr("Mask"), tr("Annotations"), tr("Registry"))
    tips = (
        tr("Select the tools to import into the registry"),
        tr("How many constraints of its schema the mask enforces, by test; Checks lists each one"),
        tr("The annotations from the server; they are not verified"),
        tr("Whether the tool is in the registry"),
    )
    key = "name"

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._claims: Callable[[str], Mapping[str, Any]] = lambda _name: {}
        self._in_registry: Callable[[Tool], str] = lambda _tool: ""
        self._enforcement: dict[str, EnforcementSummary] = {}

    @property
    def ticked(self) -> tuple[Tool, ...]:
        """The ticked tools in the order of the list."""
        return tuple(row.tool for row in self._all if row.tool is not None and self.is_checked(row))

    @property
    def usable(self) -> int:
        return sum(row.tool is not None for row in self._all)

    def show(
        self,
        rows: Iterable[ToolRow],
        claims: Callable[[str], Mapping[str, Any]],
        in_registry: Callable[[Tool], str],
        *,
        keep: bool,
    ) -> None:
        """Show the tools of a server; `keep` keeps the ticks, for a new list of the same server.

        `claims` returns a tool's annotations by its name, `in_registry` its state in the registry in words.
        """
        self._claims, self._in_registry = claims, in_registry
        rows = tuple(rows)
        self._checked = self._checked & {row.name for row in rows} if keep else set()
        if not keep:
            self._enforcement = {}
        self._show_all(rows)
        self.checksChanged.emit()

    def set_enforcement(self, enforcement: Mapping[str, EnforcementSummary]) -> None:
        """Set the enforcement computed so far, by tool."""
        self._enforcement = dict(enforcement)
        self._changed(column=ENFORCEMENT)

    def refresh_registry(self) -> None:
        """Update the marks of imported tools after a change of the registry."""
        self._changed(column=IN_REGISTRY)

    def tick_all(self, ticked: bool) -> None:
        """Tick or untick all visible tools, as limited by the filter."""
        names = {row.name for row in self._rows if row.tool is not None}
        self._checked = self._checked | names if ticked else self._checked - names
        self._changed(column=NAME)
        self.checksChanged.emit()

    def words(self, row: ToolRow, column: int) -> str:
        if column == NAME:
            return row.name
        if column == ENFORCEMENT:
            pill = self._pill(row)
            return pill[0] if pill else ""
        if row.tool is None:
            return ""
        return hint_words(self._claims(row.name)) if column == ANNOTATIONS else self._in_registry(row.tool)

    def can_check(self, row: ToolRow) -> bool:
        return row.tool is not None

    def color(self, row: ToolRow, column: int) -> str:
        return "text-faint" if row.tool is None else "text" if column == NAME else "text-muted"

    def extra(self, row: ToolRow, column: int, role: int) -> Any:
        return self._pill(row) if role == PILL_ROLE and column == ENFORCEMENT else None

    def tip(self, row: ToolRow, column: int) -> str:
        if column == ENFORCEMENT and row.tool is not None:
            enforcement = self._enforcement.get(row.name)
            return enforcement.tip if enforcement else tr("Tested when the tool is selected.")
        if column == ANNOTATIONS:
            claims = "\n".join(f"{key}: {value}" for key, value in self._claims(row.name).items())
            return f"{claims}\n" + tr("Annotations from the server; not verified.") if claims else ""
        lines = [row.tool.description[:600] if row.tool else "", row.problem]
        return "\n".join(line for line in lines if line)

    def searched(self, row: ToolRow) -> str:
        return f"{row.name}\n{row.tool.description if row.tool else ''}"

    def _pill(self, row: ToolRow) -> tuple[str, str] | None:
        """The words and the role of the pill for PILL_ROLE."""
        if row.tool is None:
            return tr("cannot be used"), "impossible"
        enforcement = self._enforcement.get(row.name)
        return (enforcement.words, enforcement.role) if enforcement else None


_STATES = {
    "enforced": tr("enforced: no call can violate it"),
    "checked": tr("checked by the validator while the call is generated"),
    "unsupported": tr("neither enforced nor checked"),
    "leaks": tr("leaks"),
    "unknown": tr("unknown: no text can demonstrate it"),
    "error": tr("no grammar could be built"),
}


def enforcement_words(rows: tuple[EnforcementRow, ...]) -> EnforcementSummary:
    """The part of a schema that the mask enforces, in a few words and in full."""
    states = [row.cells["mask"].state for row in rows if "mask" in row.cells]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    total, enforced = len(states), counts.get("enforced", 0)
    if not total:
        return EnforcementSummary(tr("no constraints"), "open", tr("The schema has no constraints."))
    lines = [
        tr("{count} of {total}: {state}", count=counts[state], total=total, state=words)
        for state, words in _STATES.items()
        if state in counts
    ]
    tip = "\n".join(lines)
    if enforced == total:
        return EnforcementSummary(tr("{total} enforced", total=total), "holds", tip)
    bad = counts.get("unsupported", 0) + counts.get("leaks", 0) + counts.get("error", 0)
    return EnforcementSummary(
        tr("{enforced} of {total} enforced", enforced=enforced, total=total),
        "impossible" if bad else "open",
        tip,
    )
