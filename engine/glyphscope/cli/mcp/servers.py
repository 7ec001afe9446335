"""The servers of a command: from a file, after consent to their command lines, or typed; and their start."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
import typer

from glyphscope.base.errors import Problem
from glyphscope.base.inputs import home_path
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError
from glyphscope.cli.options import YesOption
from glyphscope.cli.output import print_note
from glyphscope.cli.signals import closing_when_ended
from glyphscope.cli.sources import consent
from glyphscope.store import places
from glyphscope.store.servers import SeenTools
from glyphscope.tools.mcp import McpServer, ServerConfig, ToolProblem, command_server, read_servers
from glyphscope.tools.mcp.log import LogLevel, log_message
from glyphscope.tools.mcp.server import START_SECONDS

ServerOption: TypeAlias = Annotated[
    str | None, typer.Option("--server", metavar="NAME", help="Only this server.")
]
ConfigArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG.json|COMMAND", help="A file with mcpServers, or a server's command (one word) or URL."
    ),
]
_FILES = (".json", ".jsonc")
_SET_LEVEL_SECONDS = 10.0


class ServerRequest:
    """The requested servers, the disabled ones of a file, and the problems of the file.

    `words` are a file, or a server's command or URL; `name` selects a server of the file. Raises InputError.
    """

    def __init__(self, words: Sequence[str], name: str | None) -> None:
        self.problems: tuple[Problem, ...] = ()
        self.disabled: tuple[ServerConfig, ...] = ()
        self.is_file = len(words) == 1 and "://" not in words[0] and _is_file(words[0])
        if not self.is_file:
            typed = _typed(words)
            self.servers: tuple[ServerConfig, ...] = (command_server(typed, name or ""),)
            return
        file = read_servers(Path(words[0]))
        self.problems = file.problems
        self.servers = file.servers
        if name is not None:
            self.servers = tuple(server for server in file.servers if server.name == name)
            if not self.servers:
                known = ", ".join(server.name for server in file.servers) or "no usable servers"
                raise InputError(f"The file has no server {name}.", where=words[0], hint=f"It has: {known}.")
        else:
            self.disabled = tuple(server for server in file.servers if server.disabled)
            self.servers = tuple(server for server in file.servers if not server.disabled)

    def allow(self, *, yes: bool) -> None:
        """Show each command line of a file and ask for consent. Raises InputError if there is no one to ask."""
        if self.is_file:
            for server in self.servers:
                consent(server, yes)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The chosen server of a file, and its permissions."""

    server: ServerOption = None
    yes: YesOption = False
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="Let the server ask you for input and for sampling; without it, both are rejected."
        ),
    ] = False
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            metavar="FOLDER",
            help="A folder to return when the server lists the roots; repeatable. Added to those of the file.",
        ),
    ] = None
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            "--log-level",
            help="Ask the server for log messages of this level and more severe ones, and print them on stderr.",
        ),
    ] = None

    @contextmanager
    def opened(self, config: str) -> Iterator[McpServer]:
        """The one chosen server, ready. Raises InputError; exits with 2 if it does not become ready."""
        request = ServerRequest([config], self.server)
        if not request.servers:
            raise InputError("The file has no enabled server.", where=config)
        if len(request.servers) > 1:
            names = ", ".join(each.name for each in request.servers)
            raise InputError(
                "The file has several servers.", where=config, hint=f"Choose one: --server {names}."
            )
        request.allow(yes=self.yes)
        with started([with_roots(request.servers[0], self.root)], START_SECONDS, asks=self.ask) as (source,):
            if source.state != "ready":
                print_failure(source)
                raise typer.Exit(2)
            if self.log_level is not None:
                _print_log(source, self.log_level)
            yield source


