"""Tools over stdio, on the official SDK. Importing it raises ServerError without the SDK.

A tool's error is its result (`isError`), so that the model gets it; an unknown tool, and arguments other than an
object, are errors of the protocol. A server ends when its stdin is closed, and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from glyphscope.base.errors import GlyphscopeError, ServerError
from glyphscope.registry import Tool
from glyphscope.tools.arguments import argument_problems
from glyphscope.tools.source import Answering

try:
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError
except ImportError:
    raise ServerError(
        "The MCP server needs the MCP SDK, which is not installed.",
        hint="Install it with: pip install 'glyphscope[mcp]'.",
    ) from None

_CLAIMS = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def serve_tools(name: str, instructions: str, tools: Sequence[tuple[Tool, Answering]]) -> None:
    """Serve until stdin is closed; a client that stops reading earlier is not an error."""
    with suppress(BrokenPipeError):
        try:
            anyio.run(_serve, name, instructions, tools)
        except BaseExceptionGroup as group:  # a task group's report of the writer's end
            raise _first(group) from None


async def _serve(name: str, instructions: str, tools: Sequence[tuple[Tool, Answering]]) -> None:
    known = {tool.name: (tool, function) for tool, function in tools}

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool, _ in tools])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if (served := known.get(params.name)) is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:60]}.")
        return await _called(*served, params.arguments or {})

    server: Server[dict[str, Any]] = Server(
        name,
        version=version("glyphscope"),
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.parameters,
        output_schema=tool.output_schema,
        annotations=_CLAIMS,
    )


async def _called(tool: Tool, function: Answering, arguments: dict[str, Any]) -> types.CallToolResult:
    if wrong := argument_problems(tool, arguments):
        return _error(wrong)
    try:
        answer = function(**arguments)
        text, structured = answer if isinstance(answer, tuple) else await answer
    except GlyphscopeError as error:
        return _error(str(error))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured)


def _error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
