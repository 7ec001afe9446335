"""Turn a JSON Schema into Specs on demand: follow references, expand alternatives, merge conjunctions.

`SchemaSet.specs` has two steps. A place becomes branches, its disjunctive normal form: conjunctions of places, one for
each combination of alternatives (`_branches`). Each branch is merged into one Spec, keyword by keyword (`_merge` and
the `_add_…` functions; a new keyword that is judged while the value streams in belongs there).

Keywords that a Spec cannot decide while a value streams in (`not`, the "exactly one" of `oneOf`, `contains`,
`unevaluated…`, dependencies) are attached to it as Deferred: jsonschema judges them when the value is complete, which
is late but never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from operator import gt, lt, or_
from typing import Any, NamedTuple

from glyphscope.events import Code
from glyphscope.grammar.checking import DeepStack, listed_by_all
from glyphscope.grammar.regular import pattern
from glyphscope.grammar.regular.formats import FORMATS
from glyphscope.grammar.regular.numbers import common_step, exact
from glyphscope.grammar.regular.regex import unreadable
from glyphscope.notation.scalars import (
    ANY_KIND,
    ARRAY,
    BOOLEAN,
    DECIMAL,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
)
from glyphscope.registry.keywords import accepted, forbidden_key
from glyphscope.registry.pointer import follow_reference, step_of, to_pointer
from glyphscope.validation.checker import Checker
from glyphscope.validation.numbers import EVERY_NUMBER, Range
from glyphscope.validation.spec import ANYTHING, ArrayPart, Deferred, ObjectPart, Place, Spec, StringPattern

_MAX_ALTERNATIVES = 128
"""If a place has more alternatives, they are not expanded; their keyword is judged at the value's end."""

_MAX_JUDGED = 200_000
"""Listed values times the schemas by which they are judged before the value begins: some seconds."""

_KINDS = {
    "null": NULL, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER, "string": STRING, "array": ARRAY,
    "object": OBJECT,
}  # fmt: skip

_SIZES: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "minLength": ("min_length", gt), "maxLength": ("max_length", lt), "minItems": ("min_items", gt),
    "maxItems": ("max_items", lt), "minProperties": ("min_members", gt), "maxProperties": ("max_members", lt),
}  # fmt: skip
"""The field of a Spec that a keyword bounds, and the test whether one bound is tighter than another."""

_AT_THE_END: dict[str, tuple[Code, str]] = {
    "not": ("CONSTRAINT_OTHER", "is what `not` forbids"),
    "contains": ("CONSTRAINT_ITEMS", "does not contain the items that `contains` asks for"),
    "dependentRequired": ("MISSING_REQUIRED", "lacks a member that another one demands"),
    "dependentSchemas": ("CONSTRAINT_OTHER", "does not fit what one of its members demands"),
    "unevaluatedProperties": ("UNKNOWN_ARGUMENT", "has a member that no part of the schema allows"),
    "unevaluatedItems": ("CONSTRAINT_ITEMS", "has an item that no part of the schema allows"),
    "$dynamicRef": ("CONSTRAINT_OTHER", "does not fit a dynamic reference"),
}
"""Keywords that are judged when the value is complete, with the code and the message of a violation."""


class _Branch(NamedTuple):
    """A conjunction: the schemas that apply together, and their keywords that are judged at the value's end."""

    places: tuple[Place, ...] = ()
    deferred: tuple[Deferred, ...] = ()

    def joined(self, other: _Branch) -> _Branch:
        """Both, with what they have in common once: references may lead to one place in many ways."""
        places = dict.fromkeys((*self.places, *other.places))
        deferred = {(id(one.fragment), one.rule): one for one in (*self.deferred, *other.deferred)}
        return _Branch(tuple(places), tuple(deferred.values()))


class Names(NamedTuple):
    """The names that an alternative lists for members, and whether members may have others."""

    listed: tuple[str, ...]
    others: bool


