"""The markers of a form for reading a whole turn: one pattern for all of them, and the beginnings of calls.

`validator_markers` has the same markers for reading character by character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from glyphscope.turns.form import ArgumentsForm, CallForm, TurnForm
from glyphscope.turns.markup import is_tag, loose, tags_of, tokens

CALL_KEYS = ("name", "type", "function", "parameters", "arguments", "tool_name")
"""The possible first keys of a JSON object that is a call, if there is no marker."""
_MIN_MARK = 4
"""The minimum length of a parameter's text that no value contains by chance."""
_FIRST = re.compile(r"\\\W|[^\\(\[]")
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


class CallOpening(NamedTuple):
    """A text with which calls of a form begin; `whole`: the whole opening, not only its last markers."""

    text: str
    whole: bool


class Bounds(NamedTuple):
    """Patterns of what surrounds a tagged parameter's value, for one tool.

    `follows` is what may follow a closed parameter. `lost` is what ends a value that lacks its closing: another
    parameter of the tool, or the call of a known tool. `closing` ends a call or section; `closings` are its texts.
    `damage` is what no value contains after its own closing: one of the `marks` of a parameter, or `closing`.
    """

    follows: re.Pattern[str]
    lost: re.Pattern[str]
    closing: re.Pattern[str]
    damage: re.Pattern[str]
    marks: re.Pattern[str]
    begins: re.Pattern[str]
    openings: re.Pattern[str]
    closings: tuple[str, ...]

    def follows_in(self, text: str, at: int) -> bool:
        """Whether a marker with which calls begin or end is in the text from a place on."""
        found = (each for pattern in (self.closing, self.openings) for each in pattern.finditer(text, at))
        return any(len(each.group()) >= _MIN_MARK for each in found)


@lru_cache(maxsize=512)
def bounds_of(call: CallForm, properties: tuple[str, ...], tools: tuple[str, ...]) -> Bounds:
    """The bounds of a parameter's value in a call's form."""
    form = call.arguments
    tagged = form.encoding == "tagged"
    links = [loose(link) for link in links_of(form) if link.strip()] if tagged else []
    opening, separator = (loose(form.opening), loose(form.separator)) if tagged else ("", "")
    tags = [tag for text in closing_texts(call) for tag in tags_of(text) or [text.strip()]]
    closings = [loose(text) for text in (*closing_texts(call), *tags)]
    after = [loose(text) for text in call.after_arguments]
    calls = [
        loose(text) for text, _ in starts(call) if any(sign in text for sign in "<[") and not call.unmarked
    ]
    openings = [loose(text) for text in call.call_opens if any(sign in text for sign in "<[")]
    parameter = rf"{opening}\s*[\"']?[\w.\-]+[\"']?\s*{_one_of(links)}"
    sections = [loose(call.section_open), *openings]
    names = sorted(properties, key=len, reverse=True)
    parameters = f"{opening}\\s*[\"']?{_one_of(map(re.escape, names))}[\"']?\\s*{_one_of(links)}"
    begins = [opening or separator or (parameter if tagged else ""), separator]
    if tagged and not form.closing("").strip():  # the next parameter is all that ends a value
        begins = [rf"{separator}\s*{parameters}"] if names else []
    before = r"(?<![\w.\-])" if not opening else ""
    named = f"{_one_of(openings)}\\s*{_one_of(map(re.escape, tools))}(?![\\w.\\-])"
    pieces = (*(piece.text for piece in form.parameter), *form.typed.values())
    marks = [loose(mark) for text in pieces for mark in _marks_of(text)]
    return Bounds(
        re.compile(_one_of([*begins, *after, *closings, *calls])),
        re.compile(_one_of([before + parameters if names else "", named if tools and openings else ""])),
        re.compile(_one_of(closings)),
        re.compile(_one_of([*marks, *closings])),
        re.compile(_one_of(marks)),
        re.compile(f"(?!{_one_of([*closings, *sections])}){parameter}" if tagged else "(?!)"),
        re.compile(_one_of(openings)),
        tuple(tags),
    )


def links_of(form: ArgumentsForm) -> tuple[str, ...]:
    """The texts between a tagged parameter's key and its value."""
    return tuple(dict.fromkeys([*form.own_links, *form.typed.values()]))


def _one_of(patterns: Iterable[str]) -> str:
    """Any of these patterns; one that never matches if there is none."""
    return f"(?:{'|'.join(dict.fromkeys(filter(None, patterns))) or '(?!)'})"


def _marks_of(text: str) -> list[str]:
    """The parts of a parameter's text that are markers by themselves."""
    whole = text.strip()
    marked = any(sign in whole for sign in "<[|") and len(whole) >= _MIN_MARK
    return [*(token for token in tokens(text) if is_tag(token)), *([whole] if marked else [])]


def closing_texts(call: CallForm) -> tuple[str, ...]:
    """The texts that close a call and its section."""
    return tuple(text for text in (*call.call_closes, call.section_close) if text.strip())


