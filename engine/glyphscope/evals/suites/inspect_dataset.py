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

from glyphscope.errors import SuiteError
from glyphscope.evals.suites.imported import (
    NO_TOOLS,
    ImportedSuite,
    Importing,
    NotReadable,
    conversation,
    note_of,
    parse_json,
    read_text,
)
from glyphscope.evals.suites.suite import MAX_BYTES, Expectation, ExpectedCall, PathCheck

_INPUT = "input"
_IMPORTED = frozenset({_INPUT, "target", "choices", "id", "metadata", "description"})
_LETTERS = string.ascii_uppercase
_CHOOSE = "Answer with the letter of one choice, in the last line, as ANSWER: LETTER"
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
    targets = _texts(record.get("target"), "target")
    choices = _texts(record.get("choices"), "choices")
    if choices:
        prompt, expect = _choice(prompt, choices, targets)
    else:
        expect = _expected(made, targets)
    if not targets:
        made.skip(f"{place}, target", "The sample has no target, so every answer is right.")
    note = note_of(description=record.get("description"), metadata=record.get("metadata"))
    id = record.get("id")
    name = str(id) if isinstance(id, str | int) and str(id).strip() else f"sample-{place.rpartition(' ')[2]}"
    made.add(name, prompt, expect, place, request=request, note=note)


def _expected(made: Importing, targets: list[str]) -> Expectation:
    """The expectation that any of the targets is in the answer, ignoring case; or that they are the calls."""
    if not targets:
        return Expectation(extra_calls=bool(made.tools.names))
    calls = [call for target in targets for call in _calls(target)]
    if calls and all(_calls(target) for target in targets):
        if unknown := [call.tools[0] for call in calls if call.tools[0] not in made.tools.names]:
            raise NotReadable(
                f"The target calls {unknown[0]}, which is not a tool: name the tools with --registry."
            )
        return Expectation(calls=tuple(calls))
    pattern = "(?i)" + "|".join(re.escape(target.strip()) for target in targets)
    return Expectation(
        paths=(PathCheck(path="$.answer", pattern=pattern),), extra_calls=bool(made.tools.names)
    )


def _choice(prompt: str, choices: list[str], targets: list[str]) -> tuple[str, Expectation]:
    """The prompt with its choices by letter, and the letters of the right answer."""
    if len(choices) > len(_LETTERS):
        raise NotReadable(f"There are {len(choices)} choices; at most {len(_LETTERS)} have a letter.")
    letters = _LETTERS[: len(choices)]
    right = [
        each.strip() for target in targets for each in (target.split(",") if "," in target else [target])
    ]
    if not right or not all(len(each) == 1 and each in letters for each in right):
        raise NotReadable(f"The target of a question with choices is a letter from A to {letters[-1]}.")
    if len(right) > 1:
        raise NotReadable("A question with several right choices is not expressible in a suite.")
    listed = "\n".join(f"{letter}) {choice}" for letter, choice in zip(letters, choices))
    check = PathCheck(path="$.answer", pattern=rf"(?i)ANSWER\s*:\s*{right[0]}(?![A-Za-z])")
    return f"{prompt}\n\n{listed}\n\n{_CHOOSE}", Expectation(paths=(check,))


def _calls(target: str) -> list[ExpectedCall]:
    """The calls in a target in JSON; empty if it is any other text."""
    if target.lstrip()[:1] not in ("{", "["):
        return []
    try:
        document = json.loads(target)
    except (ValueError, RecursionError):
        return []
    calls = []
    for each in document if isinstance(document, list) else [document]:
        inner = each.get("function", each) if isinstance(each, dict) else None
        call = inner if isinstance(inner, dict) else each if isinstance(each, dict) else {}
        name = call.get("name", each.get("function")) if isinstance(each, dict) else None
        arguments = call.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                return []
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return []
        calls.append(ExpectedCall(tools=(name,), arguments=arguments))
    return calls


def _texts(value: Any, name: str) -> list[str]:
    """A text or a list of texts; numbers as texts. Raises NotReadable."""
    found = []
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            found.append(json.dumps(each, ensure_ascii=False))
        elif isinstance(each, str | int | float) and not isinstance(each, bool):
            found.append(str(each))
        elif each is not None:
            raise NotReadable(f"The {name} is neither a text nor a list of texts.")
    return [each for each in found if each.strip()]


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
    rows = csv.DictReader(io.StringIO(text), strict=True)
    if _INPUT not in (rows.fieldnames or ()):
        raise SuiteError("The table has no column input.", where=where, hint=_HINT)
    try:
        for row in rows:
            place = f"line {rows.line_num}"
            if None in row:
                raise SuiteError(
                    "A row has more cells than the table has columns.", where=f"{where}, {place}"
                )
            record = {str(name): value for name, value in row.items() if value not in (None, "")}
            if "choices" in record:
                record["choices"] = [choice.strip() for choice in record["choices"].split(",")]
            if "metadata" in record:
                record["metadata"] = parse_json(record["metadata"], f"{where}, {place}, metadata")
            yield place, record
    except csv.Error as error:
        raise SuiteError(f"This is not CSV: {error}.", where=f"{where}, line {rows.line_num}") from None
