"""GBNF text, whole: read without ever failing, told every mistake with its place and fix, printed, made a rule tree."""

from glyphscope.grammar.gbnf.check import GbnfCheck, check_gbnf, check_gbnf_bytes, mended
from glyphscope.grammar.gbnf.convert import to_grammar
from glyphscope.grammar.gbnf.diagnose import diagnose
from glyphscope.grammar.gbnf.diagnostic import Diagnostic, Fix, Severity
from glyphscope.grammar.gbnf.emit import GbnfText, emit_gbnf
from glyphscope.grammar.gbnf.load import load_gbnf
from glyphscope.grammar.gbnf.printer import print_gbnf
from glyphscope.grammar.gbnf.reader import read_gbnf
from glyphscope.grammar.gbnf.stopping import CheckCancelled
from glyphscope.grammar.gbnf.syntax import Comment, GbnfDocument, GbnfRule, Reference

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
    "check_gbnf",
    "check_gbnf_bytes",
    "diagnose",
    "emit_gbnf",
    "load_gbnf",
    "mended",
    "print_gbnf",
    "read_gbnf",
    "to_grammar",
]
