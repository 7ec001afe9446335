"""What an alignment comes to, in a sentence or two: what differs first, between whom, and what else does."""

from __future__ import annotations

from collections.abc import Sequence

from glyphscope.evals.align import TOOL, Alignment, Cell, Row, first_difference
from glyphscope.text.shorten import listed, shorten

LONGEST_WORD = 48
"""Characters of a value in a sentence."""
_MOST_NAMED = 4
_SHORT = 24
"""Characters that are compared at a glance."""


def difference_words(alignment: Alignment, names: Sequence[str]) -> str:
    """What differs, such as `json wrote max_results 5, glyph 10.`; `names` are the runs' in the same order."""
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
        return "The same so far." if any(row.standing == "same" for row in alignment.rows) else ""
    return f"{_all_words(alignment, len(compared))}{apart}"


def field_words(row: Row) -> str:
    """The row's field as a person calls it."""
    return "tool" if row.name is TOOL else row.name or '""'


# -- inside ----------------------------------------------------------------------------------------------------


def _all_words(alignment: Alignment, count: int) -> str:
    who = "Both" if count == 2 else f"All {count}"
    tool = next((cell for row in alignment.rows if row.name is TOOL for cell in row.cells if cell), None)
    arguments = sum(row.name is not TOOL for row in alignment.rows)
    given = "no argument" if arguments == 0 else f"{arguments} argument" + ("s" if arguments > 1 else "")
    of = f": {tool.value}, {given}" if tool is not None and tool.closed else ""
    return f"{who} wrote the same{of}."


def _first_words(row: Row, alignment: Alignment, names: Sequence[str]) -> str:
    """Who wrote what in that row. Those who wrote the same are named together, and who wrote something comes first."""
    groups: list[tuple[Cell | None, list[str]]] = []
    for name, cell, part, end in zip(names, row.cells, alignment.compared, alignment.ended):
        if not part or not (end or (cell is not None and cell.closed)):
            continue  # nothing decided: it may still write either
        same = next((group for group in groups if _same(group[0], cell)), None)
        if same is None:
            groups.append((cell, [name]))
        else:
            same[1].append(name)
    groups.sort(key=lambda group: group[0] is None)
    told = [_group_words(row, cell, _listed(who), lead=n == 0) for n, (cell, who) in enumerate(groups)]
    return f"{', '.join(told)}{_where(row)}."


def _group_words(row: Row, cell: Cell | None, who: str, *, lead: bool) -> str:
    tool = row.name is TOOL
    if cell is None:
        return f"{who} {'called no tool' if tool else 'omitted it'}"
    text = str(cell.value) if tool and cell.closed else cell.text
    text = shorten(text, LONGEST_WORD)
    text = text or "nothing"
    broken = "" if cell.closed else " (incomplete)"
    verb = ("called " if tool else f"wrote {field_words(row)} ") if lead else ""
    return f"{who} {verb}{text}{broken}"


def _where(row: Row) -> str:
    """The place inside a long or nested value; in a short one it is seen."""
    inside = f" at {row.place}" if row.place else ""
    is_long = bool(row.place) or any(cell is not None and len(cell.text) > _SHORT for cell in row.cells)
    from_char = f" from character {row.char} on" if row.char and is_long else ""
    return f" (they differ{inside}{from_char})" if inside or from_char else ""


def _rest_words(alignment: Alignment, first: Row) -> str:
    others = [field_words(row) for row in alignment.rows if row.standing == "differs" and row is not first]
    if not others:
        return ""
    named = listed(others, _MOST_NAMED)
    return f" {len(others)} more {'field differs' if len(others) == 1 else 'fields differ'}: {named}."


def _same(one: Cell | None, other: Cell | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.closed and other.closed:
        return first_difference(one.value, other.value) is None
    return one.closed == other.closed and one.text == other.text


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
