"""The `response_template` of a `tokenizer_config.json`: how transformers (5.13 and later) reads a model's answers.

https://huggingface.co/docs/transformers/main/chat_response_parsing. Its patterns are a stranger's: it reads texts only
in a process with limits.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.shorten import excerpt
from glyphscope.base.structs import ready

Content = Literal["text", "int", "float", "bool", "json", "xml-inline", "kv-lines", "python-call-list"]
_CONSTANTS = {"true": True, "false": False, "null": None}
"""Names of values in a list of calls, beside those of Python."""


class ResponseField(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A member of a message, and the texts around it; without one that opens it, it is all other text."""

    open: str | list[str] = ""
    open_pattern: str = ""
    close: str | list[str] = ""
    close_pattern: str = ""
    content: Content = "text"
    content_args: dict[str, Any] = {}
    transform: Any = None
    transform_each: bool = False
    repeats: bool = False
    join: str | None = None
    optional: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError (in decoding, a ValidationError) for a pattern beside a text, or an invalid one."""
        for text, pattern in ((self.open, self.open_pattern), (self.close, self.close_pattern)):
            if text and pattern:
                raise ValueError("a region is delimited by a text or by a pattern, not by both")
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(f"the pattern {excerpt(pattern, 60)} is invalid: {error}") from None


class ResponseTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields by the names of the message's members. `start_anchor` is before an answer in a prompt."""

    fields: dict[str, ResponseField]
    defaults: dict[str, Any] = {}
    start_anchor: str = ""
    start_anchor_pattern: str = ""
    version: Literal[1] = 1

    def __post_init__(self) -> None:
        """Raises ValueError (in decoding, a ValidationError) for a template that transformers rejects too."""
        others = [name for name, field in self.fields.items() if not (field.open or field.open_pattern)]
        if not self.fields or len(others) > 1:
            raise ValueError("it has fields, of which at most one has no opening")
        if bool(self.start_anchor) == bool(self.start_anchor_pattern):
            raise ValueError("it has a start_anchor or a start_anchor_pattern")


def parse_response_template(data: Any, where: str) -> ResponseTemplate:
    """The response template in data of JSON. Raises PromptError."""
    try:
        return msgspec.convert(data, ready(ResponseTemplate))
    except msgspec.ValidationError as error:
        raise PromptError(
            f"The response_template is invalid: {error}.",
            where=where,
            hint="Its members: https://huggingface.co/docs/transformers/main/chat_response_parsing.",
        ) from None


class _Found(NamedTuple):
    """A delimiter, in the order in which it is taken: the first, of these the longest, and openings before closings."""

    start: int
    length: int
    closes: bool
    name: str
    match: re.Match[str]


def read_response(template: ResponseTemplate, text: str, tools: Mapping[str, Any]) -> dict[str, Any]:
    """The message in the text of an answer. `tools` are schemas of arguments by tool, for the types of arguments that
    are written as texts. Raises PromptError for a text that does not fit, as transformers raises an error.
    """
    message: dict[str, Any] = {}
    for name, body, groups in _regions(template, text):
        field = template.fields[name]
        try:
            value = _typed(_value(body, field, groups), tools)
        except (ValueError, TypeError, LookupError, AttributeError, SyntaxError, RecursionError) as error:
            raise PromptError(f"The field {name} cannot be read from {excerpt(body, 80)}: {error}.") from None
        if field.join is not None and name in message:
            value = message[name] + field.join + value
        message[name] = [*message.get(name, []), value] if field.repeats and field.join is None else value
    placed = {
        name: value
        for name, value in message.items()
        if name in template.defaults or value not in ("", [], {}, None)
    }
    return {**template.defaults, **placed}


