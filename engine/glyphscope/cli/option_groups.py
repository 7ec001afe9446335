"""Options that belong together, as one parameter of a command: a dataclass whose fields are the options, or all options
of a settings struct; and options with several values: `--notation glyph json` is `--notation glyph --notation json`.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum, StrEnum
from types import NoneType
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import typer
from msgspec import UNSET
from typer.core import TyperCommand

from glyphscope.cli.inputs import ANSWER_METAVAR, InputError, read_answer
from glyphscope.events import Answer, Choice, Field, read_pairs, settings_of
from glyphscope.events.setting import literals
from glyphscope.runs.sampling import typed_texts

Settings = TypeVar("Settings", bound=msgspec.Struct)
Texts = TypeVar("Texts", dict[str, Any], tuple[str, ...])


class Given(dict[str, Any], Generic[Settings]):
    """The options of a settings struct that were given on the command line, by the names of its fields."""

    def over(self, settings: Settings) -> Settings:
        """The settings with the given values."""
        return msgspec.structs.replace(settings, **self)

    @property
    def flags(self) -> list[str]:
        """The given options as they are written."""
        return [f"--{name.replace('_', '-')}" for name in self]


class Varied(dict[str, tuple[Any, ...]], Generic[Settings]):
    """The values of each setting of a struct that were given on the command line, by the names of its fields; each
    option takes several. Settings without choices have no option.
    """


Result = TypeVar("Result")


def with_groups(
    command: Callable[..., Result] | None = None, *, only: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """A decorator for commands: in place of each parameter that is a dataclass, the command line has its fields, and in
    place of one (or a field) that is `Given[…]`, the options of that struct.

    `only`: the names of the fields that the command takes; by default, all of them. Parameters are keyword-only, so
    that one without a default may follow one with a default.
    """
    if command is None:
        return functools.partial(with_groups, only=only)
    own = inspect.signature(command, eval_str=True)
    parameters: dict[str, inspect.Parameter] = {}
    makers: dict[str, Callable[[dict[str, Any]], Any]] = {}
    for parameter in own.parameters.values():
        made, makers[parameter.name] = _expanded(
            parameter.name, parameter.annotation, parameter.default, only
        )
        parameters |= {each.name: each for each in made}

    @functools.wraps(command)
    def wrapped(**given: Any) -> Result:
        return command(**{name: make(given) for name, make in makers.items()})

    wrapped.__signature__ = own.replace(parameters=[*parameters.values()])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    return wrapped


_Maker = Callable[[dict[str, Any]], Any]


def _expanded(
    name: str, kind: Any, default: Any, only: tuple[str, ...]
) -> tuple[list[inspect.Parameter], _Maker]:
    """The parameters in place of one, and the function that makes its value from their values."""
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    if get_origin(kind) is Given:
        options = {
            field.name: field
            for field in settings_of(get_args(kind)[0]).values()
            if not only or field.name in only
        }
        made = [
            inspect.Parameter(field.key, keyword_only, default=None, annotation=command_option(field))
            for field in options.values()
        ]
        return made, lambda given: Given(_given(options, given))
    if get_origin(kind) is Varied:
        varied = {
            field.key: field for field in settings_of(get_args(kind)[0]).values() if field.setting.choices
        }
        made = [
            inspect.Parameter(key, keyword_only, default=None, annotation=_several_option(field))
            for key, field in varied.items()
        ]
        return made, lambda given: Varied(_several(varied, given))
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        made, makers = [], {}
        for member in fields(kind):
            whole = get_origin(hints[member.name]) is Given
            if not only or whole or member.name in only:
                unset = inspect.Parameter.empty if member.default is MISSING else member.default
                more, makers[member.name] = _expanded(member.name, hints[member.name], unset, only)
                made += more
        group: Any = kind
        return made, lambda given: group(**{member: make(given) for member, make in makers.items()})
    return [inspect.Parameter(name, keyword_only, default=default, annotation=kind)], lambda given: given[
        name
    ]


def command_option(field: Field) -> Any:
    """The annotation of a command's parameter for a setting: its type, bounds and help. None is not given."""
    setting, kind = field.setting, field.kind
    if names := _choice_names(field):
        return Annotated[Literal[tuple(names)] | None, typer.Option(help=setting_help(field))]
    if kind is Answer:
        return Annotated[str | None, typer.Option(help=setting_help(field), metavar=ANSWER_METAVAR)]
    if field.is_mapping:
        return Annotated[list[str] | None, typer.Option(help=setting_help(field), metavar="NAME=VALUE")]
    if field.is_list:
        return Annotated[list[str] | None, typer.Option(help=setting_help(field), metavar="TEXT")]
    least, most = (field.least, setting.most) if setting.is_bounded else (None, None)
    metavar = None
    if setting.choices:  # of a text with other values too
        metavar = "|".join([*(str(choice.value) for choice in setting.choices), "NAME"])
    return Annotated[
        kind | None, typer.Option(help=setting_help(field), metavar=metavar, min=least, max=most)
    ]


