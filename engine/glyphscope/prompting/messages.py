"""Makes a request into chat messages: the examples and the list of tools follow the registry, notation and shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec

from glyphscope.base.errors import GlyphscopeError, NotationError, PromptError
from glyphscope.base.pointer import to_pointer
from glyphscope.events import Answer, Message, Notation, RunRequest
from glyphscope.grammar.checking import validator_of
from glyphscope.grammar.generate.example import example_arguments, example_value
from glyphscope.grammar.shapes import fitting_shape
from glyphscope.notation.shapes import shape_keys
from glyphscope.notation.write import write_call, write_value
from glyphscope.prompting.history import history_turns
from glyphscope.prompting.signature import argument_types, signature_pieces
from glyphscope.prompting.template import STRATEGIES, MessagePart, PartText, preset, presets, render
from glyphscope.registry import Tool, ToolRegistry, to_openai, under_strict
from glyphscope.registry.forms import Api
from glyphscope.turns.answers import schema_answer
from glyphscope.turns.own import named_call


@dataclass(frozen=True)
class ToolView:
    """A tool as templates see it: `{{ tool.signature }}`, `{{ tool.description }}`, `{{ tool.example }}`."""

    name: PartText
    description: PartText
    signature: PartText
    example: PartText
    arguments: tuple[ArgumentView, ...]


@dataclass(frozen=True)
class ArgumentView:
    """An argument as templates see it; `type` with its constraints."""

    name: PartText
    type: PartText
    description: PartText
    required: bool


SYSTEM_PROMPT = "system prompt"
"""The `of` of the part that is a request's plain system prompt."""


@dataclass(frozen=True)
class RenderedMessages:
    """`parts` are the pieces of all messages in order: together they are the messages' contents, and among them are
    the places of the texts that the chat template adds.

    `tools`, in OpenAI's form, are written by the chat template. `begun` is the prefix of the answer.
    """

    messages: tuple[Message, ...]
    parts: tuple[MessagePart, ...]
    tools: tuple[dict[str, Any], ...] = ()
    begun: str = ""


def render_messages(request: RunRequest, registry: ToolRegistry) -> RenderedMessages:
    """The system prompt with the text of the preset (or the request's own template), the history, the user's prompt.

    An empty message is left out. Raises PromptError with the template's line.
    """
    if request.native:
        return _native(request, registry)
    template = request.system
    if template is None:
        template = preset(request.preset) if request.answer.is_call else presets(STRATEGIES)["answer"]
    return compose(
        ("system", system_parts(request, template, template_values(request, registry))),
        *up_to_prompt(request, registry),
    )


def system_parts(request: RunRequest, template: str | None, values: Mapping[str, Any]) -> list[MessagePart]:
    """The request's plain system prompt, then the rendered template. Raises PromptError with the template's line."""
    rendered = [] if template is None else render(template, values, rest="system")
    # chat templates remove the white space, and the text would not be found in the prompt
    plain = request.system_prompt.strip()
    if not plain:
        return rendered
    return [MessagePart("system", f"{plain}\n\n" if rendered else plain, SYSTEM_PROMPT), *rendered]


def _native(request: RunRequest, registry: ToolRegistry) -> RenderedMessages:
    """The input of the model's own template: the tools, the user's prompt, and the request's system message.

    Under a constraint the answer begins with the prefix that a form known by name writes before a call; the form of a
    template has whole turns, and no prefix. Raises PromptError.
    """
    named = named_call(request.native)
    system = system_parts(request, request.system, template_values(request, registry))
    made = compose(("system", system), *up_to_prompt(request, registry))
    begun = named.section_open if named is not None and request.constraint != "off" else ""
    receiver: Api = "endpoints" if request.native == "openai" else "templates"
    return replace(
        made, tools=tuple(to_openai(under_strict(registry, request.strict), receiver)), begun=begun
    )


def up_to_prompt(
    request: RunRequest, registry: ToolRegistry | None = None
) -> tuple[tuple[str | Message, Sequence[MessagePart]], ...]:
    """The messages of earlier turns, then the user's prompt: every strategy has them after its system message."""
    return (*history_turns(request, registry), ("user", [MessagePart("user", request.prompt)]))