def _regions(template: ResponseTemplate, text: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The fields with their bodies and the groups of their delimiters, in the order of the text."""
    other = next((name for name, each in template.fields.items() if not (each.open or each.open_pattern)), "")
    at = 0
    while True:
        found = [
            _Found(match.start(), match.start() - match.end(), name == other, name, match)
            for name, field in template.fields.items()
            if (match := _delimiter(field, name == other, text, at)) is not None
        ]
        first = min(found, default=None, key=lambda each: each[:4])
        end = len(text) if first is None else first.start
        if other and text[at:end]:
            yield other, text[at:end], {}
        if first is None or (first.closes and not first.length):
            return
        at = first.match.end()
        if not first.closes:
            field = template.fields[first.name]
            close = _delimiter(field, True, text, at)
            end = len(text) if close is None else close.start()
            groups = first.match.groupdict() | ({} if close is None else close.groupdict())
            yield first.name, text[at:end], groups
            at = len(text) if close is None else close.end()


def _delimiter(field: ResponseField, closes: bool, text: str, at: int) -> re.Match[str] | None:
    literal, pattern = (field.close, field.close_pattern) if closes else (field.open, field.open_pattern)
    literals = [literal] if isinstance(literal, str) else literal
    words = "|".join(map(re.escape, sorted(filter(None, literals), key=len, reverse=True)))
    return re.compile(pattern or words, re.DOTALL).search(text, at) if pattern or words else None


def _value(body: str, field: ResponseField, groups: dict[str, Any]) -> Any:
    value = _content(body, field.content, field.content_args)
    if field.transform is None:
        return value
    if field.transform_each:
        return [_transformed(field.transform, {**groups, **item}) for item in value]
    return _transformed(field.transform, {**groups, "content": value})


def _content(body: str, content: str, args: Mapping[str, Any]) -> Any:
    text = body.strip() if args.get("strip", True) else body
    match content:
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "bool":
            return text.lower() in ("true", "1")
        case "json":
            return _json(body, args)
        case "xml-inline":
            return _tags(body, args)
        case "kv-lines":
            return _lines(body, args)
        case "python-call-list":
            return _calls(body)
        case _:
            return text


def _json(text: str, args: Mapping[str, Any]) -> Any:
    """JSON, also with bare keys and with other marks around strings."""
    pieces = [
        "".join(map(re.escape, pair[:1])) + "(.*?)" + re.escape(pair[1])
        for pair in args.get("string_delims", ())
    ]
    strings: list[str] = []

    def placed(found: re.Match[str]) -> str:
        strings.append(json.dumps(next(group for group in found.groups() if group is not None)))
        return f"\x01{len(strings) - 1}\x02"

    written = re.sub("|".join(pieces), placed, text, flags=re.DOTALL) if pieces else text
    if args.get("unquoted_keys"):
        keys = r'"(?:\\.|[^"\\])*"|(?<=[{,])(\s*)(\w+)(\s*):'
        written = re.sub(
            keys,
            lambda found: found[0] if found[2] is None else f'{found[1]}"{found[2]}"{found[3]}:',
            written,
        )
    written = re.sub("\x01(\\d+)\x02", lambda found: strings[int(found[1])], written)
    try:
        return json.loads(written)
    except ValueError:
        if args.get("allow_non_json"):
            return text.strip()
        raise


def _tags(text: str, args: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for found in re.finditer(args["tag_pattern"], text, re.DOTALL):
        value = _nested(found["value"], args)
        if args.get("merge_duplicates") and found["key"] in out:
            known = out[found["key"]]
            value = [*(known if isinstance(known, list) else [known]), value]
        out[found["key"]] = value
    return out


def _lines(text: str, args: Mapping[str, Any]) -> dict[str, Any]:
    pairs = (line.partition(args.get("kv_sep", ":")) for line in text.split(args.get("line_sep", "\n")))
    return {key.strip(): _nested(value.strip(), args) for key, mark, value in pairs if mark}


def _nested(text: str, args: Mapping[str, Any]) -> Any:
    parser = args.get("value_parser")
    return text if parser is None else _content(text, parser.get("name", "text"), parser.get("args", {}))


_CALLED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|([A-Za-z_]\w*(?:[-.]\w+)*)\(""", re.DOTALL)


def _calls(text: str) -> list[dict[str, Any]]:
    """A list of calls as Python writes them, with keyword arguments of literals; names may have dots and dashes."""
    names: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        names.append(found[1])
        return f"_{len(names) - 1}("

    tree = ast.parse(_CALLED.sub(numbered, text.strip()), mode="eval").body
    if not isinstance(tree, ast.List):
        raise ValueError("this is not a list of calls")
    return [_call(each, names) for each in tree.elts]


def _call(node: ast.expr, names: list[str]) -> dict[str, Any]:
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name):
        raise ValueError("a call has keyword arguments")
    arguments = {str(each.arg): _literal(each.value) for each in node.keywords}
    return {"name": names[int(node.func.id[1:])], "arguments": arguments}


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    if isinstance(node, ast.List):
        return [_literal(each) for each in node.elts]
    if isinstance(node, ast.Dict):
        return {
            ast.literal_eval(key): _literal(value)
            for key, value in zip(node.keys, node.values)
            if key is not None
        }
    return ast.literal_eval(node)


_PLACE = re.compile(r"\{(\w+(?:\.\w+)*)\}")


def _transformed(shape: Any, values: Mapping[str, Any]) -> Any:
    """The shape with the values in the places of their names: `{name}`, `{content.key}`."""
    if isinstance(shape, dict):
        return {key: _transformed(each, values) for key, each in shape.items()}
    if isinstance(shape, list):
        return [_transformed(each, values) for each in shape]
    found = _PLACE.fullmatch(shape) if isinstance(shape, str) else None
    if found is None:
        return shape
    value: Any = values
    for step in found[1].split("."):
        value = value[step]
    return value


def _typed(value: Any, tools: Mapping[str, Any]) -> Any:
    """A call whose arguments that are texts have the types of the tool's schema."""
    if isinstance(value, list):
        return [_typed(each, tools) for each in value]
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or not isinstance(arguments := function.get("arguments"), dict):
        return value
    properties = tools.get(str(function.get("name")), {})
    typed = {
        key: _cast(each, properties[key].get("type")) if isinstance(each, str) and key in properties else each
        for key, each in arguments.items()
    }
    return {**value, "function": {**function, "arguments": typed}}


_CONTAINERS: dict[str, type] = {"object": dict, "array": list}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _cast(text: str, types: Any) -> Any:
    """The value of a text in the first of the types that it has; the text itself for none."""
    for kind in [types] if isinstance(types, str) else types or ():
        bare = text.strip()
        try:
            if kind == "boolean" and bare.lower() in _BOOLEANS:
                return _BOOLEANS[bare.lower()]
            if kind == "null" and bare in ("null", "None"):
                return None
            if kind == "integer":
                return int(text)
            if kind == "number" and math.isfinite(number := float(text)):
                return int(number) if number.is_integer() and "." not in text else number
            if kind in _CONTAINERS and isinstance(value := json.loads(text), _CONTAINERS[kind]):
                return value
        except ValueError:
            continue
    return text
