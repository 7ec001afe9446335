"""`glyphscope mcp serve` and `serve-NAME`: MCP servers; not in `mcp/`, so that they start without the other commands.

A client waits for the server, and a run starts one; the imports of the other commands would double the time.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from functools import wraps

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.plugins import OWN, PluginGroup
from glyphscope.cli.signals import collect_as_usual

SERVERS: PluginGroup[Callable[[], None]] = PluginGroup("glyphscope.servers", Callable)
"""Functions that serve over MCP, on stdin and stdout until stdin is closed. Their docstring is the command's help. They
raise GlyphscopeError before they read anything, such as for a package that is not installed."""
PREFIX = "serve"
"""The command of the program's own server. The others have their name after it: `serve-verbs`."""


def serves_at_once(arguments: list[str]) -> bool:
    """Serve if that is the whole request and is possible. Returns False if the full command line must handle it."""
    match arguments:
        case ["mcp", server] if f"{server}-".startswith(f"{PREFIX}-") and None not in (sys.stdin, sys.stdout):
            pass
        case _:
            return False
    try:
        serve = SERVERS.get(server.removeprefix(PREFIX).removeprefix("-") or OWN)
        if serve is None:
            return False
        command_of(serve)()
    except GlyphscopeError:
        return False
    return True


def server_commands() -> Iterator[tuple[str, Callable[[], None]]]:
    """The command of each server by its name; that of the program's own is only `serve`."""
    for name, serve in SERVERS.all():
        yield PREFIX if name == OWN else f"{PREFIX}-{name}", command_of(serve)


def command_of(serve: Callable[[], None]) -> Callable[[], None]:
    """The command of a server, which ends at Ctrl-C: the SDK's thread waits for stdin, and Python would wait for it."""

    @wraps(serve)
    def command() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        collect_as_usual()
        serve()

    return command
