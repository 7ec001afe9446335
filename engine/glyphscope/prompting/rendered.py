"""A rendered prompt in parts: the characters that each token completes, and those of each tool, argument and
description that a chat template wrote in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from glyphscope.base.json_values import json_values
from glyphscope.base.pointer import to_pointer
from glyphscope.events import ControlText, Spans
from glyphscope.models.interface import Model, Vocabulary
from glyphscope.prompting.template import MessagePart, add_part
from glyphscope.registry.places import scan

_BLANKS = b" \t\r\n"


def control_texts(text: str, given: Spans, model: Model, *, plain: bool) -> tuple[ControlText, ...]:
    """The texts in the characters of `given` that read like control tokens of the model. With `plain`, they are encoded
    as text, except tokens that the model's maker defined as text. Empty for a model without a vocabulary.

    Raises ModelError.
    """
    names = model.vocabulary().names
    if not names:
        return ()
    controls = []
    encoded: dict[str, bool] = {}
    for start, end in given:
        for found in _any_of(tuple(names)).finditer(text, start, end):
            word = found[0]
            if plain and word not in encoded:
                encoded[word] = model.tokenize(word, ((0, len(word)),)) != [names[word]]
            controls.append(ControlText(*found.span(), plain and encoded[word]))
    return tuple(controls)


@lru_cache(maxsize=4)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Any of the words, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(filter(None, words), key=len, reverse=True))) or r"(?!)")


def encode(text: str, model: Model, plain: Spans) -> list[int]:
    """The tokens of a text, in which the characters of `plain` have no control tokens. Raises ModelError."""
    return model.tokenize(text, plain) if plain else model.tokenize(text)


def token_lengths(text: str, tokens: int, model: Model, plain: Spans = ()) -> tuple[int, ...]:
    """The number of characters that each of the text's tokens completes; empty if unknown.

    `plain` as in `encode`. `tokens`, their number, may include the one that begins a sequence, whose entry is the
    first, with 0. Raises ModelError.
    """
    if not tokens:
        return ()
    vocabulary = model.vocabulary()
    if not vocabulary.tokens:
        return ()
    ids = encode(text, model, plain)
    if tokens - len(ids) not in (0, 1):
        return ()
    lengths = spelled(text, ids, vocabulary)
    return (0,) * (tokens - len(ids)) + lengths if lengths else ()


def spelled(text: str, ids: Sequence[int], vocabulary: Vocabulary) -> tuple[int, ...]:
    """The number of characters that each token completes; empty if the tokens do not spell the text.

    A tokenizer may put a space before a text that has none, and a special token may swallow white space after it.
    """
    names = {number: name.encode() for name, number in vocabulary.names.items()}
    data = text.encode("utf-8", "replace")
    ends: list[int] = []
    at = 0
    for number in ids:
        piece = names.get(number) or (vocabulary.tokens[number] if number < len(vocabulary.tokens) else b"")
        here = _after(data, at, piece)
        if here is None:
            start = _after_blanks(data, at)
            here = _after(data, start, piece) if start > at and ends else None
            if here is None:
                return ()
            ends[-1] = start
        ends.append(here)
        at = here
    if ends and data[at:].strip(_BLANKS) == b"":
        ends[-1] = at = len(data)
    return _characters(data, ends) if at == len(data) else ()


def _after(data: bytes, at: int, piece: bytes) -> int | None:
    """The position after the piece, which may begin with a space that the text does not have; None without a match."""
    if data.startswith(piece, at):
        return at + len(piece)
    if piece.startswith(b" ") and data.startswith(piece[1:], at):
        return at + len(piece) - 1
    return None


def _after_blanks(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _BLANKS:
        at += 1
    return at


def _characters(data: bytes, ends: Sequence[int]) -> tuple[int, ...]:
    """For each byte position in `ends`, the number of characters that are complete there and were not before."""
    lengths = []
    at = whole = 0
    for end in ends:
        before = whole
        while at < end:
            at += 1
            whole += at == len(data) or data[at] & 0xC0 != 0x80  # the next byte begins another character
        lengths.append(whole - before)
    return tuple(lengths)


TOOLS = "tools"


class _Stretch(NamedTuple):
    """Characters `start` to `end` (exclusive); `of` as in `PromptPart`, empty for other text."""

    start: int
    end: int
    of: str


def tool_parts(written: str, tools: Sequence[Mapping[str, Any]]) -> list[MessagePart]:
    """The parts of `written`. Text that is not JSON of one of the `tools` (OpenAI's functions) has an empty `of`."""
    names = {str(tool.get("name", "")) for tool in tools}
    parts: list[MessagePart] = []
    at = 0
    for start, end, value in json_values(written):
        for begin, stop, of in _of_tools(written[start:end], value, names):
            if start + begin > at:
                add_part(parts, MessagePart(TOOLS, written[at : start + begin]))
            add_part(parts, MessagePart(TOOLS, written[start + begin : start + stop], of))
            at = start + stop
    add_part(parts, MessagePart(TOOLS, written[at:]))
    return parts


def _of_tools(text: str, value: Any, names: set[str]) -> Iterator[_Stretch]:
    """Adjacent stretches of the JSON text of one value."""
    listed = isinstance(value, list)
    roots: dict[str, str] = {}
    for number, one in enumerate(value if listed else [value]):
        inside = f"/{number}" if listed else ""
        for below in ("/function", "/custom", ""):
            function = one.get(below[1:]) if below and isinstance(one, dict) else one
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(name, str) and name in names:
                roots[inside] = to_pointer((name,))
                roots[f"{inside}{below}"] = roots[inside]
                break
    if roots:
        yield from _flat(len(text), _stretches(text, roots))


def _stretches(text: str, roots: Mapping[str, str]) -> Iterator[_Stretch]:
    """The stretches of tools, arguments and descriptions, which may be nested. A name belongs to its value."""
    begins: dict[str, int] = {}
    for pointer, place, is_name in scan(text):
        if is_name:
            begins[pointer] = place.start
            continue
        if pointer in roots:
            yield _Stretch(place.start, place.end, roots[pointer])
            continue
        steps = pointer.split("/")
        for size in range(len(steps) - 1, 0, -1):
            root = roots.get("/".join(steps[:size]))
            if root is not None:
                rest = steps[size:]
                of_argument = rest[:2] == ["parameters", "properties"] and len(rest) > 2
                if rest == ["description"] or (of_argument and rest[3:] in ([], ["description"])):
                    start = begins.get(pointer, place.start)
                    yield _Stretch(start, place.end, f"{root}/{'/'.join(rest)}")
                break


def _flat(size: int, stretches: Iterator[_Stretch]) -> Iterator[_Stretch]:
    """Adjacent stretches made from nested ones, each named after the innermost; `size` characters in all."""
    begins = sorted(stretches, key=lambda each: (each.start, -each.end))
    stack: list[tuple[int, str]] = [(size, "")]  # the end and the name of each stretch that is open
    at = 0
    for start, end, of in (*begins, (size, size, "")):
        while stack and stack[-1][0] <= start:
            upto, name = stack.pop()
            if upto > at:
                yield _Stretch(at, upto, name)
                at = upto
        if start > at:
            yield _Stretch(at, start, stack[-1][1])
            at = start
        stack.append((end, of))
