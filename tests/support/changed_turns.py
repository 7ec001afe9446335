"""Turns as a template writes them, and changed ones: a marker of the form missing, doubled or moved, or a text cut."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from glyphscope.turns import TurnForm, TurnTools, call_violations, form_of, read_turn
from glyphscope.turns.markup import is_tag, tokens
from glyphscope.turns.prove import _KINDS, _Prover
from renderers import renderer_at


@cache
def form(folder: Path, template: str) -> tuple[Any, TurnForm, Any]:
    renderer = renderer_at(folder / "templates" / f"{template}.jinja")
    return renderer, *form_of(renderer)


def rendered(folder: Path, template: str, count: int) -> list[tuple[TurnForm, bool | None, str, TurnTools]]:
    """Return turns as the template writes them after its prompt, those that match the form strictly and are valid.

    If the prompt opens reasoning and the history has none, it is closed at once. If the prompt closes reasoning
    that the history has, the form is one whose prompt leaves it to the model.
    """
    renderer, of, derived = form(folder, template)
    if "calls" in derived.drops or not of.calls:
        return []
    prover = _Prover(renderer, derived.dialect, of, derived.drops, 3)
    prover.values = [prover._transcribed(*kind) for kind in _KINDS if kind[1] not in prover.left_out]
    found: list[tuple[TurnForm, bool | None, str, TurnTools]] = []
    for _ in range(count):
        plan = prover._plan()
        got = prover._read(plan)
        if got is None:
            continue
        thinking = True if plan.reasoning else None
        begun = of.begun.get("on" if thinking else "undefined", "").strip()
        body = got[0]
        if of.header.strip() and of.header not in of.skips:  # another, empty turn that the template adds
            body = body.partition(of.header.strip())[0]
        for end in sorted(of.ends, key=len, reverse=True):
            body = body.rstrip().removesuffix(end) if body.rstrip().endswith(end) else body
        body = body.lstrip() if begun else body
        body = body[max(n for n in range(len(begun) + 1) if begun.endswith(body[:n])) :]
        opening, closing = (
            ("", "") if of.reasoning is None else (of.reasoning.open.strip(), of.reasoning.close.strip())
        )
        if (
            opening
            and begun.endswith(opening)
            and not plan.reasoning
            and not body.lstrip().startswith(closing)
        ):
            body = closing + body
        closed = closing and begun.endswith(closing) and plan.reasoning
        own = replace(of, begun={}) if closed else of
        turn = read_turn(body, own, prover.tools, thinking)
        if of.calls[0].arguments.item and any(_has_members(call.arguments) for call in turn.calls):
            continue  # a mask writes them in JSON
        if turn.strict and not any(call_violations(call, prover.tools) for call in turn.calls):
            found.append((own, thinking, body, prover.tools))
    return found


def _has_members(arguments: dict[str, Any] | None) -> bool:
    return any(isinstance(value, list | dict) for value in (arguments or {}).values())


def markers(of: TurnForm) -> list[str]:
    """Return the texts of the form's own markers and the tags in them, longest first."""
    call = of.calls[0]
    pieces = (*call.pieces, *call.arguments.parameter)
    texts = [call.section_open, call.section_close, *(text for piece in pieces for text in piece.texts)]
    texts += [*call.arguments.typed.values(), *of.reasoning_markers, *of.wrap_markers, *of.ends]
    texts += [call.arguments.quote] if len(call.arguments.quote) > 1 else []
    found = {text.strip() for text in texts} | {
        token for text in texts for token in tokens(text) if is_tag(token)
    }
    return sorted((text for text in found if len(text) > 2), key=len, reverse=True)


def changes(text: str, of: TurnForm, source: random.Random, count: int) -> Iterator[str]:
    """Yield changed texts: cut anywhere, or with one marker missing, doubled or moved to where another one is."""
    found = {(at, at + len(marker)) for marker in markers(of) for at in _places(text, marker)}
    places = sorted(found)
    edges = sorted({edge for place in places for edge in place})
    for _ in range(count):
        how = source.choice(("cut", "missing", "doubled", "moved"))
        if how == "cut" or not places:
            yield text[: source.randrange(len(text) + 1)]
            continue
        start, end = source.choice(places)
        marker, without = text[start:end], text[:start] + text[end:]
        if how == "missing":
            yield without
        elif how == "doubled":
            gap = source.choice(("", "\n")) if text[end : end + 1] == "\n" else ""
            yield text[:end] + gap + marker + text[end:]
        else:
            to = source.choice([edge for edge in edges if edge <= start or edge >= end])
            to -= len(marker) if to >= end else 0
            yield without[:to] + marker + without[to:]


def _places(text: str, marker: str) -> Iterator[int]:
    at = text.find(marker)
    while at >= 0:
        yield at
        at = text.find(marker, at + 1)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def writes(of: TurnForm, text: str, key: str, value: Any) -> bool:
    """Whether a text has exactly what the form writes for that text argument, with its own markers in it or not."""
    form = of.calls[0].arguments
    if form.encoding == "dict":
        return all(f"{form.quote}{each}{form.quote}" in text for each in _texts(value))
    closing = form.closing(key) if form.encoding == "tagged" else ""
    core = closing.strip()
    if (
        not core
        or not isinstance(value, str)
        or value.strip().startswith(core)
        or value.strip().endswith(core)
    ):
        return False
    links = (*form.own_links, *form.typed.values())
    return any(f"{form.opening}{key}{link}{value}{closing}".rstrip() in text for link in links)
