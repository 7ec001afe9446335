"""From a conjunction of schemas to the node of its value."""

from __future__ import annotations

from collections.abc import Callable
from math import lcm
from typing import Any, Literal, TypeAlias

from glyphscope.errors import GrammarError
from glyphscope.grammar.formats import format_node
from glyphscope.grammar.lexemes import is_possible
from glyphscope.grammar.numbers import Bounds, integer_node, multiples_node, number_node
from glyphscope.grammar.overlap import may_overlap
from glyphscope.grammar.pattern import found
from glyphscope.grammar.regex import PatternNotHeld, pattern_node
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.schema import (
    TYPES,
    Part,
    Parts,
    Place,
    Schema,
    bounds_of,
    join,
    names_of,
    sizes_of,
    types_of,
)
from glyphscope.grammar.strings import string_node
from glyphscope.grammar.surface import Surface
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    Node,
    Origin,
    RuleRef,
    Terminal,
    Unheld,
    alt,
    optional,
    refs,
    repeat,
    seq,
    terminal,
)

Form: TypeAlias = Literal["value", "members"]
"""`members` is an object's inside where an entry already stands before it: each member brings its separator."""

MAX_RULES = 20_000
MAX_LISTED_OBJECT = 4  # properties whose presence minProperties may decide

# Keywords that say nothing about what a grammar could spell, by the type they speak of ("" for any).
_BEYOND = (
    ("array", "uniqueItems", "whether items repeat is not decided by a grammar"),
    ("array", "contains", "which item is the one is not decided by a grammar"),
    ("array", "unevaluatedItems", "it depends on other alternatives"),
    ("object", "propertyNames", "the names of a map's keys are not restricted"),
    ("object", "dependentRequired", "it depends on which properties are there"),
    ("object", "dependentSchemas", "it depends on which properties are there"),
    ("object", "dependencies", "it depends on which properties are there"),
    ("", "if", "it depends on the value as a whole"),
)


