"""Options that belong together, as one parameter of a command: a dataclass whose fields are the options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

Result = TypeVar("Result")


def with_groups(
    command: Callable[..., Result] | None = None, *, only: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """A decorator for commands: in place of each parameter that is a dataclass, the command line has its fields.

    `only`: the names of the fields that the command takes; by default, all of them. Parameters are keyword-only, so
    that one without a default may follow one with a default.
    """
    if command is None:
        return functools.partial(with_groups, only=only)
    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, tuple[str, ...]]] = {}
    for parameter in own.parameters.values():
        group = parameter.annotation
        if not is_dataclass(group):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(group, include_extras=True)
        members = [member for member in fields(group) if not only or member.name in only]
        groups[parameter.name] = (group, tuple(member.name for member in members))
        for member in members:
            annotation, default = hints[member.name], member.default
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(member.name, kind, default=default, annotation=annotation))

    @functools.wraps(command)
    def wrapped(**given: Any) -> Result:
        for name, (group, names) in groups.items():
            given[name] = group(**{member: given.pop(member) for member in names if member in given})
        return command(**given)

    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapped
