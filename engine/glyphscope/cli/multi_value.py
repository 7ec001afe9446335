"""Options with several values at once: `--notation glyph json` means `--notation glyph --notation json`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """A command whose repeatable options also take a list of values, up to the next option.

    An option with fixed choices takes only those, so that `--notation glyph json tool-calls` leaves the suite alone;
    for other options, `--` ends the list.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._spread(args)))

    def _spread(self, args: list[str]) -> Iterable[str]:
        fits = self._several()
        option = ""
        values = 0
        for place, arg in enumerate(args):
            if arg == "--":
                # the end of a list, if one is open; otherwise the end of all options
                if option and values:
                    option = ""
                    continue
                yield from args[place:]
                return
            if arg.startswith("-") and arg != "-":
                name, equals, _ = arg.partition("=")
                option, values = (name if name in fits and not equals else ""), 0
                yield arg
            elif option and values and fits[option](arg):
                yield option
                yield arg
            else:
                if option and values:
                    option = ""
                values += 1
                yield arg

    def _several(self) -> dict[str, Callable[[str], bool]]:
        """For the name of each repeatable option, whether a further value can belong to it."""
        assert self.callback is not None
        hints = get_type_hints(self.callback)
        return {
            name: _fitting(hints[parameter.name])
            for parameter in self.params
            if parameter.name in hints and getattr(parameter, "multiple", False)
            for name in parameter.opts
        }


def _fitting(hint: Any) -> Callable[[str], bool]:
    """A test for further values, by the type of the list's items; `hint` is `list[T] | None`."""
    lists = (
        hint if get_origin(hint) is list else next(each for each in get_args(hint) if each is not NoneType)
    )
    (item,) = get_args(lists)
    if issubclass(item, Enum):
        choices = {str(each.value) for each in item}
        return lambda value: value in choices
    if item is int:
        return lambda value: value.lstrip("-").isdigit()
    return lambda value: True
