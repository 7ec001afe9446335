"""`glyphscope mcp serve-verbs`, without the SDK's imports before they are needed."""

from __future__ import annotations

from importlib.util import find_spec

from glyphscope.base.errors import ServerError


def serve() -> None:
    """Serve the verb tools over MCP, on stdin and stdout, until stdin is closed."""
    if find_spec("mcp") is None:
        raise ServerError(
            "The MCP server needs the MCP SDK, which is not installed.",
            hint="Install it with: pip install 'glyphscope[mcp]'.",
        )
    from glyphscope_plugins.verbs import server

    server.serve()
