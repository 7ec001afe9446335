"""MCP servers of this package, without the SDK's imports before one serves."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from glyphscope.base.errors import ServerError
from glyphscope.registry import Tool
from glyphscope.tools.source import Answering


def serve_tools(name: str, instructions: str, tools: Sequence[tuple[Tool, Answering]]) -> None:
    """Serve tools over MCP, on stdin and stdout, until stdin is closed. Raises ServerError without the SDK."""
    if find_spec("mcp") is None:
        raise ServerError(
            "The MCP server needs the MCP SDK, which is not installed.",
            hint="Install it with: pip install 'glyphscope[mcp]'.",
        )
    from glyphscope_plugins import mcp_server

    mcp_server.serve(name, instructions, tools)
