"""jsonschema, which has the final word, with its patterns and formats on the engine that cannot hang."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

import jsonschema

from glyphscope.grammar import pattern
from glyphscope.grammar.checking import SafeValidator
from glyphscope.validation.formats import FORMATS

# jsonschema recurses with the instance, several Python frames a level.
_RECURSION = 20_000


def _format_checker() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker(formats=[])
    for name, wanted in FORMATS.items():

        def holds(value: object, wanted: str = wanted) -> bool:
            return not isinstance(value, str) or bool(pattern.found(wanted, value))

        checker.checkers = {**checker.checkers, name: (holds, ())}
    return checker


_FORMAT_CHECKER = _format_checker()


class Checker:
    """Validity of values against one schema and the places inside it. A value too deep to check is a RecursionError."""

    def __init__(self, schema: Any) -> None:
        self._root = SafeValidator(schema, format_checker=_FORMAT_CHECKER)

    def valid(self, value: Any, schema: Any = True) -> bool:
        """Whether `value` is valid against `schema`, whose references resolve in this checker's schema."""
        with _DeepStack():
            return bool(self._root.evolve(schema=schema).is_valid(value))

    def first_error(self, value: Any, schema: Any = None) -> Any | None:
        """jsonschema's best error against the whole schema, or a place inside it; None if the value is valid."""
        validator = self._root if schema is None else self._root.evolve(schema=schema)
        with _DeepStack():
            return jsonschema.exceptions.best_match(validator.iter_errors(value))

    def errors(self, value: Any, limit: int) -> list[Any]:
        """jsonschema's errors against the whole schema, the first `limit` of them."""
        with _DeepStack():
            return list(islice(self._root.iter_errors(value), limit))


class _DeepStack:
    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        if self._before < _RECURSION:
            sys.setrecursionlimit(_RECURSION)

    def __exit__(self, *_: object) -> None:
        if self._before < _RECURSION:
            sys.setrecursionlimit(self._before)
