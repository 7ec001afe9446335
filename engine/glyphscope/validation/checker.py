"""jsonschema's verdicts on whole values, including the formats that are checked.

Each format is one pattern of the linear-time engine (`grammar.regular.formats`), so it has the same meaning while the
text streams in, in the final check, and in grammars. Any other format is an annotation, as in draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import jsonschema

from glyphscope.base.pointer import to_pointer
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

    def _at(self, schema: Any) -> Any:
        return self._root if schema is self._root.schema else self._root.evolve(schema=schema)

    def errors(self, value: Any, limit: int) -> list[Any]:
        """jsonschema's first `limit` errors against the whole schema."""
        with DeepStack():
            return list(islice(self._root.iter_errors(value), limit))
