"""Turns as a template writes them, and changed ones: a marker of the form missing, doubled or moved, or a text cut."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from glyphscope.base.pointer import to_pointer
from glyphscope.events import FieldClosed
from glyphscope.models.turn_forms import TemplateRenderer
from glyphscope.turns import (
    FOREIGN,
    AnswerValidator,
    Derived,
    Expected,
    Prover,
    Turn,
    TurnForm,
    TurnOptions,
    TurnTools,
    call_violations,
    read_turn,
)
from glyphscope.turns.markup import is_tag, tokens
from renderers import derived_at


def form(folder: Path, template: str) -> tuple[TemplateRenderer, TurnForm, Derived]:
    return derived_at(folder / "templates" / f"{template}.jinja")


def rendered(folder: Path, template: str, count: int) -> list[tuple[TurnForm, bool | None, str, TurnTools]]:
    """Return turns as the template writes them after its prompt, those that match the form strictly and are valid.

    If the prompt opens reasoning and the history has none, it is closed at once. If the prompt closes reasoning
    that the history has, the form is one whose prompt leaves it to the model.
    """
    renderer, of, derived = form(folder, template)
    if "calls" in derived.drops or not of.calls:
        return []
    prover = Prover(renderer, derived, of, 3)
    found: list[tuple[TurnForm, bool | None, str, TurnTools]] = []
    for plan in prover.turns(count):
        if plan.turn is None:
            continue
        thinking = True if plan.reasoning else None
        begun = of.begun.get("on" if thinking else "undefined", "").strip()
        body = plan.body
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


def checker(of: TurnForm, thinking: bool | None, body: str, tools: TurnTools) -> Callable[[str], str]:
    """Return a function that says what is wrong with the readings of a changed text of the turn `body`, "" if nothing.

    No call is valid with other arguments than those written, and the validator agrees with the reader: at the end with
    all of its calls and the verdict, and before that with each argument that it shows.
    """
    expected = {_key(call) for call in read_turn(body, of, tools, thinking).calls}
    known = {
        (name, key, json.dumps(value)) for name, text in expected for key, value in json.loads(text).items()
    }

    def check(text: str) -> str:
        turn = read_turn(text, of, tools, thinking)
        good = [not call_violations(call, tools) for call in turn.calls]
        for call, valid in zip(turn.calls, good, strict=True):
            others = [
                (key, value)
                for key, value in (call.arguments or {}).items()
                if (call.name, key, json.dumps(value)) not in known
            ]
            written = others and all(writes(of, text, *other) for other in others)
            if valid and _key(call) not in expected and not written:
                return f"a valid call with other arguments: {call}"
        validator = Expected(of, TurnOptions("auto", most_calls=None, thinking=thinking)).validator(
            tools.registry
        )
        events = [event for char in text for event in validator.feed(char)]
        shown = _shown(validator, [event for event in events if isinstance(event, FieldClosed)])
        validator.finish()
        if any(map(_names_nothing, [turn.left_why, *(each.message for each in validator.violations)])):
            return f"nothing was expected: {turn.left_why}, {validator.violations}"
        read = [(call.name, call.arguments) for call in turn.calls]
        if [(call.tool, call.arguments) for call in validator.calls] != read:
            return "the validator reads other calls"
        clean = turn.strict or (turn.complete and turn.left_why == FOREIGN)
        if (turn.calls or turn.content) and bool(validator.violations) == (clean and all(good)):
            return f"the verdicts differ: {turn.left_why}, {validator.violations[:1]}"
        return _not_read(turn, shown, tools)

    return check


def _shown(
    validator: AnswerValidator, closed: list[FieldClosed]
) -> list[tuple[int, str | None, dict[str, Any]]]:
    """Return the beginning of each call, its tool, and the arguments that the validator has shown, by pointer."""
    out: list[tuple[int, str | None, dict[str, Any]]] = [
        (each.start, each.tool, {}) for each in validator.calls
    ]
    for event in closed:
        if event.path.count("/") == 1 and event.call_index < len(out):
            out[event.call_index][2][event.path] = event.value
    return out


def _not_read(turn: Turn, shown: list[tuple[int, str | None, dict[str, Any]]], tools: TurnTools) -> str:
    """Return the first argument that was shown and that the reader does not give, if the tool has it with that type."""
    for start, tool, arguments in shown:
        call = next(
            (each for each in turn.calls if each.start <= start < max(each.end, each.start + 1)), None
        )
        if call is None or call.arguments is None or call.name != tool:
            continue
        for key in tools.properties(call.name):
            path, types = to_pointer([key]), tools.types(call.name, key)
            read = call.arguments.get(key, "")
            if path not in arguments or (
                key in call.arguments and isinstance(read, str) and not types.string
            ):
                continue
            if key not in call.arguments or json.dumps(read) != json.dumps(arguments[path]):
                return f"the validator shows {path} {arguments[path]!r}, which is read as {read!r}"
    return ""


def _names_nothing(message: str) -> bool:
    """Whether a message names an empty text, or none, as what was expected."""
    return re.search(r"(?:^|or )(?:'')? ?was expected", message) is not None


def _key(call: Any) -> tuple[str, str]:
    return call.name, json.dumps(call.arguments, sort_keys=True)
