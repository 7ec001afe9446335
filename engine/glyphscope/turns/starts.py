"""The markers of a form for reading a whole turn: one pattern for all of them, and the beginnings of calls.

`validator_markers` has the same markers for reading character by character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import msgspec

from glyphscope.structs import ready
from glyphscope.turns.form import CallForm, TurnForm
from glyphscope.turns.markup import is_tag, loose, tokens

CALL_KEYS = ("name", "type", "function", "parameters", "arguments", "tool_name")
"""The possible first keys of a JSON object that is a call, if there is no marker."""
_BARE_OBJECT = rf"\{{\s*[\"'](?:{'|'.join(CALL_KEYS)})[\"']\s*:"


@dataclass(frozen=True)
class Start:
    """The meaning of a marker: `kind` is call, open, close (of reasoning), wrap, end, skip or stray (a late closing).

    `form` is the form of the call; `whole` is False for a marker whose first part is missing, or that is misplaced.
    `text` is the call's marker in the form.
    """

    kind: str
    form: CallForm | None = None
    whole: bool = True
    text: str = ""


class Opening(NamedTuple):
    """A text with which calls of a form begin; `whole`: the whole opening, not only its last markers."""

    text: str
    whole: bool


@lru_cache(maxsize=64)
def marker_pattern(key: bytes) -> tuple[re.Pattern[str], list[list[Start]]]:
    """Every marker of a form in one pattern; a text in its group `m{i}` means one of the `i`-th starts.

    The starts of a text are in the order in which they are tried. `key` is the form as JSON, which is hashable.
    """
    form = msgspec.json.decode(key, type=ready(TurnForm))
    found: list[tuple[str, Start]] = []
    used = "".join([*(call.opening for call in form.calls), *form.wrap_markers])
    found += [(loose(text), Start("wrap")) for text in form.wrap_markers]
    found += [(loose(text), Start(kind)) for text, kind in zip(form.reasoning_markers, ("open", "close"))]
    found += [(loose(end), Start("end")) for end in form.ends]
    found += [(loose(skip), Start("skip")) for skip in form.skips]
    strays = [form.header, *form.strays] if any(map(is_tag, tokens(form.header))) else form.strays
    found += [(loose(text), Start("skip", whole=False)) for text in strays]
    for call in form.calls:
        found += _call_starts(call)
        found += [(loose(tag), Start("stray")) for tag in closing_tags(call) if tag not in used]
    by_pattern: dict[str, list[Start]] = {}
    # a text that closes, or is incomplete, is tried last, because it may also be another marker
    for pattern, start in sorted(found, key=lambda each: _is_closing(each[1]) + (not each[1].whole)):
        if pattern:  # white space alone marks nothing
            by_pattern.setdefault(pattern, []).append(start)
    if not by_pattern:
        return re.compile(r"(?!)"), []
    ordered = sorted(by_pattern, key=len, reverse=True)
    whole = "|".join(f"(?P<m{place}>{pattern})" for place, pattern in enumerate(ordered))
    return re.compile(whole), [by_pattern[pattern] for pattern in ordered]


def _is_closing(start: Start) -> bool:
    return start.kind in ("close", "stray")


@lru_cache(maxsize=64)
def openings_alone(key: bytes) -> re.Pattern[str]:
    """Markup directly before a call in another notation: a tag that opens calls of the form, or a fence."""
    form = msgspec.json.decode(key, type=ready(TurnForm))
    tags = {token for call in form.calls for token in tokens(call.opening) if is_tag(token)}
    return re.compile("(?:" + "|".join((r"```\w*", *map(re.escape, sorted(tags)))) + r")\s*\Z")


def marker_like(text: str) -> bool:
    """Whether a text is more than a common word or sign."""
    return any(sign in text for sign in "<`") or len(text.strip()) > 3


def _call_starts(call: CallForm) -> list[tuple[str, Start]]:
    found = [(loose(text), Start("call", call, whole, text)) for text, whole in starts(call)]
    if call.object is not None:
        # only before a JSON object, as text may mention a marker
        found = [(f"{pattern}(?=\\s*(?:\\{{|\\Z))", start) for pattern, start in found]
    if call.section_open.strip() and call.section_close.strip() and call.opening != call.section_open:
        nothing = f"{loose(call.section_open)}(?=\\s*{loose(call.section_close)})"  # a section without calls
        found.append((nothing, Start("call", call, text=call.section_open)))
    if call.unmarked and call.object is not None and not marker_like(call.opening):
        bracket = r"\[\s*" if call.listed else ""
        found = [(bracket + _BARE_OBJECT, Start("call", call))]
    elif call.unmarked and call.arguments.encoding == "pythonic":
        found = [(r"\[\s*[^\W\d][\w.\-]*\(", Start("call", call))]
    return found


def starts(form: CallForm) -> list[Opening]:
    """The texts with which calls of a form begin, longest first.

    Models omit the first markers: the text after them suffices if it is a marker itself.
    """
    out: list[Opening] = []
    for opening in form.call_opens:
        whole = form.section_open + opening
        if whole.strip():
            out.append(Opening(whole, True))
        if form.section_open and _is_marker(opening):
            out.append(Opening(opening, False))
        parts = tokens(opening)
        for place in range(1, len(parts)):
            rest = "".join(parts[place:])
            if (rest.startswith(("<", "[")) and _is_marker(rest) and parts[place - 1].strip()) or (
                not parts[place - 1].strip() and rest.startswith("<") and _is_marker(rest)
            ):
                out.append(Opening(rest, False))
    return sorted(dict.fromkeys(out), key=lambda each: -len(each.text))


def closing_tags(form: CallForm) -> list[str]:
    """The tags with which a call and its section end; a late closing looks like one of these."""
    ends = [tokens(text.rstrip())[-1:] for text in (*form.call_closes[:1], form.section_close)]
    return [token for end in ends for token in end if is_tag(token)]


def _is_marker(text: str) -> bool:
    """Whether a text suffices as a marker by itself."""
    return len(text.strip()) >= 6 and any(sign in text for sign in "<[")
