"""A setting is stated once: as a field of a struct, annotated with `Setting`.

Made from it are the check of its value, its option on the command line, its key in lessons, its field in the window,
what a comparison can vary, and its words in names and reports. The texts are English sentences without a full stop; the
window translates them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, UnsetType

from glyphscope.base.json_values import json_or_text

MAX_INTEGER = 2**53 - 1
"""The largest integer that every reader of a record reads exactly (RFC 8259, section 6)."""

OFF = "off"
_PAIRS = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^;])+')
"""The parts of a text between `;`, which may also be in JSON's texts."""


class Choice(NamedTuple):
    """A value of a setting: its title in a list, a hint, the words for it within a name, by default the title, and its
    name on the command line, by default the value.
    """

    value: Any
    title: str
    about: str = ""
    words: str = ""
    option: str = ""


class Setting(msgspec.Struct, frozen=True):
    """The facts of a setting besides its field's name, type and default.

    `least` and `most` are its bounds; without them, those that msgspec checks. `special` is a value with another
    meaning: `special_words` complete the sentence “0 is …”, and None is written as the number below `least`. `step` and
    `unit` are those of its field. `words` is its value within a name, with `{value}`. `key` is its name outside of the
    struct, if another one. `usual` describes a default that depends on other settings. It has an effect only if one of
    the settings that it `needs` is not off. `check` returns the problem with a list of texts, in words, or an
    empty text.
    """

    title: str
    about: str
    least: float = -math.inf
    most: float = math.inf
    special: Any = UNSET
    special_words: str = OFF
    step: float = 0.0
    unit: str = ""
    words: str = ""
    choices: tuple[Choice, ...] = ()
    key: str = ""
    usual: str = ""
    needs: tuple[str, ...] = ()
    check: Callable[[tuple[str, ...]], str] | None = None

    @property
    def is_bounded(self) -> bool:
        return self.most != math.inf

    @property
    def bounds(self) -> str:
        """The bounds in words; empty for a setting without them."""
        if self.most == math.inf:
            return "" if self.least == -math.inf else f"at least {self.least:,g}"
        return f"from {_number(self.least)} to {_number(self.most)}"


class Field(NamedTuple):
    """A setting with its place in a struct: `kind` is its type, without None and what leaves it out."""

    name: str
    kind: Any
    default: Any
    setting: Setting

    @property
    def key(self) -> str:
        """Its name on the command line and in lessons, with underscores."""
        return self.setting.key or self.name

    @property
    def least(self) -> float:
        """The least number of its values as they are written."""
        return self.setting.least - (1 if self.setting.special is None else 0)

    @property
    def is_mapping(self) -> bool:
        """Whether it is values by name, which people write as NAME=VALUE."""
        return get_origin(self.kind) is dict

    @property
    def is_share(self) -> bool:
        """Whether it is a share, which people write in percent."""
        return self.setting.unit == "%"

    @property
    def is_list(self) -> bool:
        """Whether it is a list of texts."""
        return get_origin(self.kind) is tuple

    @property
    def off(self) -> Any:
        """The value without an effect; UNSET if there is none."""
        return self.setting.special if self.setting.special_words == OFF else UNSET

    def written(self, value: Any) -> Any:
        """A value as people write it: None as the number below the bounds, values by name as texts."""
        if self.is_mapping:
            return written_pairs(value)
        return self.least if value is None else value

    def read(self, value: Any) -> Any:
        """The inverse of `written`."""
        if self.setting.special is None and value == self.least:
            return None
        return float(value) if self.kind is float else value

    def words(self, value: Any) -> str:
        """The template of its words, for a value: that of the choice, or of the setting with `{value}`."""
        for choice in self.setting.choices:
            if choice.value == value:
                return choice.words or choice.title
        return self.setting.words or "{value}"


def read_pairs(texts: Iterable[str]) -> dict[str, Any]:
    """The values in texts `NAME=VALUE`: JSON, or else the text itself. Raises ValueError with the reason in words."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{text.strip()!r} is not NAME=VALUE")
        found[name.strip()] = json_or_text(value.strip())
    return found


def written_pairs(values: Mapping[str, Any]) -> list[str]:
    """The inverse of `read_pairs`."""
    return [f"{name}={pair_value(value)}" for name, value in values.items()]


def read_pairs_line(text: str) -> dict[str, Any]:
    """The values in one text, with `;` between them. Raises ValueError."""
    return read_pairs(each for each in _PAIRS.findall(text) if each.strip())


def pairs_line(values: Mapping[str, Any]) -> str:
    """The inverse of `read_pairs_line`."""
    return "; ".join(written_pairs(values))


def pair_value(value: Any) -> str:
    """A value as it is written after the name."""
    plain = isinstance(value, str) and value == value.strip() and not {"\n", ";", '"'} & {*value}
    if plain and json_or_text(value) is value:
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace(
        ";", "\\u003b"
    )  # only in texts, where it is an escape


def settings_of(settings: type[msgspec.Struct]) -> dict[str, Field]:
    """The settings of a struct, by the names of its fields."""
    if settings not in _KNOWN:
        _KNOWN[settings] = dict(_settings(settings))
    return _KNOWN[settings]


_KNOWN: dict[type, dict[str, Field]] = {}


def _settings(settings: type[msgspec.Struct]) -> Iterator[tuple[str, Field]]:
    for field in msgspec.structs.fields(settings):
        if get_origin(field.type) is not Annotated:
            continue
        kind, *notes = get_args(field.type)
        setting = next((note for note in notes if isinstance(note, Setting)), None)
        if setting is not None:
            if meta := next((note for note in notes if isinstance(note, Meta)), None):
                setting = msgspec.structs.replace(setting, least=meta.ge, most=meta.le)
            default = None if field.default is NODEFAULT else field.default
            if field.default_factory is not NODEFAULT:
                default = field.default_factory()
            yield field.name, Field(field.name, _given_kind(kind), default, setting)


def wrong_values(settings: msgspec.Struct) -> Iterator[tuple[Field, str]]:
    """The settings whose values are outside of their bounds, each with the bounds and the value in words."""
    for field in settings_of(type(settings)).values():
        if problem := wrong_value(field, getattr(settings, field.name)):
            yield field, problem


def wrong_value(field: Field, value: Any) -> str:
    """`from 0 to 10; this is -1` for a number outside of the setting's bounds, the problem with a list of texts; empty
    for any other value.
    """
    setting = field.setting
    if setting.check is not None:
        return setting.check(tuple(value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or setting.least <= value <= setting.most:
        return ""
    return f"{setting.bounds}; this is {_number(value)}"


def is_needed(settings: msgspec.Struct, field: Field) -> bool:
    """Whether a setting can have an effect: it needs no other one, or one that is not off."""
    fields = settings_of(type(settings))
    needs = field.setting.needs
    return not needs or any(getattr(settings, name) != fields[name].off for name in needs)


def _given_kind(kind: Any) -> Any:
    """The type without None and UNSET."""
    if get_origin(kind) in (Union, UnionType):
        others = [each for each in get_args(kind) if each not in (NoneType, UnsetType)]
        return others[0] if len(others) == 1 else Union[tuple(others)]  # noqa: UP007 - made from a tuple
    return kind


def _number(value: float) -> str:
    """A number in full: `9007199254740991`, `0.01`."""
    return str(value) if isinstance(value, int) else f"{value:g}"


def literals(kind: Any) -> tuple[Any, ...]:
    """The values of a `Literal` type; empty for another type."""
    return get_args(kind) if get_origin(kind) is Literal else ()
