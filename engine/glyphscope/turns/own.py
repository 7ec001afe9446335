"""The forms of calls in our notations: a whole call in one of the shapes, and its parts.

A turn in such a form is calls and words without markers: a call is recognised by its first characters
(`grammar/builder/turn.py`). In the turns of a model, its reasoning and its markers around text may be before the calls.
"""

from __future__ import annotations

from msgspec.structs import replace

from glyphscope.events import Notation, Shape
from glyphscope.grammar.builder.tools import Part
from glyphscope.grammar.notation_syntax import WhiteSpace
from glyphscope.notation.shapes import shape_keys
from glyphscope.turns.form import CallForm, CallObject, Piece, TurnForm


class OwnCall(CallForm, frozen=True):
    """A call, or a part of one, in GLYPH or JSON; `white_space` is that of JSON.

    Without white space more of a call is forced, so the model decides fewer tokens. In the flat shape, the `object` has
    no key for the arguments, which are beside the name. Files of forms cannot contain it.
    """

    part: Part = "call"
    notation: Notation = "json"
    shape: Shape = "flat"
    white_space: WhiteSpace = "none"


def own_form(
    notation: Notation, shape: Shape = "flat", part: Part = "call", *,
    tool: str = "", white_space: WhiteSpace = "none", model: TurnForm | None = None,
) -> TurnForm:  # fmt: skip
    """The form of calls in that notation and shape, in turns of the model; or of a part of them, as a value.

    `tool` is the one whose arguments are the part.
    """
    keys = shape_keys(shape)
    whole = CallObject(keys.name_key, keys.args_key or "") if part == "call" else None
    pieces = (Piece("object" if part == "call" else part),)
    call = OwnCall(
        pieces, object=whole, fixed_name=tool, part=part, notation=notation, shape=shape, white_space=white_space
    )  # fmt: skip
    return replace(model or TurnForm(), calls=(call,))


def own_call(form: TurnForm) -> OwnCall | None:
    """The call in GLYPH or JSON that the form consists of; None for a model's own form."""
    return next((call for call in form.calls if isinstance(call, OwnCall)), None)
