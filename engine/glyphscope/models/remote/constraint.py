"""A run's constraint as the endpoint's own: the one place that chooses the field, and says which it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope.errors import GrammarError
from glyphscope.models.interface import GenerateRequest
from glyphscope.models.remote.dialect import Dialect

EnforcedKind: TypeAlias = Literal["", "grammar", "schema", "tools"]


class Constraint(NamedTuple):
    """`fields` are the request's; `held` what of our request the endpoint is asked to hold, `field` the name of it."""

    held: EnforcedKind = ""
    field: str = ""
    fields: Mapping[str, Any] = {}
    note: str = ""


def constraint_of(request: GenerateRequest, dialect: Dialect) -> Constraint:
    """Raises GrammarError where this endpoint has no field for it: no run goes without its constraint."""
    if request.constraint == "off":
        return Constraint()
    if request.tools:
        choice = request.tool_choice
        note = f"Constraint: the endpoint's own, as tool_choice {choice}; what it enforces of the schemas is up to it."
        return Constraint("" if choice in ("auto", "none") else "tools", "tool_choice", note=note)
    if dialect.grammar and request.grammar is not None:
        field, fields = _grammar(dialect, request.grammar)
        return Constraint(
            "grammar", field, fields, f"Constraint: the endpoint's own, as GBNF in {field} ({dialect.title})."
        )
    if request.schema is not None:
        note = f"Constraint: the endpoint's own, as JSON Schema in response_format ({dialect.title})."
        return Constraint("schema", "response_format", _schema(dialect, request.schema), note)
    raise GrammarError(
        f"This endpoint ({dialect.title}) takes no grammar, and this constraint is not a JSON Schema.",
        hint="Use --notation json (strategy direct) or native, name its dialect (?dialect=…), or --constraint off.",
    )


def _grammar(dialect: Dialect, grammar: str) -> tuple[str, dict[str, Any]]:
    match dialect.grammar:
        case "structured_outputs":
            return "structured_outputs.grammar", {"structured_outputs": {"grammar": grammar}}
        case "guided":
            return "guided_grammar", {"guided_grammar": grammar}
        case field:
            return field, {field: grammar}


def _schema(dialect: Dialect, schema: dict[str, Any]) -> dict[str, Any]:
    if dialect.schema == "json_object":
        return {"response_format": {"type": "json_object", "schema": schema}}
    named = {"name": "call", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}
