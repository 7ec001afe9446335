"""jsonschema's verdicts on whole values, including the formats that are checked.

Each format is one pattern of the linear-time engine (`grammar.regular.formats`), so it has the same meaning while the
text streams in, in the final check, and in grammars. Any other format is an annotation, as in draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import jsonschema

from glyphscope.base.pointer import follow, follow_reference, to_pointer
from glyphscope.grammar.checking import DeepStack, validator_of
from glyphscope.grammar.regular.formats import written_format
from glyphscope.grammar.regular.regex import unreadable
from glyphscope.registry.facts import patterns_of
from glyphscope.registry.references import SchemaPlaces


class Unchecked(NamedTuple):
    """A constraint that nothing checks, by the JSON Pointer of its keyword, and why."""

    pointer: str
    why: str


def unchecked(schema: Any) -> Iterator[Unchecked]:
    """The constraints of a schema that have no meaning on which engines agree, or no known rules."""
    for place in SchemaPlaces(schema).all:
        keywords = place.schema if isinstance(place.schema, dict) else {}
        patterns = {
            (*place.path, "patternProperties", name): name for name in keywords.get("patternProperties", ())
        }
        patterns |= {(*place.path, keyword): source for keyword, source in patterns_of(keywords)}
        for path, source in patterns.items():
            if why := unreadable(source):
                yield Unchecked(to_pointer(path), why)
        if isinstance(name := keywords.get("format"), str) and not (known := written_format(name)).checked:
            yield Unchecked(to_pointer((*place.path, "format")), known.why)


class Checker:
    """Validates values against a schema or a place in it. Raises RecursionError for deeply nested values."""

    def __init__(self, schema: Any) -> None:
        self._root = validator_of(schema)

    def valid(self, value: Any, schema: Any = True) -> bool:
        """Whether `value` is valid against `schema`, whose references resolve in the checker's own schema."""
        with DeepStack():
            return bool(self._at(schema).is_valid(value))

    def best_error(self, value: Any, schema: Any = None) -> Any | None:
        """jsonschema's best error against the whole schema or a place in it; None if the value is valid."""
        validator = self._root if schema is None else self._at(schema)
        with DeepStack():
            return jsonschema.exceptions.best_match(validator.iter_errors(value))

    def rule_of(self, error: Any, place: str = "") -> str:
        """The JSON Pointer of the keyword that an error is about; the schema that was validated is at `place`.

        jsonschema's paths leave out references, so each that is passed is followed: the keyword is in the definition.
        """
        root, steps = self._root.schema, list(error.absolute_schema_path)
        found = follow(root, place)
        if found is None:
            return place + to_pointer(steps)
        path, value = found
        for number, step in enumerate(steps):
            passed = {path}
            last = number == len(steps) - 1 and error.validator is not None  # None: a schema that is false
            while not _has(value, step) or (last and value[step] != error.validator_value):
                ref = value.get("$ref") if isinstance(value, dict) else None
                target = follow_reference(root, ref) if isinstance(ref, str) else None
                if target is None or target[0] in passed:
                    break
                passed.add(target[0])
                path, value = target
            if not _has(value, step):  # behind a reference to another document, or to an anchor
                return place + to_pointer(steps)
            path, value = (*path, step), value[step]
        return to_pointer(path)

    def _at(self, schema: Any) -> Any:
        return self._root if schema is self._root.schema else self._root.evolve(schema=schema)

    def errors(self, value: Any, limit: int) -> list[Any]:
        """jsonschema's first `limit` errors against the whole schema."""
        with DeepStack():
            return list(islice(self._root.iter_errors(value), limit))


def _has(value: Any, step: Any) -> bool:
    """Whether a step of a path leads on in a schema or a list of schemas."""
    return step in value if isinstance(value, dict) else isinstance(value, list) and step in range(len(value))
