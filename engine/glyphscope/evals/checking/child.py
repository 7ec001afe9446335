"""The functions of the process of assertions.

A JSONPath may select a document many times over, or search it with a regular expression that backtracks; a Python
function may do anything. The parent limits the time; this process limits its memory and the size of its files.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import traceback
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from types import ModuleType
from typing import Any, NamedTuple

from glyphscope.base.shorten import shorten

MAX_NODES, MAX_COUNTED = 1_000, 1_000_000
"""Selected values that are compared, and that are counted."""
MAX_WORDS = 600
_MODULE = "glyphscope_check"


class Nodes(NamedTuple):
    """The first selected values with their normalised paths, as JSON (`[[path, value], …]`), and the number of all."""

    first: bytes
    total: int


class CheckVerdict(NamedTuple):
    """A function's; `reason` may be empty."""

    passed: bool
    reason: str = ""


class NoVerdict(Exception):
    """Why there is none, in words for the author of the function."""


# -- JSONPath --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _environment() -> Any:
    # its import takes a tenth of a second, and Python functions do not need it
    from glyphscope.evals.checking.json_paths import Environment

    return Environment()


def path_error(path: str) -> tuple[str, int]:
    """Why it is not a JSONPath (RFC 9535), and the character, -1 if unknown; empty for a valid one."""
    from jsonpath import JSONPathError

    if not path.startswith("$"):
        return "a JSONPath begins with $", 0
    try:
        _environment().compile(path)
    except JSONPathError as error:
        token = error.token
        at = len(path) if token is None or token.index < 0 else token.index
        return _path_words(str(error.args[0] if error.args else "syntax error")), at
    except RecursionError:
        return "nested too deeply", -1
    return "", -1


def _path_words(message: str) -> str:
    """The library's message, without the names of its tokens, which mean nothing to the author of a path."""
    return "unexpected character or name" if "TOKEN_" in message else _cut(message.rstrip("."))


def select(path: str, document: bytes) -> Nodes:
    """The values of the JSON document that a valid path selects."""
    found = _environment().finditer(path, json.loads(document))
    nodes = [[match.path, match.obj] for match in islice(found, MAX_NODES)]
    more = sum(1 for _ in islice(found, MAX_COUNTED - len(nodes)))
    return Nodes(json.dumps(nodes).encode(), len(nodes) + more)


# -- Python ----------------------------------------------------------------------------------------------------


def functions_of(source: str) -> tuple[str, ...]:
    """The names of the functions at the top level of a source, which is not run."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno}: {error.msg}") from None
    return tuple(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def call_function(source: str, file: str, name: str, document: bytes) -> CheckVerdict:
    """Run the source, and call its function of that name with the JSON document. `file` is for messages."""
    module = ModuleType(_MODULE)
    module.__file__ = file
    sys.modules[_MODULE] = module  # dataclasses look up their module
    lines = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)
    try:
        exec(compile(source, file, "exec"), module.__dict__)
        function = getattr(module, name, None)
        if callable(function):
            return _verdict(function(json.loads(document)))
    except AssertionError as error:
        return CheckVerdict(False, _cut(str(error)) or f"assertion failed{_line(error, file)}")
    except NoVerdict:
        raise
    except BaseException as error:  # also SystemExit and KeyboardInterrupt, which a function may raise
        words = f"{type(error).__name__}: {error}".rstrip(": ")
        raise NoVerdict(_cut(words + _line(error, file))) from None
    raise NoVerdict(f"{file} has no function {name}")


def _verdict(value: Any) -> CheckVerdict:
    """True and False, or an object such as the judge's: {"pass": false, "reason": "…"}."""
    if isinstance(value, bool):
        return CheckVerdict(value)
    if isinstance(value, Mapping) and isinstance(value.get("pass"), bool):
        return CheckVerdict(value["pass"], _cut(str(value.get("reason", ""))))
    shown = shorten(_cut(repr(value)), 80)
    raise NoVerdict(f'returned {shown}, not True, False or {{"pass": …, "reason": …}}')


def _line(error: BaseException, file: str) -> str:
    """`, line 3`: the last line of the file itself in the error's traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f", line {lines[-1]}" if lines else ""


def _cut(text: str) -> str:
    return shorten(text.encode("utf-8", "replace").decode(), MAX_WORDS)
