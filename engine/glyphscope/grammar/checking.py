"""jsonschema's validator for draft 2020-12, made safe for untrusted schemas (`SafeValidator`).

jsonschema matches patterns with `re`, which may backtrack forever and rejects some of them. Here an engine that cannot
hang matches them, including in `unevaluatedProperties` (draft 2020-12, core §11.3), which is reimplemented for that.
Numbers are compared as the decimals that they are written as (`exact`): 19.99 is a multiple of 0.01. Equal values have
the same `identity`, so a long `enum` is a lookup.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any

import jsonschema
from jsonschema.protocols import Validator
from referencing.jsonschema import DRAFT202012

from glyphscope.grammar.regular import pattern
from glyphscope.grammar.regular.formats import FORMATS, meets_condition
from glyphscope.grammar.regular.regex import unreadable
from glyphscope.grammar.text_grammar import is_text
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.tree import ByIdentity
from glyphscope.registry.facts import exact, is_named, listed
from glyphscope.registry.keywords import COMBINATIONS, CUSTOM, KEYWORDS, OTHERS, PATTERNS


def unevaluated_properties(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """The keyword's function, with the signature that jsonschema calls."""
    if not isinstance(instance, dict):
        return
    known = evaluated_names(
        validator, {k: v for k, v in schema.items() if k != "unevaluatedProperties"}, instance
    )
    for name, value in instance.items():
        if name not in known and not validator.evolve(schema=expected).is_valid(value):
            yield jsonschema.ValidationError(f"{name!r} is not one of the properties", path=[name])


def evaluated_names(
    validator: Any, schema: Any, instance: dict[str, Any], known: dict[int, set[str]] | None = None
) -> set[str]:
    """The members' names that are evaluated by `schema`, or by a subschema that applies and is valid.

    `known` has the names by the identity of the subschema, as references may lead to one in many ways.
    """
    if not isinstance(schema, dict):
        return set()
    known = {} if known is None else known
    if id(schema) not in known:
        known[id(schema)] = _evaluated_names(validator, schema, instance, known)
    return known[id(schema)]


def _evaluated_names(
    validator: Any, schema: dict[str, Any], instance: dict[str, Any], known: dict[int, set[str]]
) -> set[str]:
    if not schema.keys().isdisjoint(OTHERS["object"]):
        return set(instance)
    names = {name for name in instance if _is_named(schema, name)}
    for part in _parts(validator, schema, instance):
        inner = validator.evolve(schema=part)
        if id(part) in known or inner.is_valid(instance):
            names |= evaluated_names(inner, part, instance, known)
    return names


def _is_named(schema: Any, name: str) -> bool:
    """Whether `properties` or `patternProperties` have the member; a pattern that is not readable may have it."""
    return is_named(schema, name, lambda source: pattern.found(source, name) or bool(unreadable(source)))


def _parts(validator: Any, schema: dict[str, Any], instance: dict[str, Any]) -> Iterator[Any]:
    """The subschemas that apply to the instance as a whole."""
    if "$ref" in schema:
        yield validator._resolver.lookup(schema["$ref"]).contents
    for keyword in COMBINATIONS:
        yield from schema.get(keyword, ())
    if "if" in schema:
        valid = validator.evolve(schema=schema["if"]).is_valid(instance)
        if valid:
            yield schema["if"]
        yield schema.get("then" if valid else "else", True)
    for name, part in schema.get("dependentSchemas", {}).items():
        if name in instance:
            yield part


