"""The tools of a registry, prepared for judging; a tool's schema is compiled to Specs when a call first needs it."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import schema_error_words
from glyphscope.events import Code
from glyphscope.notation.scalars import STRING
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.registry.keywords import KEYWORDS
from glyphscope.validation.reasons import LocatedReason, Reason
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import Spec


class CallableTool:
    """One tool with its Specs."""

    def __init__(self, tool: Tool, *, closed: bool) -> None:
        self.tool = tool
        self.name = tool.name
        self._closed = closed

    @cached_property
    def schemas(self) -> SchemaSet:
        """The Specs of its parameters, by place."""
        return SchemaSet(self.tool.parameters, closed=self._closed)

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The alternatives of its arguments as a whole."""
        return self.schemas.specs((self.schemas.top,))

    def fault(self, arguments: dict[str, Any]) -> LocatedReason | None:
        """Why these arguments do not fit this tool, for the first such argument; more arguments may follow them."""
        for name, value in arguments.items():
            for spec in self.specs:
                places = spec.member(name)
                if places is not None and all(self.schemas.checker.valid(value, p.schema) for p in places):
                    break
            else:
                return LocatedReason(self._why_not(name, value), to_pointer((name,)))
        return None

    def _why_not(self, name: str, value: Any) -> Reason:
        for spec in self.specs:
            for place in spec.member(name) or ():
                error = self.schemas.checker.best_error(value, place.schema)
                if error is not None:
                    return reason_of(error, self.schemas, place.pointer)
        return Reason("UNKNOWN_ARGUMENT", f"'{name}' is not an argument of {self.name}")

    def final_verdict(self, arguments: dict[str, Any]) -> LocatedReason | None:
        """jsonschema's verdict on all the arguments; None if they are valid."""
        return final_verdict(self.schemas, arguments)


def final_verdict(schemas: SchemaSet, value: Any) -> LocatedReason | None:
    """jsonschema's verdict on a complete value; None if it is valid. Raises RecursionError if it is nested too deep."""
    error = schemas.checker.best_error(value)
    return (
        None if error is None else LocatedReason(reason_of(error, schemas), to_pointer(error.absolute_path))
    )


def code_of(error: Any) -> Code:
    """Our code for a jsonschema error; a member whose schema is false is an unknown one."""
    if error.validator is None and isinstance(next(reversed(error.absolute_path), None), str):
        return "UNKNOWN_ARGUMENT"
    keyword = KEYWORDS.get(str(error.validator))
    return "CONSTRAINT_OTHER" if keyword is None else keyword.code


def reason_of(error: Any, schemas: SchemaSet, place: str = "") -> Reason:
    """A jsonschema error as a Reason; the schema is at the pointer `place`."""
    rule = schemas.checker.rule_of(error, place)
    return Reason(code_of(error), f"is rejected: {schema_error_words(error)}", rule)


class CallableTools:
    """The tools that a call may name: the allowed ones, and the others, to distinguish them from invented names."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.allowed = {
            tool.name: CallableTool(tool, closed=registry.is_closed(tool)) for tool in registry.allowed
        }
        self.known = frozenset(tool.name for tool in registry)
        self.name_spec = Spec(kinds=STRING, enum=tuple(self.allowed))


@lru_cache(maxsize=16)
def tools_of(registry: ToolRegistry) -> CallableTools:
    """The tools of a registry; equal registries share one object, with the schemas compiled so far."""
    return CallableTools(registry)
