"""GBNF texts: read without ever failing, checked, with fixes for problems, formatted, and turned into rule trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.grammar.gbnf.cancellation import CheckCancelled
    from glyphscope.grammar.gbnf.check import apply_fixes, check_gbnf, check_gbnf_bytes, load_gbnf
    from glyphscope.grammar.gbnf.diagnostics import CODES, Diagnostic, Fix
    from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
    from glyphscope.grammar.gbnf.emit.gbnf_text import print_gbnf
    from glyphscope.grammar.gbnf.parse.parser import read_gbnf
else:
    # the process of a model reads GBNF, and does not write it
    __getattr__ = interface(__name__)
