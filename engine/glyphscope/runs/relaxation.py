"""Removing one constraint from a registry, so that a run can continue as if the schema did not have it.

Only the keyword at a JSON Pointer of a tool's parameters is removed: the result accepts all that the registry accepts,
and more (except within a `oneOf`, a `not` or an `if`, where allowing more can mean rejecting more). A definition that
several places refer to is not changed for all of them; a pointer through the `$ref` removes the keyword at that one
place. A rule of a grammar (of an `x-grammar`, or of an answer) is relaxed by its name: any text is possible in place of
its texts, and what follows it is as before.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

from msgspec.structs import replace as replace_fields

from glyphscope.base.errors import RegistryError
from glyphscope.base.figures import pluralize
from glyphscope.base.pointer import Path, follow_reference, key_of, steps_of, to_pointer, value_at, with_value
from glyphscope.base.shorten import and_more
from glyphscope.events import TOOL_CHOICES, Answer, RunRequest
from glyphscope.grammar.text_grammar import UnreadableGrammar, text_grammar, written_grammar
from glyphscope.registry import ToolRegistry
from glyphscope.registry.facts import implicit
from glyphscope.registry.keywords import CUSTOM, DEFINITIONS, OTHERS, keyword_indices, names_with
from glyphscope.registry.making import without
from glyphscope.registry.references import SchemaPlaces, references
from glyphscope.turns.answers import answer_grammar, schema_answer

_RELAXABLE = names_with(lambda keyword: keyword.relaxable)
_NOTES = names_with(lambda keyword: keyword.annotation)
"""Annotations: a reference with no other keywords beside it can be replaced by its target."""
_NAMING = ("required", CUSTOM)
"""The keywords of which a part is relaxed by its name."""
ANSWER = "answer"
"""In place of a tool's name, for a rule of the answer's grammar."""
_SHOWN = 5
"""The maximum number of places that an error names."""


def relaxed(registry: ToolRegistry, tool: str, pointer: str) -> ToolRegistry:
    """A copy of the registry without the constraint at that JSON Pointer of the tool's `parameters`.

    The pointer is that of a keyword (`/properties/max_results/maximum`), of a name or index under `required`
    (`/required/0`), or of a rule under `x-grammar` (`/properties/input/x-grammar/term`). An object's
    `/additionalProperties` can also be relaxed if it is not written but unnamed members are rejected. Raises
    RegistryError if there is no such constraint, or if it cannot be removed.
    """
    found = registry.get(tool)
    where = f"{tool}: {pointer}" if pointer else tool
    if found is None:
        names = ", ".join(each.name for each in registry) or "none"
        raise RegistryError(
            f'There is no tool "{tool}".', where=where, hint=f"The registry's tools are {names}."
        )
    finding = _Finding(found.parameters, pointer, where)
    parts = finding.find()
    _refuse_shared(finding.root, parts, where)
    return registry.with_tool(replace(found, parameters=_removed(finding.root, parts, where)))


class Parts(NamedTuple):
    """A constraint: its schema's path, its keyword (empty for the schema `false`), and a name under `required`, or of a
    rule under `x-grammar`.
    """

    path: Path
    keyword: str = ""
    name: str = ""


def parts_of(pointer: str) -> Parts:
    """The parts of a pointer, without looking it up: `/required/query` has the keyword `required` and the name `query`;
    `/properties/required/enum` has the keyword `enum`.
    """
    steps = steps_of(pointer)
    for index in keyword_indices(steps[:-1]):
        if steps[index] in _NAMING:
            return Parts(steps[:index], steps[index], steps[index + 1])
    return Parts(steps[:-1], steps[-1] if steps else "")


def by_name(registry: ToolRegistry, tool: str, pointer: str) -> str:
    """The pointer with the name in place of an index under `required`, as in texts and records.

    Raises the same RegistryError as `relaxed`.
    """
    found = registry.get(tool)
    if found is None or not parts_of(pointer).name:
        return pointer
    name = _Finding(found.parameters, pointer, f"{tool}: {pointer}").find().name
    return pointer.rpartition("/")[0] + to_pointer((name,)) if name else pointer


def enforced_registry(request: RunRequest, registry: ToolRegistry) -> ToolRegistry:
    """The registry that constrains and validates calls: without relaxed constraints, or only the tool to call.

    For an answer other than a call, a schema is the only tool, and any other answer has none. Raises RegistryError, and
    GrammarError for an invalid schema.
    """
    if not request.answer.has_schema:
        enforced_answer(request)
        return ToolRegistry((), "allow")
    if not request.answer.is_call:
        registry = ToolRegistry((schema_answer(request.answer),), "allow")
    for one in request.relaxed:
        registry = relaxed(registry, one.tool, one.pointer)
    chosen = None if request.tool_choice in TOOL_CHOICES else registry.get(request.tool_choice)
    return registry if chosen is None else replace(registry, tools=(chosen,))


def enforced_answer(request: RunRequest) -> Answer:
    """The request's answer without the relaxed keywords of its schema, or rules of its grammar.

    Raises RegistryError and GrammarError.
    """
    if not request.relaxed or request.answer.is_call:
        return request.answer
    if request.answer.kind != "schema":
        return _with_rules(request)
    (tool,) = enforced_registry(request, ToolRegistry())
    return replace_fields(request.answer, text=json.dumps(tool.parameters))


def _with_rules(request: RunRequest) -> Answer:
    for one in request.relaxed:
        if one.tool != ANSWER or len(steps_of(one.pointer)) != 1:
            raise RegistryError(
                "This answer has no schema: the rules of its grammar can be relaxed.",
                where=f"{one.tool}: {one.pointer}",
                hint=f"Name a rule: {ANSWER}:/RULE.",
            )
    made = replace_fields(request.answer, relaxed=tuple(steps_of(one.pointer)[0] for one in request.relaxed))
    answer_grammar(made)
    return made


class _Finding:
    """Follows a pointer; in `root`, a copy, each `$ref` that it passes is replaced with the definition."""

    def __init__(self, root: dict[str, Any], pointer: str, where: str) -> None:
        self.root = root
        self._pointer = pointer
        self._where = where

    def find(self) -> Parts:
        """The constraint at the pointer. Raises RegistryError if there is none."""
        if not self._pointer.startswith("/"):
            raise self._error("Not a JSON Pointer of a keyword.", "Write it as /properties/NAME/maximum.")
        path: Path = ()
        value: Any = self.root
        steps = steps_of(self._pointer)
        for index, step in enumerate(steps):
            left = steps[index + 1 :]
            if not left and isinstance(value, dict) and self._is_schema(path):
                return self._keyword(path, value, step)
            if len(left) == 1 and step in _NAMING and isinstance(value, dict) and self._is_schema(path):
                named = self._rule if step == CUSTOM else self._required
                return Parts(path, step, named(value, left[0]))
            if step == "$ref" and isinstance(value, dict) and isinstance(value.get(step), str):
                path = self._put_in_place(path, value)
                value = value_at(self.root, path)
                continue
            value, key = self._step(value, step)
            path = (*path, key)
        if value is False and self._is_schema(path):
            return Parts(path)
        raise self._no_constraint(path, value)

    def _keyword(self, path: Path, schema: dict[str, Any], keyword: str) -> Parts:
        if keyword in schema and keyword in _RELAXABLE:
            return Parts(path, keyword)
        if keyword in OTHERS["object"] and (unwritten := implicit(schema, whole=not path)):
            return Parts(path, *unwritten)
        if keyword in schema:
            raise self._error(f'"{keyword}" is not a constraint.', _hint(schema, to_pointer(path)))
        raise self._missing(path, schema, keyword)

    def _missing(self, path: Path, schema: dict[str, Any], keyword: str) -> RegistryError:
        reference = schema.get("$ref")
        target = follow_reference(self.root, reference) if isinstance(reference, str) else None
        if target is not None and isinstance(target[1], dict) and keyword in target[1]:
            there = to_pointer((*target[0], keyword))
            return self._error(
                f'"{keyword}" is not here but at {there}, which {reference} refers to.',
                f"{to_pointer((*path, '$ref', keyword))} removes it only here.",
            )
        return self._error(f'There is no "{keyword}".', _hint(schema, to_pointer(path)))

    def _required(self, schema: dict[str, Any], name: str) -> str:
        names = schema.get("required", ())
        if name in names:
            return name
        if (index := key_of(names, name)) is not None:
            return str(names[index])
        listed = ", ".join(names) or "none"
        raise self._error(f'"{name}" is not required.', f"Required: {listed}.")

    def _rule(self, schema: dict[str, Any], name: str) -> str:
        changed, where = without(schema, CUSTOM, name), self._where
        try:
            if text_grammar(changed, where) is None and written_grammar(changed, where) is None:
                raise self._error(f'There is no "{CUSTOM}" with rules.', "")
        except UnreadableGrammar as error:
            raise self._error(error.message, error.hint) from None
        return name

    def _step(self, value: Any, step: str) -> tuple[Any, str | int]:
        key = key_of(value, step)
        if key is not None:
            return value[key], key
        if isinstance(value, dict) and isinstance(value.get("$ref"), str):
            raise self._error(
                f'There is no "{step}" here, where {value["$ref"]} is referred to.',
                "Add /$ref to the pointer to continue in the definition, for this location only.",
            )
        raise self._error("The schema has no such location.", "")

    def _put_in_place(self, path: Path, schema: dict[str, Any]) -> Path:
        """Replace the reference of the schema at the path with its target; returns the path to that."""
        target = follow_reference(self.root, schema["$ref"])
        if target is None or not isinstance(target[1], dict):
            raise self._error(f"The reference {schema['$ref']} cannot be followed.", "")
        rest = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        if rest.keys() <= _NOTES:
            self.root = with_value(self.root, path, {**target[1], **rest})
            return path
        parts = rest.get("allOf", [])
        self.root = with_value(self.root, path, {**rest, "allOf": [*parts, target[1]]})
        return (*path, "allOf", len(parts))

    def _is_schema(self, path: Path) -> bool:
        """Whether the path is that of a schema, and not of a map of schemas."""
        return any(place.path == path for place in SchemaPlaces(self.root).all)

    def _no_constraint(self, path: Path, value: Any) -> RegistryError:
        if isinstance(value, dict):
            return self._error(
                "This is a schema, not one of its constraints.", _hint(value, to_pointer(path))
            )
        return self._error("This is part of a constraint, not a constraint.", "Give its keyword's pointer.")

    def _error(self, message: str, hint: str) -> RegistryError:
        return RegistryError(message, where=self._where, hint=hint)


def _refuse_shared(root: dict[str, Any], parts: Parts, where: str) -> None:
    """Raises RegistryError, with the places, if the schema applies at several."""
    used = _used_at(root, parts.path, parts.keyword)
    if len(used) <= 1:
        return
    raise RegistryError(
        f"It applies at {pluralize(len(used), 'place')}: {and_more(used, _SHOWN)}.",
        where=where,
        hint="Each of these pointers with a $ref removes it at that place only.",
    )


def _used_at(root: dict[str, Any], path: Path, keyword: str) -> list[str]:
    """The pointers at which the keyword applies: its own, unless in a definition, and those through references."""
    places = SchemaPlaces(root)
    referring: dict[Path, list[Path]] = {}
    for place in places.all:
        for _, reference in references(place.schema):
            target = places.resolve(place, reference)
            if target is not None:
                referring.setdefault(target.path, []).append(place.path)
    used: list[str] = []
    waiting: list[tuple[Path, Path]] = [(path, (keyword,) if keyword else ())]
    seen = {path}
    for here, after in waiting:  # grows
        if not _in_definition(here):
            used.append(to_pointer((*here, *after)))
        for length in range(len(here) + 1):
            for other in referring.get(here[:length], ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append((other, ("$ref", *here[length:], *after)))
    return used


def _in_definition(path: Path) -> bool:
    """Whether it is in a definition, so that it applies only through references."""
    return any(path[index] in DEFINITIONS for index in keyword_indices(path))


def _removed(root: dict[str, Any], parts: Parts, where: str) -> dict[str, Any]:
    """A copy of `root` without the constraint."""
    path, keyword, name = parts
    schema = value_at(root, path)
    if keyword == "type" and not path:
        raise RegistryError("A call's arguments are always an object.", where=where)
    if keyword in OTHERS["object"] and schema.get(keyword) is True:
        raise RegistryError(f'"{keyword}" is true: it rejects nothing.', where=where)
    made: dict[str, Any] = with_value(root, path, without(schema, keyword, name) if keyword else True)
    return made


def _hint(schema: dict[str, Any], pointer: str) -> str:
    """The hint that names the constraints that can be relaxed there."""
    present = [keyword for keyword in schema if keyword in _RELAXABLE]
    if not present:
        return "There is no constraint at this place."
    return f"At {pointer or 'the top'} there are: {', '.join(present)}."
