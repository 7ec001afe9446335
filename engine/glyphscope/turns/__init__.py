"""Turns in a model's own notation: their form, derived from its chat template, and their reading.

A form (`TurnForm`) is data. `form_of` derives it from a renderer of the template and applies the table of corrections;
`prove` renders random turns and reads them back; `read_turn` separates reasoning, text and calls of an answer, and
`call_violations` lists the errors of a call. No code depends on a model's name.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from glyphscope.errors import PromptError
from glyphscope.turns.corrections import correct, corrections
from glyphscope.turns.derive import Derived, derive
from glyphscope.turns.form import ArgumentsForm, CallForm, Piece, TurnForm, load_form, save_form
from glyphscope.turns.probe import Renders
from glyphscope.turns.prove import Proof, prove
from glyphscope.turns.read import Turn, TurnCall, read_turn
from glyphscope.turns.tools import TurnTools
from glyphscope.turns.violations import CallViolation, call_violations


def form_of(renderer: Renders, ends: Iterable[str] = ()) -> tuple[TurnForm, Derived]:
    """The corrected form of a template's turns, and the derivation.

    `ends` are the texts of the vocabulary's tokens that end a generation; they also end a turn. Raises PromptError if
    no form can be derived.
    """
    try:
        derived = derive(renderer)
        form = correct(derived.form, derived.renderings)
    except ValueError as error:  # a template may write calls in a way that no rule covers
        raise PromptError(
            f"No form of turns can be derived from the template: {error}.", where="chat template"
        ) from error
    known = tuple(filter(None, ends))
    return replace(form, ends=tuple(dict.fromkeys((*form.ends, *known))), generation_ends=known), derived