def pattern_keywords(matches: Callable[[str, str], bool | None]) -> dict[str, Any]:
    """The keywords that match patterns, using `matches`, which cannot hang and returns None if undecided."""

    def pattern_keyword(regex_of: Callable[[str], str]) -> Any:
        def keyword(validator: Validator, given: str, instance: Any, schema: Any) -> Iterator[Any]:
            expected = regex_of(given)
            if not isinstance(instance, str) or unreadable(expected):
                return
            matched = matches(expected, instance)
            if matched is None:
                yield jsonschema.ValidationError(f"the pattern {expected!r} could not be checked in time")
            elif not matched:
                yield jsonschema.ValidationError(f"{instance!r} does not match {expected!r}")

        return keyword

    def pattern_properties(validator: Validator, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            for expected, subschema in patterns.items():
                for key, value in instance.items():
                    if matches(expected, key):
                        yield from validator.descend(value, subschema, path=key, schema_path=expected)

    def additional_properties(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(instance, dict) or additional is True:
            return
        named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        if additional is not False:  # prepared once, not for each value, as by jsonschema's `descend`
            resolver = validator._resolver.in_subresource(DRAFT202012.create_resource(additional))
            inner = validator.evolve(schema=additional, _resolver=resolver)
        for key, value in instance.items():
            if key in named or any(matches(expected, key) or unreadable(expected) for expected in patterns):
                continue
            if additional is False:
                yield jsonschema.ValidationError(f"{key!r} is not one of the properties", path=[key])
                continue
            for error in inner.iter_errors(value):
                error.path.appendleft(key)
                yield error

    return {
        **{name: pattern_keyword(regex_of) for name, regex_of in PATTERNS.items()},
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
    }


def _custom(validator: Validator, form: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not is_text(schema, instance):
        yield jsonschema.ValidationError(f"{instance!r} is not a text of its grammar")


def identity(value: Any) -> Hashable:
    """A key that is equal for equal JSON values: 1 equals 1.0 but not true (draft 2020-12, core §4.2.2)."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, float) and abs(value) >= _WHOLE:
        return int(exact(value))  # not int(value): the float nearest to 1e23 is another integer
    if isinstance(value, list):
        return ("array", *map(identity, value))
    if isinstance(value, dict):
        return ("object", frozenset((key, identity(member)) for key, member in value.items()))
    return value  # type: ignore[no-any-return]


_WHOLE = 2**53
"""From here on, every float is a whole number."""


_USUAL: dict[type, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object",
}  # fmt: skip
_PLAIN_TYPE: Any = jsonschema.Draft202012Validator.VALIDATORS["type"]


def _type(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterable[Any]:
    """jsonschema's keyword, with a short way for the usual case."""
    return (
        () if expected == _USUAL.get(type(instance)) else _PLAIN_TYPE(validator, expected, instance, schema)
    )


def _compared(fails: Callable[[Any, Any], bool], words: str) -> Callable[..., Iterator[Any]]:
    """A keyword that compares numbers exactly; jsonschema compares with the float nearest to a number of the schema."""

    def keyword(validator: Validator, limit: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "number"):
            return
        # two floats, and two integers, have the order of their decimals
        ordered = type(instance) is type(limit) and fails is not _is_off
        if fails(instance, limit) if ordered else fails(exact(instance), exact(limit)):
            yield jsonschema.ValidationError(f"{instance!r} is {words} {limit!r}")

    return keyword


def _is_off(number: Fraction, step: Fraction) -> bool:
    return (number / step).denominator != 1


def _const(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if identity(instance) != identity(expected):
        yield jsonschema.ValidationError(f"{expected!r} was expected")


def _enum(validator: Any, listed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if identity(instance) not in _identities(ByIdentity(listed)):
        yield jsonschema.ValidationError(f"{instance!r} is not one of {listed!r}")


def _unique_items(validator: Validator, unique: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if unique and isinstance(instance, list) and len(set(map(identity, instance))) < len(instance):
        yield jsonschema.ValidationError(f"{instance!r} has non-unique elements")


_LISTING = frozenset({"const", "enum", "type", "title", "description", "$comment", "deprecated"})


def listed_by_all(alternatives: list[Any], keyword: str) -> list[Any] | None:
    """The values that a choice of lists of values allows; None if an alternative does more than list."""
    values: dict[Hashable, Any] = {}
    times: Counter[Hashable] = Counter()
    for schema in alternatives:
        found = listed(schema) if isinstance(schema, dict) else None
        if found is None or schema.keys() - _LISTING:
            return None
        allowed = found.values
        if len(schema.keys() & {"const", "enum", "type"}) > 1:
            validator = validator_of(schema)
            allowed = [value for value in allowed if validator.is_valid(value)]
        own = {identity(value): value for value in allowed}
        values |= own
        times.update(own.keys())
    return [value for key, value in values.items() if KEYWORDS[keyword].choice == "some" or times[key] == 1]


@lru_cache(maxsize=64)
def _identities(key: ByIdentity[list[Any]]) -> frozenset[Hashable]:
    return frozenset(map(identity, key.value))


MAX_FRAMES = 20_000
"""jsonschema recurses into instance and schema, with several Python frames per level."""


class DeepStack:
    """A context in which jsonschema may recurse as deeply as our nesting limits require."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        if self._before < MAX_FRAMES:
            sys.setrecursionlimit(MAX_FRAMES)

    def __exit__(self, *_: object) -> None:
        if self._before < MAX_FRAMES:
            sys.setrecursionlimit(self._before)


class _Followed(threading.local):
    """While the outermost reference is followed: the errors of each reference and instance so far."""

    errors: dict[tuple[str, str, int], list[jsonschema.ValidationError]] | None = None


_FOLLOWED = _Followed()


def _ref(validator: Any, ref: str, instance: Any, schema: Any) -> Iterator[Any]:
    """jsonschema's keyword, but each reference is followed once per instance: twenty links that each refer twice to the
    next one are 2^20 ways. A further way to the same errors yields only the first of them.
    """
    check_time()
    outermost = _FOLLOWED.errors is None
    if _FOLLOWED.errors is None:
        _FOLLOWED.errors = {}
    try:
        key = str(getattr(validator._resolver, "_base_uri", "")), ref, id(instance)
        known = _FOLLOWED.errors.get(key)
        if known is None:
            errors = list(validator._validate_reference(ref=ref, instance=instance))
            _FOLLOWED.errors[key] = [_without_context(error) for error in errors[:1]]
        else:
            errors = list(map(_without_context, known))
    finally:
        if outermost:
            _FOLLOWED.errors = None
    return iter(errors)


def _without_context(error: Any) -> Any:
    """A separate copy, without the errors that it has inside."""
    return type(error)(**error._contents() | {"context": (), "parent": None})


SafeValidator: Any = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {
        "$ref": _ref,
        "const": _const,
        "enum": _enum,
        "exclusiveMaximum": _compared(ge, "greater than or equal to the maximum of"),
        "exclusiveMinimum": _compared(le, "less than or equal to the minimum of"),
        "maximum": _compared(gt, "greater than the maximum of"),
        "minimum": _compared(lt, "less than the minimum of"),
        "multipleOf": _compared(_is_off, "not a multiple of"),
        "type": _type,
        "uniqueItems": _unique_items,
        CUSTOM: _custom,
        "unevaluatedProperties": unevaluated_properties,
        **pattern_keywords(pattern.found),
    },
)
"""A validator of draft 2020-12."""
_PLAIN_EVOLVE, _PLAIN_DESCEND = SafeValidator.evolve, SafeValidator.descend


def _evolve(validator: Any, **changes: Any) -> Any:
    """jsonschema's method, but it keeps the class: jsonschema selects another one if a schema names its draft."""
    schema = changes.get("schema", validator.schema)
    if isinstance(schema, dict) and "$schema" in schema:
        changes["schema"] = {key: value for key, value in schema.items() if key != "$schema"}
    return _PLAIN_EVOLVE(validator, **changes)


def _descend(
    validator: Any,
    instance: Any,
    schema: Any,
    path: Any = None,
    schema_path: Any = None,
    resolver: Any = None,
) -> Iterator[Any]:
    """jsonschema's method, but the error of a value whose schema is false has its paths, as any other error has."""
    for error in _PLAIN_DESCEND(validator, instance, schema, path, schema_path, resolver):
        if schema is False:
            error.path.extendleft([] if path is None else [path])
            error.schema_path.extendleft([] if schema_path is None else [schema_path])
        yield error


SafeValidator.evolve, SafeValidator.descend = _evolve, _descend


def _format_checker() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker(formats=[])
    for name, expression in FORMATS.items():

        def matches(value: object, name: str = name, expression: str = expression) -> bool:
            return not isinstance(value, str) or (
                bool(pattern.found(expression, value)) and meets_condition(name, value)
            )

        checker.checkers = {**checker.checkers, name: (matches, ())}
    return checker


_FORMAT_CHECKER = _format_checker()


def validator_of(schema: Any) -> Any:
    """The validator of a schema, with the formats that are checked: everywhere, so that all verdicts agree."""
    return SafeValidator(schema, format_checker=_FORMAT_CHECKER)
