#!/usr/bin/env bash
# Expected: an argument that a tool of the Python SDK of MCP declares as an optional text arrives as it was sent: the schema is a string or null.
# Happens: mcp 2.3.0 reads a text for any parameter whose type is not exactly str as JSON first, for clients that send lists as texts. So for
#   `str | None` the text {"a": 1} is an error ("Input should be a valid string"), the text null is None, and for `str` both arrive.
# Who meets it: servers with a tool that takes JSON, a query or a template as an optional text; a call that is valid by the tool's own schema fails.
# Here: a call is judged by the tool's schema, and the loop shows the server's error beside a valid verdict (decision 11).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
import logging

import anyio
import mcp
from mcp.server.mcpserver import MCPServer

logging.disable()
server = MCPServer("texts")


@server.tool()
def required(text: str) -> str:
    """Say what arrived."""
    return repr(text)


@server.tool()
def optional(text: str | None = None) -> str:
    """Say what arrived."""
    return repr(text)


# tool, text: as the tool got it
SEEN = [
    ("required", '{"a": 1}', "'{\"a\": 1}'"),
    ("optional", '{"a": 1}', "an error"),
    ("optional", "[1, 2]", "an error"),
    ("required", "null", "'null'"),
    ("optional", "null", "None"),
    ("optional", "12", "'12'"),
]


async def main():
    changed = False
    async with mcp.Client(server) as client:
        for tool, text, known in SEEN:
            result = await client.call_tool(tool, {"text": text})
            seen = "an error" if result.is_error else result.content[0].text
            print(f"{tool}: {text}\n  expected {text!r}\n  mcp 2.3.0 {seen}")
            changed |= seen != known
    raise SystemExit("The behaviour has changed." if changed else 0)


anyio.run(main)
PYTHON
