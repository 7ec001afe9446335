"""How a call is written: shapes, readers, writers, sizes."""

from glyphscope.notation.shapes import call_document, shape_keys
from glyphscope.notation.write import (
    STYLES,
    Sizes,
    Style,
    call_sizes,
    sum_of,
    text_sizes,
    write_call,
    write_value,
)

__all__ = [
    "STYLES",
    "Sizes",
    "Style",
    "call_document",
    "call_sizes",
    "shape_keys",
    "sum_of",
    "text_sizes",
    "write_call",
    "write_value",
]
