"""Is it right so far: the streaming validator, three-valued checks, the final word of jsonschema."""

from glyphscope.validation.call import CallValidator, CheckReport
from glyphscope.validation.free_text_answer import FreeTextValidator, WordsValidator, validator_of
from glyphscope.validation.streaming_validator import Limits
from glyphscope.validation.turn import TurnCall, TurnValidator
from glyphscope.validation.value import ValueValidator

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
