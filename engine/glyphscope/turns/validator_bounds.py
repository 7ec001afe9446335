"""The markers that end a tagged parameter's value while it is read: those after its closing, and those that show that
its closing is missing. `starts.bounds_of` has the same for reading a whole turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from glyphscope.grammar.builder.turn import Sign
from glyphscope.structs import ready
from glyphscope.turns.form import CallForm
from glyphscope.turns.markup import tags_of
from glyphscope.turns.starts import closing_texts, links_of, starts
from glyphscope.turns.validator_markers import Marker, signs_of


@lru_cache(maxsize=512)
def heads_of(key: bytes, core: str, keys: tuple[str, ...]) -> tuple[Marker, ...]:
    """The markers that can follow a parameter of a call's form, `key` as JSON, which is hashable.

    `core` is the parameter's closing, which may be written again; without one, `keys` are the tool's arguments.
    """
    call = msgspec.json.decode(key, type=ready(CallForm))
    form = call.arguments
    closings = [tag for text in closing_texts(call) for tag in tags_of(text)]
    openings = [text for text, _ in starts(call) if "<" in text or "[" in text]
    before = [form.opening, form.separator]
    if not core:  # a parameter's key and link, too, as its separator may be in a text
        links = dict.fromkeys(link.strip()[:1] for link in links_of(form))
        before = [form.separator + form.opening + key + link for key in keys for link in links]
    texts = dict.fromkeys((*before, *call.after_arguments, *closings, *openings))
    heads = [Marker("head", signs_of(text)) for text in texts if text.strip()]
    again = [Marker("again", signs_of(core))] if core else []
    return _shortest([*again, *heads])


def _shortest(markers: Iterable[Marker]) -> tuple[Marker, ...]:
    """The markers without those that begin with another one, which is found first."""
    kept: list[Marker] = []
    for marker in sorted(markers, key=lambda each: len(each.signs)):
        if not any(each.signs == marker.signs[: len(each.signs)] for each in kept):
            kept.append(marker)
    return tuple(kept)


@lru_cache(maxsize=512)
def lost_of(key: bytes, keys: tuple[str, ...], names: tuple[str, ...]) -> tuple[Marker, ...]:
    """The markers inside a value that show that its closing is missing: another of the arguments `keys`, or a call of
    one of the tools `names`. `key` is the call's form as JSON.
    """
    call = msgspec.json.decode(key, type=ready(CallForm))
    form = call.arguments
    links = [signs_of(link) for link in links_of(form) if link.strip()]
    found = [_joined(signs_of(form.opening), signs_of(name), link) for name in keys for link in links]
    place = next((place for place, piece in enumerate(call.pieces) if piece.kind == "name"), 0)
    after = next(
        (piece.text.strip(" ")[:1] for piece in call.pieces[place + 1 :] if piece.kind == "text"), ""
    )
    openings = [signs_of(text) for text in call.call_opens if "<" in text or "[" in text]
    if after and place == 1:
        found += [
            (*opening, *signs_of(name), Sign(after, False))
            for name in names
            for opening in openings
            if name.strip()
        ]
    return _shortest(Marker("lost", signs) for signs in found if signs)


def _joined(*parts: tuple[Sign, ...]) -> tuple[Sign, ...]:
    """Markers in sequence, with any white space between them."""
    out: tuple[Sign, ...] = ()
    for part in parts:
        out += (part[0]._replace(spaced=bool(out)), *part[1:]) if part else ()
    return out
