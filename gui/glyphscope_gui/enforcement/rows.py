"""The proofs of the tools' constraints in every engine, as rows of the enforcement table and badges of constraints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from glyphscope.base.errors import NotationError
from glyphscope.base.pointer import follow, steps_of
from glyphscope.base.shorten import capitalised, shorten
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.explain.proof import OURS, EngineName, Proof, iterate_proofs
from glyphscope.explain.proof.outside import OutsideName
from glyphscope.grammar.tree import Unenforced
from glyphscope.notation import parse_value
from glyphscope.registry import ToolRegistry
from glyphscope_gui.enforcement.table import EnforcementCell, EnforcementRow
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.verdict import Enforcement

MAX_VALUE = 14
"""Characters of a leaking value, and of a constraint's value."""


class EnforcementRows:
    """A row for each constraint: first those that an engine's grammar does not enforce by its own account (`claims`),
    then in the order of their first proofs, which another thread may add meanwhile.
    """

    def __init__(
        self, registry: ToolRegistry, claims: Mapping[str, Sequence[Unenforced]] | None = None
    ) -> None:
        self._registry = registry
        self._rows: dict[tuple[str, str, str], EnforcementRow] = {}
        self.tools: set[str] = set()
        """The tools with a proof."""
        for engine, found in (claims or {}).items():
            for each in found:
                state = "checked" if each.checked else "unsupported"
                row = self._row(each.tool, each.pointer, each.keyword)
                row.cells[engine] = EnforcementCell(state, "", capitalised(each.why))

    def add(self, proof: Proof) -> None:
        self.tools.add(proof.tool)
        cells, cell = self._row(proof.tool, proof.pointer, proof.keyword).cells, _cell(proof)
        if cell.state != "unknown" or proof.engine not in cells:
            cells[proof.engine] = cell

    def _row(self, tool: str, pointer: str, keyword: str) -> EnforcementRow:
        key = tool, pointer, keyword
        if key not in self._rows:
            words = constraint_row_words(self._registry, *key)
            self._rows[key] = EnforcementRow(tool, pointer, keyword, words, {})
        return self._rows[key]

    def __call__(self) -> tuple[EnforcementRow, ...]:
        """The rows so far."""
        return tuple(self._rows.values())


def enforcement_rows(registry: ToolRegistry, proofs: Iterable[Proof]) -> tuple[EnforcementRow, ...]:
    """The rows of these proofs."""
    rows = EnforcementRows(registry)
    for proof in proofs:
        rows.add(proof)
    return rows()


def badges(
    rows: Iterable[EnforcementRow], constraint: str, complete: bool
) -> dict[tuple[str, str], Enforcement]:
    """The enforcement by the engine in use, by tool and pointer; without an engine only the validator checks."""
    if not complete:
        return {}
    found: dict[tuple[str, str], Enforcement] = {}
    for row in rows:
        cell = row.cells.get("gbnf" if constraint == "gbnf" else "mask")
        if cell is None or cell.state == "unknown":
            continue
        kind: Enforcement = "unsupported" if cell.state == "unsupported" else "checked"
        if cell.state == "enforced" and constraint != "off":
            kind = "enforced"
        found[row.tool, row.pointer] = kind
    return found


def _cell(proof: Proof) -> EnforcementCell:
    if proof.status == "enforced":
        words = tr("Rejected all {count:,} violating texts and accepted a valid one.", count=proof.examples)
        return EnforcementCell("enforced", "", f"{words}\n{capitalised(proof.why)}" if proof.why else words)
    if not proof.witness:
        return EnforcementCell(
            "unknown" if proof.engine in OURS or proof.unproved else "error", "", proof.why
        )
    why = capitalised(proof.what)
    if proof.why:
        why = f"{why}\n{proof.why}" if why else proof.why
    if proof.engine not in OURS and proof.what:
        value = leaking_value(proof.witness, proof.pointer, "json")
        return EnforcementCell("leaks", value, tr("Accepted: {text}", text=proof.witness) + f"\n{why}")
    if proof.what:
        return EnforcementCell(proof.status, "", tr("Accepted: {text}", text=proof.witness) + f"\n{why}")
    return EnforcementCell("unknown", "", tr("Rejected: {text}", text=proof.witness) + f"\n{why}")


def leaking_value(text: str, pointer: str, notation: Notation) -> str:
    """The argument's value in a call that was not rejected, if it is short."""
    try:
        call: Any = parse_value(text, notation)
    except NotationError:
        return ""
    arguments = call.get("args", call.get("arguments", call)) if isinstance(call, dict) else None
    place, name, *_ = (*steps_of(pointer), "", "")
    if place != "properties" or not isinstance(arguments, dict) or name not in arguments:
        return ""
    text = json.dumps(arguments[name], ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else ""


def constraint_row_words(registry: ToolRegistry, tool: str, pointer: str, keyword: str) -> str:
    """`max_results · maximum 100`; a constraint of the tool itself begins with its keyword."""
    steps = steps_of(pointer)
    names = [step for step in steps[:-1] if step not in ("properties", "$defs")]
    found = registry.get(tool)
    value = follow(found.parameters, pointer) if found else None
    limit = "" if value is None or isinstance(value[1], dict) else _value(value[1])
    return " · ".join([*names, f"{keyword} {limit}".strip()])


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shorten(text, 2 * MAX_VALUE)


class Outside(NamedTuple):
    """Engines in separate environments, and the folder of these."""

    engines: tuple[OutsideName, ...] = ()
    folder: Path | None = None


NO_OTHERS = Outside()
THEIRS: tuple[EngineName, ...] = ("converter",)
"""It and engines in separate environments know only JSON, so they are tested on calls in JSON."""


def prove(
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    order: ArgumentOrder,
    report: Callable[[Proof], None],
    cancelled: Callable[[], bool],
    outside: Outside = NO_OTHERS,
) -> None:
    """Report each proof as soon as it is made."""
    rounds: tuple[tuple[Sequence[EngineName], Notation, ArgumentOrder], ...] = (
        (OURS, notation, order),
        (THEIRS, "json", "schema"),
        (outside.engines, "json", "schema"),
    )
    for engines, written, ordered in rounds:
        for proof in iterate_proofs(
            registry, written, shape, engines, order=ordered, cancelled=cancelled, outside=outside.folder
        ):
            report(proof)
