"""Turns in a model's own notation or in ours: their form, derived from its chat template, and their reading.

A form (`TurnForm`) is data. `form_of` derives it from a renderer of the template and applies the table of corrections;
`prove` renders random turns and reads them back; `read_turn` separates reasoning, text and calls of an answer, and
`call_violations` lists the errors of a call. `Expected`, a form with options, has the grammar of an answer and the
validator that judges it while it is written. No code depends on a model's name.

A module is imported when one of its names is first used: a process that renders templates needs neither the reading
of turns nor schemas, and most others need the form alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.turns.conversations import CONVERSATIONS
    from glyphscope.turns.correcting import corrections
    from glyphscope.turns.derive import Derived, form_of
    from glyphscope.turns.expected import AnswerValidator, Expected
    from glyphscope.turns.foreign import known_forms
    from glyphscope.turns.form import TurnForm, TurnOptions, load_form
    from glyphscope.turns.grammar import build_call_grammar, build_turn_grammar, turn_triggers
    from glyphscope.turns.lint import FAULTS, TemplateLint, find_faults
    from glyphscope.turns.own import own_form
    from glyphscope.turns.parts import after_name, before_arguments, whole_call
    from glyphscope.turns.proving import FormProof, Prover, Transcription, prove
    from glyphscope.turns.read import FOREIGN, Turn, read_turn
    from glyphscope.turns.readers import Reading, departed, readings, resemblance
    from glyphscope.turns.response_template import parse_response_template, read_response
    from glyphscope.turns.tools import TurnTools
    from glyphscope.turns.violations import CallViolation, call_violations
else:
    __getattr__ = interface(__name__)
