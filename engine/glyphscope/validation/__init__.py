"""Judge calls and values while they are written, character by character, and by jsonschema once they are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.validation.call import CallValidator, CheckReport
    from glyphscope.validation.streaming_validator import Limits
    from glyphscope.validation.value import ValueValidator
else:
    __getattr__ = interface(__name__)