def _typed(words: Sequence[str]) -> list[str]:
    try:
        typed = shlex.split(words[0]) if len(words) == 1 else list(words)
    except ValueError as error:
        hint = "Close what is open."
        raise InputError(f"Invalid command line: {error}.", where=words[0], hint=hint) from None
    scheme, address, _ = typed[0].partition("://") if typed else ("", "", "")
    if address and scheme.lower() not in ("http", "https"):
        raise InputError(
            f"A server is not reached over {scheme}.",
            where=typed[0],
            hint="Give an address that begins with http:// or https://, or a command.",
        )
    return typed


def _is_file(word: str) -> bool:
    path = Path(word)
    try:
        return path.suffix.lower() in _FILES or (path.is_file() and not path.stat().st_mode & 0o111)
    except (OSError, ValueError):
        return False


def with_roots(config: ServerConfig, roots: Sequence[Path] | None) -> ServerConfig:
    """The server with these roots added to its own. Raises InputError if one is not a folder."""
    for root in roots or ():
        if not os.path.isdir(home_path(root)):
            raise InputError("A root must be an existing folder.", where=str(root))
    added = (str(home_path(root).resolve()) for root in roots or ())
    return msgspec.structs.replace(config, roots=tuple(dict.fromkeys((*config.roots, *added))))


def _print_log(server: McpServer, level: LogLevel) -> None:
    """Print the server's log messages on stderr as they arrive."""
    printed = 0

    def print_new() -> None:
        nonlocal printed
        for entry in server.log.entries:
            said = log_message(entry) if entry.number > printed else None
            printed = max(printed, entry.number)
            if said is not None and said.reaches(level):
                words = " ".join(part for part in (said.level, said.logger) if part)
                print_note(f"[{words}] {said.text}", "dim")

    server.log.added = print_new
    print_new()  # after the log was read, it reports again
    found = server.set_log_level(level, seconds=_SET_LEVEL_SECONDS, cancel=threading.Event())
    if not found.ok:
        print_note(f"! log level: {found.message}", "yellow")


@contextmanager
def started(
    configs: Sequence[ServerConfig],
    seconds: float,
    *,
    asks: bool = False,
    sign_in: Callable[[str], None] | None = None,
) -> Iterator[list[McpServer]]:
    """The servers, started in parallel, each ready or failed; all are closed afterwards.

    `asks`: the caller answers their questions; otherwise they cannot ask. `sign_in` shows an address to the user.
    """
    asked = _leave_to_caller if asks else None
    seen = SeenTools(places().tool_lists)
    servers = [
        McpServer(config, asked=asked, sign_in=sign_in, start_seconds=seconds, seen=seen)
        for config in configs
    ]
    with closing_when_ended(), ExitStack() as stack:
        for server in servers:
            stack.callback(server.close)
            server.start()
        for server in servers:
            while not server.wait(0.2):  # Ctrl-C is handled between slices
                pass
        yield servers


def _leave_to_caller(_server: McpServer) -> None:
    """Do nothing for a new question, because `answering` polls the server's questions."""


def print_file_problems(problems: Sequence[Problem]) -> None:
    """Print the problems of a file's servers; those without problems are used."""
    for problem in problems:
        print_note(f"! {problem.pointer}: {problem.message}", "yellow")


def print_failure(server: McpServer) -> None:
    """Print the reason why it is not ready, the fix, and the last lines of its log."""
    error = server.problem
    assert error is not None
    print_note(f"✗ {server.name}: {error.message}", "bold red")
    if error.hint:
        print_note(f"  do: {error.hint}")
    if server.needs_sign_in:
        print_note(f"  do: glyphscope mcp sign-in {visible(server.identity, spaces=True)}")
    for line in error.log.splitlines()[-10:]:
        print_note(f"  | {line}", "dim")


def print_tool_problems(problems: Sequence[ToolProblem], indent: str = "") -> None:
    for problem in problems:
        left_out = "" if problem.usable else "skipped: "
        words = f"{indent}! {visible(problem.tool)}: {left_out}{visible(problem.message)}"
        print_note(words, "yellow")
