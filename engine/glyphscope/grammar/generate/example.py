"""One small, plausible and valid instance of a schema, so that the examples of a prompt follow the registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from glyphscope.base.errors import GrammarError, NotationError
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import schema_error_words
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.checking import SafeValidator
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.pattern import found
from glyphscope.grammar.regular.regex import PatternNotEnforced, pattern_node
from glyphscope.grammar.shortest import shortest_path
from glyphscope.notation import parse_value, write_value
from glyphscope.registry import Tool, facts
from glyphscope.registry.keywords import ABOUT, CHOICES, CUSTOM, OTHERS, TYPES

_MAX_DEPTH = 24  # levels of an example
_MAX_OPTIONAL_DEPTH = 4  # levels with optional members, which may contain themselves
_MAX_VALUES = 2_000  # in an example
_MAX_STATES = 500  # visited for a pattern's shortest text
_MAX_LENGTH = 200
"""The maximum number of characters of a pattern's shortest text."""
_SAMPLES = 20  # of a custom grammar, among which one is valid
_MAX_FILLED = 10_000
"""The maximum number of characters of a text that is made as long as the schema demands."""
_USUAL = "a0x-_ ~é"
"""Preferred characters in a pattern's text, in this order."""

_BY_FORMAT = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "ann@example.com",
    "idn-email": "ann@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "uri-reference": "https://example.com",
    "iri": "https://example.com",
    "iri-reference": "https://example.com",
    "uri-template": "https://example.com/{id}",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "regex": "a+",
    "json-pointer": "/a",
    "relative-json-pointer": "1/a",
}
_BY_NAME = {
    "url": "https://example.com",
    "uri": "https://example.com",
    "email": "ann@example.com",
    "path": "/tmp/notes.txt",
    "file": "/tmp/notes.txt",
    "date": "2025-01-31",
    "city": "Paris",
    "location": "Paris",
    "country": "France",
    "language": "English",
    "query": "AI news",
    "name": "Ann",
}
"""Typical values of arguments, by the ending of their names."""


def example_arguments(schema: dict[str, Any], given: Iterable[dict[str, Any]] = ()) -> dict[str, Any] | None:
    """Valid arguments for a tool's normalised `parameters`: the first valid ones that are `given`, its own example, or
    one with the required arguments.

    None if no valid ones were found, because of a contradiction or a difficult pattern.
    """
    for candidate in _candidates(schema, given):
        try:
            if isinstance(candidate, dict) and SafeValidator(schema).is_valid(candidate):
                return candidate
        except Exception:  # jsonschema also raises re.error, RecursionError and referencing's errors
            continue
    return None


def example_problems(registry: Iterable[Tool]) -> list[str]:
    """The input examples that violate their own tool's schema, each with the first reason."""
    found = []
    for tool in registry:
        for number, example in enumerate(tool.input_examples, 1):
            try:
                error = next(iter(SafeValidator(tool.parameters).iter_errors(example)), None)
            except Exception:  # as above: this example is left out, too
                continue
            if error is not None:
                place = to_pointer(tuple(error.absolute_path))
                found.append(
                    f"Input example {number} of {tool.name} violates its schema and is not used"
                    f"{f' ({place})' if place else ''}: {schema_error_words(error)}."
                )
    return found


def _candidates(schema: dict[str, Any], given: Iterable[dict[str, Any]]) -> Iterator[Any]:
    own = [*given, *schema.get("examples", ()), *([schema["default"]] if "default" in schema else ())]
    named = {*schema.get("properties", ())}
    closes = schema.keys().isdisjoint(OTHERS["object"])
    for candidate in own:  # after an edit, one with an argument that is no longer named would be rejected
        if isinstance(candidate, dict) and not (closes and candidate.keys() - named):
            yield candidate
    yield _Maker(schema, optional=False).value(schema, "", 0)
    yield _Maker(schema, optional=True).value(schema, "", 0)


