"""Forms of turns with each encoding of arguments, tools for them, and calls written in them."""

from __future__ import annotations

import json
from typing import Any

from glyphscope.registry import parse_document
from glyphscope.turns import AnswerValidator, Expected, TurnForm, TurnOptions, TurnTools
from glyphscope.turns.form import ArgumentsForm, CallForm, CallObject, Piece, ReasoningForm
from glyphscope.validation import Limits

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2, "maxLength": 30},
        "days": {"type": "integer", "minimum": 2, "maximum": 14},
        "unit": {"enum": ["celsius", "kelvin"]},
        "tags": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        "mix": {"type": ["integer", "null", "string"], "maximum": 5, "maxLength": 4},
        "ok": {"type": "boolean"},
        "where": {
            "type": "object",
            "properties": {"lang": {"enum": ["de", "en"]}},
            "required": ["lang"],
            "additionalProperties": False,
        },
    },
    "required": ["city"],
}
REGISTRY = parse_document(
    [
        {"name": "weather", "parameters": WEATHER},
        {"name": "wealth", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}},
        {"name": "ping"},
        {"name": "off", "enabled": False},
    ]
)
TOOLS = TurnTools(REGISTRY)


KINDS = ("name", "arguments", "object", "key", "value")


def _texts(*texts: str) -> tuple[Piece, ...]:
    return tuple(Piece(text) if text in KINDS else Piece("text", text) for text in texts)  # type: ignore[arg-type]


THINK = ReasoningForm("<think>\n", "\n</think>\n\n", {"on": "opens", "off": "closes", "undefined": "leaves"})
BEGUN = {"on": "<think>\n", "off": "<think>\n\n</think>\n\n", "undefined": ""}


def turn_form(call: CallForm, **changes: Any) -> TurnForm:
    return TurnForm(
        (call,), THINK, header="<|im_start|>assistant\n", begun=BEGUN, ends=("<|im_end|>",), **changes
    )


OBJECT = turn_form(
    CallForm(_texts("<tool_call>\n", "object", "\n</tool_call>"), object=CallObject(), separator="\n")
)
JSON = turn_form(
    CallForm(
        _texts("<|call|>", "name", "<|args|>", "arguments", "<|end|>"),
        section_open="<|calls|>",
        section_close="<|/calls|>",
    )
)
TAGGED = turn_form(
    CallForm(
        _texts("<tool_call>\n<function=", "name", ">\n", "arguments", "</function>\n</tool_call>"),
        ArgumentsForm("tagged", _texts("<parameter=", "key", ">\n", "value", "\n</parameter>\n")),
        separator="\n",
    )
)
PYTHONIC = turn_form(
    CallForm(
        _texts("name", "(", "arguments", ")"),
        ArgumentsForm("pythonic", _texts("key", "=", "value"), separator=", ", quote="'"),
        section_open="<|start|>[",
        section_close="]<|stop|>",
        separator=", ",
    )
)
DICT = turn_form(
    CallForm(
        _texts("<|call>call:", "name", "{", "arguments", "}<call|>"),
        ArgumentsForm("dict", _texts("key", ":", "value"), separator=",", quote='<|"|>'),
    )
)
FORMS = {"object": OBJECT, "json": JSON, "tagged": TAGGED, "pythonic": PYTHONIC, "dict": DICT}


def write(encoding: str, name: str, **arguments: Any) -> str:
    """A call; an argument `A__2` is A once more."""
    members = [(key.partition("__")[0], value) for key, value in arguments.items()]
    if encoding in ("object", "json"):
        inside = "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in members) + "}"
        if encoding == "object":
            return f'<tool_call>\n{{"name": "{name}", "arguments": {inside}}}\n</tool_call>'
        return f"<|calls|><|call|>{name}<|args|>{inside}<|end|><|/calls|>"
    if encoding == "tagged":
        texts = [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in members]
        inside = "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in texts)
        return f"<tool_call>\n<function={name}>\n{inside}</function>\n</tool_call>"
    if encoding == "pythonic":
        return f"<|start|>[{name}({', '.join(f'{key}={value!r}' for key, value in members)})]<|stop|>"
    return f"<|call>call:{name}{{{','.join(f'{key}:{_of_dict(value)}' for key, value in members)}}}<call|>"


def _of_dict(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_of_dict(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_of_dict, value)) + "]"
    return json.dumps(value)


def read(
    form: TurnForm, *pieces: str, limits: Limits | None = None, **options: Any
) -> tuple[AnswerValidator, list[Any]]:
    validator = Expected(form, TurnOptions(**{"thinking": False, **options})).validator(REGISTRY, limits)
    events = [event for piece in pieces for event in validator.feed(piece)]
    return validator, events + validator.finish()
