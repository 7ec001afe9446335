"""How a call is written: shapes, readers, writers, sizes."""

from typing import TYPE_CHECKING

from glyphscope.lazy_names import lazy_names

if TYPE_CHECKING:
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
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "shapes": ("call_document", "shape_keys"),
            "write": (
                "STYLES",
                "Sizes",
                "Style",
                "call_sizes",
                "sum_of",
                "text_sizes",
                "write_call",
                "write_value",
            ),
        },
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
