"""jsonschema, which has the final word, with its patterns and formats on the engine that cannot hang."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import jsonschema
from jsonschema.protocols import Validator

from glyphscope.grammar import pattern
from glyphscope.validation.evaluated import unevaluated_properties
from glyphscope.validation.formats import FORMATS
from glyphscope.validation.numbers import exact

# jsonschema recurses with the instance, several Python frames a level.
_RECURSION = 20_000


def _pattern(validator: Validator, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, str):
        return
    found = pattern.found(wanted, instance)
    if found is None:
        yield jsonschema.ValidationError(f"the pattern {wanted!r} could not be checked in time")
    elif not found:
        yield jsonschema.ValidationError(f"{instance!r} does not match {wanted!r}")


def _pattern_properties(validator: Validator, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for wanted, subschema in patterns.items():
            for key, value in instance.items():
                if pattern.found(wanted, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=wanted)


def _additional_properties(
    validator: Validator, additional: Any, instance: Any, schema: Any
) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for key, value in instance.items():
        if key in named or any(pattern.found(wanted, key) for wanted in patterns):
            continue
        if additional is False:
            yield jsonschema.ValidationError(f"{key!r} is not one of the properties", path=[key])
        else:
            yield from validator.descend(value, additional, path=key)


def _multiple_of(validator: Validator, step: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """jsonschema's own, and exact for integers that no float can hold, which it cannot divide."""
    try:
        yield from _PLAIN_MULTIPLE_OF(validator, step, instance, schema)
    except OverflowError:
        if exact(instance) % exact(step):
            yield jsonschema.ValidationError(f"{instance!r} is not a multiple of {step!r}")


def _format_checker() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker(formats=[])
    for name, wanted in FORMATS.items():

        def holds(value: object, wanted: str = wanted) -> bool:
            return not isinstance(value, str) or bool(pattern.found(wanted, value))

        checker.checkers = {**checker.checkers, name: (holds, ())}
    return checker


_PLAIN_MULTIPLE_OF: Any = jsonschema.Draft202012Validator.VALIDATORS["multipleOf"]
_Validator: Any = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "unevaluatedProperties": unevaluated_properties,
    },
)
_FORMAT_CHECKER = _format_checker()


class Checker:
    """Validity of values against one schema and the places inside it. A value too deep to check is a RecursionError."""

    def __init__(self, schema: Any) -> None:
        self._root = _Validator(schema, format_checker=_FORMAT_CHECKER)

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