@lru_cache(maxsize=64)
def marker_pattern(form: TurnForm) -> tuple[re.Pattern[str], list[list[Start]]]:
    """Every marker of a form in one pattern; a text in its group `m{i}` means one of the `i`-th starts.

    The starts of a text are in the order in which they are tried.
    """
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
        found += [(loose(tag), Start("stray", call)) for tag in closing_tags(call) if tag not in used]
    by_pattern: dict[str, list[Start]] = {}
    # a text that closes, is incomplete, or is of another notation is tried last: it may also be another marker
    for pattern, start in sorted(found, key=lambda each: _order(each[1])):
        if pattern:  # white space alone marks nothing
            by_pattern.setdefault(pattern, []).append(start)
    if not by_pattern:
        return re.compile(r"(?!)"), []
    ordered = sorted(by_pattern, key=len, reverse=True)
    whole = "|".join(f"(?P<m{place}>{pattern})" for place, pattern in enumerate(ordered))
    first = "".join(sorted(set(map(_first, ordered))))  # most characters of a text begin none of them
    return re.compile(f"(?=[{first}])(?:{whole})"), [by_pattern[pattern] for pattern in ordered]


@lru_cache(maxsize=64)
def own_openings(form: TurnForm) -> tuple[tuple[re.Pattern[str], Start], ...]:
    """The whole openings of the form's calls, which a longer marker of another notation may hide."""
    own = (each for call in form.calls if call.strict and not call.unmarked for each in _call_starts(call))
    return tuple((re.compile(pattern), start) for pattern, start in own if start.whole and pattern)


def _first(pattern: str) -> str:
    """The first character of a marker's pattern, as a class has it; all of them if it is not a certain one."""
    found = _FIRST.match(pattern)
    return found[0] if found else r"\s\S"


def _order(start: Start) -> tuple[bool, bool, bool]:
    foreign = start.kind == "call" and start.form is not None and not start.form.strict
    return start.kind in ("close", "stray"), foreign, not start.whole


@lru_cache(maxsize=64)
def openings_alone(form: TurnForm) -> re.Pattern[str]:
    """Markup directly before a call in another notation: a tag that opens calls of the form, or a fence."""
    tags = {token for call in form.calls for token in tokens(call.opening) if is_tag(token)}
    return re.compile("(?:" + "|".join((r"```\w*", *map(re.escape, sorted(tags)))) + r")\s*\Z")


@lru_cache(maxsize=64)
def edges(form: TurnForm) -> re.Pattern[str]:
    """A marker of a form at the beginning or end of a text."""
    texts = [*form.wrap_markers, *form.reasoning_markers, *form.ends, *form.skips]
    for call in (call for call in form.calls if call.strict):
        pieces = (*call.pieces, *call.arguments.parameter)
        texts += [call.section_open, call.section_close, *(text for piece in pieces for text in piece.texts)]
    any_mark = _one_of(loose(mark) for text in texts for mark in _marks_of(text))
    return re.compile(rf"\A\s*{any_mark}|{any_mark}\s*\Z")


@lru_cache(maxsize=64)
def may_break_off(form: TurnForm) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """The markers in which a text may end, the whole openings of calls and those around other parts, and a pattern of
    their first characters, other than letters and digits.
    """
    own = [call for call in form.calls if call.strict and not call.unmarked]
    texts = [text for call in own for text, whole in starts(call) if whole]
    texts += [*form.wrap_markers, *form.ends, *form.reasoning_markers]
    markers = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
    first = sorted({marker[0] for marker in markers if not marker[0].isalnum()})
    return re.compile(_one_of(map(re.escape, first))), markers


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
    elif call.unmarked and call.arguments.encoding == "pythonic" and not marker_like(call.opening):
        found = [(r"\[\s*[^\W\d][\w.\-]*\(", Start("call", call))]
    return found


def starts(form: CallForm) -> list[CallOpening]:
    """The texts with which calls of a form begin, longest first.

    Models omit the first markers: the text after them suffices if it is a marker itself, and has the tool's name if the
    form is for one tool.
    """
    out: list[CallOpening] = []
    for opening in form.call_opens:
        whole = form.section_open + opening
        if whole.strip():
            out.append(CallOpening(whole, True))
        if form.section_open and _is_marker(opening):
            out.append(CallOpening(opening, False))
        parts = tokens(opening)
        for place in range(1, len(parts)):
            rest = "".join(parts[place:])
            if form.fixed_name not in rest:
                break
            if (rest.startswith(("<", "[")) and _is_marker(rest) and parts[place - 1].strip()) or (
                not parts[place - 1].strip() and rest.startswith("<") and _is_marker(rest)
            ):
                out.append(CallOpening(rest, False))
    return sorted(dict.fromkeys(out), key=lambda each: -len(each.text))


def closing_tags(form: CallForm) -> list[str]:
    """The tags with which a call and its section end; a late closing looks like one of these."""
    ends = [tokens(text.rstrip())[-1:] for text in (*form.call_closes[:1], form.section_close)]
    return [token for end in ends for token in end if is_tag(token)]


def _is_marker(text: str) -> bool:
    """Whether a text suffices as a marker by itself."""
    return len(text.strip()) >= 6 and any(sign in text for sign in "<[")
