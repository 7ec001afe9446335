"""Templates of promptfoo with their variables filled in, as its Nunjucks prints them; other code is not run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from glyphscope.base.shorten import shorten
from glyphscope.evals.suites.imported import NotReadable

_EXACT = 2**53
"""Integers up to here are exact; JavaScript has no other numbers than doubles."""


def js_number(value: int | float) -> int | float:
    """The number as JavaScript has it: rounded to a double; infinity if it is too large."""
    if isinstance(value, int) and -_EXACT <= value <= _EXACT:
        return value
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def js_text(value: Any) -> str:
    """`String(value)`."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number_text(value)
        case list():
            return ",".join("" if each is None else js_text(each) for each in value)
    return "[object Object]"


def js_json(value: Any, indent: int = 0) -> str:
    """`JSON.stringify(value, null, indent)`."""
    return "".join(_json(value, indent, "\n"))


def _json(value: Any, indent: int, line: str) -> Iterator[str]:
    inner = line + " " * indent
    start, between, end = (inner, f",{inner}", line) if indent else ("", ",", "")
    if isinstance(value, dict) and value:
        for number, (key, each) in enumerate(value.items()):
            yield f"{between if number else '{' + start}{_quoted(key)}:{' ' if indent else ''}"
            yield from _json(each, indent, inner)
        yield f"{end}}}"
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield between if number else f"[{start}"
            yield from _json(each, indent, inner)
        yield f"{end}]"
    elif isinstance(value, str):
        yield _quoted(value)
    else:
        yield "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else js_text(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number_text(value: int | float) -> str:
    """The shortest digits that are this double, with an exponent from 1e21 and up to 1e-7."""
    number = js_number(value)
    if isinstance(number, int):
        return str(number)
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    sign, digits_, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, digits_))
    if digits == "0":
        return "0"
    assert isinstance(exponent, int)
    point = len(digits) + exponent
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{text}" if sign else text


_NAME = r"[^\W\d][\w$]*"
_STEP = rf"\.{_NAME}|\[(?:\d{{1,9}}|'[^'\\]*'|\"[^\"\\]*\")\]"
_EXPRESSION = re.compile(
    rf"(?:\s*\{{\{{-|\{{\{{)\s*(?P<name>{_NAME})(?P<path>(?:{_STEP})*)\s*(?:-\}}\}}\s*|\}}\}})"
)
_CODE = re.compile(r"\{\{|\{%|\{#")
_SIMPLE = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_UNCLOSED = re.compile(r"(?:\{%[^%]*|\{\{[^}]*|\{#[^#]*)(?=[\n\r\u2028\u2029]|\Z)")
_REFERENCES = re.compile(r"\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for\s+\w+\s+in)\s+([^{}\s]+)")
_ROOT = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ROUNDS = 5
"""Replacements of variables by the variables in them; a variable that contains itself has no end."""
MAX_TEXT = 1_000_000
"""Characters that a template may become: variables in variables grow with each round."""


def has_code(value: Any) -> bool:
    """Whether a text in the value is a template."""
    if isinstance(value, dict):
        return any(map(has_code, value.values()))
    if isinstance(value, list):
        return any(map(has_code, value))
    return isinstance(value, str) and _CODE.search(value) is not None


