"""Turn a JSON Schema into Specs on demand: follow references, expand alternatives, merge conjunctions.

`SchemaSet.specs` has two steps. A place becomes branches, its disjunctive normal form: conjunctions of places, one for
each combination of alternatives (`_branches`). Each branch is merged into one Spec (`_merge`), from the facts of its
places (`registry.facts`).

Keywords that a Spec cannot decide while a value streams in (those with a message in `Keyword.late`, and the "exactly
one" of `oneOf`) are attached to it as Deferred: jsonschema judges them when the value is complete, which is late but
never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from glyphscope.base.pointer import step_of
from glyphscope.grammar.checking import DeepStack, listed_by_all
from glyphscope.grammar.regular import pattern
from glyphscope.grammar.regular.formats import FORMATS
from glyphscope.grammar.regular.regex import unreadable
from glyphscope.grammar.text_grammar import UnreadableGrammar, text_grammar
from glyphscope.notation.scalars import ARRAY, BOOLEAN, DECIMAL, INTEGER, NULL, NUMBER, OBJECT, STRING
from glyphscope.registry.facts import (
    Count,
    applied,
    count_of,
    forbidden_key,
    listed,
    of_member,
    patterns_of,
    range_of,
    types_of,
)
from glyphscope.registry.keywords import CHOICES, COMBINATIONS, CUSTOM, KEYWORDS, companions
from glyphscope.validation.checker import Checker
from glyphscope.validation.numbers import is_empty
from glyphscope.validation.spec import (
    ANYTHING,
    ArrayPart,
    Deferred,
    ObjectPart,
    Spec,
    SpecPlace,
    StringPattern,
    StringTexts,
)

_MAX_ALTERNATIVES = 128
"""If a place has more alternatives, they are not expanded; their keyword is judged at the value's end."""

_MAX_JUDGED = 200_000
"""Listed values times the schemas by which they are judged before the value begins: some seconds."""

_KINDS = {
    "null": NULL, "boolean": BOOLEAN, "integer": INTEGER, "number": DECIMAL, "string": STRING, "array": ARRAY,
    "object": OBJECT,
}  # fmt: skip
_LATE = tuple(keyword for keyword in KEYWORDS.values() if keyword.late)


class _Branch(NamedTuple):
    """A conjunction: the schemas that apply together, and their keywords that are judged at the value's end."""

    places: tuple[SpecPlace, ...] = ()
    deferred: tuple[Deferred, ...] = ()

    def joined(self, other: _Branch) -> _Branch:
        """Both, with what they have in common once: references may lead to one place in many ways."""
        places = dict.fromkeys((*self.places, *other.places))
        deferred = {(id(one.fragment), one.rule): one for one in (*self.deferred, *other.deferred)}
        return _Branch(tuple(places), tuple(deferred.values()))


class MemberNames(NamedTuple):
    """The names that an alternative lists for members, and whether members may have others."""

    listed: tuple[str, ...]
    others: bool


