"""Derive the form of calls from the differences between renderings of none, one and two calls."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace

from glyphscope.turns.derive_arguments import derive_arguments
from glyphscope.turns.form import ArgumentsForm, CallForm, IdStyle, Piece, text_pieces
from glyphscope.turns.markup import (
    common_prefix,
    common_suffix,
    last_tag,
    mirrors,
    solid_tokens,
    through_solid,
    without_overlap,
)
from glyphscope.turns.probe import IDS, KEYS, NAMES, VALUES, Probe, SampleCall
from glyphscope.turns.spans import Span, find_span

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
    span: Span
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
