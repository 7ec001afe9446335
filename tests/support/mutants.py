"""Mutants of texts, of values in JSON, of lines and of bytes: real ones with a few changes, from small to hostile.

The same random source makes the same mutant. `hostile_files.py` says what the mutants of each kind of file are made of;
those of JSON Schemas are in `schema_mutants.py`, of grammars in `gbnf_mutants.py`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

VALUES: Sequence[Any] = (
    None, True, False, 0, -1, 1, 7, 10**6, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.5, 1e-308,
    1e15, 1e308, -1e308, 1e400, "", " ", "\0", "/", "../x", "\ud800", "x" * 5000, "NaN", "2026-13-45T99:99", "𝄞", "{",
    "valid", "call", [], {}, [[]], [None], {"": ""}, {"a": {"b": []}}, [1, 2, 3],
)  # fmt: skip
"""Replacements of a value, besides numbers near it."""


# values


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in the value with each of its keys."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        for key in one if isinstance(one, dict) else range(len(one)):
            yield one, key
            if isinstance(one[key], dict | list):
                waiting.append(one[key])


def with_another_value(document: Any, rng: random.Random, values: Sequence[Any] = VALUES) -> Any:
    """Return a copy of a document in JSON in which one value is another one, gone, repeated, or under another name."""
    document = json.loads(json_value(document))
    found = list(places(document)) if isinstance(document, dict | list) else []
    if not found:
        return document
    container, key = rng.choice(found)
    how = rng.random()
    if how < 0.1:
        del container[key]
    elif how < 0.15:
        other, name = rng.choice(found)
        container[key] = copy.deepcopy(other[name])
    elif how < 0.2 and isinstance(container, dict):
        container[rng.choice((*container, "type", "value", "x"))] = container.pop(key)
    elif how < 0.2:
        container[key : key + 1] = [container[key]] * rng.randrange(40)
    else:
        container[key] = _changed(container[key], rng, values)
    return document


def _changed(old: Any, rng: random.Random, values: Sequence[Any]) -> Any:
    """Another value, mostly of the same type, which decoding does not notice."""
    alike = [value for value in values if type(value) is type(old)]
    number = isinstance(old, int | float) and not isinstance(old, bool)
    if number and rng.random() < 0.5:
        return rng.choice((-old, old + 1, old - 1, old * 1000, type(old)(old / 3)))
    return copy.deepcopy(rng.choice(alike if alike and rng.random() < 0.8 else values))


def with_a_long_value(document: Any, rng: random.Random) -> Any:
    """Return a copy of the document in which a text, a list or an object has a great many parts."""
    document = json.loads(json_value(document))
    container, key = rng.choice(list(places(document)))
    times = rng.choice((300, 10_000, 30_000))
    match container[key]:
        case str() as text:
            container[key] = (text or "x") * times
        case list() as values:
            container[key] = (values or [1]) * times
        case dict() as members:
            value = next(iter(members.values()), 1)
            container[key] = {**members, **{f"k{n}": value for n in range(times // 10)}}
    return document


def json_value(value: Any) -> bytes:
    """Return the value as JSON, in which infinity is a number that is too large."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("Infinity", "1e999").replace("NaN", "0").encode()


# texts and bytes


def text_mutant(sources: Sequence[str], pieces: Sequence[str], rng: random.Random, mark: str = "\n") -> str:
    """Return a text with changes: parts are cut, repeated, exchanged and put in, and characters changed. Most of the
    pieces are put where the text has the `mark`.
    """
    text = rng.choice(sources)
    for _ in range(rng.choice((1, 1, 2, 3))):
        a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + rng.choice((1, 8, 60, 400)))
        match rng.randrange(6):
            case 0:
                text = text[:a] + text[b:]
            case 1:
                text = text[:a] + text[a:b] * rng.choice((2, 9, 500)) + text[b:]
            case 2:
                other = rng.choice(sources)
                at = rng.randrange(len(other) + 1)
                text = text[:a] + other[at : at + rng.choice((9, 90, 900))] + text[b:]
            case 3:
                character = chr(rng.choice((0, 10, 34, 37, 39, 123, 125, 0xD800, 0x1F600)))
                text = text[:a] + character + text[b:]
            case _:
                marked = [place for place in range(len(text)) if text.startswith(mark, place)] or [a]
                at = rng.choice((a, *[rng.choice(marked)] * 3))
                text = text[:at] + rng.choice(pieces) + text[at:]
    return text


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data, now and then with other bytes, or cut."""
    if data and rng.random() < 0.04:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 3))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.3 else changed)
    return data


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


# lines of JSON


def lines_mutant(data: bytes, rng: random.Random) -> bytes:
    """Return lines of JSON with one to three changes: of lines, of values in them, or of bytes."""
    lines = data.rstrip(b"\n").split(b"\n")
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice((_lines, _lines, _value, _value, _value, _value, _values_alike))
        lines = change(lines, rng)
    if rng.random() < 0.03:
        lines = _bytes(lines, rng)
    return b"\n".join(lines) + rng.choice((b"\n", b"\n", b"\n", b""))


def _lines(lines: list[bytes], rng: random.Random) -> list[bytes]:
    at, other = (rng.randrange(len(lines)) for _ in range(2))
    size = rng.choice((1, 1, 2, 5, len(lines)))
    moved = lines[at : at + size]
    rest = lines[:at] + lines[at + size :]
    return rng.choice(
        (
            rest or lines,
            lines[:at] + moved + lines[at:],
            rest[:other] + moved + rest[other:],
            lines[: max(at, 1)],
            lines[:1] + moved,
            [*lines[:at], lines[other], *lines[at + 1 :]],
        )
    )


def _value(lines: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(lines))
    with contextlib.suppress(ValueError):
        document = with_another_value(json.loads(lines[at]), rng)
        return [*lines[:at], json_value(document), *lines[at + 1 :]]
    return lines


def _values_alike(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """The same member of every event of one kind gets the same value."""
    kinds = sorted({line.partition(b'"type":"')[2].partition(b'"')[0] for line in lines})
    kind = rng.choice(kinds)
    found: list[Any] = [None] * len(lines)
    for at, line in enumerate(lines):
        with contextlib.suppress(ValueError):
            found[at] = json.loads(line) if kind and b'"type":"' + kind + b'"' in line else None
    members = sorted({key for each in found if isinstance(each, dict) for key in each if key != "type"})
    if not members:
        return lines
    member = rng.choice(members)
    old = next(each[member] for each in found if isinstance(each, dict) and member in each)
    value = _changed(old, rng, VALUES)
    return [
        line if not isinstance(each, dict) else json_value({**each, member: value})
        for line, each in zip(lines, found)
    ]


def _bytes(lines: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(lines))
    line = bytearray(lines[at])
    for _ in range(rng.choice((1, 1, 4))):
        if line:
            line[rng.randrange(len(line))] = rng.randrange(256)
    return [*lines[:at], bytes(line).replace(b"\n", b" "), *lines[at + 1 :]]
