"""Read plain JSON data from a file or a text, and report every error of the text itself.

This rejects texts that Python's JSON reader accepts: repeated keys (the last one silently wins), NaN, lone surrogates,
which UTF-8 cannot encode, and nesting so deep that a recursive walk would overflow the stack.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path as FilePath
from typing import Any

from glyphscope.base.errors import Problem, RegistryError
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.plugins import PluginGroup
from glyphscope.base.pointer import Path, to_pointer

MAX_BYTES = 64_000_000
"""The maximum size of a registry file: 2,000 tools with long descriptions have about 4 MB."""

MAX_NESTING = 600
"""The maximum JSON nesting of a document; Python's C reader and writer of JSON fail at about 990 levels."""


DOCUMENTS: PluginGroup[Callable[[str, str], Any]] = PluginGroup("glyphscope.documents", Callable)
"""Readers of texts in other languages than JSON, by name; they get the text and its place, and raise RegistryError."""

_OPENAPI_YAML = re.compile(r"^(openapi|\"openapi\"|'openapi')[ \t]*:", re.MULTILINE)
_BEGINNING = 100_000
"""The characters in which the version of an OpenAPI document is expected."""


class _Object(dict[str, Any]):
    """A JSON object with the names of its duplicate keys."""

    repeated: tuple[str, ...] = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = _Object(pairs)
    if len(result) != len(pairs):
        result.repeated = tuple(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return result


def read_registry_file(path: FilePath) -> bytes:
    """The bytes of a registry file. Raises RegistryError if it is missing, unreadable, a folder or too large."""
    hint = "Is it really a registry of tools?"
    return read_file(path, MAX_BYTES, "a registry", hint=hint, pipes=True, error=RegistryError)


def parse_text(text: str | bytes, where: str = "") -> Any:
    """The JSON document of a text; OpenAPI documents may be YAML.

    Raises RegistryError with line and column, counted from 1.
    """
    if isinstance(text, bytes):
        text = utf8_text(text, where, hint="Save it as UTF-8.", error=RegistryError)
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if _OPENAPI_YAML.search(text, 0, _BEGINNING) and (read_yaml := DOCUMENTS.get("yaml")) is not None:
            return read_yaml(text, where)
        raise RegistryError(
            f"This is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.",
            where=where,
            hint=_hint(text, error.pos),
        ) from None
    except RecursionError:
        raise RegistryError(_TOO_DEEP, where=where, hint=_TOO_DEEP_HINT) from None
    except ValueError as error:  # an integer of more than 4,300 digits
        raise RegistryError(f"This JSON has a number that cannot be read: {error}.", where=where) from None


def _hint(text: str, at: int) -> str:
    """The most common cause of invalid JSON at this character."""
    before, here = text[:at].rstrip(), text[at : at + 2]
    if not text.strip():
        return "The text is empty."
    if here[:1] == ",":  # Python 3.13 names the comma, the others the bracket after it
        return "Remove this comma."
    if here[:1] in "}]" and before.endswith(","):
        return "Remove the comma before it."
    if before.endswith(",") and not here.startswith('"'):
        return "Remove the last comma, or quote the name with double quotes."
    if here.startswith("'"):
        return "JSON needs double quotes."
    if here in ("//", "/*") or here.startswith("#"):
        return "JSON has no comments."
    if here.startswith("/"):
        return "Write a pattern as a string in double quotes, with \\\\ for \\."
    if re.match(r"[A-Za-z_]", here):
        return "JSON needs names and texts in double quotes; true, false and null are lowercase."
    if not here:
        return "The text ends too early: a bracket, a brace or a quote is still open."
    if before and before[-1] in '}]"' and here[:1] in '{["':
        return "A comma is missing before it."
    return ""


_TOO_DEEP = f"The document is nested more than {MAX_NESTING} levels deep."
_TOO_DEEP_HINT = "Name the inner parts under $defs and refer to them."


def is_too_deep(document: Any) -> bool:
    """Whether it is nested more than `MAX_NESTING` levels deep. Python 3.14 reads texts of tens of thousands."""
    level = [document]
    for _ in range(MAX_NESTING + 1):
        parts = [
            value.values() if isinstance(value, dict) else value
            for value in level
            if isinstance(value, (dict, list))
        ]
        level = list(chain.from_iterable(parts))
    return bool(level)


def plain(document: Any) -> tuple[Any, list[Problem]]:
    """An independent copy of `document` in plain dicts and lists, and the problems of values that are not JSON.

    Tuples become lists. The walk has its own stack and needs no recursion; a value that is nested too deeply (or
    contains itself) is omitted and reported.
    """
    problems: list[Problem] = []
    root: list[Any] = [None]
    stack: list[tuple[Any, Any, Any, Path]] = [(document, root, 0, ())]
    while stack:
        value, parent, slot, path = stack.pop()
        if len(path) > MAX_NESTING and isinstance(value, (dict, list, tuple)):
            problems.append(Problem(to_pointer(path[:8]), f"{_TOO_DEEP} {_TOO_DEEP_HINT}"))
            return None, problems
        if isinstance(value, dict):
            copy: dict[str, Any] = {}
            parent[slot] = copy
            repeated = getattr(value, "repeated", ())
            problems += (Problem(to_pointer((*path, key)), "Duplicate key.") for key in repeated)
            for key in value:
                if not isinstance(key, str):
                    problems.append(Problem(to_pointer(path), f"The key {key!r} is not a text."))
                elif key.isascii() or _writable(key):
                    copy[key] = None
                else:
                    problems.append(Problem(to_pointer(path), f"The key {key!r} is not valid Unicode."))
            for key in reversed(copy):
                if _is_common(item := value[key]):
                    copy[key] = item
                else:
                    stack.append((item, copy, key, (*path, key)))
        elif isinstance(value, (list, tuple)):
            items: list[Any] = [None] * len(value)
            parent[slot] = items
            for index in reversed(range(len(items))):
                if _is_common(item := value[index]):
                    items[index] = item
                else:
                    stack.append((item, items, index, (*path, index)))
        else:
            if reason := _not_json(value):
                problems.append(Problem(to_pointer(path), reason))
            parent[slot] = value
    return root[0], problems


def _is_common(value: Any) -> bool:
    """Whether it is a scalar without a problem, as most values are: they need no place on the stack."""
    kind = type(value)
    return (kind is str and value.isascii()) or kind is bool or kind is int or value is None


def _not_json(value: Any) -> str:
    if isinstance(value, str):
        return "" if _writable(value) else "Invalid Unicode: lone surrogate."
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a number of JSON."
    if value is None or isinstance(value, bool | int | float):
        return ""
    return f"A {type(value).__name__} is not a value of JSON."


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
