"""Values just outside a constraint: for each keyword, those that an engine is most likely to accept wrongly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from glyphscope.grammar.generate.example import matching_text

_MAX_REPEATED, _MAX_LENGTH = 3_000, 100_000
"""The maximum length, in characters or items, for which several examples are made, and for which one is made."""


class Candidate(NamedTuple):
    """A value, and how it breaks the constraint, in words."""

    value: Any
    what: str


Candidates: TypeAlias = Iterator[Candidate]

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


def broken(keyword: str, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    """Values, made from a valid `value`, that the keyword with the schema's value `expected` may reject.

    The caller tests which of them it rejects.
    """
    match keyword:
        case "type":
            yield from _other_types(value)
        case "enum" | "const":
            listed = expected if keyword == "enum" else [expected]
            misses = itertools.zip_longest(*(_near(item) for item in _unlike(listed)))
            yield from (miss for turn in misses for miss in turn if miss is not None)
            yield from _other_types(value)
        case "minimum" | "exclusiveMinimum":
            yield from _past(expected, -1, keyword)
        case "maximum" | "exclusiveMaximum":
            yield from _past(expected, 1, keyword)
        case "multipleOf":
            yield from _off_step(expected, value)
        case "minLength" | "maxLength" | "pattern" | "format":
            yield from broken_texts(keyword, expected, value if isinstance(value, str) else "", schema)
        case "minItems" | "maxItems" | "uniqueItems" | "items" | "unevaluatedItems" | "contains":
            yield from _broken_items(keyword, expected, value)
        case "minContains" | "maxContains":
            yield from _broken_items("minItems" if keyword == "minContains" else "maxItems", expected, value)
        case "required" | "dependentRequired" | "minProperties":
            yield from _fewer_members(keyword, expected, value, schema)
        case "additionalProperties" | "unevaluatedProperties" | "maxProperties" | "propertyNames":
            yield from _more_members(keyword, expected, value, schema)
        case _:
            yield from _other_types(value)


def broken_texts(keyword: str, expected: Any, text: str, schema: dict[str, Any]) -> Candidates:
    """Strings that are too short or too long, or do not match the pattern or format."""
    pattern = schema.get("pattern") if isinstance(schema.get("pattern"), str) else None
    if keyword == "minLength":
        short = math.ceil(expected) - 1
        if short <= _MAX_REPEATED:
            yield Candidate(text[:short], "one character too short")
            yield Candidate("a" * short, "one character too short")
            yield Candidate("", "empty")
            # one character, but two UTF-16 code units
            yield Candidate("😀" * short, "one character too short, counted in characters")
            if pattern and (fit := matching_text(pattern)):
                yield from (Candidate(fit[:n], "too short") for n in range(len(fit), -1, -1))
    elif keyword == "maxLength":
        long = math.floor(expected) + 1
        if _MAX_REPEATED < long <= _MAX_LENGTH:
            yield Candidate(text + (text[-1:] or "a") * (long - len(text)), "one character too long")
        elif long <= _MAX_REPEATED:
            for filler in (text[-1:] or "a", "é", "a", "0", " "):
                yield Candidate(text + filler * (long - len(text)), "one character too long")
            if pattern and (fit := matching_text(pattern, long)):
                yield Candidate(fit, "too long")
            yield from (
                Candidate(text[:at] + text[at : at + 1] * (long - len(text) + 1) + text[at + 1 :], "too long")
                for at in range(min(len(text), 30))
            )
            yield Candidate("a" * (2 * long), "twice as long")
    elif keyword == "format":
        yield from (Candidate(bad, f"no {expected}") for bad in _FORMATS.get(expected, ()))
        yield from (
            Candidate(bad, f"no {expected}") for bad in ("", "not one", f" {text}", f"{text} ", text[:-1])
        )
    else:
        changed = [
            f"{text}!",
            f"!{text}",
            text[:-1],
            "",
            text.swapcase(),
            f"{text}\n",
            f" {text}",
            f"{text} ",
        ]
        places = range(min(len(text), 6))
        changed += [f"{text[:at]}{sign}{text[at + 1 :]}" for at in places for sign in "!zA0é"]
        changed += ["zzz", "0", "Z9_", "!", "-", "é", "a" * 100]
        yield from (Candidate(bad, "not of the pattern") for bad in changed)


def _other_types(value: Any) -> Candidates:
    if isinstance(value, bool):
        yield Candidate("true" if value else "false", "a string instead")
        yield Candidate(int(value), "an integer instead")
    elif isinstance(value, int | float):
        yield Candidate(str(value), "a string instead")
        yield Candidate(value + 0.5, "a fraction instead")
    elif value is None:
        yield Candidate("null", "a string instead")
    elif isinstance(value, list) and value:
        yield Candidate(value[0], "the item without its list")
    elif isinstance(value, str):
        yield Candidate([value], "a list of it instead")
    yield from (Candidate(plain, f"a value of type {kind} instead") for kind, plain in _PLAIN.items())


def _near(item: Any) -> Candidates:
    """Near misses of a listed value."""
    if isinstance(item, str):
        misses = [f"{item}s", item[:-1], item.swapcase(), f" {item}", f"{item} ", f"x{item[1:]}", "", "other"]
        yield from (Candidate(miss, f"a near miss of {item!r}") for miss in misses)
    elif isinstance(item, bool):
        yield Candidate(not item, "the other boolean")
    elif isinstance(item, int | float):
        misses_of = (item + 1, item - 1, item + 0.5, item * 10, -item, str(item))
        yield from (Candidate(miss, f"a near miss of {item!r}") for miss in misses_of)
    elif isinstance(item, list):
        yield Candidate([*item, None], "one item more")
        yield Candidate(item[:-1], "one item less")
    elif isinstance(item, dict):
        yield Candidate({**item, "unknown": 1}, "one member more")
        yield Candidate(dict(list(item.items())[:-1]), "one member less")


def _unlike(listed: list[Any]) -> list[Any]:
    """Unlisted values, at most two of each type, because an engine treats further ones alike."""
    by_type: dict[type, list[Any]] = {}
    for item in listed:
        by_type.setdefault(type(item), []).append(item)
    return [item for items in by_type.values() for item in items[:2]]


def _past(bound: Any, sign: int, keyword: str) -> Candidates:
    """Numbers beyond a bound: below it with `sign` -1, above it with 1. Computed exactly, in decimals."""
    exact = Decimal(str(bound))
    side = "below the minimum" if sign < 0 else "above the maximum"
    if keyword.startswith("exclusive"):
        yield Candidate(_plain(exact), "the bound itself, which is excluded")
    whole = exact.to_integral_value("ROUND_FLOOR" if sign > 0 else "ROUND_CEILING")
    yield Candidate(_plain(whole + sign), f"the next integer {side}")
    for step in ("0.1", "0.5", "0.000001"):
        yield Candidate(_plain(exact + sign * Decimal(step)), f"{step} {side}")
    yield Candidate(_plain(whole + sign * 10), f"ten {side}")
    digits = len(str(abs(int(whole))))
    yield Candidate(_plain(sign * Decimal(10) ** (digits + (1 if sign * whole > 0 else 0))), f"far {side}")
    yield Candidate(sign * 999_999_999_999, f"very far {side}")
    yield Candidate(
        _plain(-exact) if sign * exact < 0 else _plain(exact * 2), f"{side}, by the sign or twice"
    )


def _off_step(step: Any, value: Any) -> Candidates:
    base = (
        Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else Decimal(0)
    )
    exact = Decimal(str(step))
    for share, words in (("0.5", "half a step off"), ("0.1", "a tenth of a step off")):
        yield Candidate(_plain(base + exact * Decimal(share)), words)
    yield Candidate(_plain(base + 1), "one off")
    yield Candidate(_plain(base - 1), "one off")
    yield Candidate(_plain(base + Decimal("0.001")), "a thousandth off")
    yield Candidate(_plain(base + 2), "two off")


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _broken_items(keyword: str, expected: Any, value: Any) -> Candidates:
    items = value if isinstance(value, list) else []
    if keyword == "minItems":
        yield Candidate(items[: max(0, math.ceil(expected) - 1)], "one item too few")
        yield Candidate([], "empty")
    elif keyword == "maxItems":
        many = math.floor(expected) + 1
        if many <= _MAX_REPEATED:
            yield Candidate(_longer(items, many), "one item too many")
            yield Candidate(_distinct(items, many), "one item too many, all different")
    elif keyword == "uniqueItems":
        for same in dict.fromkeys(repr(item) for item in items):
            item = next(item for item in items if repr(item) == same)
            yield Candidate([*items, item], "an item twice")
            yield Candidate([item, item], "an item twice")
        yield from (Candidate([item, item], "an item twice") for item in ("a", 1, None))
    elif keyword == "contains":
        yield Candidate([], "nothing in it")
        yield from (Candidate([plain], "another item only") for plain in _PLAIN.values())
    else:
        yield from (
            Candidate([*items, plain], "an item past the last") for plain in reversed(_PLAIN.values())
        )


def _longer(items: list[Any], count: int) -> list[Any]:
    filler = items or ["text"]
    return [*items, *(filler[i % len(filler)] for i in range(count - len(items)))]


def _distinct(items: list[Any], count: int) -> list[Any]:
    last = items[-1] if items else "text"
    more = (f"{last}{i}" if isinstance(last, str) else last + i if isinstance(last, int | float) else i
            for i in range(1, count + 1))  # fmt: skip
    return [*items, *itertools.islice(more, max(0, count - len(items)))]


def _fewer_members(keyword: str, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    members = value if isinstance(value, dict) else {}
    if keyword == "required":
        yield from (Candidate(_without(members, (name,)), f"{name!r} is missing") for name in expected)
    elif keyword == "dependentRequired":
        for name, needed in expected.items():
            for other in needed:
                yield Candidate(
                    {**_without(members, (other,)), name: members.get(name, "text")},
                    f"{name!r} without {other!r}",
                )
    else:
        left = math.ceil(expected) - 1
        optional = [n for n in members if n not in schema.get("required", ())]
        yield Candidate(_without(members, optional[: len(members) - left]), "one member too few")
        yield Candidate({}, "empty")


def _more_members(keyword: str, expected: Any, value: Any, schema: dict[str, Any]) -> Candidates:
    members = value if isinstance(value, dict) else {}
    if keyword == "maxProperties":
        many = math.floor(expected) + 1 - len(members)
        filler = next(iter(members.values()), "text")
        if 0 < many <= _MAX_REPEATED:
            optional = [n for n in schema.get("properties", ()) if n not in members][:many]
            more = [*optional, *(f"extra{i}" for i in range(many))][:many]
            yield Candidate({**members, **dict.fromkeys(more, filler)}, "one member too many")
            yield Candidate({**members, **{f"extra{i}": filler for i in range(many)}}, "one member too many")
        return
    if keyword == "propertyNames":
        yield Candidate({**members, "unknown": "text"}, "a member")
        return
    named = [*members, *schema.get("properties", ())]
    near = [near for name in named[:2] for near in (f"{name}s", name.upper(), f"{name} ", name[:-1])]
    for name in ("unknown", *near, "", "additionalProperties"):
        if name not in named:
            for kind in ("string", "integer", "null"):
                yield Candidate({**members, name: _PLAIN[kind]}, f"{name!r} is unknown")


def with_name(value: Any, name: str, filler: Any) -> dict[str, Any]:
    """The object with one more member."""
    return {**(value if isinstance(value, dict) else {}), name: filler}


def _without(members: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    left_out = set(names)
    return {name: value for name, value in members.items() if name not in left_out}
