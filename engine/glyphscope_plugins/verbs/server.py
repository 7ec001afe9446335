"""The verb tools as an MCP server over stdio, on the official SDK: `glyphscope mcp serve-verbs`.

A tool's error is its result (`isError`), so that the model gets it; an unknown tool, and arguments other than an
object, are errors of the protocol. The server ends when its stdin is closed, and leaves nothing behind.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from glyphscope.base.errors import ToolError
from glyphscope.tools.arguments import argument_problems
from glyphscope_plugins.verbs.tools import VERB_TOOLS, verb_tools

NAME = "glyphscope-verbs"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_OUTPUT: dict[str, dict[str, Any]] = {
    "conjugate": {"verb": _TEXT, "tense": _TEXT, "person": _TEXT, "form": _TEXT, "variants": _TEXTS},
    "lookup_irregular_verb": {
        "verb": _TEXT,
        "irregular": {"type": "boolean"},
        "past_simple": _TEXTS,
        "past_participle": _TEXTS,
    },
    "lookup_spanish": {
        "english_form": _TEXT,
        "readings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"verb": _TEXT, "form": _TEXT, "spanish": _TEXT},
                "required": ["verb", "form", "spanish"],
            },
        },
    },
    "check_subject_verb_agreement": {
        "agrees": {"type": "boolean"},
        "persons": _TEXTS,
        "correct_form": _TEXT,
    },
}


def serve() -> None:
    """Serve until stdin is closed; a client that stops reading earlier is not an error."""
    with suppress(BrokenPipeError):
        try:
            anyio.run(_serve)
        except BaseExceptionGroup as group:  # a task group's report of the writer's end
            raise _first(group) from None


def make_server() -> Server[dict[str, Any]]:
    """The server without a transport."""
    return Server(
        NAME,
        version=version("glyphscope"),
        instructions="English verbs: conjugate, look up irregular ones and their Spanish, check agreement.",
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


async def _serve() -> None:
    server = make_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def _list_tools(context: Any, params: Any) -> types.ListToolsResult:
    claims = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.parameters,
                output_schema={
                    "type": "object",
                    "properties": _OUTPUT[tool.name],
                    "required": list(_OUTPUT[tool.name]),
                },
                annotations=claims,
            )
            for tool in verb_tools()
        ]
    )


async def _call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    tool = next((tool for tool in verb_tools() if tool.name == params.name), None)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:60]}.")
    arguments = params.arguments or {}
    if wrong := argument_problems(tool, arguments):
        return _error(wrong)
    try:
        text, structured = VERB_TOOLS[tool.name](**arguments)
    except ToolError as error:
        return _error(str(error))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured)


def _error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
