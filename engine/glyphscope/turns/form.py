"""The form in which a model writes a turn: reasoning, text and tool calls with their markers, as data.

A form is derived from a chat template (`derive`) or read from a JSON file (`load_form`). It contains neither code nor
the name of a model, so users can add forms: `save_form` writes every slot.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.inputs import read_file
from glyphscope.base.structs import ready
from glyphscope.events import ArgumentOrder, ConstrainFrom

PieceKind: TypeAlias = Literal["text", "name", "arguments", "id", "index", "object", "key", "value"]
Encoding: TypeAlias = Literal["json", "tagged", "pythonic", "dict"]
IdStyle: TypeAlias = Literal["none", "given", "index", "functions"]
State: TypeAlias = Literal["on", "off", "undefined"]
PromptPart: TypeAlias = Literal["opens", "closes", "leaves"]
Choice: TypeAlias = Literal["required", "auto", "none"]

STATES: tuple[State, ...] = ("on", "off", "undefined")
_MAX_BYTES = 4_000_000
"""The maximum size of a form's file, in bytes."""


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """One slot of a call or a parameter. `also` are alternative texts that the form allows; "" if it may be missing."""

    kind: PieceKind
    text: str = ""
    also: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that may be in its place, beginning with the template's."""
        return (self.text, *self.also)


EXTRA_MEMBERS = ("id", "type", "index", "tool_call_id")
"""Members that a call as a JSON object may have in addition to its name and arguments."""


def text_pieces(*texts: str) -> list[Piece]:
    """A piece for each text that is not empty."""
    return [Piece("text", text) for text in texts if text]


class CallObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The keys of a call as a JSON object. An empty `name_key` means that the tool's name itself is the key."""

    name_key: str = "name"
    arguments_key: str = "arguments"
    id_key: str = ""
    wrapper: str = ""


class ArgumentsForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """The form of arguments.

    `parameter` are the pieces of one argument (tagged, pythonic, dict); `separator` is between two. `quote` is around
    strings; empty if they are raw. `typed` is the text before the value by JSON type, if the type changes it.
    `literals` is the template's form of values other than strings; `item` is the tag of list items if nested values are
    also tags; `escape` may be around a raw text with line ends or markup.
    """

    encoding: Encoding = "json"
    parameter: tuple[Piece, ...] = ()
    separator: str = ""
    quote: str = ""
    typed: dict[str, str] = {}
    literals: Literal["json", "python"] = "json"
    item: str = ""
    escape: tuple[str, str] = ("", "")
    as_string: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError (in decoding, a ValidationError) for tagged arguments without key and value."""
        kinds = [piece.kind for piece in self.parameter if piece.kind != "text"]
        if self.encoding == "tagged" and (kinds[:2] != ["key", "value"] or kinds.count("value") > 1):
            raise ValueError("a tagged parameter has a `key` and a `value`, in this order")

    @property
    def opening(self) -> str:
        """The text before a parameter's key."""
        return "".join(piece.text for piece in self.parameter[: self._place("key")])

    @property
    def own_links(self) -> tuple[str, ...]:
        """The texts between a parameter's key and its value, regardless of the value's type."""
        pieces = self.parameter[self._place("key") + 1 : self._place("value")]
        return tuple(text for piece in pieces for text in piece.texts)

    @property
    def after_value(self) -> tuple[Piece, ...]:
        """The text that closes a parameter; it may contain the key."""
        return self.parameter[self._place("value") + 1 :]

    def closing(self, key: str) -> str:
        """The text that closes the parameter with that key."""
        return "".join(key if piece.kind == "key" else piece.text for piece in self.after_value)

    def _place(self, kind: PieceKind) -> int:
        return next(place for place, piece in enumerate(self.parameter) if piece.kind == kind)