def _several_option(field: Field) -> Any:
    """The annotation of a parameter for several values of a setting with choices."""
    if literals(field.kind):  # typer accepts several values of a list of choices only as an Enum
        names = [_choice_name(choice) for choice in field.setting.choices]
        kind: Any = StrEnum(field.name, names)  # type: ignore[misc]
        return Annotated[list[kind] | None, typer.Option(help=setting_help(field))]
    if field.kind is Answer:
        return Annotated[
            list[str] | None, typer.Option(help=setting_help(field), metavar=f"suite|{ANSWER_METAVAR}…")
        ]
    metavar = "N…" if field.kind is int else "NAME…"
    return Annotated[list[field.kind] | None, typer.Option(help=setting_help(field), metavar=metavar)]  # type: ignore[name-defined]


def _several(varied: dict[str, Field], given: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for key, field in varied.items():
        names = {_choice_name(choice): choice.value for choice in field.setting.choices}
        read = read_answer if field.kind is Answer else lambda value: value
        if given[key]:
            yield (
                field.name,
                tuple(names[str(each)] if str(each) in names else read(each) for each in given[key]),
            )


def setting_help(field: Field) -> str:
    """Its hint, its special value, and the default."""
    setting, default = field.setting, field.default
    words = setting.about
    if field.kind is bool and setting.title.lower() not in words.lower():
        words = f"{setting.title}; {words[0].lower()}{words[1:]}"
    if field.is_list:
        words += "; repeatable"
    elif setting.special is not UNSET and not setting.choices:
        words += f"; {field.written(setting.special):g} is {setting.special_words}"
    if setting.usual:
        usual = setting.usual
    elif isinstance(default, bool):
        usual = "on" if default else "off"
    elif setting.choices:
        usual = _choice_name(Choice(default, ""))
    elif field.is_mapping:
        usual = "none; repeatable"
    elif field.is_list:
        usual = " ".join(json.dumps(text) for text in default) or "none"
    else:
        usual = setting.special_words if default == setting.special else f"{default:g}"
    return f"{words}. [{usual}]".replace("’", "'")


def _given(options: dict[str, Field], given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for field in options.values():
        value = given.get(field.key)
        if value is None:
            continue
        if field.kind is Answer:
            yield field.name, read_answer(value)
        elif field.is_mapping:
            yield field.name, _checked(field, pairs(value, field.key))
        elif field.is_list:
            yield field.name, _checked(field, typed_texts(value))
        elif field.setting.choices:
            yield field.name, _choice_names(field).get(value, value)
        else:
            yield field.name, field.read(value)


def _checked(field: Field, value: Texts) -> Texts:
    """The texts. Raises InputError for a problem that no model can change, so that none is opened for it."""
    if field.setting.check is not None and (problem := field.setting.check(tuple(value))):
        where = f"--{field.key.replace('_', '-')}"
        raise InputError(f"{problem}.", where=where, hint=f"Change {where}, or leave it out.")
    return value


def pairs(texts: Iterable[str], key: str) -> dict[str, Any]:
    """The values of an option of texts NAME=VALUE. Raises InputError."""
    try:
        return read_pairs(texts)
    except ValueError as error:
        raise InputError(
            f"{error}.",
            where=f"--{key.replace('_', '-')}",
            hint="Write NAME=VALUE, with JSON or text as value.",
        ) from None


def _choice_names(field: Field) -> dict[str, Any]:
    """The values of a setting with choices, by their names on the command line; empty for any other setting."""
    if field.kind is str or not field.setting.choices:
        return {}
    choices = (*field.setting.choices, *(Choice(value, "") for value in literals(field.kind)))
    return {_choice_name(choice): choice.value for choice in choices}


def _choice_name(choice: Choice) -> str:
    """The name of a choice on the command line; what is left out is chosen automatically."""
    return choice.option or ("auto" if choice.value is UNSET else str(choice.value))


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
        # not its type hints: what typer wraps around the command has none in Python 3.14
        own = inspect.signature(self.callback, eval_str=True).parameters
        return {
            name: _fitting(own[parameter.name].annotation)
            for parameter in self.params
            if parameter.name in own and getattr(parameter, "multiple", False)
            for name in parameter.opts
        }


def _fitting(hint: Any) -> Callable[[str], bool]:
    """A test for further values, by the type of the list's items; `hint` is an annotated `list[T] | None`."""
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
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
