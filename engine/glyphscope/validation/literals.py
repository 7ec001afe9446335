"""Judge one unquoted scalar being written (a number, a literal, a GLYPH bare word) against a Spec."""

from __future__ import annotations

from typing import Any, NamedTuple

from glyphscope.events import Notation
from glyphscope.grammar.checking import identity
from glyphscope.grammar.regular.numbers import has_exponents
from glyphscope.notation.scalars import (
    BOOLEAN,
    DECIMAL,
    NULL,
    NUMBER,
    STRING,
    is_bare,
    number_prefix,
    reachable_kinds,
    words,
)
from glyphscope.registry.facts import Range, exact
from glyphscope.validation.numbers import can_become
from glyphscope.validation.reasons import (
    AS_DECIMAL,
    Reason,
    kinds_in_words,
    must_be,
    not_listed,
    number_in_words,
    range_in_words,
    values_in_words,
)
from glyphscope.validation.spec import Spec
from glyphscope.validation.strings import StringCheck

_CERTAINLY_TEXT = 8
"""A bare word with more characters than this that can be a string can be nothing else: no literal is that long."""


class ScalarPrefix(NamedTuple):
    """The scalar so far, and the kinds of value that it can become in its notation, regardless of the schema."""

    notation: Notation
    text: str = ""  # once the word can be nothing but a string, only its beginning
    kinds: int = 0  # bits of `notation.scalars`

    def grown(self, text: str) -> ScalarPrefix:
        """With the next characters."""
        if self.kinds == STRING and len(self.text) > _CERTAINLY_TEXT:
            return self
        text = self.text + text
        return ScalarPrefix(self.notation, text, reachable_kinds(text, self.notation))


def can_satisfy(spec: Spec, prefix: ScalarPrefix, string: StringCheck | None) -> bool:
    """Whether a scalar with this prefix can satisfy `spec`; `string` checks it as a bare string (None: all fit)."""
    kinds = prefix.kinds & spec.kinds
    if kinds & spec.free or (kinds & STRING and not (string is not None and string.dead)):
        return True
    if kinds & NUMBER and _number_possible(spec, prefix.text, kinds & NUMBER):
        return True
    return bool(kinds & (NULL | BOOLEAN)) and any(
        kind & kinds and word.startswith(prefix.text) and _listed(spec, value)
        for word, (kind, value) in words(prefix.notation).items()
    )


def _number_possible(spec: Spec, text: str, kinds: int) -> bool:
    if spec.enum is None and kinds & DECIMAL and has_exponents(spec.span):
        return True
    if spec.enum is None:  # grammars write bounded numbers as plain decimals, so calls allow only these
        return not _has_exponent(text) and can_become(text, kinds, spec.span)
    numbers = [v for v in spec.enum if isinstance(v, int | float) and not isinstance(v, bool)]
    return any(_is_beginning(text, kinds, value) for value in numbers)


def _is_beginning(text: str, kinds: int, value: int | float) -> bool:
    """Whether a number that is listed begins like this: as a plain decimal, or as JSON writes it, as in `1e-07`."""
    if kinds & DECIMAL and isinstance(value, float) and repr(value).startswith(text):
        return True
    return not _has_exponent(text) and can_become(text, kinds, Range(exact(value), exact(value)))


def _has_exponent(text: str) -> bool:
    return "e" in text or "E" in text


def _listed(spec: Spec, value: bool | None) -> bool:
    return spec.enum is None or any(v is value for v in spec.enum)


def why_not(spec: Spec, prefix: ScalarPrefix, string: StringCheck | None) -> Reason:
    """The reason why no scalar with this prefix satisfies `spec`."""
    text = prefix.text
    kinds = prefix.kinds & spec.kinds
    if spec.enum is not None and (kinds or prefix.kinds & STRING):
        return not_listed(_listed_from(spec, text[:-1], prefix.notation), spec.enum_rule)
    if kinds & STRING and string is not None:
        return string.why()
    if spec.kinds & NUMBER and number_prefix(text):
        return _number_reason(spec, text, kinds)
    return not_of_kind(spec, text[:-1], prefix.notation)