class HashableForm(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """A form that can be the key of a cache, although it has dictionaries."""

    @cached_property
    def _json(self) -> bytes:
        return msgspec.json.encode(self)

    def __hash__(self) -> int:
        return hash(self._json)


class CallForm(HashableForm, frozen=True):
    """The form of calls: a section around all of them, pieces for each one, a separator between two.

    `lead` is the white space before the first call, `text_lead` the same after text. `listed`: the calls are the items
    of a JSON list. `empty` is the whole text after the name in a call without arguments, unless it is just the pieces
    without parameters.
    `unmarked`: only its name distinguishes a call from text, so it is read only for a tool of the request, or at a
    turn's beginning. `strict` False: only the lenient reading accepts it. `fixed_name`: the form is for that tool only.
    """

    pieces: tuple[Piece, ...]
    arguments: ArgumentsForm = ArgumentsForm()
    object: CallObject | None = None
    section_open: str = ""
    section_close: str = ""
    separator: str = ""
    lead: str = ""
    text_lead: str = ""
    listed: bool = False
    empty: str | None = None
    id: IdStyle = "none"
    unmarked: bool = False
    strict: bool = True
    fixed_name: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError (in decoding, a ValidationError) for pieces that do not make a call."""
        kinds = [piece.kind for piece in self.pieces]
        named, count = "name" in kinds or bool(self.fixed_name), kinds.count("arguments")
        if not {"key", "value"}.isdisjoint(kinds):
            raise ValueError("`key` and `value` are pieces of a parameter, not of a call")
        if self.object is not None and (kinds.count("object") != 1 or "name" in kinds or count):
            raise ValueError("a call as an object has one piece `object`, and neither `name` nor `arguments`")
        if self.object is None and ("object" in kinds or not named or count > 1):
            raise ValueError("a call has a piece `name`, and at most one `arguments`")
        if count and "name" in kinds[kinds.index("arguments") :]:
            raise ValueError("a call has its `name` before its `arguments`")

    @property
    def opening(self) -> str:
        """The text before the first call's name or object, including that of the section."""
        return self.section_open + self.call_opens[0]

    @property
    def call_opens(self) -> tuple[str, ...]:
        """The texts with which a call may begin; one empty text if its name or object begins it."""
        first = self.pieces[0]
        return first.texts if first.kind == "text" else ("",)

    @property
    def call_closes(self) -> tuple[str, ...]:
        """The texts with which a call may end; empty if its arguments or its object end it."""
        last = self.pieces[-1]
        return last.texts if last.kind == "text" and len(self.pieces) > 1 else ()

    @property
    def after_arguments(self) -> tuple[str, ...]:
        """The markers that may directly follow a call's arguments: a closing, or the next call's opening."""
        texts = (*self.call_closes, self.section_close, self.separator + self.call_opens[0])
        return tuple(text for text in texts if text.strip())


class ReasoningForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """The markers of reasoning.

    `prompt` gives, by state of thinking, whether the prompt opens it, closes it, or leaves it to the model.
    `call_ends`: a tool call may end it without the closing marker. `kept`: the template also writes the reasoning of
    earlier turns. `again`: it may also begin later in a turn, with tags on a separate line.
    """

    open: str
    close: str
    prompt: dict[str, PromptPart] = {}
    call_ends: bool = False
    kept: bool = False
    again: bool = False
    derived: Literal["rendered", "prompt", "table"] = "rendered"

    def __post_init__(self) -> None:
        """Raises ValueError (in decoding, a ValidationError) for reasoning without an end."""
        if not self.close.strip():
            raise ValueError("reasoning has a closing marker")

    @property
    def opens_anywhere(self) -> bool:
        """Whether reasoning may begin after text: its marker is more than a common word in angle brackets."""
        return any(sign in self.open for sign in "|[") or not self.open.strip().isascii()


class Wrap(msgspec.Struct, frozen=True, omit_defaults=True):
    """Markers around text for the user; they do not belong to the text."""

    open: str
    close: str = ""


class Correction(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row of the table that changed this form: its name, reason and source."""

    row: str
    reason: str
    source: str


class TurnForm(HashableForm, frozen=True):
    """A turn of the assistant.

    `header` begins it in the prompt; `begun` is the prompt's text after the header by state of thinking, which is
    already a part of the turn. `calls` are the ways of writing calls, beginning with the template's. `ends` are the
    texts that end a turn; `skips` are boundaries inside it, which are not text. `strays` are markers that models
    misplace: they are skipped in reading and rejected elsewhere. `generation_ends` are the texts of the vocabulary's
    tokens that end a generation, if known.
    """

    calls: tuple[CallForm, ...] = ()
    reasoning: ReasoningForm | None = None
    wraps: tuple[Wrap, ...] = ()
    header: str = ""
    begun: dict[str, str] = {}
    ends: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    generation_ends: tuple[str, ...] = ()
    text_before: bool = True
    text_after: bool = False
    parallel: bool = True
    describes_tools: bool = True
    corrections: tuple[Correction, ...] = ()

    @property
    def wrap_markers(self) -> tuple[str, ...]:
        """The markers around text for the user."""
        return tuple(marker for wrap in self.wraps for marker in (wrap.open, wrap.close))

    @property
    def reasoning_markers(self) -> tuple[str, ...]:
        """The opening and closing markers of reasoning; empty if the form has no reasoning."""
        return () if self.reasoning is None else (self.reasoning.open, self.reasoning.close)

    @property
    def encoding(self) -> str:
        """The argument encoding of the first way of writing calls; "" for a form without calls."""
        return self.calls[0].arguments.encoding if self.calls else ""


@dataclass(frozen=True)
class TurnOptions:
    """The options of a turn in a form.

    `choice`: "required" (a call), "auto" (a text, or a text and calls) or "none" (a text). `tool` is the only allowed
    one. `most_calls` is the maximum number of consecutive calls, None for any number. `constrain_from`: "start" allows
    no reasoning, "reasoning" leaves it free, and "call" also leaves the text before a call free, like `free_text`.
    `order` any: arguments, and the members of objects in them, may come in any order; the members of the call itself
    may not, because its arguments depend on its name. `lazy`: the grammar begins at a call's marker (`turn_triggers`).
    """

    choice: Choice = "required"
    tool: str | None = None
    most_calls: int | None = 1
    constrain_from: ConstrainFrom = "reasoning"
    thinking: bool | None = None
    free_text: bool = False
    order: ArgumentOrder = "schema"
    lazy: bool = False


DEFAULT_OPTIONS = TurnOptions()


def state_of(thinking: bool | None) -> State:
    """The word for a state of `enable_thinking`."""
    return "undefined" if thinking is None else "on" if thinking else "off"


def load_form(path: Path) -> TurnForm:
    """The form in a JSON file. Raises PromptError with the error in the file."""
    data = read_file(path, _MAX_BYTES, "a form of turns", error=PromptError)
    try:
        return msgspec.json.decode(data, type=ready(TurnForm))
    except msgspec.DecodeError as error:
        raise PromptError(f"Invalid form of turns: {error}.", where=str(path)) from None


def save_form(form: TurnForm) -> bytes:
    """The JSON of a form, as `load_form` reads it."""
    return msgspec.json.format(msgspec.json.encode(form), indent=2)


_READ: deque[tuple[dict[str, Any], TurnForm]] = deque(maxlen=8)
"""The forms of the last requests with their data, which do not change: a request is frozen."""


def read_form(data: dict[str, Any]) -> TurnForm | None:
    """The form of a request, read once; None for no data. Raises PromptError for an invalid one."""
    if not data:
        return None
    for known, form in tuple(_READ):
        if known is data:
            return form
    try:
        form = msgspec.convert(data, ready(TurnForm))
    except msgspec.ValidationError as error:
        raise PromptError(
            f"The request's form of turns is invalid: {error}.",
            where="form",
            hint="Leave the form out: a run fills it in from the model.",
        ) from None
    _READ.append((data, form))
    return form


def form_data(form: TurnForm) -> dict[str, Any]:
    """The form as plain data, as in a request; `read_form` of it is the form itself."""
    for there, known in tuple(_READ):
        if known is form:
            return there
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(form))
    _READ.append((data, form))
    return data


ENDPOINT_FORM = TurnForm(
    reasoning=ReasoningForm("<think>\n", "\n</think>\n\n", prompt=dict.fromkeys(STATES, "leaves"), again=True)
)
"""Reasoning, text and calls in the order of their arrival: reasoning between these markers, one line per call:
`{"name": …, "arguments": …}`."""
