"""Merging of terms that differ only in the bounds of their repetitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from glyphscope.grammar import chars
from glyphscope.grammar.regular.derivatives import ENDLESS, Cat, Loop, Term, Terms

_Shape: TypeAlias = tuple[tuple[object, ...], tuple[tuple[int, int], ...]]


def merged(terms: Terms, listed: Iterable[Term]) -> list[Term]:
    """The same language in fewer terms: terms that differ only in the bounds of their repetitions are merged.

    Without this, `([a-z]{1,3}){0,1000}` would need hundreds of terms for every character.
    """
    distinct = [term for term in dict.fromkeys(listed) if term is not terms.never]
    if len(distinct) < 2:
        return distinct
    groups: dict[tuple[object, ...], dict[tuple[tuple[int, int], ...], Term]] = {}
    plain: list[Term] = []
    for term in distinct:
        skeleton, counts = _shape(term)
        if counts:
            groups.setdefault(skeleton, {})[counts] = term
        else:
            plain.append(term)
    for skeleton, rows in groups.items():
        joined = _joined_counts(list(rows)) if len(rows) > 1 else rows
        plain += [rows.get(row) or _rebuilt(terms, skeleton, row) for row in joined]
    if terms.empty in plain and any(term.nullable for term in plain if term is not terms.empty):
        plain.remove(terms.empty)
    return sorted(plain, key=lambda term: term.serial)


_SPINE = 6  # compared pieces of a term


def _shape(term: Term) -> _Shape:
    """The term without the bounds of its first repetitions, and these bounds."""
    skeleton: list[object] = []
    counts: list[tuple[int, int]] = []
    for _ in range(_SPINE):
        head = term.head if isinstance(term, Cat) else term
        if isinstance(head, Loop):
            skeleton.append((head.body,))
            counts.append((head.minimum, ENDLESS if head.maximum is None else head.maximum))
        else:
            skeleton.append(head)
        if not isinstance(term, Cat):
            return tuple(skeleton), tuple(counts)
        term = term.tail
    skeleton.append(term)
    return tuple(skeleton), tuple(counts)


def _rebuilt(terms: Terms, skeleton: tuple[object, ...], counts: tuple[tuple[int, int], ...]) -> Term:
    whole = terms.empty
    left = list(counts)
    for piece in reversed(skeleton):
        if isinstance(piece, Term):
            part = piece
        else:
            low, high = left.pop()
            (body,) = cast(tuple[Term], piece)
            part = terms.loop(body, low, None if high == ENDLESS else high)
        whole = terms.cat(part, whole)
    return whole


def _joined_counts(rows: list[tuple[tuple[int, int], ...]]) -> list[tuple[tuple[int, int], ...]]:
    """Rows of intervals, merged if they differ in only one interval and touch there; covered rows are dropped."""
    width = len(rows[0])
    before = 0
    while before != len(rows):
        before = len(rows)
        for column in range(width):
            by_others: dict[object, list[tuple[int, int]]] = {}
            for row in rows:
                by_others.setdefault((row[:column], row[column + 1 :]), []).append(row[column])
            rows = []
            for others, intervals in by_others.items():
                start, end = cast(tuple[tuple[tuple[int, int], ...], ...], others)
                rows += [(*start, interval, *end) for interval in chars.union(intervals)]
    if width > 1 and 1 < len(rows) <= 64:
        rows = [row for row in rows if not any(other != row and _covers(other, row) for other in rows)]
    return rows


def _covers(one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> bool:
    return all(a[0] <= b[0] and b[1] <= a[1] for a, b in zip(one, other, strict=True))
