"""Settings of strategies as editable texts: lines, lists by name, names, approval rules. `read_…` reads what `…_text`
writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from glyphscope.events import ApprovalRule
from glyphscope.tools.approval import ApprovalError, parse_approvals
from glyphscope_gui.shared.language import tr


def read_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that are not empty."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def lists_text(named: Mapping[str, Iterable[str]]) -> str:
    """`tool: phrase, phrase`, a line for each name."""
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in named.items())


def read_lists(text: str) -> dict[str, tuple[str, ...]]:
    """The lists by name. Raises ValueError for a line without a name."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, values = line.partition(":")
        if not colon or not name.strip():
            raise ValueError(tr("Line {number} has no name before a colon.", number=number))
        parts = tuple(part.strip() for part in values.split(",") if part.strip())
        found[name.strip()] = (*found.get(name.strip(), ()), *parts)
    return found


def names_text(values: Iterable[str] | None) -> str:
    """`search, browse`."""
    return ", ".join(values or ())


def read_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, without duplicates."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def approvals_text(rules: Iterable[ApprovalRule]) -> str:
    """The rules in the form of `--approve`: `search=allow, demo/*=ask`, without the identities they are bound to."""
    texts = []
    for rule in rules:
        place = rule.tool if rule.source == "*" else f"{rule.source}/{rule.tool}"
        texts.append(rule.action if place == "*" else f"{place}={rule.action}")
    return ", ".join(texts)


def read_approvals(text: str) -> tuple[ApprovalRule, ...]:
    """The rules. Raises ValueError with the reason in words."""
    try:
        return parse_approvals(read_names(text))
    except ApprovalError as error:
        raise ValueError(str(error)) from error