@lru_cache(maxsize=512)
def matching_text(pattern: str, least: int = 0) -> str | None:
    """A text of at least `least` characters in which `pattern` finds a match; None if none was found."""
    try:
        automaton = Automaton.of(pattern_node(re.sub(r"\\[bBAzZ]", "", pattern)))
        if automaton.start.shortest > _MAX_LENGTH:
            return None
        way = shortest_path(automaton, automaton.start, most=_MAX_STATES)
    except (PatternNotEnforced, GrammarError, RecursionError):
        return None
    text = "".join(map(_usual, way or ()))
    for filler in ("", "a", "0", "x.example"):
        grown = text + (filler * least)[: max(0, least - len(text))] if filler else text
        if len(grown) >= least and found(pattern, grown):
            return grown
    return None


def _usual(ranges: Ranges) -> str:
    return next((char for char in _USUAL if chars.contains(ranges, char)), chr(ranges[0][0]))


class _Maker:
    """Makes a value for a schema, not necessarily a valid one; `optional`: with optional members."""

    def __init__(self, root: dict[str, Any], *, optional: bool) -> None:
        self._root = root
        self._optional = optional
        self._left = _MAX_VALUES

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._left -= 1
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._left < 0:
            return "value"
        schema = facts.merged(self._root, schema)
        if depth:
            for keyword in ("examples", "enum"):
                if isinstance(values := schema.get(keyword), list) and values:
                    return values[0]
            for keyword in ("const", "default"):
                if keyword in schema:
                    return schema[keyword]
        for keyword in CHOICES:
            if isinstance(choices := schema.get(keyword), list) and choices:
                rest = {key: value for key, value in schema.items() if key != keyword}
                chosen = choices[0] if depth < _MAX_OPTIONAL_DEPTH else _ending(choices)
                return self.value({"allOf": [rest, chosen]}, name, depth + 1)
        made = self._made(schema, name, depth)
        return made if CUSTOM not in schema else _written(schema, made)

    def _made(self, schema: dict[str, Any], name: str, depth: int) -> Any:
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind in ("integer", "number"):
            return _number(schema, kind)
        return {"boolean": True, "null": None}[kind] if kind in ("boolean", "null") else _text(schema, name)

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        names = [
            *(n for n in properties if n in required or (self._optional and depth < _MAX_OPTIONAL_DEPTH)),
            *(n for n in required if n not in properties),
        ]
        least = schema.get("minProperties", 0)
        if len(names) < least:
            names += [name for name in properties if name not in names][: int(least) - len(names)]
        members = {name: self.value(properties.get(name, True), name, depth + 1) for name in names}
        return self._with_free_members(members, schema, least, depth) if len(members) < least else members

    def _with_free_members(
        self, members: dict[str, Any], schema: dict[str, Any], least: float, depth: int
    ) -> dict[str, Any]:
        """The members with further ones that the schema does not list, up to `minProperties`."""
        pattern = next(iter(schema.get("patternProperties", ())), None)
        rule = next(
            (member.schema for member in facts.of_member(facts.Whole(schema), None, lambda each: True)), True
        )
        start = (pattern and matching_text(pattern, 1)) or "name"
        for number in range(min(int(least), 100)):
            if len(members) < least:
                name = f"{start}{number or ''}"
                members.setdefault(name, self.value(rule, name, depth + 1))
        return members

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        first = [self.value(item, name, depth + 1) for item in schema.get("prefixItems", ())]
        least = schema.get("minItems", 1)
        if schema.get("items") is False or len(first) >= least:
            return first
        filler = schema.get("items", schema.get("contains", True))
        values = [self.value(filler, name, depth + 1) for _ in range(min(int(least), 100) - len(first))]
        if schema.get("uniqueItems"):
            values = [_distinct(value, index, filler) for index, value in enumerate(values)]
        return first + values


def _ending(choices: list[Any]) -> Any:
    """The first alternative without nesting; if there is none, the first."""
    plain = (
        c for c in choices if isinstance(c, dict) and _kind(c) not in ("object", "array") and "$ref" not in c
    )
    return next(plain, choices[0])


