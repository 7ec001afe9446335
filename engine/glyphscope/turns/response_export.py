"""A form of turns as transformers' `response_template`, and the test of one by the turns of a chat template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.turns.derive import Derived
from glyphscope.turns.form import CallForm, Piece, TurnForm
from glyphscope.turns.probe import Renders
from glyphscope.turns.proving import Failure, Prover, same_values
from glyphscope.turns.response_template import ResponseTemplate, parse_response_template, read_response

_NAME = r"(?P<name>[^\s<>\[\]{}()\"':=|]+)"
_FUNCTION = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
_REASONING = ("reasoning_content", "thinking", "reasoning")


class ResponseProof(msgspec.Struct, frozen=True):
    """Of `turns` rendered turns, a response template reads `equal` as they were; `failures` are the first others."""

    turns: int
    equal: int
    failures: tuple[Failure, ...] = ()

    @property
    def proved(self) -> bool:
        return self.turns > 0 and self.equal == self.turns


def prove_response(
    renderer: Renders, derived: Derived, form: TurnForm, template: ResponseTemplate, turns: int
) -> ResponseProof:
    """The proof of a response template by so many random turns of the chat template; by none if it writes no calls."""
    if "calls" in derived.drops:
        return ResponseProof(0, 0)
    prover = Prover(renderer, derived, form)
    tools = {
        each["function"]["name"]: each["function"]["parameters"]["properties"] for each in prover.document
    }
    equal = tried = 0
    failures: list[Failure] = []
    for made in prover.turns(turns):
        if made.turn is None:
            continue
        tried += 1
        expected = [made.text, made.reasoning, [[call.name, call.arguments] for call in made.calls]]
        try:
            read = _read(read_response(template, _generated(made.body, form), tools))
        except PromptError as error:
            read = error.message
        if same_values(expected, read):
            equal += 1
        elif len(failures) < 3:
            failures.append(Failure(made.body[:2000], expected, read))
    return ResponseProof(tried, equal, tuple(failures))


def _read(message: dict[str, Any]) -> Any:
    """The text, the reasoning and the calls of a message; the message itself if its calls are not those of OpenAI."""
    reasoning = next((message[key] for key in _REASONING if key in message), "")
    try:
        functions = [each["function"] for each in message.get("tool_calls") or ()]
        calls = [[function["name"], function["arguments"]] for function in functions]
    except (TypeError, LookupError):
        return message
    return [message.get("content", ""), reasoning, calls]


def _generated(body: str, form: TurnForm) -> str:
    """A rendered turn as a generation: up to its end, and with the opening of reasoning that the prompt has."""
    reasoning = form.reasoning
    if reasoning is not None and reasoning.close.strip() in body and reasoning.open.strip() not in body:
        body = reasoning.open + body
    return body.rstrip()


def export_response(form: TurnForm) -> dict[str, Any]:
    """The `response_template` of a form. Raises PromptError for a form that it cannot express."""
    ends = [end for end in form.ends if end.strip()]
    if not form.header.strip() or not form.calls or not ends:
        raise _inexpressible("its turns have no marker at their beginning, no calls, or no end")
    fields: dict[str, Any] = {}
    if form.reasoning is not None and form.reasoning.derived != "table":
        fields["reasoning_content"] = {
            "open": form.reasoning.open.strip(),
            "close": form.reasoning.close.strip(),
        }
    fields["tool_calls"] = _calls(form.calls[0], ends)
    if form.wraps:
        wrap = form.wraps[0]
        closes = [*filter(None, (wrap.close.strip(), *ends))]
        fields["content"] = {"open": wrap.open.strip(), "close": closes}
    else:
        fields["content"] = {"close": ends}
    fields["content"] |= {"repeats": True, "join": ""}  # white space between calls would replace a text
    made = {"defaults": {"role": "assistant"}, "start_anchor": form.header.strip(), "fields": fields}
    parse_response_template(made, "")
    return made


def _calls(call: CallForm, ends: Sequence[str]) -> dict[str, Any]:
    match call.arguments.encoding:
        case "json" if call.object is not None:
            return _object(call, ends)
        case "pythonic":
            return _python(call, ends)
    before, after = _around(call, "arguments")
    if call.arguments.as_string or call.fixed_name or call.unmarked or not before:
        raise _inexpressible("a call is not between markers")
    made: dict[str, Any] = {"open_pattern": _optional(call.section_open) + before}
    made |= {"repeats": True, "transform": _FUNCTION}
    end = after.strip() or call.section_close.strip()
    match call.arguments.encoding:
        case "tagged":
            made |= _tagged(call)
        case "dict":
            if not (before.endswith(r"\{") and end.startswith("}")):
                raise _inexpressible("its arguments are not in braces")
            made["open_pattern"] = made["open_pattern"].removesuffix(r"\{") + r"(?=\{)"
            end = end[1:]
            quote = call.arguments.quote
            made |= {
                "content": "json",
                "content_args": {"unquoted_keys": True, "string_delims": [[quote, quote]]},
            }
        case _:
            made["content"] = "json"
    if not end:  # the turn ends it, or the next call
        again = re.escape(call.call_opens[0].strip() or call.section_open.strip())
        if not again:
            raise _inexpressible("a call has no marker")
        return made | {"close_pattern": "|".join([*map(re.escape, ends), f"(?={again})"])}
    return made | {
        "close_pattern": re.escape(end) + (rf"\s*{_optional(call.section_close)}" if after.strip() else "")
    }


def _object(call: CallForm, ends: Sequence[str]) -> dict[str, Any]:
    """Calls as JSON objects, or as a list of them."""
    keys = call.object
    before, after = _around(call, "object")
    if keys is None or not keys.name_key or keys.wrapper or call.arguments.as_string:
        raise _inexpressible("the tool's name is not a member of the call")
    names = (keys.name_key, keys.arguments_key)
    if call.listed:
        opened = call.section_open.rstrip().removesuffix("[").strip()
        closed = call.section_close.strip().removeprefix("]").strip()
        shape = {"name": f"{{{names[0]}}}", "arguments": f"{{{names[1]}}}"}
        made: dict[str, Any] = {"open": opened, "transform_each": True, "close": closed or list(ends)}
    else:
        opened = before
        shape = {"name": f"{{content.{names[0]}}}", "arguments": f"{{content.{names[1]}}}"}
        made = {"open_pattern": _optional(call.section_open) + before, "repeats": True}
        made["close_pattern"] = re.escape(after.strip()) + rf"\s*{_optional(call.section_close)}"
    if not opened or not (call.listed or after.strip()):
        raise _inexpressible("a call is not between markers")
    return made | {"content": "json", "transform": {"type": "function", "function": shape}}


def _python(call: CallForm, ends: Sequence[str]) -> dict[str, Any]:
    opened, closed = call.section_open.rstrip(), call.section_close.strip()
    if not (opened.endswith("[") and closed.startswith("]") and opened[:-1].strip()):
        raise _inexpressible("its list of calls is not between markers")
    shape = {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}
    made = {
        "open": opened[:-1].strip(),
        "content": "python-call-list",
        "transform_each": True,
        "transform": shape,
    }
    return made | {"close": closed[1:].strip() or list(ends)}


def _tagged(call: CallForm) -> dict[str, Any]:
    arguments = call.arguments
    if arguments.item or arguments.typed or arguments.quote or arguments.escape[0]:
        raise _inexpressible("the tags around an argument depend on its value")
    pieces = [
        "(?P<key>.*?)"
        if piece.kind == "key"
        else "(?P<value>.*?)"
        if piece.kind == "value"
        else _escaped(piece.text)
        for piece in arguments.parameter
    ]
    if arguments.parameter[-1].kind == "value":
        raise _inexpressible("an argument has no marker at its end")
    return {"content": "xml-inline", "content_args": {"tag_pattern": "".join(pieces)}}


def _around(call: CallForm, kind: str) -> tuple[str, str]:
    """The pattern of the pieces before the arguments, and the text after them."""
    kinds = [piece.kind for piece in call.pieces]
    if kind not in kinds:
        raise _inexpressible("a call has no arguments")
    place = kinds.index(kind)
    before = "".join(map(_pattern, call.pieces[:place]))
    before = re.sub(rf"({re.escape(_NAME)}.*?){re.escape(_NAME)}", r"\1(?P=name)", before, flags=re.DOTALL)
    return before, "".join(piece.text for piece in call.pieces[place + 1 :])


def _pattern(piece: Piece) -> str:
    if piece.kind == "text":
        return _escaped(piece.text)
    return _NAME if piece.kind == "name" else r"[\w.:-]*?"


def _escaped(text: str) -> str:
    """The pattern of a text, in which white space at the ends may be missing."""
    bare = text.strip()
    lead, tail = (r"\s*" if text[:1].isspace() else ""), (r"\s*" if text[-1:].isspace() and bare else "")
    return lead + re.escape(bare) + tail


def _optional(text: str) -> str:
    return rf"(?:{re.escape(text.strip())}\s*)?" if text.strip() else ""


def _inexpressible(why: str) -> PromptError:
    return PromptError(
        f"The form of turns cannot be a response_template: {why}.", hint="Use the form itself."
    )
