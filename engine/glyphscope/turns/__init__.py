"""Turns in a model's own notation: their form, derived from its chat template, and their reading.

A form (`TurnForm`) is data. `form_of` derives it from a renderer of the template and applies the table of corrections;
`prove` renders random turns and reads them back; `read_turn` separates reasoning, text and calls of an answer, and
`call_violations` lists the errors of a call. No code depends on a model's name.

A module is imported when one of its names is first used: a process that renders templates needs neither the reading
of turns nor schemas, and most others need the form alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_MODULES = {
    "Derived": "derive", "form_of": "derive", "ArgumentsForm": "form", "CallForm": "form", "Piece": "form",
    "TurnForm": "form", "load_form": "form", "save_form": "form", "Turn": "read", "TurnCall": "read",
    "read_turn": "read", "TurnTools": "tools", "CallViolation": "violations", "call_violations": "violations",
}  # fmt: skip
"""The names of this package's interface, with the modules that define them."""

if TYPE_CHECKING:
    from glyphscope.turns.derive import Derived, form_of
    from glyphscope.turns.form import ArgumentsForm, CallForm, Piece, TurnForm, load_form, save_form
    from glyphscope.turns.read import Turn, TurnCall, read_turn
    from glyphscope.turns.tools import TurnTools
    from glyphscope.turns.violations import CallViolation, call_violations
else:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
