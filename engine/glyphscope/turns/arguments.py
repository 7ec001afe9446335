"""Read the arguments of a call in place, in each of the four encodings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from glyphscope.base.json_values import read_json
from glyphscope.turns.arguments_tagged import ReadArguments, read_tagged
from glyphscope.turns.form import ArgumentsForm, CallForm
from glyphscope.turns.literals import PADDED, CutOff, Literals, NotAValue, repeated_key, whole_value
from glyphscope.turns.scan import Scan
from glyphscope.turns.tools import ArgumentTypes, TurnTools

_NAMED = re.compile(r"""[\w.\-]+\s*(?:=(?!=)|\Z)|["'{]?\Z""")
"""A keyword, or the beginning of one at the end of the text."""

_BARE = re.compile(r"[^\s,{}\[\]<>\"':][^,{}\[\]<>\"'\n]*(?=[,}])")
"""A text without marks, up to a comma or the closing bracket."""
_MARKED = {
    mark: re.compile(rf"{mark}((?:.|\n){{0,10000}}?){mark}(?=,\s*[\w.\-]+\s*=|\)\s*(?:[,\]<]|\Z))")
    for mark in "'\""
}
"""A text that contains unescaped quotation marks: up to the first one that a keyword or the call's end follows."""


def read_arguments(scan: Scan, at: int, call: CallForm, tool: str, tools: TurnTools) -> ReadArguments:
    """The arguments at a place, in a call's form. Raises MissingPart if there are none."""
    form = call.arguments
    if form.encoding == "json":
        return _json(scan, at, call, tool, tools)
    if form.encoding == "tagged":
        start = scan.space(at)
        if scan.text.startswith("{", start):
            scan.note(start, "parameters were expected")
            return _json(scan, at, call, tool, tools)
        return read_tagged(scan, at, call, tool, tools)
    closing = ")" if form.encoding == "pythonic" else "}"
    order = tools.properties(tool) if form.encoding == "pythonic" else ()
    found = _object_alone(scan, at, closing, order)
    return found or _members(scan, at, form, closing, order, lambda key: tools.types(tool, key))


def _object_alone(scan: Scan, at: int, closing: str, order: tuple[str, ...]) -> ReadArguments | None:
    """All arguments as one object without a keyword, in a call in Python."""
    start = scan.space(at)
    if not order or not scan.text.startswith("{", start):
        return None
    reader = Literals(scan.text)
    try:
        value, end = reader.read(start)
    except (NotAValue, CutOff):
        return None
    if not isinstance(value, dict) or not value.keys() <= set(order):
        return None
    if not value or not scan.text.startswith(closing, scan.space(end)):
        return None
    scan.note(start, "a keyword was expected")
    return ReadArguments(value, end, repeated=reader.repeated)


def _json(scan: Scan, at: int, call: CallForm, tool: str, tools: TurnTools) -> ReadArguments:
    start = scan.space(at)
    if start >= scan.end:
        return ReadArguments({}, scan.end, cut=True)
    found = read_json(scan.text, start) if scan.text[start] in '{"' else None
    if found is not None:
        value, end = found
        repeated = repeated_key(scan.text, start, end)
        if isinstance(value, str):
            whole, inner = whole_value(value)
            value = inner if whole else {} if not value.strip() else value
        if isinstance(value, dict):
            _note_repeated(scan, start, repeated)
            return ReadArguments(value, end, repeated=repeated)
    if scan.text[start] == "{":
        reader = Literals(scan.text)
        try:
            value, end = reader.read(start)
        except CutOff:
            return ReadArguments({}, scan.end, cut=True)
        except NotAValue as error:
            scan.note(error.at, "JSON was expected")
            return ReadArguments(None, error.at)
        scan.note(start, "JSON was expected")
        if isinstance(value, dict):
            return ReadArguments(value, end, reader.cut, reader.repeated)
    if scan.text.startswith("null", start):
        scan.note(start, "an object was expected")
        return ReadArguments({}, start + 4)
    scan.note(at, "an object was expected")
    stops = [scan.text.find(text.strip(), at) for text in (*call.after_arguments, *scan.ends) if text.strip()]
    stop = min((place for place in stops if place >= 0), default=-1)
    text = scan.text[at : stop if stop >= 0 else scan.end]
    if not text.strip():
        return ReadArguments({}, at, cut=stop < 0)
    only = tools.only_text(tool) if call.fixed_name else ""
    return ReadArguments(
        {only: text.strip()} if only else None, stop if only and stop >= 0 else scan.end if only else start
    )


