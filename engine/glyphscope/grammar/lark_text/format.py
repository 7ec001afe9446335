"""The formatted text of a Lark document: the same lexemes and comments, with one space where spaces are usual.

Line ends, comments, literals, regular expressions and JSON are unchanged, so the text means the same.
"""

from __future__ import annotations

from glyphscope.grammar.gbnf.parse.syntax import Comment, GrammarSyntax
from glyphscope.grammar.lark_text.parse.pieces import WITH_JSON, LarkLexeme, read_pieces

_TIGHT_BEFORE = frozenset({")", "]", "}", ",", "operator", "::", ".", "newline", ":", "=", ".."})
_TIGHT_AFTER = frozenset({"(", "[", "{", "~", "::", ".", "=", ".."})
_INDENT = "    "


def print_lark(document: GrammarSyntax) -> str:
    """The formatted text; a text with problems in its syntax is returned unchanged."""
    if document.problems:
        return document.text
    pieces, comments, _ = read_pieces(document.text)
    text, before = "", LarkLexeme("newline", "", 0, 0)
    depth = 0
    for piece in sorted([*pieces, *map(_as_piece, comments)], key=lambda each: each.start):
        depth += {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}.get(piece.kind, 0)
        raw = document.text[piece.start : piece.end]
        if piece.kind == "newline":
            text = text.rstrip(" ") + "\n" * min(raw.count("\n"), 3)
        elif before.kind == "newline":
            text += (_INDENT if piece.kind == "|" else "") + raw
        else:
            text += _between(before, piece, depth) + raw
        before = piece
    return text.rstrip("\n") + "\n" if text.strip() else text


def _as_piece(comment: Comment) -> LarkLexeme:
    return LarkLexeme("comment", "", comment.start, comment.end)


def _between(before: LarkLexeme, piece: LarkLexeme, depth: int) -> str:
    if piece.kind == "comment":
        return "  "
    if before.kind in WITH_JSON or piece.kind in WITH_JSON:
        return " "
    if piece.kind == "~":  # `"a" ~ 2`, or the negation of what follows
        return " "
    if before.kind == "~" and piece.kind == "number":
        return " "
    if piece.kind == ".." or before.kind == "..":
        return " " if "number" in (before.kind, piece.kind) else ""
    if piece.kind == "[" and before.kind in ("rule", "_") and depth == 1:
        return "" if before.end == piece.start else " "
    if piece.kind in ("{", "(") and before.end == piece.start:
        return ""  # of a count, a template or a condition
    if before.kind == "operator" and piece.kind in ("rule", "terminal", "operator"):
        return " "
    if piece.kind in _TIGHT_BEFORE or before.kind in _TIGHT_AFTER:
        return ""
    return " "
