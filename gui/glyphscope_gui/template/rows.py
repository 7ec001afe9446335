"""The results of an inspection, as the rows of the page's tables."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from glyphscope.models.inspection import Inspection
from glyphscope.text.shorten import capitalised
from glyphscope.turns.slots import PROMPT_PARTS, Slot
from glyphscope_gui.shared.language import tr
from glyphscope_gui.template.tables import Cell, Row, on_one_line

_STATES = {"on": tr("on"), "off": tr("off"), "undefined": tr("not set")}
_PARTS = {
    "system": tr("System message"),
    "tools": tr("Tool descriptions"),
    "calls": tr("Calls of earlier turns"),
    "second_call": tr("A second call in one turn"),
    "text": tr("Text next to a call"),
    "reasoning": tr("Reasoning before a result"),
    "earlier_reasoning": tr("Reasoning of earlier turns"),
    "results": tr("Results of calls"),
    "second_result": tr("Results of two calls"),
}
_LOSSES = {
    "": (tr("kept"), "holds"),
    "left out": (tr("dropped"), "open"),
    "refused": (tr("rejected"), "impossible"),
}


def slot_rows(found: Inspection) -> list[Row]:
    numbers = {pair.key: number for number, pair in enumerate(found.pairs, 1)}
    return [_slot_row(slot, numbers) for slot in found.slots]


def _slot_row(slot: Slot, numbers: dict[str, int]) -> Row:
    places = [numbers[key] for key in slot.pairs if key in numbers]
    words = ""
    if places:
        listed = ", ".join(map(str, places))
        words = (
            tr("pair {number}", number=listed) if len(places) == 1 else tr("pairs {numbers}", numbers=listed)
        )
    if slot.rows:
        words += ("; " if words else "") + tr("table")
    tip = "\n".join(slot.rows) if slot.rows else words
    return (
        Cell(slot.title),
        Cell(on_one_line(slot.value), f"{slot.value}\n{slot.note}".strip(), note=slot.note),
        Cell(words, tip),
    )


def marker_rows(found: Inspection) -> list[Row]:
    return [
        (
            Cell(on_one_line(marker.text)),
            Cell(marker.words),
            Cell(
                " · ".join(str(token.id) for token in marker.tokens),
                " ".join(on_one_line(token.text) or str(token.id) for token in marker.tokens),
            ),
        )
        for marker in found.markers
    ]


def ends_words(found: Inspection) -> str:
    """The tokens at which llama.cpp ends a generation."""
    if not found.markers:
        return tr("Open the model of this template to see the markers as its tokens.")
    if not found.end_tokens:
        return tr("No token of this vocabulary ends a generation.")
    ends = ", ".join(f"{on_one_line(token.text)} ({token.id})" for token in found.end_tokens)
    return tr("Generation ends at {ends}.", ends=ends)


def thinking_rows(found: Inspection) -> list[Row]:
    out: list[Row] = []
    for each in found.thinking:
        like = tr("as {state}", state=_STATES[each.like]) if each.like else ""
        words = [PROMPT_PARTS.get(each.part, ""), like]
        out.append(
            (
                Cell(_STATES[each.state]),
                Cell(on_one_line(each.prompt), each.prompt),
                Cell("; ".join(word for word in words if word)),
            )
        )
    return out


def history_rows(found: Inspection) -> list[Row]:
    losses: dict[str, Any] = msgspec.to_builtins(found.history) if found.history is not None else {}
    rows: list[Row] = []
    for key, words in _PARTS.items():
        if key in losses:
            loss, role = _LOSSES[losses[key]]
            rows.append((Cell(words), Cell(loss, pill=role)))
    if losses and not losses["calls"]:
        given = tr("as text") if found.arguments_as == "string" else tr("as an object")
        rows.append((Cell(tr("Arguments are given")), Cell(given, pill="open")))
    return rows


def note_rows(found: Inspection) -> list[Row]:
    out: list[Row] = [(Cell(tr("warning"), pill="impossible"), Cell(words)) for words in found.warnings]
    for row in found.form.corrections:
        words = f"{capitalised(row.row)}: {row.reason} ({row.source})"
        out.append((Cell(tr("table"), pill="forced"), Cell(words)))
    return out or [(Cell(tr("none"), pill="holds"), Cell(tr("No notes.")))]


def value_rows(found: Inspection) -> list[Row]:
    out: list[Row] = []
    for value in (found.proof or {}).get("values", ()):
        preserved = value["carried"]
        example = json.dumps(value["example"], ensure_ascii=False)
        if not preserved:
            example += f" → {json.dumps(value['read'], ensure_ascii=False)}"
        pill = Cell(tr("yes"), pill="holds") if preserved else Cell(tr("no"), pill="impossible")
        out.append((Cell(value["kind"]), pill, Cell(on_one_line(example))))
    return out


def proof_words(found: Inspection) -> tuple[str, str, str]:
    """The words of the proof, the role of their pill, and its tip."""
    proof = found.proof
    if proof is None:
        return tr("testing…"), "open", tr("Random turns are rendered by the template and parsed again.")
    counts = ", ".join(f"{count:,} × {kind}" for kind, count in sorted(proof["counts"].items()))
    if not proof["turns"]:
        return tr("not tested"), "open", tr("The template renders no calls.")
    words = tr("{equal:,} of {turns:,} turns identical", equal=proof["equal"], turns=proof["turns"])
    return words, "holds" if proof["proved"] else "impossible", counts
