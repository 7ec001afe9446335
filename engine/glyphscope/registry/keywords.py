"""The keywords of JSON Schema, for all drafts from 4 to 2020-12: a row for each, and what follows from the rows.

Where a row says nothing else, jsonschema judges the keyword, a violation has the code CONSTRAINT_OTHER, and it can be
relaxed. So a keyword is added by its row and, unless jsonschema knows it or it is a pattern, by its function in
`grammar.checking`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope.base.pointer import Path
from glyphscope.base.shorten import json_excerpt
from glyphscope.events import Code

DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"

CUSTOM = "x-grammar"
"""Our own keyword: GBNF for the text of the value, or the format of a custom tool for the text of a string."""
RELAXED = "x-relaxed"
"""Our own keyword beside it: the names of its rules that are relaxed (`runs.relaxation`)."""

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

Measure: TypeAlias = Literal["value", "length", "items", "members"]
"""The measure that a keyword bounds: a number itself, or the number of characters, items or members."""

Break: TypeAlias = Literal[
    "type", "listed", "past", "step", "length", "text", "format", "items", "item", "twice", "contents", "required",
    "dependency", "members", "unknown", "name",
]  # fmt: skip
"""How a value is changed into one that breaks a keyword; `proof.breaking` has a function for each."""


class Keyword(NamedTuple):
    """A keyword of JSON Schema."""

    name: str
    about: str = ""
    """The type of the values that it constrains, while it allows every value of another type; "any" for all values.
    Empty if it constrains none, or if only the schemas inside it do."""
    inside: Literal["", "one", "many", "named", "one or many"] = ""
    """The schemas that it contains: one, a list, or an object with schemas as values."""
    choice: Literal["", "some", "one"] = ""
    """Whether a value satisfies at least one of its schemas, or exactly one, and not all of them."""
    in_place: bool = False
    """Whether these apply to the same value: following them does not descend into the instance."""
    part_of: str = ""
    """The keyword without which it has no effect."""
    beyond: tuple[str, ...] = ()
    """The keywords that name members or items: it is about the other ones."""
    decides: bool = True
    """False for annotations, identifiers and definitions."""
    annotation: type | None = None
    """The type of an annotation's value: a value of another type is dropped, not an error."""
    since: int = 0
    """The first draft (8: after draft-07) in which it has an effect."""
    bounds: Measure | None = None
    side: Literal[-1, 0, 1] = 0
    """Of what it bounds: -1 for the least, 1 for the most."""
    excluded: bool = False
    """Whether the bound itself is excluded."""
    both: Callable[[Any, Any], Any] = lambda first, second: second
    """The value for two schemas that apply together, as far as one keyword can express it."""
    pattern: Callable[[str], str] | None = None
    """The regular expression of the texts that it allows; with one, grammars and validators need nothing else."""
    rejects: Callable[[Any], bool] = lambda value: False
    """Whether it rejects any value at all, apart from the schemas inside it."""
    breaks: Break | None = None
    """None for the way that suits the type that it is about."""
    code: Code = "CONSTRAINT_OTHER"
    """The code of a violation."""
    late: str = ""
    """The message of a violation, if it is judged only when the value is complete."""
    unenforced: str = ""
    """The reason why no grammar enforces it."""
    relaxable: bool = True
    """False if a schema without it would accept less, not more."""
    said: bool = False
    """Whether the words for a schema's constraints include it."""


def _always(value: Any) -> bool:
    return True


def _if_false(value: Any) -> bool:
    return value is False