class SchemaSet:
    """The Specs of one root schema (draft 2020-12). `closed`: a top-level member that no keyword names is rejected."""

    def __init__(self, root: Any, *, closed: bool = False) -> None:
        self.root = root
        self.checker = Checker(root)
        self._closed = closed
        self._places: dict[tuple[int, str], Place] = {}
        self._specs: dict[tuple[Place, ...], tuple[Spec, ...]] = {}
        self._names: dict[Spec, Names] = {}
        self._known: dict[Place, list[_Branch]] = {}  # the alternatives of places
        self._listings: set[Place] = set()  # the lists of values made of choices
        self._cuts = 0  # of references to themselves; alternatives with one depend on the way to them
        self.top = self.place(root, "")

    def place(self, schema: Any, pointer: str) -> Place:
        """The Place of a schema at a pointer, the same object each time."""
        key = (id(schema), pointer)
        if key not in self._places:
            self._places[key] = Place(schema, pointer)
        return self._places[key]

    def specs(self, places: tuple[Place, ...]) -> tuple[Spec, ...]:
        """The alternatives for a value that must satisfy all `places`; none if no value can."""
        if not places:
            return (ANYTHING,)
        specs = self._specs.get(places)
        if specs is None:
            branches = [_Branch()]
            with DeepStack():  # a chain of references is as deep as it is long
                for place in places:
                    branches = self._product(
                        branches, self._branches(place, frozenset()), place.schema, place
                    )
            merged = (self._merge(branch, top=places == (self.top,)) for branch in branches)
            specs = self._specs[places] = tuple(
                part for spec in merged if spec is not None for part in self._by_listed_value(spec)
            )
        return specs

    def names(self, spec: Spec) -> Names:
        """The names of members under `propertyNames`; a schema of names that enumerates them leaves no others."""
        found = self._names.get(spec)
        if found is None:
            known, others = spec.names, spec.open_names or bool(spec.name_patterns)
            for place in spec.member_names:
                strings = [part.strings for part in self.specs((place,)) if part.kinds & STRING]
                if None not in strings:
                    known = tuple(dict.fromkeys(name for some in strings for name in some or ()))
                    others = False
            allowed = (name for name in known if self.name_allowed(spec, name))
            found = self._names[spec] = Names(
                tuple(name for name in allowed if spec.member(name) is not None), others
            )
        return found

    def name_allowed(self, spec: Spec, name: str) -> bool:
        """Whether `propertyNames` allows the name."""
        return all(self.checker.valid(name, place.schema) for place in spec.member_names)

    def _by_listed_value(self, spec: Spec) -> Iterable[Spec]:
        """Make arrays and objects of an enumeration separate alternatives, so that they are judged item by item."""
        listed = [value for value in spec.enum or () if isinstance(value, list | dict)]
        if not listed or len(listed) > _MAX_ALTERNATIVES:
            yield spec
            return
        scalars = tuple(value for value in spec.enum or () if not isinstance(value, list | dict))
        if scalars:
            yield replace(spec, enum=scalars, kinds=spec.kinds & ~(ARRAY | OBJECT), _members={})
        nothing = self.place(False, spec.enum_rule)
        for value in listed:
            if isinstance(value, list):
                prefix = tuple(self.place({"const": item}, spec.enum_rule) for item in value)
                yield Spec(
                    kinds=ARRAY, kinds_rule=spec.enum_rule, enum=(value,), enum_rule=spec.enum_rule,
                    arrays=(ArrayPart(prefix, nothing, spec.enum_rule),), deferred=spec.deferred,
                    min_items=len(value), min_items_rule=spec.enum_rule,
                    max_items=len(value), max_items_rule=spec.enum_rule,
                )  # fmt: skip
            else:
                members = {name: self.place({"const": item}, spec.enum_rule) for name, item in value.items()}
                yield Spec(
                    kinds=OBJECT, kinds_rule=spec.enum_rule, enum=(value,), enum_rule=spec.enum_rule,
                    objects=(ObjectPart(members, (), nothing, False, spec.enum_rule),),
                    required=dict.fromkeys(members, spec.enum_rule), deferred=spec.deferred,
                )  # fmt: skip

    # alternatives

    def _branches(self, place: Place, above: frozenset[Place]) -> list[_Branch]:
        """The alternatives of a place; `above` are the places that lead to it and apply to the same value."""
        schema, pointer = place.schema, place.pointer
        if schema is True:
            return [_Branch()]
        if schema is False:
            return []
        if place in above:  # a reference to itself that consumes nothing: only jsonschema can decide it
            self._cuts += 1
            return [_Branch((), (Deferred(schema, pointer, "CONSTRAINT_OTHER", "does not fit its schema"),))]
        if place in self._known:
            return self._known[place]
        cuts = self._cuts
        branches = self._expanded(place, above | {place})
        if self._cuts == cuts:
            self._known[place] = branches
        return branches

    def _expanded(self, place: Place, above: frozenset[Place]) -> list[_Branch]:
        schema, pointer = place.schema, place.pointer
        branches = [_Branch((place,), tuple(self._deferred(schema, pointer)))]
        if "$ref" in schema:
            target = self._resolve(schema["$ref"])
            branches = self._product(branches, self._branches(target, above), {"$ref": schema["$ref"]}, place)
        for index, part in enumerate(schema.get("allOf", ())):
            inner = self.place(part, f"{pointer}/allOf/{index}")
            branches = self._product(branches, self._branches(inner, above), part, inner)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                branches = self._spread(branches, keyword, place, above)
        if "if" in schema and ("then" in schema or "else" in schema):
            branches = self._product(branches, self._conditional(place, above), schema, place)
        return branches

    def _spread(
        self, branches: list[_Branch], keyword: str, place: Place, above: frozenset[Place]
    ) -> list[_Branch]:
        """The branches with each alternative of `anyOf` or `oneOf`."""
        options = place.schema[keyword]
        rule = f"{place.pointer}/{keyword}"
        if len(options) > _MAX_ALTERNATIVES and (listed := listed_by_all(options, keyword)) is not None:
            return [self._with_listed(branch, place, keyword, listed) for branch in branches]
        union: list[_Branch] = []
        for index, option in enumerate(options):
            union += self._branches(self.place(option, f"{rule}/{index}"), above)
            if len(union) > _MAX_ALTERNATIVES:
                break  # they are not expanded
        if keyword == "oneOf" and len(options) > 1:
            exactly_one = Deferred(
                {keyword: options}, rule, "CONSTRAINT_OTHER", "fits more than one branch of `oneOf`"
            )
            union = [branch._replace(deferred=(*branch.deferred, exactly_one)) for branch in union]
        return self._product(branches, union, {keyword: options}, place)

    def _with_listed(self, branch: _Branch, place: Place, keyword: str, listed: list[Any]) -> _Branch:
        """The branch with a list of values for a choice of its place that only lists them."""
        rest = {key: value for key, value in place.schema.items() if key != keyword}
        without = Place(rest, place.pointer)
        places = tuple(without if p.pointer == place.pointer else p for p in branch.places)
        values = Place({"enum": listed}, f"{place.pointer}/{keyword}")
        self._listings.add(values)
        return branch._replace(places=(*places, values))

    def _conditional(self, place: Place, above: frozenset[Place]) -> list[_Branch]:
        """`if` and `then`, or `else` without `if`; the latter is judged at the value's end."""
        schema, pointer = place.schema, place.pointer
        condition = self.place(schema["if"], f"{pointer}/if")
        then = self.place(schema.get("then", True), f"{pointer}/then")
        alternative = self.place(schema.get("else", True), f"{pointer}/else")
        unless = Deferred(
            {"not": schema["if"]}, f"{pointer}/if", "CONSTRAINT_OTHER", "fits `if` but not `then`"
        )
        yes = self._product(self._branches(condition, above), self._branches(then, above), schema, place)
        no = [b._replace(deferred=(*b.deferred, unless)) for b in self._branches(alternative, above)]
        return yes + no

    def _product(
        self, left: list[_Branch], right: list[_Branch], fragment: Any, place: Place
    ) -> list[_Branch]:
        """Each of `left` with each of `right`; if too many, `left` with `fragment`, the source of `right`, deferred."""
        if len(left) * len(right) <= _MAX_ALTERNATIVES:
            return [a.joined(b) for a in left for b in right]
        late = Deferred(fragment, place.pointer, "CONSTRAINT_OTHER", "fits none of its alternatives")
        return [branch._replace(deferred=(*branch.deferred, late)) for branch in left]

    def _deferred(self, schema: dict[str, Any], pointer: str) -> Iterable[Deferred]:
        """The keywords of a schema that are judged at the value's end."""
        for keyword, (code, message) in _AT_THE_END.items():
            if keyword in schema:
                fragment = {keyword: schema[keyword]}
                if keyword == "contains":
                    fragment |= {k: schema[k] for k in ("minContains", "maxContains") if k in schema}
                elif keyword.startswith("unevaluated"):
                    fragment = schema
                yield Deferred(fragment, f"{pointer}/{keyword}", code, message)

    def _resolve(self, reference: str) -> Place:
        """The place of a local reference; the registry rejects every other kind when it is loaded."""
        target = follow_reference(self.root, reference)
        assert target is not None, "the registry was checked"
        return self.place(target[1], to_pointer(target[0]))

    # conjunctions

    def _merge(self, branch: _Branch, *, top: bool) -> Spec | None:
        """One Spec for all places of the branch; None if kinds and bounds show that no value can satisfy them."""
        draft: dict[str, Any] = {"deferred": branch.deferred, "closed": top and self._closed, "required": {}}
        for place in branch.places:
            _add_kinds(draft, place)
            _add_numbers(draft, place)
            _add_sizes(draft, place)
            _add_strings(draft, place)
            self._add_objects(draft, place)
            self._add_arrays(draft, place)
        kinds = draft.get("kinds", ANY_KIND)
        enums = [(p, k) for p in branch.places for k in ("enum", "const") if k in p.schema]
        if enums:
            place, keyword = enums[0]
            values = place.schema["enum"] if keyword == "enum" else [place.schema["const"]]
            values = [v for v in values if _kinds_of_value(v) & kinds]
            if len(values) * _weight(branch) <= _MAX_JUDGED:  # otherwise the final verdict excludes them
                values = [v for v in values if self._fits(v, branch)]
            rule = place.pointer if place in self._listings else f"{place.pointer}/{keyword}"
            draft |= {"enum": tuple(values), "enum_rule": rule}
            draft.setdefault("kinds_rule", draft["enum_rule"])
            kinds &= reduce(or_, map(_kinds_of_value, values), 0)
        if kinds & NUMBER and draft.get("span", EVERY_NUMBER).empty(kinds & NUMBER):
            kinds &= ~NUMBER
        if draft.get("max_length") is not None and draft["max_length"] < draft.get("min_length", 0):
            kinds &= ~STRING
        if not kinds:
            return None
        draft["kinds"] = kinds
        return Spec(**draft)

    def _fits(self, value: Any, branch: _Branch) -> bool:
        return all(self.checker.valid(value, place.schema) for place in branch.places) and all(
            self.checker.valid(value, deferred.fragment) for deferred in branch.deferred
        )

    def _add_objects(self, draft: dict[str, Any], place: Place) -> None:
        schema, pointer = place.schema, place.pointer
        properties = {
            name: self.place(sub, f"{pointer}/properties/{step_of(name)}")
            for name, sub in schema.get("properties", {}).items()
        }
        patterns = tuple(
            (expression, self.place(sub, f"{pointer}/patternProperties/{step_of(expression)}"))
            for expression, sub in schema.get("patternProperties", {}).items()
        )
        additional = None
        if "additionalProperties" in schema:
            additional = self.place(schema["additionalProperties"], f"{pointer}/additionalProperties")
        unevaluated = schema.get("unevaluatedProperties", False) is not False
        if properties or patterns or additional is not None or unevaluated:
            part = ObjectPart(properties, patterns, additional, unevaluated, pointer)
            draft["objects"] = (*draft.get("objects", ()), part)
        if (forbidden := forbidden_key(schema.get("not"))) is not None:
            nothing = {forbidden: self.place(False, f"{pointer}/not")}
            draft["objects"] = (*draft.get("objects", ()), ObjectPart(nothing, (), None, False, pointer))
        for name in schema.get("required", ()):
            draft["required"].setdefault(name, f"{pointer}/required")
        if "propertyNames" in schema:
            names = self.place(schema["propertyNames"], f"{pointer}/propertyNames")
            draft["member_names"] = (*draft.get("member_names", ()), names)

    def _add_arrays(self, draft: dict[str, Any], place: Place) -> None:
        schema, pointer = place.schema, place.pointer
        prefix = tuple(
            self.place(sub, f"{pointer}/prefixItems/{index}")
            for index, sub in enumerate(schema.get("prefixItems", ()))
        )
        items = self.place(schema["items"], f"{pointer}/items") if "items" in schema else None
        if prefix or items is not None:
            draft["arrays"] = (*draft.get("arrays", ()), ArrayPart(prefix, items, pointer))
        if schema.get("uniqueItems"):
            draft["unique_rule"] = f"{pointer}/uniqueItems"


