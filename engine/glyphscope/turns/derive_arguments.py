"""Derive the encoding of arguments from renderings of none, one and two arguments and values of every JSON type."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from glyphscope.turns.form import ArgumentsForm, Piece, text_pieces
from glyphscope.turns.markup import common_prefix, common_suffix, solid_tokens, without_overlap
from glyphscope.turns.probe import KEYS, NAMES, SAMPLES, VALUES, Probe, SampleCall
from glyphscope.turns.spans import Span

_KEY = "\0"
"""Replaces the sample's key in compared texts, because the keys differ."""
_NEAR = 80
"""The maximum distance from a key to its value, in characters; a later value does not belong to it."""


class FoundArguments(NamedTuple):
    """The arguments' form; `head` is the text between the name and the arguments, `rest` the text after them.

    `cut` is the number of characters between two calls that still belong to the first call's arguments. `rest` None:
    the call's span ends with its arguments.
    """

    arguments: ArgumentsForm
    head: str
    rest: str | None = None
    cut: int = 0


def derive_arguments(probe: Probe, one: str, call: SampleCall, span: Span) -> FoundArguments | None:
    """The form of arguments after a name; None if no rule was found."""
    written = one[span.start : span.end]
    if written.endswith(("}", '"')):
        start = next(
            at for at in range(len(written)) if written[at] in '{"' and _whole(written, at, call.arguments)
        )
        return FoundArguments(ArgumentsForm(as_string=span.as_string), written[:start])
    two = probe.turn(calls=(call._replace(arguments={KEYS[0]: VALUES[0], KEYS[1]: VALUES[1]}),))
    places = [two.find(word) for word in (KEYS[0], VALUES[0], KEYS[1], VALUES[1])] if two else []
    if two is None or -1 in places or places != sorted(places):
        return None
    return _parameters(probe, one, two, span, call)


def _whole(text: str, at: int, arguments: dict[str, Any]) -> bool:
    try:
        value = json.loads(text[at:])
        return bool(value == arguments or json.loads(value) == arguments)
    except (ValueError, TypeError):
        return False


def _parameters(probe: Probe, one: str, two: str, span: Span, call: SampleCall) -> FoundArguments | None:
    key_at = two.index(KEYS[0])
    head = two[span.start : key_at]
    value_at = two.index(VALUES[0])
    next_at = two.rindex(KEYS[1], 0, two.index(VALUES[1]))
    link = two[key_at + len(KEYS[0]) : value_at]
    middle = two[value_at + len(VALUES[0]) : next_at].replace(KEYS[0], _KEY)
    after = one[one.rindex(VALUES[0]) + len(VALUES[0]) :].replace(KEYS[0], _KEY)
    closing, opening = common_prefix(middle, after), common_suffix(middle, head)
    opening, closing, separator = without_overlap(opening, closing, middle)
    if not closing.strip():
        separator, closing = closing + separator, ""
    types = _types(probe, call, one, closing)
    plain = types.links.get("integer", link)
    quote = link[len(plain) :] if link.startswith(plain) else ""
    if quote and closing.startswith(quote):
        closing = closing[len(quote) :]
        cut = len(quote) + len(closing)
        encoding = "dict" if head.endswith("{") else "pythonic" if head.endswith("(") else "tagged"
        link = plain
    elif head.endswith("(") and link.rstrip("\"'") == "=":
        # a Python call of which the template quotes all values, or none
        quote, encoding, cut = link[1:] or '"', "pythonic", len(closing)
        link, closing = "=", closing.removeprefix(link[1:])
    else:
        quote, encoding, cut = "", "tagged", len(closing)
    typed = types.links if encoding == "tagged" and len(set(types.links.values())) > 1 else {}
    parameter = [*text_pieces(opening), Piece("key"), Piece("text", link), Piece("value")]
    for place, part in enumerate(closing.split(_KEY)):
        parameter += [Piece("key")] if place else []
        parameter += text_pieces(part)
    arguments = ArgumentsForm(
        encoding=encoding,  # type: ignore[arg-type]
        parameter=tuple(parameter),
        separator=separator if separator or encoding != "pythonic" else ", ",  # a template may forget it
        quote=quote,
        typed=typed,
        literals="python" if types.python else "json",
        item=types.item,
        escape=("", "") if quote else _escape(probe, call, link, closing),
    )
    head = head[: len(head) - len(opening)]
    rest = after[cut:].replace(_KEY, KEYS[0])
    return FoundArguments(arguments, head, rest, len(after[:cut].replace(_KEY, KEYS[0])))


class _Types(NamedTuple):
    """`links`: the text between key and value by JSON type. `python`: values are Python literals. `item`: the tag of
    list items if nested values are tags.
    """

    links: dict[str, str]
    python: bool
    item: str


def _types(probe: Probe, call: SampleCall, one: str, closing: str) -> _Types:
    """The form of values of each JSON type, from a rendering of one value each."""
    links: dict[str, str] = {}
    python = False
    item = ""
    stop = "".join(solid_tokens(closing)[:1])
    for kind, value in SAMPLES.items():
        text = one if kind == "string" else probe.turn(calls=(call._replace(arguments={KEYS[0]: value}),))
        if text is None or KEYS[0] not in text:
            continue
        rest = text[text.index(KEYS[0], text.index(NAMES[0])) + len(KEYS[0]) :]
        if kind == "string":
            links[kind] = rest[: rest.index(VALUES[0])]
            continue
        for candidate in _spellings(value):
            at = rest.find(candidate)
            again = rest.find(candidate, at + 1)
            if 0 <= at < again < _NEAR and stop and stop not in rest[at:again]:
                at = again  # the first is the type's name
            if 0 <= at < _NEAR:
                links[kind] = rest[:at]
                python = python or candidate not in _json(value)
                break
        else:
            if kind == "array":
                item = _item(rest, str(value[0]))
    return _Types(links, python, item)


def _escape(probe: Probe, call: SampleCall, link: str, closing: str) -> tuple[str, str]:
    """The text, such as CDATA, that a template writes around a value with a line end and markup."""
    value = f"{VALUES[0]}\n<b>&"
    text = probe.turn(calls=(call._replace(arguments={KEYS[0]: value}),))
    if text is None or value not in text or KEYS[0] not in text:
        return "", ""
    start = text.index(KEYS[0], text.index(NAMES[0])) + len(KEYS[0]) + len(link)
    before, _, rest = text[start:].partition(value)
    stop = rest.find(closing.replace(_KEY, KEYS[0]))
    return (before, rest[:stop]) if before and stop > 0 else ("", "")


def _item(rest: str, value: str) -> str:
    """The name of the tag of list items, if they have one."""
    at = rest.find(value)
    before = rest[:at].rstrip(">")
    word = before.rpartition("<")[2]
    return word if at >= 0 and word.isidentifier() else ""


def _json(value: Any) -> list[str]:
    return [json.dumps(value), json.dumps(value, separators=(",", ":"))]


def _spellings(value: Any) -> list[str]:
    return [*_json(value), repr(value)]
