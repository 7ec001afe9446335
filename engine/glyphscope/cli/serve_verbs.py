"""`glyphscope mcp serve-verbs`: the bundled MCP server, which is not in `mcp/` so that it starts without the others.

A client waits for the server, and a run starts one; the imports of the other commands would double the time.
"""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec

from glyphscope.errors import ServerError

COMMAND = ["mcp", "serve-verbs"]


def serve_verbs() -> None:
    """Serve the verb tools over MCP, on stdin and stdout, until stdin is closed."""
    if find_spec("mcp") is None:
        raise ServerError(
            "The MCP server needs the MCP SDK, which is not installed.",
            hint="Install it with: pip install 'glyphscope[mcp]'.",
        )
    from glyphscope.tools.verbs.server import serve

    # the SDK's thread waits for stdin, and Python would wait for it
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve()


def serves_at_once(arguments: list[str]) -> bool:
    """Serve if that is the whole request and is possible. Returns False if the full command line must handle it."""
    if arguments != COMMAND or None in (sys.stdin, sys.stdout) or find_spec("mcp") is None:
        return False
    serve_verbs()
    return True
