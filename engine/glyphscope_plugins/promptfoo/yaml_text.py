"""Reads untrusted YAML as promptfoo's js-yaml does, within limits.

Scalars have the types of YAML 1.2's core schema, with merge keys and timestamps: `no` and `12:30` are texts, `010` is
ten. Aliases can represent any number of values, and the parser is recursive, so both are bounded.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Any, ClassVar

from glyphscope.base.errors import RegistryError, SuiteError
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope_plugins.promptfoo.templates import js_number, js_text

MAX_YAML = 8_000_000
"""Characters: PyYAML reads about a megabyte a second."""
_MAX_LEVELS = 100
_MAX_VALUES = 1_000_000
_TAG = "tag:yaml.org,2002:"
_BASES = {"0b": 2, "0o": 8, "0x": 16}
_MAX_DIGITS = 1_100
"""No number of more digits is finite; reading decimal ones takes a time that grows with their square."""
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)|"
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.\d*)?(?:[ \t]*(?:Z|[-+](\d\d?)(?::(\d\d))?))?",
    re.ASCII,
)


class YamlDate(dict[str, Any]):
    """A date without quotes, which is an object without members in promptfoo, and not the `text`."""

    text = ""


def parse_yaml(text: str, where: str) -> Any:
    """The document with JSON's types; dates are `YamlDate`. Raises SuiteError, also if PyYAML is not installed."""
    if importlib.util.find_spec("yaml") is None:
        raise SuiteError(
            "YAML needs PyYAML, which is not installed.",
            where=where,
            hint="Install it: pip install 'glyphscope[yaml]'.",
        )
    import yaml

    if len(text) > MAX_YAML:
        raise SuiteError(
            f"The file has {len(text):,} characters; at most {MAX_YAML:,} are read.", where=where
        )
    loader = _loader()
    try:
        level = 0
        for event in yaml.parse(text, Loader=loader):  # does not recurse, unlike yaml.load
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > _MAX_LEVELS:
                line = event.start_mark.line + 1
                raise SuiteError(
                    f"It is nested more than {_MAX_LEVELS} levels deep in line {line}.", where=where
                )
        return _Plain(where).value(yaml.load(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        problem = "a value contains itself" if "recursive" in problem else problem
        raise SuiteError(f"This is not YAML: {problem}{place}.", where=where) from None
    except (RecursionError, MemoryError):
        raise SuiteError("This YAML is too large to be read.", where=where) from None


def read_document(text: str, where: str) -> Any:
    """A document of tools, in which a date is its text. Raises RegistryError."""
    try:
        return _dates_as_texts(parse_yaml(text, where))
    except SuiteError as error:
        raise RegistryError(error.message, where=error.where, hint=error.hint) from None


def read_places(text: str, _where: str) -> dict[str, tuple[int, int]]:
    """The first and the last character of each value, by its JSON Pointer; none of a text that is not YAML."""
    import yaml

    try:
        root = yaml.compose(text, Loader=_loader())
    except (yaml.YAMLError, RecursionError):
        return {}
    found: dict[str, tuple[int, int]] = {}
    waiting: list[tuple[str, Any]] = [] if root is None else [("", root)]
    while waiting and len(found) < _MAX_VALUES:
        pointer, node = waiting.pop()
        found[pointer] = node.start_mark.index, node.end_mark.index
        if isinstance(node, yaml.MappingNode):
            waiting += [(pointer + to_pointer((str(key.value),)), value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(f"{pointer}/{index}", value) for index, value in enumerate(node.value)]
    return found


def _dates_as_texts(value: Any) -> Any:
    if isinstance(value, YamlDate):
        return value.text
    if isinstance(value, dict):
        return {key: _dates_as_texts(each) for key, each in value.items()}
    return [_dates_as_texts(each) for each in value] if isinstance(value, list) else value


@cache
def _loader() -> Any:
    """PyYAML's safe loader with the scalars and the mappings of js-yaml."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
        yaml_constructors: ClassVar[dict[str, Any]] = {}
        left = _MAX_VALUES

        def mapping(self, node: Any) -> dict[str, Any]:
            """The members, those of merge keys where no other has the name."""
            found: dict[str, Any] = {}
            named: set[str] = set()
            for key, value in node.value:
                if getattr(key, "tag", "") == f"{_TAG}merge":
                    self._merge(found, self.construct_object(value, deep=True), value)
                    continue
                name = self._name(key)
                if name in named:
                    raise self._error(f"duplicate key {shorten(name, 60)}", key)
                named.add(name)
                found[name] = self.construct_object(value, deep=True)
            return found

        def _merge(self, found: dict[str, Any], given: Any, node: Any) -> None:
            for source in given if isinstance(given, list) else [given]:
                if not isinstance(source, dict) or isinstance(source, YamlDate):
                    raise self._error("a merge key has no mapping", node)
                self.left -= len(source) + 1
                if self.left < 0:
                    raise self._error(f"merge keys repeat more than {_MAX_VALUES:,} members", node)
                for name, value in source.items():
                    found.setdefault(name, value)

        def sequence(self, node: Any) -> list[Any]:
            return [self.construct_object(each, deep=True) for each in node.value]

        def scalar(self, node: Any) -> Any:
            """A scalar with a type, which is explicit if the text alone would not have it."""
            kind, text = node.tag.removeprefix(_TAG), self.construct_scalar(node)
            if (value := _SCALARS[kind](text, True)) is _OTHER:
                raise self._error(f"{shorten(text, 40)} is not a value of the type {kind}", node)
            return value

        def unknown(self, node: Any) -> Any:
            raise self._error(f"the type {shorten(node.tag.replace(_TAG, '!!'), 60)} is not read", node)

        def _error(self, problem: str, node: Any) -> Exception:
            error: Exception = yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
            return error

        def _name(self, key: Any) -> str:
            value = self.construct_object(key) if isinstance(key, yaml.ScalarNode) else {}
            if isinstance(value, dict):
                raise self._error("a key is not a text", key)
            return js_text(value)

    Loader.add_constructor(None, Loader.unknown)
    for kind in ("map", "seq", "str"):
        read = {"map": Loader.mapping, "seq": Loader.sequence, "str": Loader.construct_scalar}[kind]
        Loader.add_constructor(f"{_TAG}{kind}", read)
    for kind, read in _SCALARS.items():
        Loader.add_constructor(f"{_TAG}{kind}", Loader.scalar)
        Loader.add_implicit_resolver(f"{_TAG}{kind}", _Matches(read), None)
    return Loader


class _Matches:
    """A resolver's pattern: whether a plain scalar has a value of the type."""

    def __init__(self, read: Callable[[str, bool], Any]) -> None:
        self._read = read

    def match(self, text: str) -> bool:
        return self._read(text, False) is not _OTHER


_OTHER = object()
"""The result for a text that is not of the type."""


def _null(text: str, explicit: bool) -> Any:
    return None if text in ("", "~", "null", "Null", "NULL") else _OTHER


def _bool(text: str, explicit: bool) -> Any:
    return {"true": True, "false": False}.get(text.lower(), _OTHER) if _CASED.fullmatch(text) else _OTHER


def _int(text: str, explicit: bool) -> Any:
    if not (_EXPLICIT_INT if explicit else _INT).fullmatch(text):
        return _OTHER
    digits = text.lstrip("+-")
    base = _BASES.get(digits[:2], 10)
    digits = (digits[2:] if base != 10 else digits).lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:
        return _OTHER
    value = js_number(int(digits, base))
    return _OTHER if isinstance(value, float) and math.isinf(value) else -value if text[0] == "-" else value


def _float(text: str, explicit: bool) -> Any:
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", "").lower())
    if not _FLOAT.fullmatch(text) or len(text) > _MAX_DIGITS * 10:
        return _OTHER
    value = float(text)
    return _OTHER if math.isinf(value) else value


def _timestamp(text: str, explicit: bool) -> Any:
    found = _DATE.fullmatch(text)
    if found is None:
        return _OTHER
    parts = [int(part or 0) for part in found.groups()]
    hour, minute, second, zone, zone_minute = parts[6:]
    if hour > 23 or minute > 59 or second > 59 or zone > 23 or zone_minute > 59:
        return _OTHER
    try:
        date(*((parts[0] or parts[3]), (parts[1] or parts[4]), (parts[2] or parts[5])))
    except ValueError:  # a day that does not exist, or the year 0
        return _OTHER
    value = YamlDate()
    value.text = text
    return value


def _merge(text: str, explicit: bool) -> Any:
    return "<<" if text == "<<" else _OTHER


_CASED = re.compile("true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+|[-+]?[0-9]+")
_EXPLICIT_INT = re.compile(r"[-+]?(?:0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_SCALARS: dict[str, Callable[[str, bool], Any]] = {
    "null": _null, "bool": _bool, "int": _int, "float": _float, "timestamp": _timestamp, "merge": _merge,
}  # fmt: skip
"""The types in the order in which a plain scalar is tried; another one is a text."""


class _Plain:
    """Copies a limited number of values with JSON's types."""

    def __init__(self, where: str) -> None:
        self._where, self._left = where, _MAX_VALUES

    def value(self, value: Any, level: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or level > _MAX_LEVELS:
            raise SuiteError(
                f"It has more than {_MAX_VALUES:,} values with its aliases, or a value that contains itself.",
                where=self._where,
            )
        if isinstance(value, YamlDate):
            return value
        if isinstance(value, dict):
            return {key: self.value(each, level + 1) for key, each in value.items()}
        if isinstance(value, list):
            return [self.value(each, level + 1) for each in value]
        if isinstance(value, float) and not math.isfinite(value):
            raise SuiteError(f"It has a value that JSON has not: {value}.", where=self._where)
        return value
