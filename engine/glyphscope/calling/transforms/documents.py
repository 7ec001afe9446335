"""Calls as JSON documents in a text, in whichever way a model wrote them, and the run's own form of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from glyphscope.calling.transforms.kinds import Changed, Form
from glyphscope.errors import NotationError
from glyphscope.notation import write_call

NAMES = ("name", "tool", "action", "function")
ARGUMENTS = ("arguments", "args", "parameters", "input")
MOST_DOCUMENTS = 100
MOST_CHARACTERS = 400_000
"""Of a text that is looked through: no answer of a model that can be used is longer."""
MOST_STARTS = 2_000
"""Braces at which a document is looked for."""

_DECODER = json.JSONDecoder()


class Found(NamedTuple):
    """A JSON object or array of objects in a text: the characters `start` to `end` (exclusive)."""

    start: int
    end: int
    value: Any


def documents(text: str) -> Iterator[Found]:
    """The outermost JSON objects, and arrays of them. A text that is no JSON from a brace on, is looked at further."""
    at = found = 0
    for _ in range(MOST_STARTS):
        starts = [place for sign in "{[" if (place := text.find(sign, at, MOST_CHARACTERS)) >= 0]
        if not starts or found >= MOST_DOCUMENTS:
            return
        start = min(starts)
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        at = end
        if isinstance(value, dict) or (
            value and isinstance(value, list) and all(isinstance(v, dict) for v in value)
        ):
            found += 1
            yield Found(start, end, value)


def rewritten(text: str, form: Form, change: Callable[[Any], list[Any] | None], what: str) -> Changed:
    """The text with every document that `change` changes; it becomes the calls of the list, in the run's form."""
    pieces, at, changed = [], 0, 0
    for found in documents(text):
        calls = change(found.value)
        if calls is None:
            continue
        pieces += [text[at : found.start], "\n".join(written(call, form) for call in calls)]
        at = found.end
        changed += 1
    if not changed:
        return text, ""
    return "".join([*pieces, text[at:]]), what


def written(call: Any, form: Form) -> str:
    """A call in the run's form, where it is a plain one; else as JSON, for what acts next."""
    plain = plain_call(call)
    if plain is not None:
        try:
            return write_call(*plain, style=form.notation, shape=form.shape)
        except NotationError:
            pass  # the validator will say what is wrong with it
    text = json.dumps(call, ensure_ascii=False)
    halves = any("\ud800" <= char <= "\udfff" for char in text)  # of surrogate pairs, which no text can hold
    return json.dumps(call) if halves else text


def plain_call(call: Any) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of `{"name": …, "arguments": {…}}`, by any of the keys that models use; and nothing else."""
    if not isinstance(call, dict):
        return None
    name, arguments = key_of(call, NAMES), key_of(call, ARGUMENTS)
    if name is None or arguments is None or set(call) - {name, arguments, "id", "type"}:
        return None
    if not isinstance(call[name], str) or not isinstance(call[arguments], dict):
        return None
    return call[name], call[arguments]


def key_of(call: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of the keys that the call has."""
    return next((key for key in keys if key in call), None)