class Variables:
    """A test's variables. Simple variables in their texts are replaced, each text's last line end is removed."""

    def __init__(self, values: dict[str, Any]) -> None:
        """Raises NotReadable for texts that grow too long."""
        self.missing: dict[str, None] = {}
        self._values = {
            name: value.removesuffix("\n") if isinstance(value, str) else value
            for name, value in values.items()
        }
        for _ in range(_ROUNDS):
            if not self._replaced_once():
                break

    def _replaced_once(self) -> bool:
        """Replace the first variable in each variable's text; whether there was one."""
        changed = False
        for name, value in self._values.items():
            found = _SIMPLE.search(value) if isinstance(value, str) else None
            if found is None or found[1] not in self._values:
                continue
            text = _replacement(js_text(self._values[found[1]]), value, found)
            self._values[name] = _limited(value[: found.start()] + text + value[found.end() :])
            changed = True
        return changed

    def filled(self, value: Any) -> Any:
        """A value with the variables in its texts. Raises NotReadable."""
        if isinstance(value, dict) and value:
            return {key: self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, template: str) -> str:
        """The text of a template, in which a variable without a value, then also in `missing`, is nothing.

        Raises NotReadable for code, and for members that only JavaScript has.
        """
        return self._fill(template, self._values.get)

    def prompt(self, template: str) -> str:
        """The text of a prompt's template, in which the variables are templates too. Raises as `text`."""
        if _UNCLOSED.search(template) is not None:
            return template  # promptfoo takes such a text as it is
        return self._fill(template, self._rendered)

    def _rendered(self, name: str) -> Any:
        value = self._values.get(name)
        if not isinstance(value, str) or _UNCLOSED.search(value) is not None:
            return value
        roots = (_ROOT.match(found[1] or found[2]) for found in _REFERENCES.finditer(value))
        if any(root is not None and root[0] != "env" and root[0] not in self._values for root in roots):
            return value
        return self.text(value)

    def _fill(self, template: str, value_of: Callable[[str], Any]) -> str:
        rest = _EXPRESSION.sub("", template)
        if (code := _CODE.search(rest)) is not None:
            found = shorten(rest[code.start() :], 40)
            raise NotReadable(f"The template has code, which is not run: {found}")
        total = len(rest)

        def text(match: re.Match[str]) -> str:
            nonlocal total
            name, path = match["name"], match["path"]
            if name == "env" and name not in self._values:
                raise NotReadable("The template reads the environment, which a suite does not have.")
            value, known = _member(value_of(name), path, name in self._values)
            if not known:
                self.missing.setdefault(shorten(name + path, 80))
            found = "" if value is None else js_text(value)
            total += len(found)
            return _limited(found, total)

        return _EXPRESSION.sub(text, template)


def _replacement(text: str, whole: str, found: re.Match[str]) -> str:
    """The text with JavaScript's special patterns of replacements."""
    special = {"$": "$", "&": found[0], "`": whole[: found.start()], "'": whole[found.end() :]}
    return re.sub(r"\$([$&`'])", lambda match: special[match[1]], text)


def _member(value: Any, path: str, known: bool) -> tuple[Any, bool]:
    """The value at a path of members, and whether it exists. Raises NotReadable for members that JavaScript adds."""
    for step in re.findall(_STEP, path):
        name: str | int = int(step[1:-1]) if step[1].isdigit() else step.strip(".[]'\"")
        if isinstance(value, dict):
            value, known = value.get(str(name)), str(name) in value
        elif isinstance(value, list) and isinstance(name, int):
            value, known = (value[name], True) if name < len(value) else (None, False)
        elif value is not None:
            raise NotReadable(f"The template reads a member that only JavaScript has: {shorten(step, 40)}")
        else:
            known = False
    return value, known


def _limited(text: str, length: int | None = None) -> str:
    if (len(text) if length is None else length) > MAX_TEXT:
        raise NotReadable(f"With its variables it has more than {MAX_TEXT:,} characters.")
    return text


def messages_of(text: str, parse: Callable[[str], Any]) -> list[Any] | None:
    """The chat messages that a rendered prompt is for a chat model: a list in JSON, or in YAML, which `parse` reads."""
    start = text.lstrip()[:7]
    if not start.startswith("[") and start != "- role:":
        return None
    try:
        found = json.loads(text) if start.startswith("[") else parse(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def parsed_json(text: str) -> tuple[bool, Any]:
    """Whether the text is JSON, and its value."""
    if text.lstrip()[:1] not in tuple('[{"-0123456789tfn'):
        return False, None
    try:
        return True, json.loads(text, parse_constant=_reject)
    except (ValueError, RecursionError):
        return False, None


def _reject(constant: str) -> Any:
    raise ValueError(constant)
