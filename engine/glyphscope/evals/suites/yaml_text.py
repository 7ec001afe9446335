"""Reads untrusted YAML within limits: aliases can represent any number of values, and the parser is recursive."""

from __future__ import annotations

import importlib.util
import math
from datetime import date
from typing import Any

from glyphscope.errors import SuiteError

MAX_YAML = 8_000_000
"""Characters: PyYAML reads about a megabyte a second."""
_MAX_LEVELS = 100
_MAX_VALUES = 1_000_000


def parse_yaml(text: str, where: str) -> Any:
    """The document with JSON's types: dates are texts. Raises SuiteError, also if PyYAML is not installed."""
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
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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
        problem = getattr(error, "problem", None) or str(error)
        raise SuiteError(f"This is not YAML: {problem}{place}.", where=where) from None
    except ValueError as error:  # a date that does not exist, or a number with too many digits
        raise SuiteError(f"This YAML has a value that cannot be read: {error}.", where=where) from None


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
        if isinstance(value, dict):
            return {str(key): self.value(each, level + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.value(each, level + 1) for each in value]
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, float) and not math.isfinite(value):
            raise SuiteError(f"It has a value that JSON has not: {value}.", where=self._where)
        if value is None or isinstance(value, str | int | float):
            return value
        raise SuiteError(f"It has a value that JSON has not: {type(value).__name__}.", where=self._where)
