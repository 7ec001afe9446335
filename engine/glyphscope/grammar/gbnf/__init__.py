"""GBNF text, whole: read without ever failing, checked, with a fix for each problem, formatted, made a rule tree."""

from glyphscope.grammar.gbnf.cancellation import CheckCancelled
from glyphscope.grammar.gbnf.check import (
    GbnfCheck,
    apply_fixes,
    check_gbnf,
    check_gbnf_bytes,
    diagnose,
    load_gbnf,
)
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, Severity
from glyphscope.grammar.gbnf.emit.emit import GbnfText, emit_gbnf
from glyphscope.grammar.gbnf.emit.printer import print_gbnf
from glyphscope.grammar.gbnf.parse.parser import read_gbnf
from glyphscope.grammar.gbnf.parse.syntax import Comment, GbnfDocument, GbnfRule, Reference

__all__ = [
    "CheckCancelled",
    "Comment",
    "Diagnostic",
    "Fix",
    "GbnfCheck",
    "GbnfDocument",
    "GbnfRule",
    "GbnfText",
    "Reference",
    "Severity",
    "apply_fixes",
    "check_gbnf",
    "check_gbnf_bytes",
    "diagnose",
    "emit_gbnf",
    "load_gbnf",
    "print_gbnf",
    "read_gbnf",
]
