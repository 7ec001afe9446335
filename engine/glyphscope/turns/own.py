"""The forms of calls in our notations: a whole call in one of the shapes, its parts, and the forms known by name.

A turn in such a form is calls and words without markers: a call is recognised by its first characters (`own_text`). In
the turns of a model, its reasoning and its markers around text may be before the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from glyphscope.events import CALL, Answer, NativeForm, Notation, Shape
from glyphscope.notation.shapes import NAMED_CALLS, shape_keys
from glyphscope.turns.form import CallForm, CallObject, Piece, TurnForm

ANSWER_MARKER = "Answer:"
"""The text before an answer that follows other text."""

if TYPE_CHECKING:  # builders of grammars, which a reader of requests does not need
    from glyphscope.grammar.builder.tools import Part
    from glyphscope.grammar.notation_syntax import WhiteSpace


class OwnCall(CallForm, frozen=True):
    """A call, or a part of one, in GLYPH or JSON; `white_space` is that of JSON.

    Without white space more of a call is forced, so the model decides fewer tokens. In the flat shape, the `object` has
    no key for the arguments, which are beside the name. The section's opening is written by the prompt under a
    constraint. Without one, a call begins with the first word of it or, if there is none, with its own first
    characters, and the rest of both markers may be missing. `native` is the name of a form known by name. Files of
    forms cannot contain it. The part `answer` is what the `answer` describes.
    """

    part: Part | Literal["answer"] = "call"
    notation: Notation = "json"
    shape: Shape = "flat"
    white_space: WhiteSpace = "none"
    native: str = ""
    answer: Answer = CALL

    @property
    def marker(self) -> str:
        """The first word of the section's opening."""
        return self.section_open.strip().partition(" ")[0]


def own_form(
    notation: Notation, shape: Shape = "flat", part: Part = "call", *,
    tool: str = "", white_space: WhiteSpace = "none", native: str = "", model: TurnForm | None = None,
    text_before: bool = False, text_after: bool = False,
) -> TurnForm:  # fmt: skip
    """The form of calls in that notation and shape, in turns of the model; or of a part of them, as a value.

    `tool` is the one whose arguments are the part; `native` is the name of the form whose markers are around a call.
    Without `text_after` the answer is one call, which text precedes if `text_before` or the answer's options allow it;
    with it, calls and texts are in any order.
    """
    known = named_call(native)
    markers = ("", "") if known is None else (known.section_open, known.section_close)
    call = _call(
        notation, shape, native if known else "", markers, part=part, fixed_name=tool, white_space=white_space
    )  # fmt: skip
    return replace(model or TurnForm(), calls=(call,), text_before=text_before, text_after=text_after)


def answer_form(
    answer: Answer, notation: Notation, *, model: TurnForm | None = None, after_text: bool = False
) -> TurnForm:
    """The form of an answer other than a call, in turns of the model: after other text, it follows a marker."""
    call = OwnCall(
        (Piece("object"),), object=CallObject(), part="answer", notation=notation, answer=answer,
        section_open=ANSWER_MARKER if after_text else "",
    )  # fmt: skip
    return replace(model or TurnForm(), calls=(call,), text_before=after_text, text_after=False)


def own_call(form: TurnForm) -> OwnCall | None:
    """The call in GLYPH or JSON that the form consists of; None for a model's own form."""
    return next((call for call in form.calls if isinstance(call, OwnCall)), None)


def _call(
    notation: Notation, shape: Shape, native: str = "", markers: tuple[str, str] = ("", ""), *,
    part: Part = "call", fixed_name: str = "", white_space: WhiteSpace = "none",
) -> OwnCall:  # fmt: skip
    keys = shape_keys(shape)
    whole = CallObject(keys.name_key, keys.args_key or "") if part == "call" else None
    return OwnCall(
        (Piece("object" if part == "call" else part),), object=whole, fixed_name=fixed_name, part=part,
        section_open=markers[0], section_close=markers[1],
        notation=notation, shape=shape, white_space=white_space, native=native,
    )  # fmt: skip


ENDPOINTS_OWN: NativeForm = "openai"
"""The form of endpoints: calls are separate from the text, without a prefix."""
_ALL: dict[str, OwnCall] = {
    native: _call("json", named.shape, native, (named.opening, named.closing))
    for native, named in NAMED_CALLS.items()
}
NAMED = tuple(name for name in _ALL if name != ENDPOINTS_OWN)
"""The names of the forms of chat templates."""


def named_call(native: str) -> OwnCall | None:
    """The calls of the form of that name; None for an unresolved "auto", a template's own form, and no form."""
    return _ALL.get(native)