def example_value(
    root: dict[str, Any], schema: Any, name: str = "", *, optional: bool = False, depth: int = 1
) -> Any:
    """A probably valid value for a schema inside `root`; the caller validates it if that matters.

    `name` is the argument's name, which suggests a typical value; `optional`: with optional members.
    """
    return _Maker(root, optional=optional).value(schema, name, depth)


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if isinstance(kind, str):
        return kind
    types = facts.written_types([facts.Whole(schema)])
    order = ("string",) if len(types) == len(TYPES) else (*ABOUT, *TYPES)
    return next((kind for kind in order if kind in types), "string")


def _number(schema: dict[str, Any], kind: str) -> int | float:
    """A short number that bounds and `multipleOf` allow, preferably a small integer."""
    span = facts.range_of([facts.Whole(schema)])
    step = span.step or Fraction(1)
    lows, highs = ([end] if end is not None else [] for end in (span.low, span.high))
    middles = [(low + high) / 2 for low in lows for high in highs]
    ends = [*lows, *(low + 1 for low in lows), *highs, *(high - 1 for high in highs), *middles]
    steps = (step * (end // step + more) for more in (0, 1, 2) for end in ends)
    for number in (Fraction(1), Fraction(0), step, *steps, *ends):
        short = number.numerator if number.denominator == 1 else float(number)
        if span.contains(facts.exact(short)) and (kind == "number" or number.denominator == 1):
            return short
    return 1


def _text(schema: dict[str, Any], name: str) -> str:
    length = facts.count_of([facts.Whole(schema)], "length")
    least = min(length.least, _MAX_FILLED)
    most = _MAX_FILLED if length.most is None else length.most
    last = name.lower().replace("-", "_").rsplit("_", 1)[-1]
    usual = (
        _BY_FORMAT.get(schema.get("format", "")) or _BY_NAME.get(last) or (last if last.isalpha() else "text")
    )
    for _, pattern in facts.patterns_of(schema):
        if least <= len(usual) <= most and found(pattern, usual):
            return usual
        return matching_text(pattern, least) or usual
    if len(usual) < least:
        usual += " " + "text " * (least // 5 + 1)
        return usual[: max(least, 1)].rstrip().ljust(least, "x")
    return usual[:most]


def _written(schema: dict[str, Any], usual: Any) -> Any:
    """The usual value if the custom grammar of the schema can write it, else the shortest one that it writes, which
    satisfies the rest of the schema if possible.
    """
    from glyphscope.grammar.generate.sample import covering_texts, sample_texts  # which few registries need
    from glyphscope.grammar.match.report import match_text
    from glyphscope.grammar.text_grammar import text_grammar, written_grammar

    found = []
    try:
        of_text = text_grammar(schema)
        grammar = written_grammar(schema) if of_text is None else of_text
        if (
            grammar is None
            or match_text(
                grammar,
                usual if of_text is not None and isinstance(usual, str) else write_value(usual, "json"),
            ).accepted
        ):
            return usual
        texts = sorted((*covering_texts(grammar, limit=1), *sample_texts(grammar, _SAMPLES)), key=len)
    except GrammarError:  # it is reported where the grammar is built
        return usual
    for text in texts:
        if of_text is not None:
            found.append(text)
            continue
        for notation in ("json", "glyph"):
            with suppress(NotationError):
                found.append(parse_value(text, notation))
    valid = SafeValidator({key: value for key, value in schema.items() if key != CUSTOM}).is_valid
    return next(filter(valid, found), found[0] if found else usual)


def _distinct(value: Any, index: int, schema: Any) -> Any:
    """A value different from the previous ones, for items that must be unique."""
    choices = schema.get("enum") if isinstance(schema, dict) else None
    if isinstance(choices, list) and index < len(choices):
        return choices[index]
    if isinstance(value, str):
        return f"{value}{index + 1}" if index else value
    return value + index if isinstance(value, int | float) and not isinstance(value, bool) else value