def _members(
    scan: Scan,
    at: int,
    form: ArgumentsForm,
    closing: str,
    order: tuple[str, ...],
    types: Callable[[str], ArgumentTypes],
) -> ReadArguments:
    """`key=value, …` or `key:value,…` up to the closing bracket, exclusive. Values without keys follow `order`."""
    reader = Literals(scan.text, form.quote)
    values: dict[str, Any] = {}
    repeated = ""
    at = scan.space(at)
    while not scan.text.startswith(closing, at):
        try:
            if len(values) < len(order) and not _NAMED.match(scan.text, at):
                scan.note(at, "a keyword was expected")
                key = order[len(values)]
            else:
                key, at = _member_key(reader, scan, at)
            start = scan.space(at)
            read = _member_value if form.encoding == "dict" else _value
            value, at = read(reader, scan, start, types(key))
        except CutOff:
            return ReadArguments(values, scan.end, cut=True)
        except NotAValue as error:
            scan.note(error.at, "a value was expected")
            return ReadArguments(None, error.at)
        if key in values or reader.repeated:
            repeated = repeated or (key if key in values else reader.repeated)
            _note_repeated(scan, start, repeated)
        values[key] = value
        if PADDED.fullmatch(scan.text, start, at):
            scan.note(start, "a number without zeros before it was expected")
        if reader.sets:
            scan.note(at, "a list was expected")
        if reader.cut:
            return ReadArguments(values, scan.end, True, repeated)
        at = scan.space(at)
        if at >= scan.end:
            return ReadArguments(values, at, True, repeated)
        if scan.text[at] not in (",", closing):
            scan.expect(at, closing)
            marked = _MARKED.get(scan.text[start])
            whole = marked.match(scan.text, start) if marked and closing == ")" else None
            if whole is None:
                return ReadArguments(None, at)
            values[key], at = whole.group(1), whole.end()
        if scan.text[at] == ",":
            at = scan.space(at + 1)
    return ReadArguments(values, at, repeated=repeated)


def _note_repeated(scan: Scan, at: int, key: str) -> None:
    if key:
        scan.note(at, f"{key!r} is written twice")


def _value(reader: Literals, scan: Scan, at: int, types: ArgumentTypes) -> tuple[Any, int]:
    return reader.read(at)


def _member_value(reader: Literals, scan: Scan, at: int, types: ArgumentTypes) -> tuple[Any, int]:
    """A value of a dictionary, also a text without the marks around it, or a number for a text."""
    bare = _BARE.match(scan.text, at)
    try:
        value, end = reader.read(at)
        word = scan.text[at:end]
        text = types.only_string and not isinstance(value, str) and scan.text[at] not in "[({"
        whole = bare is not None and bare.group().strip() == word
        if bare is None or (whole and not text and (types.fits(value) or not types.fits(word))):
            return value, end
    except NotAValue:
        if bare is None:
            raise
    scan.note(at, "a text between marks was expected")
    return bare.group().strip(), bare.end()


def _member_key(reader: Literals, scan: Scan, at: int) -> tuple[str, int]:
    key, end = reader.key(at)
    end = scan.space(end)
    if end >= scan.end:
        raise CutOff
    if scan.text[end] not in ":=":
        raise NotAValue(end)
    return key, end + 1