class SchemaSet:
    """The Specs of one root schema (draft 2020-12). `closed`: a top-level member that no keyword names is rejected."""

    def __init__(self, root: Any, *, closed: bool = False) -> None:
        self.root = root
        self.checker = Checker(root)
        self._closed = closed
        self._places: dict[tuple[int, str], SpecPlace] = {}
        self._specs: dict[tuple[SpecPlace, ...], tuple[Spec, ...]] = {}
        self._names: dict[Spec, MemberNames] = {}
        self._known: dict[SpecPlace, list[_Branch]] = {}  # the alternatives of places
        self._deferred: dict[SpecPlace, tuple[Deferred, ...]] = {}
        self._listings: set[SpecPlace] = set()  # whose pointers are those of the lists of values themselves
        self._cuts = 0  # of references to themselves; alternatives with one depend on the way to them
        self.top = self.place(root, "")

    def place(self, schema: Any, pointer: str) -> SpecPlace:
        """The SpecPlace of a schema at a pointer, the same object each time."""
        key = (id(schema), pointer)
        if key not in self._places:
            self._places[key] = SpecPlace(schema, pointer)
        return self._places[key]

    def specs(self, places: tuple[SpecPlace, ...]) -> tuple[Spec, ...]:
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

    def names(self, spec: Spec) -> MemberNames:
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
            found = self._names[spec] = MemberNames(
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
                prefix = tuple(self._listed(item, spec.enum_rule) for item in value)
                yield Spec(
                    kinds=ARRAY, kinds_rule=spec.enum_rule, enum=(value,), enum_rule=spec.enum_rule,
                    arrays=(ArrayPart(prefix, nothing, spec.enum_rule),), deferred=spec.deferred,
                    items=Count(len(value), len(value), spec.enum_rule, spec.enum_rule),
                )  # fmt: skip
            else:
                members = {name: self._listed(item, spec.enum_rule) for name, item in value.items()}
                yield Spec(
                    kinds=OBJECT, kinds_rule=spec.enum_rule, enum=(value,), enum_rule=spec.enum_rule,
                    objects=(ObjectPart(members, (), nothing, False, spec.enum_rule),),
                    required=dict.fromkeys(members, spec.enum_rule), deferred=spec.deferred,
                )  # fmt: skip

    def _listed(self, value: Any, rule: str) -> SpecPlace:
        """The place of a value inside of one that the keyword at `rule` lists."""
        place = self.place({"const": value}, rule)
        self._listings.add(place)
        return place

    # alternatives

    def _branches(self, place: SpecPlace, above: frozenset[SpecPlace]) -> list[_Branch]:
        """The alternatives of a place; `above` are the places that lead to it and apply to the same value."""
        schema, pointer = place.schema, place.pointer
        if place in above:  # a reference to itself that consumes nothing: only jsonschema can decide it
            self._cuts += 1
            return [_Branch((), (Deferred(schema, pointer, "CONSTRAINT_OTHER", "does not fit its schema"),))]
        if place in self._known:
            return self._known[place]
        cuts = self._cuts
        branches = self._expanded(place, above)
        if self._cuts == cuts:
            self._known[place] = branches
        return branches

    def _expanded(self, place: SpecPlace, above: frozenset[SpecPlace]) -> list[_Branch]:
        together = applied(self.root, place)
        places = tuple(self.place(at.schema, at.pointer) for at in together if at.schema is not True)
        if any(part.schema is False for part in places):
            return []
        above |= {place}
        branches = [_Branch(places, tuple(late for part in places for late in self._late(part)))]
        for part in places[1:] + places[:1]:
            for keyword in CHOICES:
                if keyword in part.schema:
                    branches = self._spread(branches, keyword, part, above)
            if "if" in part.schema and ("then" in part.schema or "else" in part.schema):
                branches = self._product(branches, self._conditional(part, above), part.schema, part)
        return branches

    def _spread(
        self, branches: list[_Branch], keyword: str, place: SpecPlace, above: frozenset[SpecPlace]
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
        if KEYWORDS[keyword].choice == "one" and len(options) > 1:
            exactly_one = Deferred(
                {keyword: options}, rule, "CONSTRAINT_OTHER", "fits more than one branch of `oneOf`"
            )
            union = [branch._replace(deferred=(*branch.deferred, exactly_one)) for branch in union]
        return self._product(branches, union, {keyword: options}, place)

    def _with_listed(self, branch: _Branch, place: SpecPlace, keyword: str, listed: list[Any]) -> _Branch:
        """The branch with a list of values for a choice of its place that only lists them."""
        rest = {key: value for key, value in place.schema.items() if key != keyword}
        without = SpecPlace(rest, place.pointer)
        places = tuple(without if p.pointer == place.pointer else p for p in branch.places)
        values = SpecPlace({"enum": listed}, f"{place.pointer}/{keyword}")
        self._listings.add(values)
        return branch._replace(places=(*places, values))

    def _conditional(self, place: SpecPlace, above: frozenset[SpecPlace]) -> list[_Branch]:
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
        self, left: list[_Branch], right: list[_Branch], fragment: Any, place: SpecPlace
    ) -> list[_Branch]:
        """Each of `left` with each of `right`; if too many, `left` with `fragment`, the source of `right`, deferred."""
        if len(left) * len(right) <= _MAX_ALTERNATIVES:
            return [a.joined(b) for a in left for b in right]
        late = Deferred(fragment, place.pointer, "CONSTRAINT_OTHER", "fits none of its alternatives")
        return [branch._replace(deferred=(*branch.deferred, late)) for branch in left]

    def _late(self, place: SpecPlace) -> tuple[Deferred, ...]:
        """The keywords of a place that are judged at the value's end, the same objects each time."""
        if place not in self._deferred:
            self._deferred[place] = tuple(_deferred(place))
        return self._deferred[place]

    # conjunctions

    def _merge(self, branch: _Branch, *, top: bool) -> Spec | None:
        """One Spec for all places of the branch; None if kinds and bounds show that no value can satisfy them."""
        places = branch.places
        types = types_of(places)
        kinds, kinds_rule = reduce(or_, (_KINDS[name] for name in types.names), 0), types.rule
        enum, enum_rule = None, ""
        lists = ((place, found) for place in places if (found := listed(place.schema)) is not None)
        place, found = next(lists, (None, None))
        if place is not None and found is not None:
            values = [value for value in found.values if _kinds_of_value(value) & kinds]
            if len(values) * _weight(branch) <= _MAX_JUDGED:  # otherwise the final verdict excludes them
                values = [value for value in values if self._fits(value, branch)]
            enum = tuple(values)
            enum_rule = place.pointer if place in self._listings else f"{place.pointer}/{found.keyword}"
            left = kinds & reduce(or_, map(_kinds_of_value, values), 0)
            kinds, kinds_rule = left, kinds_rule if kinds_rule and left == kinds else enum_rule
        span, length = range_of(places), count_of(places, "length")
        if is_empty(span, kinds & NUMBER):
            kinds &= ~NUMBER
        if length.most is not None and length.most < length.least:
            kinds &= ~STRING
        if not kinds:
            return None
        required: dict[str, str] = {}
        for place in places:
            for name in place.schema.get("required", ()):
                required.setdefault(name, f"{place.pointer}/required")
        return Spec(
            kinds=kinds, kinds_rule=kinds_rule, enum=enum, enum_rule=enum_rule, span=span, length=length,
            patterns=tuple(part for place in places for part in _patterns(place)),
            texts=tuple(part for place in places for part in _texts(place)),
            objects=tuple(part for place in places for part in self._objects(place)), required=required,
            members=count_of(places, "members"), member_names=tuple(self._inner(places, "propertyNames")),
            closed=top and self._closed, arrays=tuple(part for place in places for part in self._arrays(place)),
            items=count_of(places, "items"),
            unique_rule=next((f"{p.pointer}/uniqueItems" for p in places if p.schema.get("uniqueItems")), ""),
            deferred=branch.deferred,
        )  # fmt: skip

    def _fits(self, value: Any, branch: _Branch) -> bool:
        return all(self.checker.valid(value, place.schema) for place in branch.places) and all(
            self.checker.valid(value, deferred.fragment) for deferred in branch.deferred
        )

    def _inner(self, places: Iterable[SpecPlace], keyword: str) -> Iterable[SpecPlace]:
        """The schemas that the keyword has in these places."""
        for place in places:
            if keyword in place.schema:
                yield self.place(place.schema[keyword], f"{place.pointer}/{keyword}")

    def _objects(self, place: SpecPlace) -> Iterable[ObjectPart]:
        schema, pointer = place.schema, place.pointer
        named = {
            keyword: {
                name: self.place(inner, f"{pointer}/{keyword}/{step_of(name)}")
                for name, inner in schema.get(keyword, {}).items()
            }
            for keyword in ("properties", "patternProperties")
        }
        additional = next((self.place(*other) for other in of_member(place)), None)
        unevaluated = schema.get("unevaluatedProperties", False) is not False
        if any(named.values()) or additional is not None or unevaluated:
            patterns = tuple(named["patternProperties"].items())
            yield ObjectPart(named["properties"], patterns, additional, unevaluated, pointer)
        if (forbidden := forbidden_key(schema.get("not"))) is not None:
            yield ObjectPart({forbidden: self.place(False, f"{pointer}/not")}, (), None, False, pointer)

    def _arrays(self, place: SpecPlace) -> Iterable[ArrayPart]:
        schema, pointer = place.schema, place.pointer
        prefix = tuple(
            self.place(inner, f"{pointer}/prefixItems/{index}")
            for index, inner in enumerate(schema.get("prefixItems", ()))
        )
        items = next(iter(self._inner((place,), "items")), None)
        if prefix or items is not None:
            yield ArrayPart(prefix, items, pointer)


def _deferred(place: SpecPlace) -> Iterable[Deferred]:
    schema = place.schema
    for keyword in _LATE:
        if keyword.name in schema:
            if keyword.name.startswith("unevaluated"):
                fragment = schema
            else:
                fragment = {name: schema[name] for name in companions(keyword.name) & schema.keys()}
            yield Deferred(fragment, f"{place.pointer}/{keyword.name}", keyword.code, keyword.late)


def _weight(branch: _Branch) -> int:
    """About the number of schemas by which each listed value is judged."""
    schemas = [*(place.schema for place in branch.places), *(one.fragment for one in branch.deferred)]
    return len(schemas) + sum(
        len(schema[keyword])
        for schema in schemas
        for keyword in COMBINATIONS
        if isinstance(schema, dict) and keyword in schema
    )


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


def _patterns(place: SpecPlace) -> Iterable[StringPattern]:
    schema, pointer = place.schema, place.pointer
    for keyword, source in patterns_of(schema):
        if not unreadable(source):
            yield StringPattern(source, f"{pointer}/{keyword}", "", pattern.linear(source))
    if (name := schema.get("format")) in FORMATS:
        yield StringPattern(FORMATS[name], f"{pointer}/format", name, True)


def _texts(place: SpecPlace) -> Iterable[StringTexts]:
    with suppress(UnreadableGrammar):  # of such a tool no call is written, and its calls are not judged by it
        if (grammar := text_grammar(place.schema)) is not None:
            yield StringTexts(grammar, f"{place.pointer}/{CUSTOM}")
