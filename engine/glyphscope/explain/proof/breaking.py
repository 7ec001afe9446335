"""Values just outside a constraint: for each keyword, those that an engine is most likely to accept wrongly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from glyphscope.grammar.generate.example import matching_text
from glyphscope.registry.facts import patterns_of
from glyphscope.registry.keywords import KEYWORDS, Break, Keyword

_MAX_REPEATED, MAX_LENGTH = 3_000, 200_000
"""The maximum length, in characters or items, for which several examples are made, and for which one is made."""


class BreakingText(NamedTuple):
    """A value, and how it breaks the constraint, in words."""

    value: Any
    what: str


Candidates: TypeAlias = Iterator[BreakingText]

_FORMATS: dict[str, tuple[str, ...]] = {
    "date": ("2025-02-30", "2025-13-01", "25-01-01", "2025-1-1", "2025-01-31T", "2023-02-29"),
    "time": ("25:00:00Z", "12:61:00Z", "12:00Z", "12:00:00", "12:00:00+25:00", "22:59:60Z"),
    "date-time": ("2025-02-30T12:00:00Z", "2025-01-31T24:00:00Z", "2025-01-31", "2025-01-31T12:00:00",
                  "1998-12-31T22:59:60Z"),
    "duration": ("P", "1H", "PT", "P1S", "PT1H2S3M"),
    "email": ("ann.example.com", "ann@", "@example.com", "ann@@example.com", "ann b@example.com", "ann@ex_ample"),
    "idn-email": ("ann.example.com", "ann@", "ann@@example.com", "änn b@example.com"),
    "hostname": ("-example.com", "example..com", "exa_mple.com", "example-.com", "a" * 64, "xn--X", "a." * 127 + "a"),
    "idn-hostname": ("-example.com", "exa_mple.com", "\u0300a.com", "xn--X", "a" * 64),
    "ipv4": ("192.0.2.256", "192.0.2", "192.0.2.1.5", "01.2.3.4", "a.b.c.d"),
    "ipv6": ("2001:db8:::1", "12345::", "2001:db8", "::g", "1:2:3:4:5:6:7:8:9"),
    "uri": ("example.com", "://example.com", "http://exa mple", "1http://a", "http://a/%zz"),
    "uri-reference": ("a b", "%zz", "<a>"),
    "iri": ("example.com", "http://exa mple", "http://ä/%zz"),
    "iri-reference": ("ä b", "%zz", "<a>"),
    "uri-template": ("{", "{}", "{a b}", "a b"),
    "relative-json-pointer": ("", "/a", "01", "-1"),
    "regex": ("(", "*a", "[b-a]"),
    "uuid": ("00000000-0000-4000-8000-00000000000", "g0000000-0000-4000-8000-000000000000",
             "00000000-0000-4000-8000-0000000000000", "00000000000040008000000000000000"),
    "json-pointer": ("a", "/~2", "/~"),
}  # fmt: skip
_PLAIN: dict[str, Any] = {
    "null": None, "boolean": True, "integer": 5, "number": 1.5, "string": "text", "array": [], "object": {},
}  # fmt: skip
"""A value of each type."""


def broken(name: str, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Values, made from a valid `value`, that the keyword with the schema's value `expected` may reject.

    The caller tests which of them it rejects.
    """
    keyword = KEYWORDS[name]
    way = keyword.breaks or _USUAL.get(keyword.about, "type")
    return _WAYS[way](keyword, expected, value, schema)


