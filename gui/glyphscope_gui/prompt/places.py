"""The source of a part of the prompt, and its editing there: in the tools, the template, the user's message."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

from glyphscope.events import BEGUN
from glyphscope.prompting.costs import ITSELF, Cost, tool_place
from glyphscope.prompting.messages import SYSTEM_PROMPT, example_calls
from glyphscope.prompting.template import LINE
from glyphscope.registry import ToolRegistry
from glyphscope_gui.project.prompt_document import PromptDocument
from glyphscope_gui.project.registry_document import RegistryDocument
from glyphscope_gui.shared.json_places import TextProblem, parse_object
from glyphscope_gui.shared.language import tr

Source: TypeAlias = Literal["description", "argument", "example", "line", "system", "user", ""]


@dataclass(frozen=True)
class PartPlace:
    """`text` is the text to edit, if there is a `source`; `words` describe it, or say why there is nothing to edit.

    `tool` and `argument` are its target on the tools' page.
    """

    title: str
    words: str
    source: Source = ""
    text: str = ""
    tool: str = ""
    argument: str | None = None
    line: int = 0

    @property
    def identity(self) -> tuple[str, str, str | None, int]:
        """The place's identity, which stays the same while its text is edited."""
        return self.source, self.tool, self.argument, self.line


def place_of(cost: Cost, registry: RegistryDocument, prompt: PromptDocument, *, is_own: bool) -> PartPlace:
    """The place of a row of the costs. `is_own`: the prompt was made from the present template, not an older one."""
    place = tool_place(cost.of) if cost.kind in ("tools", "examples") else None
    if place is not None:
        return _of_tool(cost, place, registry)
    if cost.kind == "system" and cost.of.startswith(LINE):
        return _of_line(cost, int(cost.of.removeprefix(LINE)), prompt, is_own=is_own)
    if cost.of == SYSTEM_PROMPT:
        return PartPlace(tr("System prompt"), "", "system", prompt.state.system_prompt)
    if cost.kind == "user":
        return PartPlace(tr("Your text"), tr("The prompt of the playground."), "user", prompt.user)
    return PartPlace(cost.title, _WHY.get(cost.kind, _ABOVE if cost.below else ""))


def edit(place: PartPlace, text: str, registry: RegistryDocument, prompt: PromptDocument) -> str:
    """Write the text to the place. Return why that is not possible; "" on success."""
    match place.source:
        case "user":
            prompt.set_user(text)
        case "system":
            prompt.set_system_prompt(text)
        case "line":
            lines = prompt.system_template.split("\n")
            if not 0 < place.line <= len(lines):
                return tr("The template no longer has this line.")
            lines[place.line - 1] = text.replace("\n", " ")
            prompt.set_system("\n".join(lines))
        case "description":
            registry.set_description(place.tool, text)
        case "argument":
            return _describe(place, text, registry)
        case "example":
            return _exemplify(place, text, registry)
    return ""


_ABOVE = tr("Select a row below to edit it.")
_WHY = {
    "template": tr("Written by the model’s chat template."),
    "history": tr("An earlier message: edit it under Messages."),
    "rules": tr("A rule of the router: edit it in the options."),
    BEGUN: tr("The beginning of the answer in this notation."),
}
_REMOVED = tr("This tool is no longer in the project.")
_NO_ARGUMENT = tr("This argument no longer exists.")


def _of_tool(cost: Cost, place: tuple[str, str | None, bool], registry: RegistryDocument) -> PartPlace:
    name, argument, describes = place
    tool = registry.registry.get(name)
    if tool is None:
        return PartPlace(cost.title, _REMOVED)
    if cost.kind == "examples":
        calls = dict(example_calls(ToolRegistry((tool,))))
        example = registry.example(name) or calls.get(name)
        title = tr("Example of {name}", name=name)
        if example is None:
            return PartPlace(title, tr("No valid example was found."), tool=name)
        words = tr("The arguments as JSON; without any, they are generated from the tool’s schema.")
        return PartPlace(title, words, "example", json.dumps(example, ensure_ascii=False), name)
    if argument is None:
        if describes:
            return PartPlace(
                tr("Description of {name}", name=name), "", "description", tool.description, name
            )
        return PartPlace(
            name, tr("Name and brackets of the tool.") if cost.title == ITSELF else _ABOVE, tool=name
        )
    title = tr("{argument} of {name}", argument=argument, name=name)
    schema = registry.shown_parameters(name).get("properties", {}).get(argument)
    if schema is None:
        return PartPlace(title, _NO_ARGUMENT, tool=name)
    if describes and isinstance(schema, dict):
        text = str(schema.get("description", ""))
        return PartPlace(
            tr("Description of {argument} of {name}", argument=argument, name=name),
            "",
            "argument",
            text,
            name,
            argument,
        )
    words = tr("Name, type and limits come from the schema.")
    return PartPlace(title, words, tool=name, argument=argument)


def _of_line(cost: Cost, line: int, prompt: PromptDocument, *, is_own: bool) -> PartPlace:
    title = tr("Line {line} of the system template", line=line)
    lines = prompt.system_template.split("\n")
    if not is_own or line > len(lines):
        return PartPlace(title, tr("From a template that is not in the project."))
    return PartPlace(title, "", "line", lines[line - 1], line=line)


def _describe(place: PartPlace, text: str, registry: RegistryDocument) -> str:
    parameters = copy.deepcopy(registry.shown_parameters(place.tool))
    schema = parameters.get("properties", {}).get(place.argument)
    if not isinstance(schema, dict):
        return _NO_ARGUMENT
    schema["description"] = text
    registry.set_parameters(place.tool, parameters, f"description {place.argument}")
    return ""


def _exemplify(place: PartPlace, text: str, registry: RegistryDocument) -> str:
    example = parse_object(text) if text.strip() else None
    if isinstance(example, TextProblem):
        return tr(
            "Not the arguments as JSON yet, so the example is unchanged: {reason}", reason=example.message
        )
    registry.set_example(place.tool, example)
    return ""
