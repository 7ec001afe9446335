"""Derive the form of calls from the differences between renderings of none, one and two calls.

The encoding of arguments is derived from renderings of none, one and two arguments and values of every JSON type.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from msgspec.structs import replace

from glyphscope.base.json_values import read_json
from glyphscope.turns.form import ArgumentsForm, CallForm, CallObject, IdStyle, Piece, text_pieces
from glyphscope.turns.markup import (
    common_prefix,
    common_suffix,
    last_tag,
    mirrors,
    solid_tokens,
    through_solid,
    without_overlap,
)
from glyphscope.turns.probe import IDS, KEYS, NAMES, SAMPLES, VALUES, Probe, SampleCall

_OPENING = re.compile(r'[{"]')


class CallSpan(NamedTuple):
    """The span of one call, `start` to `end`: from its name or object to the end of its arguments."""

    start: int
    end: int
    object: CallObject | None
    as_string: bool


def find_span(text: str, call: SampleCall) -> CallSpan | None:
    """The span of a call in a rendering: a JSON object, or from its name to the end of its arguments."""
    at = text.find(call.name)
    found = _object_span(text, at, call)
    if found is not None:
        return found
    last = text.rfind(VALUES[NAMES.index(call.name)])
    for opening in _OPENING.finditer(text, at):
        value, end = _decode(text, opening.start())
        if value == call.arguments:
            return CallSpan(at, end, None, False)
        if isinstance(value, str) and _decode(value, 0)[0] == call.arguments:
            return CallSpan(at, end, None, True)
    if last < 0:
        return None
    return CallSpan(at, last + len(VALUES[0]), None, False)


def _decode(text: str, start: int) -> tuple[Any, int]:
    return read_json(text, start) or (None, start)


def _object_span(text: str, name_at: int, call: SampleCall) -> CallSpan | None:
    """The smallest JSON object around the name that is a call, or the object around that if it wraps the call."""
    for start in range(name_at, -1, -1):
        if text[start] != "{":
            continue
        value, end = _decode(text, start)
        if not isinstance(value, dict) or end <= name_at:
            continue
        if set(value) == {call.name}:
            return CallSpan(start, end, CallObject("", ""), isinstance(value[call.name], str))
        name_key = next((key for key, item in value.items() if item == call.name), "")
        arguments_key = next((key for key, item in value.items() if _is_arguments(item, call)), "")
        if not name_key or not arguments_key:
            return None
        id_key = next((key for key, item in value.items() if key not in (name_key, arguments_key)
                       and (item == call.id or str(item).isdigit())), "")  # fmt: skip
        wrapper, start, end = _wrapper(text, start, end, value)
        found = CallObject(name_key, arguments_key, id_key, wrapper)
        return CallSpan(start, end, found, isinstance(value[arguments_key], str))
    return None


def _is_arguments(item: Any, call: SampleCall) -> bool:
    return bool(item == call.arguments or (isinstance(item, str) and _decode(item, 0)[0] == call.arguments))


def _wrapper(text: str, start: int, end: int, inner: dict[str, Any]) -> tuple[str, int, int]:
    outside = text.rfind("{", 0, start)
    value, stop = _decode(text, outside) if outside >= 0 else (None, 0)
    if isinstance(value, dict) and stop > end:
        key = next((key for key, item in value.items() if item == inner), "")
        if key:
            return key, outside, stop
    return "", start, end


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


def derive_arguments(probe: Probe, one: str, call: SampleCall, span: CallSpan) -> FoundArguments | None:
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


def _parameters(probe: Probe, one: str, two: str, span: CallSpan, call: SampleCall) -> FoundArguments | None:
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


_DUMPED = re.compile(r"""["']tool_calls["']\s*:""")
"""Messages that a template writes unchanged."""
_COUNT = re.compile(r"""(?<=[:"])[01](?!\d)""")
ONE = SampleCall(NAMES[0], {KEYS[0]: VALUES[0]}, IDS[0])
OTHER = SampleCall(NAMES[1], {KEYS[0]: VALUES[1]}, IDS[1])


class FoundCalls(NamedTuple):
    """A derived form of calls with its surroundings: the text after the user's message, and the end of the turn."""

    form: CallForm
    before: str
    end: str
    parallel: bool


def derive_calls(probe: Probe, text_end: str) -> FoundCalls | None:
    """The form of calls; None if the template does not write calls. `text_end` is the text after a turn of text."""
    one = probe.turn(calls=(ONE,))
    if one is None or ONE.name not in one or _DUMPED.search(one):
        return None
    two = probe.turn(calls=(ONE, OTHER))
    first = find_span(one, ONE)
    if first is None:
        return None
    written = _Written(one, first, one[: first.start], one[first.end :], _middle(two), text_end)
    return _objects(written) if first.object is not None else _pieces(probe, written)


class _Written(NamedTuple):
    """A turn of one call (`text`), with the call at `span`, and the texts `before` and `after` it.

    `middle` is the text between two calls, None if the template does not write two; `text_end` is the text after a turn
    of text.
    """

    text: str
    span: CallSpan
    before: str
    after: str
    middle: str | None
    text_end: str


def _middle(two: str | None) -> str | None:
    """The text between two calls; None if the template does not write two."""
    if two is None or NAMES[1] not in two:
        return None
    first, second = find_span(two, ONE), find_span(two, OTHER)
    if second is None or first is None:
        return None
    if first.end > second.start:  # not JSON: the first call's last value belongs to it
        first = first._replace(end=two.rfind(VALUES[0], 0, second.start) + len(VALUES[0]))
    return two[first.end : second.start].replace(IDS[1], IDS[0])


class Around(NamedTuple):
    """The text around a call, by part: of the section of calls, of the call itself, of the turn (its `end`)."""

    section_open: str
    open: str
    close: str
    section_close: str
    separator: str
    end: str


def split_around(before: str, after: str, middle: str | None, text_end: str) -> Around:
    """Divide the text around a call: written once for all calls, at each call, or between two."""
    opening, closing, separator = "", "", ""
    if middle is not None:
        opening, closing = common_suffix(before, middle), common_prefix(after, middle)
        opening, closing, separator = without_overlap(opening, closing, middle)
        blank = len(opening) - len(opening.lstrip())
        separator, opening = separator + opening[:blank], opening[blank:]
    if not closing.strip():
        separator, closing = closing + separator, ""
    section_open = before[: len(before) - len(opening)]
    rest = after[len(closing) :]
    section_close, end = split_end(rest, section_open, text_end)
    if middle is None:
        closing, section_close = section_close, ""
        opening, section_open = section_open, ""
    return Around(section_open, opening, closing, section_close, separator, end)


def split_end(rest: str, opened: str, text_end: str) -> tuple[str, str]:
    """Split a text into the part that closes `opened` and the part that ends the turn."""
    openings, following = solid_tokens(opened), solid_tokens(rest)
    for size in range(min(len(openings), len(following)), 0, -1):
        if mirrors(openings[-size], following[0]):
            closing = through_solid(rest, size)
            of_turn = len(closing) <= len(common_prefix(rest, text_end))
            return ("", rest) if of_turn else (closing, rest[len(closing) :])
    end = common_suffix(rest, text_end)
    if not end.strip():
        end = last_tag(rest)
        if any(mirrors(token, end.strip()) for token in openings):
            end = ""
    return rest[: len(rest) - len(end)], end


def _objects(written: _Written) -> FoundCalls:
    """A call that is a JSON object."""
    span, before, middle = written.span, written.before, written.middle
    around = split_around(before, written.after, middle, written.text_end)
    assert span.object is not None
    listed = around.section_open.rstrip().endswith("[") or around.open.rstrip().endswith("[")
    pieces = [*text_pieces(around.open), Piece("object"), *text_pieces(around.close)]
    style: IdStyle = "none"
    if span.object.id_key:
        style = "given" if IDS[0] in written.text else "index"
    form = CallForm(
        pieces=tuple(pieces),
        object=span.object,
        section_open=around.section_open,
        section_close=around.section_close,
        separator=around.separator,
        listed=listed,
        id=style,
        unmarked=len(pieces) == 1 and before.endswith(around.section_open) and middle is None,
    )
    if span.as_string:  # files omit the default
        form = replace(form, arguments=ArgumentsForm(as_string=True))
    return FoundCalls(form, before, around.end, middle is not None)


def _pieces(probe: Probe, written: _Written) -> FoundCalls | None:
    """A call whose name is outside the JSON."""
    found = derive_arguments(probe, written.text, ONE, written.span)
    if found is None:
        return None
    after, middle = written.after, written.middle
    if found.rest is not None:
        after = found.rest
        if middle is not None:
            middle = middle[found.cut :]
    around = split_around(written.before, after, middle, written.text_end)
    pieces, style = _heading(found.head)
    opening, id_before, after_id = around.open.partition(IDS[0])
    if id_before:
        pieces, style = [Piece("id"), *text_pieces(after_id), *pieces], "given"
    pieces = [*text_pieces(opening), *pieces, Piece("arguments"), *text_pieces(around.close)]
    form = CallForm(
        pieces=tuple(pieces),
        arguments=found.arguments,
        section_open=around.section_open,
        section_close=around.section_close,
        separator=around.separator,
        id=style,
        empty=_empty(probe, pieces),
    )
    return FoundCalls(form, written.before, around.end, middle is not None)


def _empty(probe: Probe, pieces: list[Piece]) -> str | None:
    """The text after the name in a call without arguments; None if it follows from the other pieces."""
    closing = pieces[-1].text if pieces[-1].kind == "text" else ""
    written = probe.turn(calls=(ONE._replace(arguments={}),))
    if not closing.strip() or written is None or ONE.name not in written:
        return None
    start = written.rindex(ONE.name) + len(ONE.name)
    stop = written.find(closing.strip(), start)
    if stop < 0:
        return None
    last = max(place for place, piece in enumerate(pieces) if piece.kind == "name")
    usual = "".join(piece.text for piece in pieces[last + 1 :])
    end = stop + len(closing.strip())
    tail = closing[len(closing.rstrip()) :]
    found = written[start : end + len(tail)] if written.startswith(tail, end) else written[start:end]
    simple = not any(piece.kind in ("id", "index") for piece in pieces[last + 1 :]) and "{" not in found
    return found if simple and not found.startswith(usual.rstrip()) else None


def _heading(head: str) -> tuple[list[Piece], IdStyle]:
    """The pieces from the name to the arguments: a repeated name, an id, an index, and the texts between them."""
    words = {NAMES[0]: Piece("name"), IDS[0]: Piece("id")}
    style: IdStyle = "given" if IDS[0] in head else "none"
    pieces: list[Piece] = []
    for part in re.split(f"({'|'.join(words)})", head):
        before, index, after = _index(part)
        if part in words:
            pieces.append(words[part])
        elif index and style == "none":
            pieces += [*text_pieces(before), Piece("index"), *text_pieces(after)]
            style = "functions" if before == ":" else "index"
        else:
            pieces += text_pieces(part)
    return pieces, style


def _index(text: str) -> tuple[str, str, str]:
    """A text split at its first one-digit number, which counts the calls."""
    found = _COUNT.search(text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")