def _length(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Strings that are too short or too long."""
    text = value if isinstance(value, str) else ""
    pattern = next((pattern for _, pattern in patterns_of(schema)), None)
    if keyword.side < 0:
        short = math.ceil(expected) - 1
        if short <= _MAX_REPEATED:
            yield BreakingText(text[:short], "one character too short")
            yield BreakingText("a" * short, "one character too short")
            yield BreakingText("", "empty")
            # one character, but two UTF-16 code units
            yield BreakingText("😀" * short, "one character too short, counted in characters")
            if pattern and (fit := matching_text(pattern)):
                yield from (BreakingText(fit[:n], "too short") for n in range(len(fit), -1, -1))
        return
    long = math.floor(expected) + 1
    if _MAX_REPEATED < long <= MAX_LENGTH:
        yield BreakingText(text + (text[-1:] or "a") * (long - len(text)), "one character too long")
    elif long <= _MAX_REPEATED:
        for filler in (text[-1:] or "a", "é", "a", "0", " "):
            yield BreakingText(text + filler * (long - len(text)), "one character too long")
        if pattern and (fit := matching_text(pattern, long)):
            yield BreakingText(fit, "too long")
        yield from (
            BreakingText(text[:at] + text[at : at + 1] * (long - len(text) + 1) + text[at + 1 :], "too long")
            for at in range(min(len(text), 30))
        )
        yield BreakingText("a" * (2 * long), "twice as long")


def _format(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    text = value if isinstance(value, str) else ""
    for bad in (*_FORMATS.get(expected, ()), "", "not one", f" {text}", f"{text} ", text[:-1]):
        yield BreakingText(bad, f"no {expected}")


def _text(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Other strings, such as those that a pattern does not match."""
    text = value if isinstance(value, str) else ""
    changed = [f"{text}!", f"!{text}", text[:-1], "", text.swapcase(), f"{text}\n", f" {text}", f"{text} "]
    places = range(min(len(text), 6))
    changed += [f"{text[:at]}{sign}{text[at + 1 :]}" for at in places for sign in "!zA0é"]
    changed += ["zzz", "0", "Z9_", "!", "-", "é", "a" * 100]
    yield from (BreakingText(bad, f"not of the {keyword.name}") for bad in changed)


def _other_types(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    if isinstance(value, bool):
        yield BreakingText("true" if value else "false", "a string instead")
        yield BreakingText(int(value), "an integer instead")
    elif isinstance(value, int | float):
        yield BreakingText(str(value), "a string instead")
        yield BreakingText(value + 0.5, "a fraction instead")
    elif value is None:
        yield BreakingText("null", "a string instead")
    elif isinstance(value, list) and value:
        yield BreakingText(value[0], "the item without its list")
    elif isinstance(value, str):
        yield BreakingText([value], "a list of it instead")
    yield from (BreakingText(plain, f"a value of type {kind} instead") for kind, plain in _PLAIN.items())


def _listed(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    listed = expected if keyword.name == "enum" else [expected]
    misses = itertools.zip_longest(*(_near(item) for item in _unlike(listed)))
    yield from (miss for turn in misses for miss in turn if miss is not None)
    yield from _other_types(keyword, expected, value, schema)


def _near(item: Any) -> Candidates:
    """Near misses of a listed value."""
    if isinstance(item, str):
        misses = [f"{item}s", item[:-1], item.swapcase(), f" {item}", f"{item} ", f"x{item[1:]}", "", "other"]
        yield from (BreakingText(miss, f"a near miss of {item!r}") for miss in misses)
    elif isinstance(item, bool):
        yield BreakingText(not item, "the other boolean")
    elif isinstance(item, int | float):
        misses_of = (item + 1, item - 1, item + 0.5, item * 10, -item, str(item))
        yield from (BreakingText(miss, f"a near miss of {item!r}") for miss in misses_of)
    elif isinstance(item, list):
        yield BreakingText([*item, None], "one item more")
        yield BreakingText(item[:-1], "one item less")
    elif isinstance(item, dict):
        yield BreakingText({**item, "unknown": 1}, "one member more")
        yield BreakingText(dict(list(item.items())[:-1]), "one member less")


def _unlike(listed: list[Any]) -> list[Any]:
    """Unlisted values, at most two of each type, because an engine treats further ones alike."""
    by_type: dict[type, list[Any]] = {}
    for item in listed:
        by_type.setdefault(type(item), []).append(item)
    return [item for items in by_type.values() for item in items[:2]]


def _past(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Numbers beyond a bound, computed exactly, in decimals."""
    exact, sign = Decimal(str(expected)), keyword.side
    side = "below the minimum" if sign < 0 else "above the maximum"
    if keyword.excluded:
        yield BreakingText(_plain(exact), "the bound itself, which is excluded")
    whole = exact.to_integral_value("ROUND_FLOOR" if sign > 0 else "ROUND_CEILING")
    yield BreakingText(_plain(whole + sign), f"the next integer {side}")
    for step in ("0.1", "0.5", "0.000001"):
        yield BreakingText(_plain(exact + sign * Decimal(step)), f"{step} {side}")
    yield BreakingText(_plain(whole + sign * 10), f"ten {side}")
    digits = len(str(abs(int(whole))))
    yield BreakingText(_plain(sign * Decimal(10) ** (digits + (1 if sign * whole > 0 else 0))), f"far {side}")
    yield BreakingText(sign * 999_999_999_999, f"very far {side}")
    yield BreakingText(
        _plain(-exact) if sign * exact < 0 else _plain(exact * 2), f"{side}, by the sign or twice"
    )


def _off_step(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Numbers beside the value, such as those that are not multiples of a step."""
    base, exact = (Decimal(str(number)) if _is_number(number) else Decimal(0) for number in (value, expected))
    for share, words in (("0.5", "half a step off"), ("0.1", "a tenth of a step off")):
        yield BreakingText(_plain(base + exact * Decimal(share)), words)
    yield BreakingText(_plain(base + 1), "one off")
    yield BreakingText(_plain(base - 1), "one off")
    yield BreakingText(_plain(base + Decimal("0.001")), "a thousandth off")
    yield BreakingText(_plain(base + 2), "two off")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _items(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Too few or too many items."""
    items = value if isinstance(value, list) else []
    many = math.floor(expected) + 1
    if keyword.side < 0:
        yield BreakingText(items[: max(0, math.ceil(expected) - 1)], "one item too few")
        yield BreakingText([], "empty")
    elif many <= _MAX_REPEATED:
        yield BreakingText(_longer(items, many), "one item too many")
        yield BreakingText(_distinct(items, many), "one item too many, all different")


def _twice(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    items = value if isinstance(value, list) else []
    for same in dict.fromkeys(repr(item) for item in items):
        item = next(item for item in items if repr(item) == same)
        yield BreakingText([*items, item], "an item twice")
        yield BreakingText([item, item], "an item twice")
    yield from (BreakingText([item, item], "an item twice") for item in ("a", 1, None))


def _contents(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    yield BreakingText([], "nothing in it")
    yield from (BreakingText([plain], "another item only") for plain in _PLAIN.values())


def _item(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    items = value if isinstance(value, list) else []
    yield from (BreakingText([*items, plain], "an item past the last") for plain in reversed(_PLAIN.values()))


def _longer(items: list[Any], count: int) -> list[Any]:
    filler = items or ["text"]
    return [*items, *(filler[i % len(filler)] for i in range(count - len(items)))]


def _distinct(items: list[Any], count: int) -> list[Any]:
    last = items[-1] if items else "text"
    more = (f"{last}{i}" if isinstance(last, str) else last + i if isinstance(last, int | float) else i
            for i in range(1, count + 1))  # fmt: skip
    return [*items, *itertools.islice(more, max(0, count - len(items)))]


def _required(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    yield from (BreakingText(_without(value, (name,)), f"{name!r} is missing") for name in expected)


def _dependency(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    for name, needed in expected.items():
        for other in needed:
            members = with_name(_without(value, (other,)), name, _members(value).get(name, "text"))
            yield BreakingText(members, f"{name!r} without {other!r}")


def _count(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Too few or too many members."""
    members = _members(value)
    if keyword.side < 0:
        left = math.ceil(expected) - 1
        optional = [n for n in members if n not in schema.get("required", ())]
        yield BreakingText(_without(members, optional[: len(members) - left]), "one member too few")
        yield BreakingText({}, "empty")
        return
    many = math.floor(expected) + 1 - len(members)
    filler = next(iter(members.values()), "text")
    if 0 < many <= _MAX_REPEATED:
        optional = [n for n in schema.get("properties", ()) if n not in members][:many]
        more = [*optional, *(f"extra{i}" for i in range(many))][:many]
        yield BreakingText({**members, **dict.fromkeys(more, filler)}, "one member too many")
        yield BreakingText({**members, **{f"extra{i}": filler for i in range(many)}}, "one member too many")


def _name(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    yield BreakingText(with_name(value, "unknown", "text"), "a member")


def _unknown(keyword: Keyword, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Members that the schema does not name."""
    named = [*_members(value), *schema.get("properties", ())]
    near = [near for name in named[:2] for near in (f"{name}s", name.upper(), f"{name} ", name[:-1])]
    for name in ("unknown", *near, "", keyword.name):
        if name not in named:
            for kind in ("string", "integer", "null"):
                yield BreakingText(with_name(value, name, _PLAIN[kind]), f"{name!r} is unknown")


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def with_name(value: Any, name: str, filler: Any) -> dict[str, Any]:
    """The object with one more member."""
    return {**_members(value), name: filler}


def _without(value: Any, names: Iterable[str]) -> dict[str, Any]:
    left_out = set(names)
    return {name: member for name, member in _members(value).items() if name not in left_out}


_WAYS: dict[Break, Callable[[Keyword, Any, Any, dict[str, Any]], Candidates]] = {
    "type": _other_types, "listed": _listed, "past": _past, "step": _off_step, "length": _length, "text": _text,
    "format": _format, "items": _items, "item": _item, "twice": _twice, "contents": _contents, "required": _required,
    "dependency": _dependency, "members": _count, "unknown": _unknown, "name": _name,
}  # fmt: skip
_USUAL: dict[str, Break] = {"string": "text", "number": "step", "array": "item", "object": "unknown"}
"""The way to break a keyword that is about values of this type, if its row names none."""
