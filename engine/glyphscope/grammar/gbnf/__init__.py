"""GBNF text, whole: read without ever failing, told every mistake with its place and fix, printed, made a rule tree."""

from glyphscope.grammar.gbnf.diagnostic import Diagnostic, Fix, Severity
from glyphscope.grammar.gbnf.reader import read_gbnf
from glyphscope.grammar.gbnf.syntax import Comment, GbnfDocument, GbnfRule, Reference

__all__ = ["Comment", "Diagnostic", "Fix", "GbnfDocument", "GbnfRule", "Reference", "Severity", "read_gbnf"]
