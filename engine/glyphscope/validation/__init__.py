"""Is it right so far: the streaming validator, three-valued checks, the final word of jsonschema."""

from typing import TYPE_CHECKING

from glyphscope.lazy_names import lazy_names

if TYPE_CHECKING:
    from glyphscope.validation.call import CallValidator, CheckReport
    from glyphscope.validation.free_text_answer import FreeTextValidator, WordsValidator, validator_of
    from glyphscope.validation.streaming_validator import Limits
    from glyphscope.validation.turn import TurnCall, TurnValidator
    from glyphscope.validation.value import ValueValidator
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "call": ("CallValidator", "CheckReport"),
            "free_text_answer": ("FreeTextValidator", "WordsValidator", "validator_of"),
            "streaming_validator": ("Limits",),
            "turn": ("TurnCall", "TurnValidator"),
            "value": ("ValueValidator",),
        },
    )

__all__ = [
    "CallValidator",
    "CheckReport",
    "FreeTextValidator",
    "Limits",
    "TurnCall",
    "TurnValidator",
    "ValueValidator",
    "WordsValidator",
    "validator_of",
]
