"""The fields of two or more runs side by side: one row per field, and the first one in which the runs differ.

Fields are matched by the argument's name, so notation, shape and number of stages make no difference: `max_results` of
a GLYPH call is beside `max_results` of a JSON call, or of one written in two stages. Values are compared as values:
`10` and `10.0` are equal, `10` and `"10"` are not. A run in progress may still write the same value as another, so its
row is `open` until that is decided. A run that failed before it wrote a field (its model died, its variant cannot be
built) is left out of every comparison.

An answer that is not a call has the members of its value as fields, or one field, `ANSWER`, with its text or value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from glyphscope.base.figures import pluralize
from glyphscope.base.lines import common_length
from glyphscope.base.pointer import steps_of, to_pointer
from glyphscope.base.shorten import capitalised, json_excerpt, listed, shorten
from glyphscope.events import RunRequest, Status
from glyphscope.notation import parse_value
from glyphscope.notation.shapes import shape_keys
from glyphscope.runs import FieldState, RunState
from glyphscope.runs.state import StageState

TOOL: Final = None
"""Stands for the tool's name among the arguments' names, which may be anything, including `""` and `tool`."""
ANSWER: Final = "answer"
"""The field of a text, and of a value without members."""
MAX_LENGTH = 400
"""Characters of a value that are kept as text."""
_PARTS = ("name", "arguments")
_WHOLE = ("call", "repair", "executor", "turn")
"""Kinds of stages that write calls or parts of them; the texts of others are not calls."""

Agreement: TypeAlias = Literal["same", "differs", "open"]
"""The agreement of all compared runs on a field; open while a run may still write it."""
DifferencePlace: TypeAlias = tuple[str, int | None]
"""The first difference of two values: its JSON Pointer in them, and the character of two strings."""
MAX_WORD = 48
"""Characters of a value in a sentence."""
_MAX_NAMED = 4
"""Further differing fields that are named in a sentence."""
_SHORT = 24
"""Characters that are compared at a glance."""


@dataclass(frozen=True, slots=True)
class FieldCell:
    """The field of one run: its `value` if it is `closed`, otherwise the `text` so far.

    For a closed field, `text` is the value as compact JSON, whatever the notation.
    """

    value: Any
    text: str
    status: Status
    closed: bool


@dataclass(frozen=True, slots=True)
class AlignedField:
    """One field in all runs, an argument by its name or the `TOOL`; a cell is None if a run has no such field (yet).

    If the row differs, `place` is the JSON Pointer of the first difference inside the value, empty for the value
    itself, and `char` is the first differing character if two strings differ there.
    """

    name: str | None
    cells: tuple[FieldCell | None, ...]
    agreement: Agreement
    place: str = ""
    char: int | None = None


@dataclass(frozen=True, slots=True)
class Alignment:
    """`compared` says for each run whether it is compared, `ended` whether it has ended."""

    rows: tuple[AlignedField, ...]
    compared: tuple[bool, ...]
    ended: tuple[bool, ...]

    @property
    def first(self) -> AlignedField | None:
        """The first row that differs."""
        return next((row for row in self.rows if row.agreement == "differs"), None)


def align(states: Sequence[RunState | None]) -> Alignment:
    """The runs' fields: the tool's name, then the arguments in the order in which they were written.

    None stands for a missing run. Takes time proportional to the fields of all runs.
    """
    fields: list[dict[str | None, FieldCell]] = [
        {} if state is None else call_fields(state) for state in states
    ]
    compared = tuple(
        state is not None and (bool(found) or state.failed is None)
        for state, found in zip(states, fields, strict=True)
    )
    ended = tuple(
        state is not None and (state.finished is not None or state.failed is not None) for state in states
    )
    names = dict.fromkeys(name for found in fields for name in found)
    ordered = sorted(names, key=lambda name: name is not TOOL)  # stable: only the tool's name goes first
    rows = tuple(_row(name, tuple(found.get(name) for found in fields), compared, ended) for name in ordered)
    return Alignment(rows, compared, ended)


def call_fields(state: RunState) -> dict[str | None, FieldCell]:
    """The tool's name under `TOOL`, and the arguments by name: of the call, or of an incomplete call so far; or the
    fields of another answer.
    """
    if state.call is not None:
        call: dict[str | None, Any] = {TOOL: state.call.tool}
        call.update(state.call.arguments.items())
        return {name: FieldCell(value, as_text(value), "holds", True) for name, value in call.items()}
    if state.started is None:
        return {}
    request = state.started.request
    if not request.answer.is_call:
        return _answer_fields(state, request)
    # a model's own form names the tool by no field, and its fields are the arguments
    name_key, args_key = ("", None) if request.native == "template" else shape_keys(request.shape)
    found: dict[str | None, FieldCell] = {}
    for stage in state.stages:
        if stage.kind in _WHOLE or stage.kind == "name":
            found = {}
        elif stage.kind not in _PARTS:
            continue
        if not name_key and (tool := stage.tool) is not None:
            found[TOOL] = FieldCell(
                tool.name, as_text(tool.name), "holds" if tool.allowed else "impossible", True
            )
        for path, field in stage.fields.items():
            if name_key and path == f"/{name_key}":
                found[TOOL] = _cell(stage, field)
            elif (name := _argument(path, args_key)) is not None:
                found[name] = _cell(stage, field)
    return found


def _answer_fields(state: RunState, request: RunRequest) -> dict[str | None, FieldCell]:
    """The members of a value, or `ANSWER`: the text so far, or the whole answer."""
    stage = next((stage for stage in reversed(state.stages) if stage.text), None)
    if stage is None:
        return {}
    members = {_argument(path, None): _cell(stage, field) for path, field in stage.fields.items()}
    members.pop(None, None)
    if members:
        return members
    if state.answer is None:
        if request.answer.kind == "schema":
            return {}  # the text is not a value
        status: Status = "open" if state.aborted is None else "impossible"
        return {ANSWER: FieldCell(None, stage.text[:MAX_LENGTH], status, False)}
    value: Any = state.answer.text.strip()
    if request.answer.kind == "schema":
        value = parse_value(value, request.notation)
    return {ANSWER: FieldCell(value, as_text(value), "holds", True)}


def as_text(value: Any) -> str:
    """A value as compact JSON, cut at `MAX_LENGTH` characters."""
    return json_excerpt(value, MAX_LENGTH)


def first_difference(one: Any, other: Any, place: str = "") -> DifferencePlace | None:
    """The first difference of two JSON values at the pointer `place`; None for equal values. Members of an object have
    no order.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys((*one, *other)):
            below = place + to_pointer((name,))
            if name not in one or name not in other:
                return below, None
            if (found := first_difference(one[name], other[name], below)) is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list):
        for index, (a, b) in enumerate(zip(one, other)):
            if (found := first_difference(a, b, f"{place}/{index}")) is not None:
                return found
        shorter = min(len(one), len(other))
        return None if len(one) == len(other) else (f"{place}/{shorter}", None)
    if isinstance(one, str) and isinstance(other, str):
        return None if one == other else (place, common_length(one, other))
    # True is 1 in Python, and nowhere else
    same = one is other if isinstance(one, bool) or isinstance(other, bool) else one == other
    return None if same else (place, None)


