"""The notations of calls: shapes, readers, writers, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.notation.read import make_reader, parse_value
    from glyphscope.notation.scalars import is_bare_key
    from glyphscope.notation.shapes import call_document, shape_keys
    from glyphscope.notation.write import write_call, write_value
else:
    __getattr__ = interface(__name__)
