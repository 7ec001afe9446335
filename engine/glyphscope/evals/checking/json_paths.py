"""JSONPath by RFC 9535: python-jsonpath, with exact comparisons and the regular expressions of RFC 9485."""

from __future__ import annotations

import re
from typing import Any

import regex
from iregexp_check import check
from jsonpath import JSONPathEnvironment, JSONPathSyntaxError, NodeList
from jsonpath.filter import UNDEFINED, StringLiteral
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.token import Token

_PART = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|[.^$]|[^\\\[.^$]+", re.DOTALL)
_SIGNS = {".": r"[^\n\r]", "^": r"\A", "$": r"\Z"}
"""Of I-Regexp; `^` and `$` are the ends of the text only, as in the compliance tests of RFC 9535."""


class Environment(JSONPathEnvironment):
    """The reader of paths. An I-Regexp that is invalid is an error of the path, not a check that always fails."""

    def __init__(self) -> None:
        super().__init__(strict=True)
        self.function_extensions["match"] = _Regexp(whole=True)
        self.function_extensions["search"] = _Regexp(whole=False)

    def validate_function_extension_signature(self, token: Token, args: list[Any]) -> list[Any]:
        args = super().validate_function_extension_signature(token, args)
        if token.value in ("match", "search") and isinstance(args[1], StringLiteral):
            pattern = args[1].value
            if not check(pattern) or _compiled(pattern) is None:
                raise JSONPathSyntaxError(f"invalid I-Regexp (RFC 9485): {pattern}", token=token)
        return args

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator in ("&&", "||"):
            return super().compare(left, operator, right)
        left, right = _value(left), _value(right)
        match operator:
            case "==":
                return same(left, right)
            case "!=":
                return not same(left, right)
            case "<":
                return _less(left, right)
            case ">":
                return _less(right, left)
            case "<=":
                return _less(left, right) or same(left, right)
            case _:
                return _less(right, left) or same(left, right)


class _Regexp(FilterFunction):
    """`match`, or `search`: values that are not texts, and invalid I-Regexps of the document, do not match."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012 - as in the library
    return_type = ExpressionType.LOGICAL

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str) or not check(pattern):
            return False
        compiled = _compiled(pattern)
        if compiled is None:
            return False
        return (compiled.fullmatch(value) if self._whole else compiled.search(value)) is not None


def _compiled(pattern: str) -> Any:
    """The I-Regexp for the module `regex`, which caches it; None if it cannot have it, such as too many repeats."""
    text = "".join(_SIGNS.get(part, part) for part in _PART.findall(pattern))
    try:
        return regex.compile(text)
    except (regex.error, OverflowError, RecursionError):
        return None


def _value(found: object) -> object:
    """The value of a singular query, or of a literal; UNDEFINED if there is none."""
    if not isinstance(found, NodeList):
        return found
    return found[0].obj if found else UNDEFINED


def same(left: object, right: object) -> bool:
    """Whether two values are equal, at any depth: no number equals a boolean."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        if not isinstance(right, dict) or left.keys() != right.keys():
            return False
        return all(same(value, right[key]) for key, value in left.items())
    return left == right


def _less(left: object, right: object) -> bool:
    """`<`: of two texts, or two numbers; false for anything else."""
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if isinstance(left, str):
        return isinstance(right, str) and left < right
    return isinstance(left, int | float) and isinstance(right, int | float) and left < right
