"""Commands of plug-ins, in the groups of commands that are open to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import typer
import typer.main
from typer.core import TyperGroup

from glyphscope.base.plugins import PluginError, PluginGroup

Command: TypeAlias = Callable[..., Any]

COMMANDS: PluginGroup[Command] = PluginGroup("glyphscope.commands", Callable)
"""Functions for typer, or groups of them (`Typer`). The name is the command's; in a group, that of the group is
before it, with a dot: `suite.import.promptfoo`."""


class OpenGroup(TyperGroup):
    """A group of commands to which plug-ins can add others, whose entry points begin with `prefix`."""

    prefix = ""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *self._added()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in self._added():
            found = made_command(cmd_name, _loaded(self.prefix + cmd_name))
        return found

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        for param in params:
            if getattr(param, "is_flag", False) and param.default is None:
                param.default = False  # for None, typer imports pydantic: a tenth of a second for each help
        return params

    def _added(self) -> list[str]:
        names = (name.removeprefix(self.prefix) for name in COMMANDS.names if name.startswith(self.prefix))
        return [name for name in names if "." not in name and name not in self.commands]


def open_group(prefix: str) -> type[OpenGroup]:
    """The class of a group with that prefix."""
    return type("Open", (OpenGroup,), {"prefix": prefix})


def made_command(name: str, found: Command) -> Any:
    """The command of a function, or of a group of commands."""
    holder = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name)(found)
    return typer.main.get_group(holder).commands[name]


def _loaded(name: str) -> Command:
    """The plug-in; in place of one that cannot be loaded, a command that says so."""
    try:
        found = COMMANDS.get(name)
        assert found is not None
        return found
    except PluginError as error:
        problem = error

    def broken() -> NoReturn:
        raise problem

    broken.__doc__ = problem.message
    return broken
