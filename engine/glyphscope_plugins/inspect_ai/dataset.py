"""Importing datasets of Inspect: samples with input, target, choices, id and metadata, as JSON, JSON Lines or CSV.

A dataset has no tools and no scorer, which are in the code of its task. A target that is a call, or a list of calls,
becomes the expected calls; any other must be in the answer. Everything that is not imported is listed with its place.
"""

from __future__ import annotations

import csv
import io
import json
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites.imported import (
    NO_TOOLS,
    ImportedSuite,
    Importer,
    Importing,
    NotReadable,
    conversation,
    note_of,
    parse_json,
    read_text,
)
from glyphscope.evals.suites.suite import MAX_BYTES, Expectation, PathCheck
from glyphscope.events import Answer, ExpectedCall, FinalText

_INPUT = "input"
_IMPORTED = frozenset({_INPUT, "target", "choices", "id", "metadata", "description"})
_OF_CALLS = frozenset({"function", "arguments", "tool_calls"})
_LETTERS = string.ascii_uppercase
_CHOOSE = "Answer with the letter of one choice, in the last line, as Answer: LETTER"
_HINT = "Give samples with an input and a target, as Inspect's json_dataset and csv_dataset read them."


def is_dataset(document: Any) -> bool:
    """Whether a JSON document is a list of Inspect's samples."""
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and _INPUT in document[0]
    )


def import_inspect(path: Path, registry: str | dict[str, Any] | None = None) -> ImportedSuite:
    """The suite of a dataset, with the tools of `registry`. Raises SuiteError for any other file, and one of which
    nothing can be imported.
    """
    made = Importing(path, NO_TOOLS if registry is None else registry)
    unknown: set[str] = set()
    for place, record in _records(path):
        if _INPUT not in record:
            made.skip(place, "The sample has no input.")
            continue
        for name in sorted(record.keys() - _IMPORTED - unknown):
            if record[name] not in (None, "", [], {}):
                unknown.add(name)
                made.skip(
                    f"{place}, {name}", f"A suite has no place for {name}; further samples can have it too."
                )
        try:
            _add(made, place, record)
        except NotReadable as reason:
            made.skip(place, str(reason))
    return made.made("", "Inspect", _HINT)


def _add(made: Importing, place: str, record: dict[str, Any]) -> None:
    given = record[_INPUT]
    prompt, request = (given, {}) if isinstance(given, str) else conversation(given)
    target = record.get("target")
    choices = _choices(record.get("choices"))
    answer = None
    if choices:
        prompt, expect, answer = _choice(prompt, choices, _targets(target))
        request = {**request, "free_text": True}  # it may reason first
    else:
        expect = _expected(made, target)
    if target in (None, "", []):
        made.skip(f"{place}, target", "The sample has no target, so every answer is right.")
    note = note_of(description=record.get("description"), metadata=record.get("metadata"))
    id = record.get("id")
    name = str(id) if isinstance(id, str | int) and str(id).strip() else f"sample-{place.rpartition(' ')[2]}"
    made.add(name, prompt, expect, place, request=request, note=note, answer=answer)


def _expected(made: Importing, target: Any) -> Expectation:
    """The expectation that any of the targets is in the answer, ignoring case; or that they are the calls."""
    listed = target if isinstance(target, list) else [target]
    each = [_calls(one) for one in listed if one not in (None, "")]
    if not each:
        return Expectation(extra_calls=bool(made.tools.names))
    if all(each):
        calls = [call for calls in each for call in calls or ()]
        if unknown := [call.tools[0] for call in calls if call.tools[0] not in made.tools.names]:
            raise NotReadable(
                f"The target calls {unknown[0]}, which is not a tool: name the tools with --registry."
            )
        return Expectation(calls=tuple(calls))
    pattern = "(?i)" + "|".join(re.escape(text.strip()) for text in _targets(target))
    return Expectation(
        paths=(PathCheck(path="$.answer", pattern=pattern),), extra_calls=bool(made.tools.names)
    )


