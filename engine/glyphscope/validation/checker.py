"""jsonschema's verdicts on whole values, including the formats that are checked.

Each format is one anchored pattern of the linear-time engine, so it has the same meaning while the text streams in and
in the final check. A format that is not in `FORMATS` is an annotation, as in draft 2020-12. The patterns are wider than
the masked ones (`grammar.regular.formats`): leap seconds, lower-case `t` and `z`, and long host names are valid here
but never generated.
Sources: RFC 3339 (date and time), ISO 8601 in RFC 3339 appendix A (duration), RFC 5321 (email, dot-atoms), RFC 1123
(hostname), RFC 9562 (uuid), RFC 4291 (ipv6), RFC 3986 (uri), RFC 6901 (json-pointer).
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

import jsonschema

from glyphscope.grammar.checking import SafeValidator
from glyphscope.grammar.regular import pattern

_LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    r"(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    rf"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
_TIME = rf"{_CLOCK}(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_N = "[0-9]+"
_DURATION_TIME = rf"T(?:{_N}H(?:{_N}M(?:{_N}S)?)?|{_N}M(?:{_N}S)?|{_N}S)"
_DURATION_DATE = rf"(?:{_N}Y(?:{_N}M(?:{_N}D)?)?|{_N}M(?:{_N}D)?|{_N}D)"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = rf"{_LABEL}(?:\.{_LABEL})*"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_H = r"[0-9A-Fa-f]{1,4}"
_LOW = rf"(?:{_H}:{_H}|{_IPV4})"
_IPV6 = "|".join(
    [rf"(?:{_H}:){{6}}{_LOW}", rf"::(?:{_H}:){{5}}{_LOW}", rf"(?:{_H})?::(?:{_H}:){{4}}{_LOW}"]
    + [rf"(?:(?:{_H}:){{0,{n}}}{_H})?::(?:{_H}:){{{3 - n + 1}}}{_LOW}" for n in range(1, 4)]
    + [rf"(?:(?:{_H}:){{0,{n}}}{_H})?::{end}" for n, end in ((4, _LOW), (5, _H), (6, ""))]
)
_URI_CHAR = r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"

FORMATS: dict[str, str] = {
    name: f"^(?:{body})$"
    for name, body in {
        "date": _DATE,
        "time": _TIME,
        "date-time": rf"{_DATE}[Tt ]{_TIME}",
        "duration": rf"P(?:{_N}W|{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME})",
        "email": rf"{_ATOM}(?:\.{_ATOM})*@{_HOSTNAME}",
        "hostname": _HOSTNAME,
        "ipv4": _IPV4,
        "ipv6": _IPV6,
        "uuid": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
        "uri": rf"[A-Za-z][A-Za-z0-9+.-]*:{_URI_CHAR}*",
        "uri-reference": rf"{_URI_CHAR}*",
        "json-pointer": r"(?:/(?:[^~/]|~[01])*)*",
    }.items()
}

# jsonschema recurses into the instance, with several Python frames per level.
_RECURSION = 20_000


def _format_checker() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker(formats=[])
    for name, expression in FORMATS.items():

        def matches(value: object, expression: str = expression) -> bool:
            return not isinstance(value, str) or bool(pattern.found(expression, value))

        checker.checkers = {**checker.checkers, name: (matches, ())}
    return checker


_FORMAT_CHECKER = _format_checker()


class Checker:
    """Validates values against a schema or a place in it. Raises RecursionError for deeply nested values."""

    def __init__(self, schema: Any) -> None:
        self._root = SafeValidator(schema, format_checker=_FORMAT_CHECKER)

    def valid(self, value: Any, schema: Any = True) -> bool:
        """Whether `value` is valid against `schema`, whose references resolve in the checker's own schema."""
        with _DeepStack():
            return bool(self._at(schema).is_valid(value))

    def best_error(self, value: Any, schema: Any = None) -> Any | None:
        """jsonschema's best error against the whole schema or a place in it; None if the value is valid."""
        validator = self._root if schema is None else self._at(schema)
        with _DeepStack():
            return jsonschema.exceptions.best_match(validator.iter_errors(value))

    def _at(self, schema: Any) -> Any:
        return self._root if schema is self._root.schema else self._root.evolve(schema=schema)

    def errors(self, value: Any, limit: int) -> list[Any]:
        """jsonschema's first `limit` errors against the whole schema."""
        with _DeepStack():
            return list(islice(self._root.iter_errors(value), limit))


class _DeepStack:
    """A context in which jsonschema may recurse as deeply as our nesting limits require."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        if self._before < _RECURSION:
            sys.setrecursionlimit(_RECURSION)

    def __exit__(self, *_: object) -> None:
        if self._before < _RECURSION:
            sys.setrecursionlimit(self._before)
