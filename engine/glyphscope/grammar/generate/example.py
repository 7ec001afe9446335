"""One small, plausible and valid instance of a schema, so that the examples of a prompt follow the registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from glyphscope.base.errors import GrammarError, NotationError
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import schema_error_words
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.checking import validator_of
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
    "date": "2025-01-31|2025-02-01",
    "date-time": "2025-01-31T12:00:00Z|2025-01-31T13:00:00Z",
    "time": "12:00:00Z|13:00:00Z",
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
_TEXTS = {
    "url uri link href endpoint website": "https://example.com|https://example.com/news",
    "email mail recipient sender to cc bcc": "ann@example.com|bob@example.com",
    "path file filename filepath": "/tmp/notes.txt|/tmp/report.txt",
    "directory dir folder cwd": "/tmp|/home/ann",
    "host hostname domain server": "example.com|example.org",
    "date day due deadline birthday": "2025-01-31|2025-02-03",
    "time start end": "09:30|17:00",
    "timestamp datetime": "2025-01-31T12:00:00Z|2025-02-03T09:30:00Z",
    "timezone zone tz": "Europe/Paris|Asia/Tokyo",
    "city location place town origin destination region area": "Paris|Oslo",
    "address street": "12 Main Street|4 Park Lane",
    "country nation": "France|Japan",
    "language lang locale": "English|French",
    "query search keyword term topic q": "AI news|solar power",
    "name user username author assignee owner customer person contact": "Ann|Bob",
    "title subject headline summary": "Weekly report|Lunch on Friday|Lunch",
    "text message body content comment note description prompt question answer reason caption":
        "See you on Friday.|The report is ready.|Hello",
    "label tag category group": "travel|garden",
    "priority severity level": "high|low",
    "status state": "open|closed",
    "unit": "km|kg",
    "currency": "EUR|USD",
    "color colour": "blue|green",
    "id identifier key code number reference sku": "A-1042|B-2071|A7",
    "version release": "1.2.0|2.0.1",
    "expression formula equation": "3 * (4 + 5)|100 / 8",
    "command cmd": "date|whoami",
    "sql": "SELECT name FROM users",
    "phone telephone mobile": "+33 1 23 45 67 89",
    "company organization organisation team vendor": "Acme|Globex",
    "item product": "notebook|desk",
    "word verb": "write|read",
}  # fmt: skip
_BY_NAME = {name: tuple(values.split("|")) for names, values in _TEXTS.items() for name in names.split()}
"""Typical texts of arguments, by the last word of their names."""
_USUAL_TEXTS = ("green tea", "blue sky", "tea", "a")
"""Texts of other arguments, of which the first one that fits is used."""
_LONG = "The report is ready, and the next meeting is on Friday morning. "
_NUMBERS = {
    "id": 1042, "year": 2025, "month": 5, "hour": 9, "minute": 30, "age": 41, "amount": 25, "price": 25,
    "limit": 10, "results": 10, "port": 8080, "latitude": 48.86, "longitude": 2.35, "timeout": 30,
}  # fmt: skip
"""Typical numbers of arguments, by the last word of their names."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SAID = re.compile(
    r"(?:\be\.g\.|\bfor example|\bfor instance|\bsuch as|\bexamples?:)[,:]?\s*"
    r"(?:[\"“`']([^\"“”`'\n]{1,80})[\"”`']|([A-Z0-9][^()\n;.]{0,60}?)(?=[();.]|\s*$))",
)
"""A value that a description names: in quotes, or what begins with a capital or a digit, up to the sentence's end."""
_MAX_SAID = 2_000  # characters of a description that are searched


def example_arguments(schema: dict[str, Any], given: Iterable[dict[str, Any]] = ()) -> dict[str, Any] | None:
    """Valid arguments for a tool's normalised `parameters`: the first valid ones that are `given`, its own example, or
    one with the required arguments.

    None if no valid ones were found, because of a contradiction or a difficult pattern.
    """
    for candidate in _candidates(schema, given):
        try:
            if isinstance(candidate, dict) and validator_of(schema).is_valid(candidate):
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
                error = next(iter(validator_of(tool.parameters).iter_errors(example)), None)
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
        self._used: set[str] = set()
        """Texts of this example: two arguments of one kind differ."""

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._left -= 1
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._left < 0:
            return _text({}, name, self._used)
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
            return _number(schema, kind, name)
        if kind in ("boolean", "null"):
            return {"boolean": True, "null": None}[kind]
        text = _text(schema, name, self._used)
        self._used.add(text)
        return text

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
            values = [
                _distinct(value, index, filler) if value in values[:index] else value
                for index, value in enumerate(values)
            ]
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


