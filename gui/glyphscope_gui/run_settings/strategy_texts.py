"""Settings of strategies as editable lines of text: lists by name, and approval rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from glyphscope.events import ApprovalRule, ModelInfo
from glyphscope.tools.approval import ApprovalError, parse_approvals
from glyphscope_gui.shared.language import tr


def lines_of(named: Mapping[str, Iterable[str]]) -> str:
    """`tool: phrase, phrase`, a line for each name."""
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in named.items())


def named_lists(text: str) -> dict[str, tuple[str, ...]]:
    """The inverse of `lines_of`. Raises ValueError for a line without a name."""
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


def approval_rules(text: str) -> tuple[ApprovalRule, ...]:
    """The rules of such a text. Raises ValueError with the reason in words."""
    try:
        return parse_approvals(read_names(text))
    except ApprovalError as error:
        raise ValueError(str(error)) from error


def no_thinking_words(model: ModelInfo | None) -> str:
    """Why the open model's thinking cannot be switched; empty if it can, or if only an endpoint knows."""
    if model is None:
        return tr("No model is open yet.")
    if model.kind == "recorded":
        return tr("A recorded model only replays its output.")
    if model.reads_thinking or (model.reads_thinking is None and model.kind == "remote"):
        return ""
    if model.kind == "remote":
        return tr("This endpoint has no such parameter.")
    if not model.has_chat_template:
        return tr("This model has no chat template.")
    if model.reads_thinking is None:
        return tr("This model’s chat template cannot be read.")
    return tr("This model’s chat template has no such switch.")
