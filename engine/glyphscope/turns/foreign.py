"""Markers of other notations in a text for the user: an answer that another model's form would read.

The other forms are assets: `forms/known.json`, derived from the chat templates in llama.cpp, which
`packaging/known_forms.py` regenerates, and any other JSON file beside it, which states one form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from glyphscope.base import resources
from glyphscope.base.structs import ready
from glyphscope.turns.form import CallForm, TurnForm
from glyphscope.turns.markup import is_tag, loose, tokens
from glyphscope.turns.starts import starts

KNOWN = "forms/known.json"
_SPECIAL = r"<\|\w[\w:.\-]{2,80}\|?>|<\w[\w:.\-]{2,80}\|>|<｜[^<>\n]{1,80}>"
"""A text that is a special token in most vocabularies."""
_FIRST = 4
_WORD = r"[^\s<>{}()\[\]\"'=,]{1,200}"


class KnownForm(msgspec.Struct, frozen=True):
    """A notation of the assets, with the beginning of a call or a file's name as its name. `sources` are the templates
    that use it, or the file that states it.
    """

    name: str
    sources: tuple[str, ...]
    form: TurnForm


class _Known(msgspec.Struct, frozen=True):
    about: str
    forms: tuple[KnownForm, ...]


class Foreign(NamedTuple):
    """A marker in a text for the user, from character `at` on; `forms` are the other forms that have it."""

    at: int
    forms: tuple[KnownForm, ...]


@lru_cache(maxsize=1)
def known_forms() -> tuple[KnownForm, ...]:
    """The notations of the assets."""
    derived = msgspec.json.decode(resources.read_bytes(KNOWN), type=ready(_Known)).forms
    files = (name for name in resources.names("forms", ".json") if not KNOWN.endswith(f"/{name}"))
    return (*derived, *map(_stated, files))


def _stated(name: str) -> KnownForm:
    form = msgspec.json.decode(resources.read_bytes(f"forms/{name}"), type=ready(TurnForm))
    return KnownForm(name.removesuffix(".json"), (name,), form)


def find_foreign(text: str, start: int, end: int, form: TurnForm) -> Foreign | None:
    """The first marker between two places of a text, of the form or of another notation. Takes linear time."""
    if not any(sign in text[start:end] for sign in ("<", "[")):
        return None
    own_tags, call_tags, own_beginnings = _own(form)
    gate, pattern, by_group = _beginnings()
    at = start
    while (place := gate.search(text, at, end)) is not None:
        at = place.start() + 1
        found = pattern.match(text, place.start(), end)
        if found is None:
            continue
        assert found.lastgroup is not None
        beginning, forms = by_group[found.lastgroup]
        if not beginning and found[0] in call_tags:  # of the form itself: no call could be read here
            return Foreign(found.start(), ())
        if not beginning:
            if found[0] not in own_tags:
                return Foreign(found.start(), _with_tag(found[0]))
        elif beginning not in own_beginnings:
            return Foreign(found.start(), forms)
    return None


@lru_cache(maxsize=64)
def _own(form: TurnForm) -> tuple[str, str, frozenset[str]]:
    """All texts of a form, those of its calls, and the patterns of these."""
    patterns = (pattern for call in form.calls for pattern in _patterns(call))
    return "".join(_texts(form)), "".join(_call_texts(form)), frozenset(patterns)


def _texts(form: TurnForm) -> Iterator[str]:
    yield from (form.header, *form.begun.values(), *form.ends, *form.skips, *form.strays)
    yield from (*form.wrap_markers, *form.reasoning_markers)
    yield from _call_texts(form)


def _call_texts(form: TurnForm) -> Iterator[str]:
    for call in (call for call in form.calls if call.strict):
        yield from (call.section_open, call.section_close, call.separator, *call.arguments.escape)
        yield call.arguments.quote
        for piece in (*call.pieces, *call.arguments.parameter):
            yield from piece.texts


@lru_cache(maxsize=1)
def _beginnings() -> tuple[re.Pattern[str], re.Pattern[str], dict[str, tuple[str, tuple[KnownForm, ...]]]]:
    """A pattern for the first characters of all markers, one for the markers, and for each group of the latter the
    pattern of a call's beginning with its forms.
    """
    found: dict[str, list[KnownForm]] = {}
    words, first = set(), set()
    for known in known_forms():
        for call in known.form.calls:
            first |= {opening.text.lstrip()[:_FIRST] for opening in starts(call)}
            for pattern in _patterns(call):
                found.setdefault(pattern, []).append(known)
        words |= {
            tag for text in _texts(known.form) for tag in tokens(text) if tag.startswith("[") and is_tag(tag)
        }
    ordered = sorted(found, key=len, reverse=True)
    alone = "|".join((_SPECIAL, *map(re.escape, sorted(words))))
    groups = {f"c{place}": (pattern, tuple(found[pattern])) for place, pattern in enumerate(ordered)}
    parts = [*(f"(?P<c{place}>{pattern})" for place, pattern in enumerate(ordered)), f"(?P<alone>{alone})"]
    first |= {word[:_FIRST] for word in words}
    gate = "|".join(
        (_SPECIAL, *(re.escape(text) for text in sorted(first) if text.startswith(("<", "[", "]"))))
    )
    return re.compile(gate), re.compile("|".join(parts)), {**groups, "alone": ("", ())}


def _patterns(call: CallForm) -> Iterator[str]:
    """The beginnings of a call as regular expressions: its opening, its name and the text after that."""
    pieces = call.pieces
    first = next((place for place, piece in enumerate(pieces) if piece.kind != "text"), 0)
    after = next((piece.text for piece in pieces[first + 1 :] if piece.kind == "text"), "")
    if pieces[first].kind == "object":
        rest = r"\s*\{"
    elif after.strip():
        begins = [p.kind for p in pieces[first + 2 : first + 3]] == ["arguments"]
        rest = _WORD + r"\s*" + loose(after) + (r"(?=\s*(?:[{<]|\Z))" if begins else "")
    else:
        rest = _WORD + r"\s*[{(<]" if pieces[first].kind == "name" else ""
    for opening in starts(call):
        if rest and opening.text.lstrip().startswith(("<", "[", "]")) and len(opening.text.strip()) > 1:
            yield loose(opening.text) + rest


@lru_cache(maxsize=64)
def _with_tag(tag: str) -> tuple[KnownForm, ...]:
    return tuple(known for known in known_forms() if any(tag in text for text in _texts(known.form)))
