"""Read the arguments of a call in place, in each of the four encodings."""

from __future__ import annotations

from functools import partial
from typing import Any

from glyphscope.base.json_values import read_json
from glyphscope.turns.arguments_tagged import ReadArguments, read_tagged
from glyphscope.turns.form import CallForm
from glyphscope.turns.lenient_literals import (
    CutOff,
    NotAValue,
    read_literal,
    read_members,
    read_value,
    whole_value,
)
from glyphscope.turns.scan import Scan
from glyphscope.turns.starts import bounds_of
from glyphscope.turns.tools import TurnTools


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
    if form.encoding == "dict":
        return _members(scan, at, "}", quote=form.quote, types=partial(tools.types, tool))
    order = tools.properties(tool)
    return _object_alone(scan, at, order) or _members(scan, at, ")", quote=form.quote, order=order)


def _members(scan: Scan, at: int, closing: str, **options: Any) -> ReadArguments:
    """`key=value, …` or `key:value,…` up to the closing bracket, exclusive."""
    try:
        read = read_members(scan.text, at, closing, **options)
    except NotAValue as error:
        scan.notes += error.departures
        return ReadArguments(None, error.at)
    scan.notes += read.departures
    return ReadArguments(read.value, read.end, read.cut, read.repeated)


def _object_alone(scan: Scan, at: int, order: tuple[str, ...]) -> ReadArguments | None:
    """All arguments as one object without a keyword, in a call in Python."""
    start = scan.space(at)
    if not order or not scan.text.startswith("{", start):
        return None
    try:
        read = read_literal(scan.text, start)
    except (NotAValue, CutOff):
        return None
    if not isinstance(read.value, dict) or not read.value.keys() <= set(order):
        return None
    if not read.value or not scan.text.startswith(")", scan.space(read.end)):
        return None
    scan.note(start, "a keyword was expected")
    return ReadArguments(read.value, read.end, repeated=read.repeated)


def _json(scan: Scan, at: int, call: CallForm, tool: str, tools: TurnTools) -> ReadArguments:
    start = scan.space(at)
    if start >= scan.end:
        return ReadArguments({}, scan.end, cut=True)
    if scan.text[start] == '"' and (found := read_json(scan.text, start)) is not None:
        read = whole_value(found[0].strip() or "{}")
        if read is not None and isinstance(read.value, dict):
            if read.departures or not call.arguments.as_string:
                scan.note(
                    start, "JSON was expected" if call.arguments.as_string else "an object was expected"
                )
            return ReadArguments(read.value, found[1], repeated=read.repeated)
    elif scan.text[start] == "{":
        try:
            read = read_value(scan.text, start)
        except NotAValue as error:
            scan.note(error.at, "JSON was expected")
            return ReadArguments(None, error.at)
        scan.notes += read.departures
        if read.cut and read.departures and bounds_of(call, (), ()).follows_in(scan.text, start):
            return ReadArguments(None, read.departures[0].at)  # a quotation mark that is never closed
        if isinstance(read.value, dict):
            return ReadArguments(read.value, read.end, read.cut, read.repeated)
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