def _argument(path: str, args_key: str | None) -> str | None:
    """The argument with the value at `path`; None for a place inside a value, and for the arguments' own key."""
    *above, name = steps_of(path) or ("",)
    return name if path and above == ([args_key] if args_key else []) else None


def _cell(stage: StageState, field: FieldState) -> FieldCell:
    if field.closed:
        return FieldCell(field.value, as_text(field.value), field.status, True)
    start = field.start or 0
    return FieldCell(None, stage.text[start : min(field.end, start + MAX_LENGTH)], field.status, False)


def _row(
    name: str | None, cells: tuple[FieldCell | None, ...], compared: tuple[bool, ...], ended: tuple[bool, ...]
) -> AlignedField:
    decided = [cell for cell, part, end in zip(cells, compared, ended) if part and _is_decided(cell, end)]
    for other in decided[1:]:
        found = _cell_difference(decided[0], other)
        if found is not None:
            return AlignedField(name, cells, "differs", *found)
    return AlignedField(name, cells, "same" if len(decided) == sum(compared) else "open")


def _is_decided(cell: FieldCell | None, ended: bool) -> bool:
    return ended or (cell is not None and cell.closed)


def _cell_difference(one: FieldCell | None, other: FieldCell | None) -> DifferencePlace | None:
    """The difference of two decided cells. Of an incomplete value, only the written text can be compared."""
    if one is None or other is None:
        return None if one is other else ("", None)
    if one.closed and other.closed:
        return first_difference(one.value, other.value)
    if one.closed or other.closed:
        return "", None
    return None if one.text == other.text else ("", None)


