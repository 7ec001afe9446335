"""Judge calls and values while they are written, character by character, and by jsonschema once they are complete."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTED = {
    "CallValidator": "call",
    "FreeTextValidator": "free_text_answer",
    "validator_of": "free_text_answer",
}
"""The names that exported pytest files of earlier versions import from here, and the modules that define them."""

if not TYPE_CHECKING:  # so that type checkers report any other name

    def __getattr__(name: str) -> Any:
        if name not in _EXPORTED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_EXPORTED[name]}"), name)