def _choice(prompt: str, choices: list[str], targets: list[str]) -> tuple[str, Expectation, Answer]:
    """The prompt with its choices by letter, the right one, and the letters as the form of the answer."""
    if len(choices) > len(_LETTERS):
        raise NotReadable(f"There are {len(choices)} choices; at most {len(_LETTERS)} have a letter.")
    letters = _LETTERS[: len(choices)]
    right = [letter for target in targets for letter in re.sub(r"[\s,]+", "", target).upper()]
    if not right or not all(letter in letters for letter in right):
        raise NotReadable(f"The target of a question with choices is a letter from A to {letters[-1]}.")
    if len(set(right)) > 1:
        raise NotReadable("A question with several right choices is not expressible in a suite.")
    listed = "\n".join(f"{letter}) {choice}" for letter, choice in zip(letters, choices))
    expect = Expectation(final=FinalText(equals=right[0]))
    return f"{prompt}\n\n{listed}\n\n{_CHOOSE}", expect, Answer("choice", "\n".join(letters))


def _choices(value: Any) -> list[str]:
    """The choices as Inspect reads them: a list, or a text that is cut at commas, without any at white space."""
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
        return [each.strip() for each in value if each.strip()]
    return [text for each in (value if isinstance(value, list) else [value]) if (text := _text(each)).strip()]


def _targets(value: Any) -> list[str]:
    """The targets as texts. Raises NotReadable."""
    texts = [_text(each) for each in (value if isinstance(value, list) else [value]) if each is not None]
    return [text for text in texts if text.strip()]


def _text(value: Any) -> str:
    """The text that Inspect makes of a value. Raises NotReadable for an object or a list, which is Python's text."""
    if isinstance(value, dict | list):
        raise NotReadable(
            "A target or a choice is neither a text nor a call: Inspect compares Python's text of it."
        )
    return str(value)


def _calls(target: Any) -> list[ExpectedCall] | None:
    """The calls in a target, an object or its JSON; None for any other text. Raises NotReadable for calls without a
    name or arguments.
    """
    document = target
    if isinstance(target, str):
        if target.lstrip()[:1] not in ("{", "["):
            return None
        try:
            document = json.loads(target)
        except (ValueError, RecursionError):
            return None
    if isinstance(document, dict) and isinstance(document.get("tool_calls"), list):
        document = document["tool_calls"]
    listed = document if isinstance(document, list) else [document]
    if not listed or not all(isinstance(each, dict) and each.keys() & _OF_CALLS for each in listed):
        return None
    return [_call(each) for each in listed]


def _call(given: dict[str, Any]) -> ExpectedCall:
    """A call in OpenAI's form, in Inspect's, or with its name and arguments alone. Raises NotReadable."""
    inner = given.get("function")
    call = inner if isinstance(inner, dict) else given
    name = call.get("name", inner if isinstance(inner, str) else None)
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise NotReadable("A call in the target has no name, or no object of arguments.")
    return ExpectedCall(tools=(name,), arguments=arguments)


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The samples with their places. Raises SuiteError."""
    text = read_text(path, MAX_BYTES, "a dataset")
    kind = path.suffix.lower()
    if kind == ".csv":
        yield from _rows(text, str(path))
        return
    if kind == ".jsonl":
        parts = ((f"line {n}", line) for n, line in enumerate(text.split("\n"), 1) if line.strip())
        records = ((place, parse_json(line, f"{path}, {place}")) for place, line in parts)
    else:
        document = parse_json(text, str(path))
        listed = document if isinstance(document, list) else [document]
        records = ((f"sample {n}", each) for n, each in enumerate(listed, 1))
    for place, record in records:
        if not isinstance(record, dict):
            raise SuiteError("A sample is a JSON object.", where=f"{path}, {place}", hint=_HINT)
        yield place, record


def _rows(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = csv.DictReader(io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n")), strict=True)
    try:
        if _INPUT not in (rows.fieldnames or ()):
            raise SuiteError("The table has no column input.", where=where, hint=_HINT)
        for row in rows:
            place = f"line {rows.line_num}"
            if None in row or None in row.values():
                how = "more" if None in row else "fewer"
                raise SuiteError(
                    f"A row has {how} cells than the table has columns.", where=f"{where}, {place}"
                )
            record = {str(name): value for name, value in row.items() if value not in (None, "")}
            if "metadata" in record:
                record["metadata"] = parse_json(record["metadata"], f"{where}, {place}, metadata")
            yield place, record
    except csv.Error as error:
        raise SuiteError(f"This is not CSV: {error}.", where=f"{where}, line {rows.line_num}") from None


IMPORTER = Importer(import_inspect, is_dataset, (".jsonl", ".csv"))
