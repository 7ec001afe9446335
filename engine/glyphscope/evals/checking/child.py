"""The process of assertions: `python -P -m glyphscope.evals.checking.child`. Answers each frame from stdin on stdout.

A JSONPath may select a document many times over, or search it with a regular expression that backtracks; a Python
function may do anything. The parent limits the time; this process limits its memory and the size of its files.
"""

from __future__ import annotations

import ast
import json
import linecache
import signal
import sys
import traceback
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from types import ModuleType
from typing import Any

from glyphscope.evals.checking import wire
from glyphscope.processes.pipe import parent_pipe
from glyphscope.processes.worker import limit_memory
from glyphscope.text.shorten import shorten

MAX_NODES, MAX_COUNTED = 1_000, 1_000_000
"""Selected values that are compared, and that are counted."""
MAX_WORDS = 600
_MEMORY = 1 << 30  # bytes of addresses
_FILES = 64 << 20  # bytes of a file, including printed output
_MAX_SECONDS = 60
"""The limit of one question, in case the parent, which has a shorter limit, has ended."""
_MODULE = "glyphscope_check"


def answer(question: wire.Question) -> wire.Answer:
    """Answer the question; errors are answers too."""
    try:
        match question:
            case wire.ReadPath(path=path):
                return _read_path(path)
            case wire.Select(path=path, document=document):
                return _selected(path, document)
            case wire.ReadFunctions(source=source):
                return wire.Answer(functions=_functions(source))
            case wire.CallFunction():
                return _called(question)
    except BaseException as error:  # also sys.exit() in a function
        return wire.Answer(error=_cut(f"{type(error).__name__}: {error}"))


# -- JSONPath --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _environment() -> Any:
    # its import takes a tenth of a second, and Python functions do not need it
    from glyphscope.evals.checking.json_paths import Environment

    return Environment()


def _read_path(path: str) -> wire.Answer:
    from jsonpath import JSONPathError

    if not path.startswith("$"):
        return wire.Answer(error="a JSONPath begins with $", at=0)
    try:
        _environment().compile(path)
    except JSONPathError as error:
        token = error.token
        at = len(path) if token is None or token.index < 0 else token.index
        return wire.Answer(error=_path_words(str(error.args[0] if error.args else "syntax error")), at=at)
    except RecursionError:
        return wire.Answer(error="nested too deeply")
    return wire.Answer()


def _path_words(message: str) -> str:
    """The library's message, without the names of its tokens, which mean nothing to the author of a path."""
    return "unexpected character or name" if "TOKEN_" in message else _cut(message.rstrip("."))


def _selected(path: str, document: bytes) -> wire.Answer:
    refused = _read_path(path)
    if refused.error:
        return refused
    found = _environment().finditer(path, json.loads(document))
    nodes = [[match.path, match.obj] for match in islice(found, MAX_NODES)]
    more = sum(1 for _ in islice(found, MAX_COUNTED - len(nodes)))
    return wire.Answer(nodes=json.dumps(nodes).encode(), count=len(nodes) + more)


# -- Python ----------------------------------------------------------------------------------------------------


def _functions(source: str) -> tuple[str, ...]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno}: {error.msg}") from None
    return tuple(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def _called(question: wire.CallFunction) -> wire.Answer:
    module = ModuleType(_MODULE)
    module.__file__ = question.file
    sys.modules[_MODULE] = module  # dataclasses look up their module
    lines = question.source.splitlines(keepends=True)
    linecache.cache[question.file] = (len(question.source), None, lines, question.file)
    try:
        exec(compile(question.source, question.file, "exec"), module.__dict__)
        function = getattr(module, question.name, None)
        if not callable(function):
            return wire.Answer(error=f"{question.file} has no function {question.name}")
        return _verdict(function(json.loads(question.document)))
    except AssertionError as error:
        return wire.Answer(reason=_cut(str(error)) or f"assertion failed{_line(error, question.file)}")
    except BaseException as error:  # also SystemExit and KeyboardInterrupt, which a function may raise
        return wire.Answer(
            error=_cut(f"{type(error).__name__}: {error}".rstrip(": ") + _line(error, question.file))
        )


def _verdict(value: Any) -> wire.Answer:
    """True and False, or an object such as the judge's: {"pass": false, "reason": "…"}."""
    if isinstance(value, bool):
        return wire.Answer(passed=value)
    if isinstance(value, Mapping) and isinstance(value.get("pass"), bool):
        return wire.Answer(passed=value["pass"], reason=_cut(str(value.get("reason", ""))))
    shown = shorten(_cut(repr(value)), 80)
    return wire.Answer(error=f'returned {shown}, not True, False or {{"pass": …, "reason": …}}')


def _line(error: BaseException, file: str) -> str:
    """`, line 3`: the last line of the file itself in the error's traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f", line {lines[-1]}" if lines else ""


def _cut(text: str) -> str:
    return shorten(text.encode("utf-8", "replace").decode(), MAX_WORDS)


def main() -> None:
    """Serves until stdin closes."""
    pipe = parent_pipe(wire.Envelope)
    limit_memory(_MEMORY, largest_file=_FILES)
    pipe.write(wire.Answer())
    while (envelope := pipe.read()) is not None:
        signal.alarm(_MAX_SECONDS)
        pipe.write(answer(envelope.body))
        signal.alarm(0)


if __name__ == "__main__":
    main()