def compose(*messages: tuple[str | Message, Sequence[MessagePart]]) -> RenderedMessages:
    """Messages with those roles and parts, in order, or the given messages unchanged; empty ones are left out, except
    results, without which a call has none.
    """
    pieces = [(given, [part for part in parts if part.text or part.locate]) for given, parts in messages]
    return RenderedMessages(
        tuple(
            Message(given, "".join(part.text for part in parts)) if isinstance(given, str) else given
            for given, parts in pieces
            if parts or (isinstance(given, Message) and given.role == "tool")
        ),
        tuple(part for _, parts in pieces for part in parts),
    )


def template_values(request: RunRequest, registry: ToolRegistry) -> dict[str, Any]:
    """The variables of a template for a whole registry. Raises PromptError if a tool does not fit the shape."""
    request = msgspec.structs.replace(request, shape=fitting_shape(registry, request.shape))
    written = _example_texts(request, registry)
    name_key, args_key = shape_keys(request.shape)
    return {
        "tools": [_tool_view(tool, written.get(tool.name, "")) for tool in registry.allowed],
        "examples": [PartText("examples", text, to_pointer((name,))) for name, text in written.items()],
        "format": write_call("TOOLNAME", {"argument": "value"}, style=request.notation, shape=request.shape),
        "notation": request.notation,
        "shape": request.shape,
        "name_key": name_key,
        "args_key": args_key,
        "registry": registry,
        "answer": answer_view(request),
    }


def answer_view(request: RunRequest) -> dict[str, Any]:
    """A request's answer as templates see it: `answer.kind`, `answer.text`, `answer.choices`, `answer.after_text`, and
    for a schema `answer.example`, a value in the request's notation, empty if none was found.
    """
    answer = request.answer
    example = _example_answer(answer.text, request.notation) if answer.kind == "schema" else ""
    return {
        "kind": answer.kind,
        "text": PartText("answer", answer.text.strip("\n")),
        "choices": [PartText("answer", choice) for choice in answer.choices],
        "example": PartText("examples", example),
        "after_text": request.free_text or request.constrain_from == "call",
    }


@lru_cache(maxsize=64)
def _example_answer(schema: str, notation: Notation) -> str:
    """A valid value of the schema in the notation; empty if none was found."""
    try:
        normal = schema_answer(Answer("schema", schema)).parameters
        value = example_value(normal, normal)
        written = write_value(value, notation)
    except (GlyphscopeError, RecursionError):  # the schema is a problem of the request, which is reported
        return ""
    return written if validator_of(normal).is_valid(value) else ""


def example_calls(registry: ToolRegistry) -> list[tuple[str, dict[str, Any]]]:
    """A valid call for each allowed tool: its own first valid example, or one made from its schema; a tool for which
    none was found is left out.
    """
    calls = (
        (tool.name, _example(json.dumps(tool.parameters), json.dumps(tool.input_examples)))
        for tool in registry.allowed
    )
    return [(name, arguments) for name, arguments in calls if arguments is not None]


@lru_cache(maxsize=4096)
def _example(parameters: str, given: str) -> dict[str, Any] | None:
    """Cached by the schema's text: after an edit only the edited tool's example is made again."""
    return example_arguments(json.loads(parameters), json.loads(given))


def _example_texts(request: RunRequest, registry: ToolRegistry) -> dict[str, str]:
    """The example calls by tool: GLYPH quoted and JSON compact, so that neither looks larger than it is. Empty if the
    request has none.
    """
    if not request.examples:
        return {}
    try:
        return {
            name: write_call(name, arguments, style=request.notation, shape=request.shape)
            for name, arguments in example_calls(registry)
        }
    except NotationError as error:
        raise PromptError(error.message, where=error.where, hint=error.hint) from error


def _tool_view(tool: Tool, example: str) -> ToolView:
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    own = to_pointer((tool.name,))
    of = {name: to_pointer((tool.name, "parameters", "properties", name)) for name in properties}
    written = [(own if name is None else of[name], text) for name, text in signature_pieces(tool)]
    return ToolView(
        name=PartText("tools", tool.name, own),
        description=PartText("tools", tool.description, f"{own}/description"),
        signature=PartText.of_pieces("tools", written),
        example=PartText("examples", example, own),
        arguments=tuple(
            ArgumentView(
                name=PartText("tools", name, of[name]),
                type=PartText("tools", text, of[name]),
                description=PartText("tools", _description(properties[name]), f"{of[name]}/description"),
                required=name in required,
            )
            for name, text in argument_types(tool).items()
        ),
    )


def _description(schema: Any) -> str:
    return str(schema.get("description", "")) if isinstance(schema, dict) else ""