# -- in words --------------------------------------------------------------------------------------------------


def difference_words(alignment: Alignment, names: Sequence[str]) -> str:
    """The difference, such as `json wrote max_results 5, glyph 10.`; `names` are the runs' in the same order."""
    compared = [name for name, part in zip(names, alignment.compared, strict=True) if part]
    out = [name for name, part in zip(names, alignment.compared) if not part]
    apart = f" Not compared: {_listed(out)}." if out and compared else ""
    if len(compared) < 2:
        return f"Only {compared[0]} can be read: nothing to compare.{apart}" if compared else ""
    first = alignment.first
    if first is not None:
        return f"{_first_words(first, alignment, names)}{_rest_words(alignment, first)}{apart}"
    going = not all(end for end, part in zip(alignment.ended, alignment.compared) if part)
    if not alignment.rows:
        return "" if going else f"None of them wrote a readable field.{apart}"
    if going:
        return "The same so far." if any(row.agreement == "same" for row in alignment.rows) else ""
    return f"{_all_words(alignment, len(compared))}{apart}"


def field_words(row: AlignedField) -> str:
    """The name of the row's field in sentences."""
    return "tool" if row.name is TOOL else row.name or '""'


def _all_words(alignment: Alignment, count: int) -> str:
    who = "Both" if count == 2 else f"All {count}"
    tool = next((cell for row in alignment.rows if row.name is TOOL for cell in row.cells if cell), None)
    arguments = sum(row.name is not TOOL for row in alignment.rows)
    given = pluralize(arguments, "argument") if arguments else "no argument"
    of = f": {tool.value}, {given}" if tool is not None and tool.closed else ""
    return f"{who} wrote the same{of}."


def _first_words(row: AlignedField, alignment: Alignment, names: Sequence[str]) -> str:
    """The values of that row by run. Runs with the same value are named together, runs without one last."""
    groups: list[tuple[FieldCell | None, list[str]]] = []
    for name, cell, part, end in zip(names, row.cells, alignment.compared, alignment.ended):
        if not (part and _is_decided(cell, end)):
            continue  # it may still write either
        same = next((group for group in groups if _cell_difference(group[0], cell) is None), None)
        if same is None:
            groups.append((cell, [name]))
        else:
            same[1].append(name)
    groups.sort(key=lambda group: group[0] is None)
    words = [_group_words(row, cell, _listed(who), lead=n == 0) for n, (cell, who) in enumerate(groups)]
    return f"{', '.join(words)}{_where(row)}."


def _group_words(row: AlignedField, cell: FieldCell | None, who: str, *, lead: bool) -> str:
    tool = row.name is TOOL
    if cell is None:
        return f"{who} {'called no tool' if tool else 'omitted it'}"
    text = shorten(str(cell.value) if tool and cell.closed else cell.text, MAX_WORD) or "nothing"
    broken = "" if cell.closed else " (incomplete)"
    verb = ("called " if tool else f"wrote {field_words(row)} ") if lead else ""
    return f"{who} {verb}{text}{broken}"


def _where(row: AlignedField) -> str:
    """The place inside a long or nested value; in a short one, it is obvious."""
    inside = f" at {row.place}" if row.place else ""
    is_long = bool(row.place) or any(cell is not None and len(cell.text) > _SHORT for cell in row.cells)
    from_char = f" from character {row.char} on" if row.char and is_long else ""
    return f" (they differ{inside}{from_char})" if inside or from_char else ""


def _rest_words(alignment: Alignment, first: AlignedField) -> str:
    others = [field_words(row) for row in alignment.rows if row.agreement == "differs" and row is not first]
    if not others:
        return ""
    named = listed(others, _MAX_NAMED)
    return f" {len(others)} more {'field differs' if len(others) == 1 else 'fields differ'}: {named}."


def in_quotes(names: Sequence[str]) -> list[str]:
    """The titles of columns in sentences; one that quotes a prompt is left as it is."""
    return [name if "“" in name else f"“{capitalised(name)}”" for name in names]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