class ToolRules:
    """Makes the rules of one tool, one for each place of its schema that a call can reach."""

    def __init__(self, book: RuleBook, surface: Surface, tool: str, parameters: dict[str, Any]) -> None:
        self.book = book
        self.surface = surface
        self.schema = Schema(tool, parameters)
        self.unheld: dict[Unheld, None] = {}
        self.impossible: list[tuple[str, str]] = []  # (pointer, why): where no value can exist
        self._names: dict[tuple[tuple[Place, ...], Form], str] = {}
        self._waiting: list[tuple[str, Parts, Form, Origin]] = []

    def ref(self, places: tuple[Place, ...], form: Form, hint: str) -> Node:
        """The rule of a conjunction; made by `build`, not here, so that no depth of a schema is a depth of calls."""
        parts = self.schema.expand(places)
        if isinstance(parts, str):
            self.impossible.append((parts, "the schema is false"))
            return NEVER
        key = (tuple(part.place for part in parts), form)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self.book.reserve(hint)
            origin = Origin(
                self.schema.tool, (places[-1] if places[-1].taken == frozenset() else places[0]).pointer
            )
            self._waiting.append((name, parts, form, origin))
        return RuleRef(name)

    def build(self) -> None:
        """Makes every rule that was asked for, and those they ask for."""
        while self._waiting:
            name, parts, form, origin = self._waiting.pop()
            self.book.add(name, self._node(name, parts, form), origin)
            if len(self._names) > MAX_RULES:
                raise GrammarError(
                    f"The schema needs more than {MAX_RULES} rules.",
                    where=f"{self.schema.tool}: {origin.pointer}",
                    hint="Its anyOf and oneOf multiply each other: merge or nest them.",
                )

    def _beyond(self, part: Part, keyword: str, why: str) -> None:
        pointer = join(part.place.pointer, keyword) if keyword else part.place.pointer
        self.unheld[Unheld(self.schema.tool, pointer, keyword, why)] = None

    def _node(self, name: str, parts: Parts, form: Form) -> Node:
        for part in parts:
            if "const" in part.schema or "enum" in part.schema:
                if form == "members":
                    self._beyond(
                        part, "const" if "const" in part.schema else "enum", "whole objects are not listed"
                    )
                    continue
                return self._listed(part, parts)
        for part in parts:
            for keyword in ("anyOf", "oneOf"):
                if keyword in part.schema and keyword not in part.place.taken:
                    return self._branches(name, part, keyword, parts, form)
        types = types_of(parts) if form == "value" else types_of(parts) & {"object"}
        node: Node = NEVER
        if form == "members":
            node = self._members(name, parts) if types else NEVER
        elif types == set(TYPES) and not any(part.schema.get("type") for part in parts):
            node = self.any_value(parts[0])
        else:
            node = self._typed(name, types, parts)
        self._note_beyond(types, parts)
        if node == NEVER:
            self.impossible.append((parts[0].place.pointer, "its constraints contradict each other"))
        return node

    def _listed(self, part: Part, parts: Parts) -> Node:
        listed = [part.schema["const"]] if "const" in part.schema else part.schema["enum"]
        places = [p.place for p in parts]
        kept = [_plain(value) for value in listed if self.schema.satisfied(places, value)]
        if not kept:
            self.impossible.append(
                (part.place.pointer, "none of the listed values satisfies the other constraints")
            )
        return terminal(alt(*(self.surface.constant(value) for value in kept)))

    def _branches(self, name: str, part: Part, keyword: str, parts: Parts, form: Form) -> Node:
        branches = part.schema[keyword]
        if keyword == "oneOf" and may_overlap(self.schema, part):
            self._beyond(part, keyword, "its alternatives may overlap, and a grammar does not count them")
        chosen = Place(part.place.pointer, part.place.taken | {keyword})
        others = tuple(chosen if p is part else p.place for p in parts)
        return alt(
            *(self.ref((*others, part.at(keyword, i)), form, f"{name}-{i + 1}") for i in range(len(branches)))
        )

    def _note_beyond(self, types: set[str], parts: Parts) -> None:
        for part in parts:
            for kind, keyword, why in _BEYOND:
                if part.schema.get(keyword) not in (None, False) and (not kind or kind in types):
                    self._beyond(part, keyword, why)
            excluded = part.schema.get("not")
            if excluded is not None and not _held_not(excluded):
                self._beyond(part, "not", "a grammar spells what may come, not what may not")

    def any_value(self, part: Part) -> Node:
        """Any value at all, by rules that all places share."""
        self._beyond(part, "", "anything is allowed here, and the keys of a free object may repeat")
        return self.book.shared("any", self._any_value)

    def _any_value(self) -> Node:
        surface, anything = self.surface, RuleRef("any")
        entry = seq(surface.free_key, surface.key_end, anything)
        return alt(
            string_node(surface.notation), terminal(number_node(Bounds())), surface.boolean, surface.null,
            seq("[", optional(seq(anything, repeat(seq(surface.separator, anything)))), "]"),
            seq("{", optional(seq(entry, repeat(seq(surface.separator, entry)))), "}"),
        )  # fmt: skip

    def _typed(self, name: str, types: set[str], parts: Parts) -> Node:
        makers: tuple[tuple[str, Callable[[], Node]], ...] = (
            ("object", lambda: self._object(name, parts)),
            ("array", lambda: self._array(name, parts)),
            ("string", lambda: self._string(parts)),
            ("number", lambda: self._number(parts, whole=False)),
            ("integer", lambda: self._number(parts, whole=True) if "number" not in types else NEVER),
            ("boolean", lambda: self.surface.boolean),
            ("null", lambda: self.surface.null),
        )
        return alt(*(make() for kind, make in makers if kind in types))

    def _string(self, parts: Parts) -> Node:
        contents = []
        for part in parts:
            if "pattern" in part.schema:
                try:
                    contents.append(pattern_node(part.schema["pattern"]))
                except PatternNotHeld as reason:
                    self._beyond(part, "pattern", str(reason))
            if "format" in part.schema:
                content = format_node(part.schema["format"])
                if content is None:
                    self._beyond(part, "format", "no rules are known for this format")
                else:
                    contents.append(content)
        low, high = sizes_of(parts, "minLength", "maxLength")
        if high is not None and high < low:
            return NEVER
        return _possible(string_node(self.surface.notation, tuple(contents), low, high))

    def _number(self, parts: Parts, *, whole: bool) -> Node:
        bounds = bounds_of(parts)
        step = 1
        for part in parts:
            multiple = part.schema.get("multipleOf")
            if multiple is None:
                continue
            if float(multiple).is_integer():
                step, whole = lcm(step, int(multiple)), True
            elif not (whole and (1 / multiple).is_integer() and multiple in (0.5, 0.25, 0.125)):
                self._beyond(part, "multipleOf", "only steps of whole numbers are held")
        if not whole:
            return terminal(number_node(bounds))
        low, high = bounds.integers()
        if step == 1:
            return terminal(integer_node(low, high))
        node = multiples_node(low, high, step, self.book.shared)
        if node is None:
            part = next(part for part in parts if "multipleOf" in part.schema)
            self._beyond(part, "multipleOf", "the step is too large for an automaton of digits")
            return terminal(integer_node(low, high))
        return node if any(refs(node)) else terminal(node)

    def _array(self, name: str, parts: Parts) -> Node:
        low, high = sizes_of(parts, "minItems", "maxItems")
        fixed = max((len(part.schema.get("prefixItems", ())) for part in parts), default=0)
        if high is not None and high < low:
            return NEVER
        item = self._item(name, parts, fixed) if high is None or high > fixed else NEVER
        most = None if high is None else max(0, high - fixed)
        separated = seq(self.surface.separator, item)
        tail: Node
        if fixed:
            tail = repeat(separated, max(0, low - fixed), most)
        elif most == 0:
            tail = EMPTY
        else:
            full = seq(item, repeat(separated, max(0, low - 1), None if most is None else most - 1))
            tail = full if low else optional(full)
        for index in reversed(range(fixed if high is None else min(fixed, high))):
            one = seq(self.surface.separator if index else "", self._item(name, parts, index), tail)
            tail = one if index < low else optional(one)
            if index % 8 == 7:  # a rule of its own, so that long tuples are no deep trees
                tail = self.book.inner(f"{name}-from-{index}", tail)
        return seq("[", tail, "]")

    def _item(self, name: str, parts: Parts, index: int) -> Node:
        places = []
        for part in parts:
            prefix = part.schema.get("prefixItems", ())
            if index < len(prefix):
                places.append(part.at("prefixItems", index))
            elif "items" in part.schema:
                places.append(part.at("items"))
        return self.ref(tuple(places), "value", f"{name}-item") if places else self.any_value(parts[0])

    def _object(self, name: str, parts: Parts) -> Node:
        names, required = names_of(parts)
        if not names:
            return self._map(name, parts)
        members = self._property_nodes(name, parts)
        low, _ = self._check_counts(parts, len(required), len(members))
        first_required = next((i for i, (key, _) in enumerate(members) if key in required), len(members))
        if any(node == NEVER and key in required for key, node in members):
            return NEVER
        rest: Node = seq(*(self._following(member, required) for member in members[first_required + 1 :]))
        options: list[Node] = [seq(members[first_required][1], rest)] if first_required < len(members) else []
        if first_required < len(members):
            rest = seq(self.surface.separator, members[first_required][1], rest)
        elif low == 0:
            options.append(EMPTY)
        for index in reversed(range(first_required)):
            rest = self.book.inner(f"{name}-after-{index + 1}", rest)
            options.append(seq(members[index][1], rest))
            rest = seq(self._following(members[index], required), rest)
        return seq("{", alt(*reversed(options)), "}")

    def _members(self, name: str, parts: Parts) -> Node:
        names, required = names_of(parts)
        self._check_counts(parts, len(required), len(names), leading=True)
        return seq(*(self._following(member, required) for member in self._property_nodes(name, parts)))

    def _following(self, member: tuple[str, Node], required: set[str]) -> Node:
        node = seq(self.surface.separator, member[1])
        return node if member[0] in required else optional(node)

    def _check_counts(
        self, parts: Parts, required: int, named: int, *, leading: bool = False
    ) -> tuple[int, int | None]:
        low, high = sizes_of(parts, "minProperties", "maxProperties")
        for part in parts:
            least, most = part.schema.get("minProperties", 0), part.schema.get("maxProperties", named)
            if least > required and (leading or least > 1 or required):
                self._beyond(
                    part, "minProperties", "which of the optional properties are there is not counted"
                )
            if most < named:
                self._beyond(
                    part, "maxProperties", "which of the optional properties are there is not counted"
                )
        return low, high

    def _property_nodes(self, name: str, parts: Parts) -> list[tuple[str, Node]]:
        members = []
        forbidden = {
            part.schema["not"]["required"][0] for part in parts if _forbids_one(part.schema.get("not"))
        }
        for key in names_of(parts)[0]:
            places = self._property_places(key, parts)
            if key in forbidden:
                value = NEVER
            elif places:
                value = self.ref(tuple(places), "value", f"{name}-{key}")
            else:
                value = self.any_value(parts[0])
            members.append((key, seq(self.surface.key(key), value)))
        return members

    def _property_places(self, key: str, parts: Parts) -> list[Place]:
        places = []
        for part in parts:
            named = False
            if key in part.schema.get("properties", {}):
                places.append(part.at("properties", key))
                named = True
            for pattern in part.schema.get("patternProperties", {}):
                matches = found(pattern, key)
                if matches is not False:
                    places.append(part.at("patternProperties", pattern))
                    named = True
            if not named and "additionalProperties" in part.schema:
                places.append(part.at("additionalProperties"))
        return places

    def _map(self, name: str, parts: Parts) -> Node:
        low, high = sizes_of(parts, "minProperties", "maxProperties")
        if parts[0].place.pointer == "" and not any("additionalProperties" in part.schema for part in parts):
            high = 0  # an argument that the schema does not name is no argument
        places = tuple(
            part.at("additionalProperties") for part in parts if "additionalProperties" in part.schema
        )
        for part in parts:
            if "patternProperties" in part.schema:
                self._beyond(part, "patternProperties", "the keys of a map are not matched with patterns")
        if high == 0 or any(self.schema.at(place.pointer) is False for place in places):
            return seq("{", "}") if low == 0 else NEVER
        self._beyond(parts[0], "", "the keys of a free object may repeat")
        value = self.ref(places, "value", f"{name}-value") if places else self.any_value(parts[0])
        entry = seq(self.surface.free_key, self.surface.key_end, value)
        full = seq(
            entry,
            repeat(seq(self.surface.separator, entry), max(0, low - 1), None if high is None else high - 1),
        )
        return seq("{", full if low else optional(full), "}")


def _possible(node: Node) -> Node:
    return node if not isinstance(node, Terminal) or is_possible(node.body) else NEVER


def _plain(value: Any) -> Any:
    # An integer is written as an integer literal, also where the schema lists it as 5.0.
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _held_not(excluded: Any) -> bool:
    if _forbids_one(excluded):
        return True
    if not isinstance(excluded, dict) or set(excluded) != {"type"}:
        return False
    names = excluded["type"] if isinstance(excluded["type"], list) else [excluded["type"]]
    return not {"integer", "number"} & set(names)


def _forbids_one(excluded: Any) -> bool:
    return isinstance(excluded, dict) and set(excluded) == {"required"} and len(excluded["required"]) == 1