def _number(schema: dict[str, Any], kind: str, name: str) -> int | float:
    """A short number that bounds and `multipleOf` allow, preferably one usual for the name, or a small integer."""
    span = facts.range_of([facts.Whole(schema)])
    step = span.step or Fraction(1)
    lows, highs = ([end] if end is not None else [] for end in (span.low, span.high))
    middles = [(low + high) / 2 for low in lows for high in highs]
    ends = [*lows, *(low + 1 for low in lows), *highs, *(high - 1 for high in highs), *middles]
    steps = (step * (end // step + more) for more in (0, 1, 2) for end in ends)
    usual = (Fraction(str(_NUMBERS[last])) for last in _names(name) if last in _NUMBERS)
    for number in (*usual, Fraction(1), Fraction(0), step, *steps, *ends):
        short = number.numerator if number.denominator == 1 else float(number)
        if span.contains(facts.exact(short)) and (kind == "number" or number.denominator == 1):
            return short
    return 1


def _text(schema: dict[str, Any], name: str, used: Set[str]) -> str:
    """A text as a person would write it, other than those that are `used` if possible; never the argument's name."""
    length = facts.count_of([facts.Whole(schema)], "length")
    least = min(length.least, _MAX_FILLED)
    most = _MAX_FILLED if length.most is None else length.most
    patterns = [pattern for _, pattern in facts.patterns_of(schema)]
    texts = [text for text in _usual_texts(schema, name) if text.casefold() != name.casefold()]
    fitting = [text for text in texts if least <= len(text) <= most]
    fitting = [text for text in fitting if all(found(pattern, text) for pattern in patterns)]
    if "format" in schema:
        fitting = list(filter(validator_of({"format": schema["format"]}).is_valid, fitting))
    if fitting:
        return next((text for text in fitting if text not in used), fitting[0])
    if patterns:
        return matching_text(patterns[0], least) or texts[0]
    return (_LONG * (least // len(_LONG) + 1))[: max(least, 1)].rstrip().ljust(least, ".")[:most]


def _usual_texts(schema: dict[str, Any], name: str) -> Iterator[str]:
    """The values in the description, those that are usual for the format and the name, then any text."""
    description = schema.get("description", "")
    if isinstance(description, str):
        for quoted, plain in _SAID.findall(description[:_MAX_SAID]):
            yield (quoted or plain).strip()
    yield from filter(None, _BY_FORMAT.get(schema.get("format", ""), "").split("|"))
    for last in _names(name):
        yield from _BY_NAME.get(last, ())
    yield from _USUAL_TEXTS


def _names(name: str) -> Iterator[str]:
    """The last word of a name, as it is and in the singular."""
    last = next(reversed(_WORDS.findall(name)), "").lower()
    yield last
    if last.endswith("s"):
        yield "category" if last == "categories" else last[:-1]


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
        plain = of_text is not None
        if grammar is None:
            return usual
        for each in (usual, *(_USUAL_TEXTS if isinstance(usual, str) else ())):
            text = each if plain and isinstance(each, str) else write_value(each, "json")
            if match_text(grammar, text).accepted:
                return each
        valid = validator_of({key: value for key, value in schema.items() if key != CUSTOM}).is_valid
        for texts in (partial(covering_texts, grammar, limit=1), partial(sample_texts, grammar, _SAMPLES)):
            for text in sorted(texts(), key=len):
                made = [text] if plain else list(_read(text))
                if fitting := list(filter(valid, made)):
                    return fitting[0]
                found += made
    except GrammarError:  # it is reported where the grammar is built
        return usual
    return found[0] if found else usual


def _read(text: str) -> Iterator[Any]:
    """The values that a text stands for in either notation."""
    for notation in ("json", "glyph"):
        with suppress(NotationError):
            yield parse_value(text, notation)


def _distinct(value: Any, index: int, schema: Any) -> Any:
    """A value different from the previous ones, for items that must be unique."""
    choices = schema.get("enum") if isinstance(schema, dict) else None
    if isinstance(choices, list) and index < len(choices):
        return choices[index]
    if isinstance(value, str):
        return f"{value}{index + 1}" if index else value
    return value + index if isinstance(value, int | float) and not isinstance(value, bool) else value
