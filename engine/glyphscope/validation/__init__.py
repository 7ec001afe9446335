"""Is it right so far: the streaming validator, three-valued checks, the final word of jsonschema."""

from glyphscope.validation.call import CallValidator
from glyphscope.validation.free_text import FreeTextValidator, validator_of
from glyphscope.validation.judge import Limits
from glyphscope.validation.report import CheckError, CheckField, CheckReport
from glyphscope.validation.turn import TurnCall, TurnValidator
from glyphscope.validation.value import ValueValidator
from glyphscope.validation.words import WordsValidator

__all__ = [
    "CallValidator",
    "CheckError",
    "CheckField",
    "CheckReport",
    "FreeTextValidator",
    "Limits",
    "TurnCall",
    "TurnValidator",
    "ValueValidator",
    "WordsValidator",
    "validator_of",
]