def not_of_kind(spec: Spec, text: str = "", notation: Notation = "json") -> Reason:
    """The reason why a value is of no allowed kind; `text` is what was possible of an unquoted scalar."""
    if spec.enum is not None:
        viable = values_in_words(_listed_from(spec, text, notation))
    else:
        viable = kinds_in_words(spec.kinds & (reachable_kinds(text, notation) if text else spec.kinds))
    return Reason("TYPE_MISMATCH", must_be(kinds_in_words(spec.kinds)), spec.kinds_rule, viable, spec.kinds)


def _listed_from(spec: Spec, text: str, notation: Notation) -> tuple[Any, ...]:
    """The values of the enumeration that can be written with the beginning `text`; the empty text begins all."""
    return tuple(value for value in spec.enum or () if not text or _begins(value, text, notation))


def _begins(value: Any, text: str, notation: Notation) -> bool:
    """Whether an unquoted scalar that begins with the nonempty `text` can be the value."""
    if isinstance(value, str):
        return notation == "glyph" and value.startswith(text) and is_bare(value)
    if value is None or isinstance(value, bool):
        return any(word.startswith(text) and of is value for word, (_, of) in words(notation).items())
    if not isinstance(value, int | float) or not number_prefix(text):
        return False
    kinds = reachable_kinds(text, notation) & (NUMBER if value == int(value) else DECIMAL)
    return bool(kinds) and _is_beginning(text, kinds, value)


def _number_reason(spec: Spec, text: str, kinds: int) -> Reason:
    viable = (range_in_words(spec.span, spec.kinds),)
    if _has_exponent(text):
        return Reason("TYPE_MISMATCH", AS_DECIMAL, spec.kinds_rule, viable, spec.kinds)
    if not kinds and "." in text:
        return Reason("TYPE_MISMATCH", "must be an integer", spec.kinds_rule, viable, spec.kinds)
    span = spec.span
    without_step = Range(span.low, span.high, span.low_open, span.high_open)
    if span.step and can_become(text, kinds, without_step):
        message = f"cannot become a multiple of {number_in_words(span.step)}"
        return Reason("CONSTRAINT_MULTIPLE", message, spec.span.step_rule, viable)
    above_low = Range(low=span.low, low_open=span.low_open)
    if span.high is None or not can_become(text, kinds, above_low):
        assert span.low is not None
        bound = f"{'above' if span.low_open else 'at least'} {number_in_words(span.low)}"
        return Reason("CONSTRAINT_MIN", f"{text} cannot become {bound}", spec.span.low_rule, viable)
    message = f"{'must be below' if span.high_open else 'is at most'} {number_in_words(span.high)}"
    return Reason(
        "CONSTRAINT_MAX", f"{message}, and no continuation of {text} is", spec.span.high_rule, viable
    )


def complete(
    spec: Spec, kind: int, value: Any, text: str, notation: Notation, string: StringCheck | None
) -> Reason | None:
    """Why the complete scalar `text`, a `value` of this kind, does not satisfy `spec`, or None if it does."""
    if kind & spec.free:
        return None
    if not kind & spec.kinds:
        return not_of_kind(spec, text, notation)
    if spec.enum is not None:
        if any(identity(value) == identity(v) for v in spec.enum):
            return None
        return not_listed(_listed_from(spec, text, notation), spec.enum_rule)
    if kind == STRING and string is not None:
        return string.ended()
    if kind & NUMBER and not spec.span.contains(exact(value)):
        return _out_of_range(spec, value)
    return None


def _out_of_range(spec: Spec, value: int | float) -> Reason:
    span, viable = spec.span, (range_in_words(spec.span, spec.kinds),)
    number = exact(value)
    if span.low is not None and (number < span.low or (number == span.low and span.low_open)):
        return Reason("CONSTRAINT_MIN", f"{value} is too small", spec.span.low_rule, viable)
    if span.high is not None and (number > span.high or (number == span.high and span.high_open)):
        return Reason("CONSTRAINT_MAX", f"{value} is too large", spec.span.high_rule, viable)
    message = f"{value} is not a multiple of {number_in_words(span.step)}"
    return Reason("CONSTRAINT_MULTIPLE", message, spec.span.step_rule, viable)