def _unless(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value not in values


def _is_grammar(form: Any) -> bool:
    return isinstance(form, str) or (isinstance(form, dict) and form.get("type") == "grammar")


def _together(first: Any, second: Any) -> Any:
    return {"allOf": [first, second]}


def _both_properties(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {**first, **second, **{n: _together(first[n], second[n]) for n in first if n in second}}


def _both_types(one: Any, other: Any) -> list[str]:
    first, second = ([kind] if isinstance(kind, str) else list(kind) for kind in (one, other))
    in_both = type_names(first) & type_names(second)
    return [kind for kind in dict.fromkeys([*first, *second]) if kind in in_both]


def _bound(
    name: str, about: str, bounds: Measure, side: Literal[-1, 1], breaks: Break, code: Code, *,
    rejects: Callable[[Any], bool] = _always, excluded: bool = False, part_of: str = "", since: int = 0,
) -> Keyword:  # fmt: skip
    narrower = max if side < 0 else min
    return Keyword(
        name, about, bounds=bounds, side=side, excluded=excluded, both=narrower, rejects=rejects, breaks=breaks,
        code=code, said=not part_of, part_of=part_of, since=since,
    )  # fmt: skip


def _choice(name: str, choice: Literal["some", "one"]) -> Keyword:
    return Keyword(name, "any", "many", choice=choice, in_place=True, rejects=_always)


def _note(name: str, annotation: type) -> Keyword:
    return Keyword(name, decides=False, annotation=annotation, relaxable=False)


def _definitions(name: str) -> Keyword:
    return Keyword(name, inside="named", decides=False, relaxable=False)


_NAMED_MEMBERS, _NAMED_ITEMS = ("properties", "patternProperties"), ("prefixItems",)
_MANY_ITEMS = "which item is the one is not decided by a grammar"
_MEMBERS_THERE = "it depends on which properties are there"

KEYWORDS: dict[str, Keyword] = {
    keyword.name: keyword
    for keyword in (
        # in the order in which they are tried as the reason why a text is rejected
        Keyword("enum", "any", both=lambda first, second: [value for value in first if value in second],
                rejects=_always, breaks="listed", code="CONSTRAINT_ENUM", said=True),
        Keyword("const", "any", since=6, rejects=_always, breaks="listed", code="CONSTRAINT_ENUM", said=True),
        Keyword("pattern", "string", pattern=str, rejects=_always, code="CONSTRAINT_PATTERN", said=True),
        Keyword("format", "string", rejects=_always, breaks="format", code="CONSTRAINT_FORMAT", said=True),
        _bound("maxLength", "string", "length", 1, "length", "CONSTRAINT_LEN"),
        _bound("minLength", "string", "length", -1, "length", "CONSTRAINT_LEN", rejects=_unless(0)),
        _bound("maximum", "number", "value", 1, "past", "CONSTRAINT_MAX"),
        _bound("exclusiveMaximum", "number", "value", 1, "past", "CONSTRAINT_MAX", excluded=True),
        _bound("minimum", "number", "value", -1, "past", "CONSTRAINT_MIN"),
        _bound("exclusiveMinimum", "number", "value", -1, "past", "CONSTRAINT_MIN", excluded=True),
        Keyword("multipleOf", "number", rejects=_always, code="CONSTRAINT_MULTIPLE", said=True),
        _bound("maxItems", "array", "items", 1, "items", "CONSTRAINT_ITEMS"),
        _bound("minItems", "array", "items", -1, "items", "CONSTRAINT_ITEMS", rejects=_unless(0)),
        Keyword("required", "object", both=lambda first, second: list(dict.fromkeys([*first, *second])),
                rejects=_unless([]), breaks="required", code="MISSING_REQUIRED"),
        Keyword("additionalProperties", "object", "one", beyond=_NAMED_MEMBERS, both=_together, rejects=_if_false,
                code="UNKNOWN_ARGUMENT", said=True),
        _bound("maxProperties", "object", "members", 1, "members", "CONSTRAINT_OTHER"),
        _bound("minProperties", "object", "members", -1, "members", "CONSTRAINT_OTHER", rejects=_unless(0)),
        Keyword("not", "any", "one", in_place=True, rejects=_always, late="is what `not` forbids"),
        Keyword("items", "array", "one or many", beyond=_NAMED_ITEMS, both=_together, rejects=_if_false),
        Keyword("allOf", "any", "many", in_place=True),
        _choice("anyOf", "some"),
        _choice("oneOf", "one"),
        Keyword("propertyNames", "object", "one", since=6, rejects=_if_false, breaks="name"),
        # these are not enforced by a grammar, or only through the schemas inside them
        Keyword("uniqueItems", "array", rejects=_unless(False), breaks="twice", code="CONSTRAINT_ITEMS", said=True,
                unenforced="whether items repeat is not decided by a grammar"),
        Keyword("contains", "array", "one", since=6, rejects=_always, breaks="contents", code="CONSTRAINT_ITEMS",
                late="does not contain the items that `contains` asks for", unenforced=_MANY_ITEMS),
        _bound("minContains", "array", "items", -1, "items", "CONSTRAINT_OTHER",
               rejects=_unless(0, 1), part_of="contains", since=8),
        _bound("maxContains", "array", "items", 1, "items", "CONSTRAINT_OTHER", part_of="contains", since=8),
        Keyword("dependentRequired", "object", since=8, rejects=_unless({}), breaks="dependency",
                code="MISSING_REQUIRED", late="lacks a member that another one demands",
                unenforced=_MEMBERS_THERE),
        Keyword("dependentSchemas", "object", "named", in_place=True, since=8,
                late="does not fit what one of its members demands", unenforced=_MEMBERS_THERE),
        Keyword("unevaluatedProperties", "object", "one", beyond=_NAMED_MEMBERS, since=8, rejects=_if_false,
                code="UNKNOWN_ARGUMENT", late="has a member that no part of the schema allows"),
        Keyword("unevaluatedItems", "array", "one", beyond=_NAMED_ITEMS, since=8, rejects=_if_false,
                code="CONSTRAINT_ITEMS",
                late="has an item that no part of the schema allows",
                unenforced="which items `contains` and `if` evaluate is not decided by a grammar"),
        Keyword("$dynamicRef", "any", since=8, late="does not fit a dynamic reference", relaxable=False),
        Keyword("$recursiveRef", since=8, relaxable=False),
        Keyword("$ref", "any", said=True),
        Keyword("if", "any", "one", in_place=True, since=7, unenforced="it depends on the value as a whole"),
        Keyword("then", inside="one", in_place=True, part_of="if", since=7),
        Keyword("else", inside="one", in_place=True, part_of="if", since=7),
        Keyword("properties", "object", "named", both=_both_properties, relaxable=False),
        Keyword("patternProperties", "object", "named", relaxable=False),
        Keyword("prefixItems", "array", "many", since=8, relaxable=False),
        # of older drafts; `normalise` converts them
        Keyword("additionalItems", inside="one", relaxable=False),
        Keyword("dependencies", inside="named", in_place=True, relaxable=False),
        Keyword("contentSchema", inside="one", relaxable=False),
        Keyword(CUSTOM, rejects=_is_grammar, breaks="text", code="CONSTRAINT_PATTERN"),
        # without a type, almost any text is accepted
        Keyword("type", both=_both_types, rejects=_always, code="TYPE_MISMATCH", said=True),
        _definitions("$defs"),
        _definitions("definitions"),
        *(Keyword(name, decides=False, relaxable=False, since=since)
          for name, since in (("$schema", 0), ("$id", 6), ("$anchor", 8), ("$dynamicAnchor", 8), ("$vocabulary", 8))),
        Keyword(RELAXED, decides=False, relaxable=False),
        *(_note(name, str) for name in ("$comment", "contentEncoding", "contentMediaType", "description", "title")),
        *(_note(name, bool) for name in ("deprecated", "readOnly", "writeOnly")),
        _note("default", object),
        _note("examples", list),
    )
}  # fmt: skip


def names_with(has: Callable[[Keyword], Any]) -> frozenset[str]:
    """The keywords that have a property."""
    return frozenset(name for name, keyword in KEYWORDS.items() if has(keyword))


ONE = names_with(lambda keyword: keyword.inside.startswith("one"))
"""Keywords whose value is a schema (`items`: in old drafts also a list of schemas)."""
MANY = names_with(lambda keyword: keyword.inside.endswith("many"))
"""Keywords whose value is a list of schemas."""
NAMED = names_with(lambda keyword: keyword.inside == "named")
"""Keywords whose value is an object with schemas as values (`dependencies`: or lists of names)."""
IN_PLACE = names_with(lambda keyword: keyword.in_place)
"""Keywords whose schemas apply to the same value."""
ANY_TYPE = names_with(lambda keyword: keyword.about == "any")
"""The keywords that constrain values of every type, except `type`."""
ABOUT = {
    kind: names_with(lambda keyword, kind=kind: keyword.about == kind and not keyword.part_of)  # type: ignore[misc]
    for kind in ("object", "array", "string", "number")
}
"""The keywords that constrain values of one type only, and allow every value of another type."""
PATTERNS = {name: keyword.pattern for name, keyword in KEYWORDS.items() if keyword.pattern}
"""The keywords that are patterns of texts."""
CHOICES = tuple(keyword.name for keyword in KEYWORDS.values() if keyword.choice)
"""The keywords of which a value satisfies an alternative."""
COMBINATIONS = tuple(
    name for name, keyword in KEYWORDS.items() if keyword.in_place and keyword.inside == "many"
)
"""The keywords with a list of schemas that apply, or may apply, to the same value."""
OTHERS = {
    kind: tuple(name for name, keyword in KEYWORDS.items() if keyword.beyond and keyword.about == kind)
    for kind in ("object", "array")
}
"""The keywords for the members and items that no other keyword of a schema names; the usual one is the first."""
DEFINITIONS = names_with(lambda keyword: keyword.inside == "named" and not keyword.decides)
SILENT = names_with(lambda keyword: not keyword.decides)
"""Annotations, identifiers and definitions."""
_SAID = names_with(lambda keyword: keyword.said)
_MAX_VALUE = 40
"""Characters of a value in words."""
_NULLABLE = frozenset({"const", "default", "type"})
"""Keywords in which null is a value, or meant as the type null."""


def _limits(bounds: Measure) -> tuple[str, str]:
    least, most = (
        next(
            name for name, keyword in KEYWORDS.items()
            if (keyword.bounds, keyword.side) == (bounds, side) and not (keyword.excluded or keyword.part_of)
        )
        for side in (-1, 1)
    )  # fmt: skip
    return least, most


LIMITS: dict[Measure, tuple[str, str]] = {
    bounds: _limits(bounds) for bounds in ("value", "length", "items", "members")
}
"""The keywords for the least and the most, bounds included."""


@cache
def companions(name: str) -> frozenset[str]:
    """The keyword with those that decide what it means: the one that it is a part of and the parts of that one, and
    those that name the members or items that it is not about.
    """
    whole = KEYWORDS[name].part_of or name
    return names_with(lambda keyword: whole in (keyword.name, keyword.part_of)).union(KEYWORDS[name].beyond)


def keyword_indices(steps: Sequence[str | int]) -> Iterator[int]:
    """The indices of the steps of a path in a schema that are keywords; the others are names and places in lists."""
    index = 0
    while index < len(steps):
        yield index
        keyword = KEYWORDS.get(str(steps[index]))
        inside = keyword.inside if keyword is not None else ""
        in_list = inside.endswith("many") and str(next(iter(steps[index + 1 :]), "")).isdigit()
        index += 2 if in_list or inside == "named" else 1


def said(schema: Any) -> dict[str, str]:
    """The constraints of a schema, but not of those inside it, in words by keyword: `minimum 1`, `type string`."""
    keywords = schema.items() if isinstance(schema, dict) else ()
    return {name: f"{name} {_worded(name, value)}" for name, value in keywords if name in _SAID}


def _worded(name: str, value: Any) -> str:
    if name != "type":
        return json_excerpt(value, _MAX_VALUE)
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def is_unset(name: str, value: Any) -> bool:
    """Whether a keyword of a schema is as good as absent, as programs in Go, PHP and Python write it: null, an empty
    list in place of an object, an annotation of a wrong type.
    """
    if value is None:
        return name not in _NULLABLE
    keyword = KEYWORDS.get(name)
    if keyword is None:
        return False
    if keyword.inside == "named" or name == "dependentRequired":
        return isinstance(value, list) and not value
    return keyword.annotation is not None and not isinstance(value, keyword.annotation)


def children(schema: Any) -> Iterator[tuple[Path, Any]]:
    """The schemas directly inside a schema: (relative path, subschema). Values that are not schemas are omitted."""
    if not isinstance(schema, dict):
        return
    for name, value in schema.items():
        if name in NAMED:
            if isinstance(value, dict):
                for key, item in value.items():
                    if isinstance(item, dict | bool):
                        yield (name, key), item
        elif isinstance(value, list):
            if name in MANY:
                for index, item in enumerate(value):
                    if isinstance(item, dict | bool):
                        yield (name, index), item
        elif name in ONE and isinstance(value, dict | bool):
            yield (name,), value


def draft_of(schema: Any) -> int | None:
    """The old draft (3, 4, 6 or 7) that a schema declares with `$schema`; None for 2019-09, later or undeclared."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(declared, str):
        for draft in (3, 4, 6, 7):
            if f"draft-0{draft}/" in declared:
                return draft
    return None


def type_names(value: Any) -> frozenset[str]:
    """The types that the value of `type` names, with `integer` for `number`; all of them for None."""
    names = {value} if isinstance(value, str) else set(TYPES if value is None else value)
    return frozenset(names | {"integer"} if "number" in names else names)