def _weight(branch: _Branch) -> int:
    """About the number of schemas by which each listed value is judged."""
    schemas = [*(place.schema for place in branch.places), *(one.fragment for one in branch.deferred)]
    kinds = ("anyOf", "oneOf", "allOf")
    choices = [
        schema[key] for schema in schemas if isinstance(schema, dict) for key in kinds if key in schema
    ]
    return len(schemas) + sum(map(len, choices))


def _add_kinds(draft: dict[str, Any], place: Place) -> None:
    """`type`, and the types that `not` rejects."""
    schema = place.schema
    if "type" in schema:
        _narrow_kinds(draft, _kinds_of_types(schema["type"]), f"{place.pointer}/type")
    if rejected := accepted(schema.get("not", False)).whole:
        _narrow_kinds(draft, ANY_KIND & ~_kinds_of_types(rejected), f"{place.pointer}/not")


def _narrow_kinds(draft: dict[str, Any], kinds: int, rule: str) -> None:
    draft["kinds"] = draft.get("kinds", ANY_KIND) & kinds
    draft.setdefault("kinds_rule", rule)


def _kinds_of_types(types: str | Iterable[str]) -> int:
    return reduce(or_, (_KINDS[name] for name in ([types] if isinstance(types, str) else types)), 0)


def _kinds_of_value(value: Any) -> int:
    """The kinds of literal that can express `value`: a whole number is an integer or a decimal literal."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int | float):
        return NUMBER if value == int(value) else DECIMAL
    if isinstance(value, str):
        return STRING
    return ARRAY if isinstance(value, list) else OBJECT


def _add_numbers(draft: dict[str, Any], place: Place) -> None:
    schema, pointer = place.schema, place.pointer
    span: Range = draft.get("span", EVERY_NUMBER)
    for keyword, bound, is_open in (
        ("minimum", "low", False),
        ("exclusiveMinimum", "low", True),
        ("maximum", "high", False),
        ("exclusiveMaximum", "high", True),
    ):
        if keyword in schema:
            value = exact(schema[keyword])
            narrower = span.above(value, is_open) if bound == "low" else span.below(value, is_open)
            if narrower is not span:
                span = narrower
                draft[f"{bound}_rule"] = f"{pointer}/{keyword}"
    if "multipleOf" in schema:
        span = replace(span, step=common_step(span.step, exact(schema["multipleOf"])))
        draft["step_rule"] = f"{pointer}/multipleOf"
    draft["span"] = span


def _add_sizes(draft: dict[str, Any], place: Place) -> None:
    """Add the tightest bounds of lengths and counts."""
    for keyword, (name, tighter) in _SIZES.items():
        if keyword in place.schema:
            size, present = int(place.schema[keyword]), draft.get(name)
            if present is None or tighter(size, present):
                draft |= {name: size, f"{name}_rule": f"{place.pointer}/{keyword}"}


def _add_strings(draft: dict[str, Any], place: Place) -> None:
    schema, pointer = place.schema, place.pointer
    patterns = draft.get("patterns", ())
    if "pattern" in schema and not unreadable(schema["pattern"]):
        source = schema["pattern"]
        patterns += (StringPattern(source, f"{pointer}/pattern", "", pattern.linear(source)),)
    if schema.get("format") in FORMATS:
        source = FORMATS[schema["format"]]
        patterns += (StringPattern(source, f"{pointer}/format", schema["format"], True),)
    draft["patterns"] = patterns
