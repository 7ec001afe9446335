"""The text of GBNF: of a grammar's nodes, and of a formatted document (`print_gbnf`).

A formatted document has one space between items, one line for each long alternative or group, and all comments. A
comment stays after its token: llama.cpp allowed a line end there before, so it still does. Texts and classes are
unchanged. `_rule` decides where a rule is broken into lines, `_between` writes the text between rules.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from glyphscope.base.visible import is_seen
from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.rules import RuleNames
from glyphscope.grammar.tree import EMPTY, NEVER, Node, alt

MAX_LINE = 110  # characters; in longer rules, each alternative has its own line
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_NEVER = "[^\\x00-\\U0010FFFF]"


class Speller:
    """Gives rules names that llama.cpp accepts, and writes their text."""

    def __init__(self, root: str, start: str, rules: Iterable[str]) -> None:
        self._taken = RuleNames()
        self._names = {start: self.fresh(root)}
        for name in rules:
            if name != start:
                self._names[name] = self.fresh(name)

    def name(self, rule: str) -> str:
        """The GBNF name of one of the grammar's rules."""
        return self._names[rule]

    def fresh(self, hint: str) -> str:
        """An unused name, made from the hint: letters, digits and hyphens."""
        return self._taken.fresh(re.sub(r"[^A-Za-z0-9-]+", "-", hint).strip("-") or "rule")

    def rule(self, name: str, body: Node) -> str:
        """The rule's text; alternatives that do not fit on one line have a line each."""
        options = (
            [_spell(option) for option in body.options] if isinstance(body, tree.Alt) else [_spell(body)]
        )
        line = f"{name} ::= {' | '.join(options)}"
        if len(line) <= MAX_LINE or len(options) <= 1:
            return line
        return f"{name} ::=\n  " + " |\n  ".join(options)


def _spell(node: Node) -> str:
    if isinstance(node, tree.Seq):
        return (
            " ".join(_grouped(part) if isinstance(part, tree.Alt) else _spell(part) for part in node.parts)
            or '""'
        )
    if isinstance(node, tree.Alt):
        return " | ".join(_spell(option) for option in node.options) or _NEVER
    if isinstance(node, tree.Literal):
        return f'"{"".join(_character(ord(char), inside=False) for char in node.text)}"'
    if isinstance(node, tree.CharClass):
        return spell_class(chars.complement(node.ranges) if node.negated else node.ranges)
    if isinstance(node, tree.RuleRef):
        return node.name
    if isinstance(node, tree.Repeat):
        return f"{_grouped(node.body)}{node.sign}"
    assert isinstance(node, tree.TokenMatch), "lexemes and intersections are rules by now"
    named = f"[{node.token}]" if isinstance(node.token, int) else node.token
    return f"{'!' if node.negated else ''}<{named}>"


def _grouped(node: Node) -> str:
    if isinstance(node, tree.Alt) and EMPTY in node.options:
        rest = alt(*(option for option in node.options if option != EMPTY))
        return (
            f"{_grouped(rest)}?"
            if rest != NEVER and not isinstance(rest, tree.Repeat)
            else f"({_spell(node)})"
        )
    single = isinstance(node, tree.Literal | tree.CharClass | tree.RuleRef | tree.TokenMatch)
    return _spell(node) if single else f"({_spell(node)})"


def spell_class(ranges: Ranges) -> str:
    """A class, negated if that is shorter: llama.cpp tests every range for every token.

    Only ASCII characters are excluded this way. A token may end inside a character, and a negated class then rejects
    the first bytes of an excluded character: `[^é]` rejects an `è` (llama.cpp's match_partial_char).
    """
    if not ranges:
        return _NEVER
    others = chars.complement(ranges)
    if not others:
        return "."
    negated = ranges[-1][1] == sys.maxunicode and others[-1][1] < 0x80 and _cost(others) <= _cost(ranges)
    return f"[^{_ranges(others)}]" if negated else f"[{_ranges(ranges)}]"


def _cost(ranges: Ranges) -> int:
    return sum(1 + (low != high) for low, high in ranges)


def _ranges(ranges: Ranges) -> str:
    return "".join(
        _character(low, inside=True)
        + ("" if low == high else ("" if high == low + 1 else "-") + _character(high, inside=True))
        for low, high in ranges
    )


def _character(code: int, *, inside: bool) -> str:
    char = chr(code)
    if char in _SHORT:
        return _SHORT[char]
    if char == '"' and not inside:
        return '\\"'
    if inside and char in "[]":
        return "\\" + char
    if code < 0x80:
        # Hyphens and carets have a meaning in a class, and only newer versions of llama.cpp know their escapes.
        return f"\\x{code:02X}" if not is_seen(char) or (inside and char in "-^") else char
    if is_seen(char):
        return char
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


MAX_DOCUMENT_LINE = 100  # characters; longer rules and groups are broken
_SPACE_IN_BRACES = re.compile(r"[ \t\r\n]+|#[^\r\n]*")
_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)")
_STEP = "  "


def print_gbnf(document: syntax.GrammarSyntax) -> str:
    """The formatted text, which has the same language; unchanged if the document has problems, and so no language."""
    text = document.text
    if document.problems:
        return text
    pieces: list[str] = []
    comments, at, end = document.comments, 0, 0
    for rule in document.rules:
        at = _between(text, comments, at, end, rule.start, pieces)
        inside = at
        while inside < len(comments) and comments[inside].start < rule.end:
            inside += 1
        pieces.append(_rule(rule, text, comments[at:inside]))
        at, end = inside, rule.end
    _between(text, comments, at, end, len(text), pieces)
    laid_out = "".join(pieces)
    return laid_out + "\n" if laid_out else ""


def _between(
    text: str, comments: tuple[syntax.Comment, ...], at: int, end: int, until: int, pieces: list[str]
) -> int:
    """Add the comments and blank lines from `end` to `until`. Returns the index of the next comment."""
    while at < len(comments) and comments[at].start < until:
        comment = comments[at]
        pieces.append(_gap(text[end : comment.start], pieces, "  "))
        pieces.append(text[comment.start : comment.end].rstrip())
        end = comment.end
        at += 1
    if until < len(text):
        pieces.append(_gap(text[end:until], pieces, "\n"))
    return at


def _gap(space: str, pieces: list[str], in_line: str) -> str:
    if not pieces:
        return ""
    if _BLANK_LINE.search(space):
        return "\n\n"
    return "\n" if "\n" in space or "\r" in space else in_line


class _Token(NamedTuple):
    """A piece of a body: its text, and its end in the source."""

    text: str
    end: int


def _rule(rule: syntax.RuleSyntax, text: str, comments: tuple[syntax.Comment, ...]) -> str:
    """A formatted rule. Alternatives get a line each if they are too long together, or if a group has a comment."""
    tokens = list(_tokens(rule.body, text))
    closers = _closers(tokens)
    widths = [0, *accumulate(len(token.text) + 1 for token in tokens)]  # of the tokens before each
    starts = [comment.start for comment in comments]
    before = [bisect_left(starts, token.end - len(token.text)) for token in tokens]  # comments before each
    head = f"{rule.name} ::="
    broken = len(head) + widths[-1] > MAX_DOCUMENT_LINE and any(_top_bars(tokens))
    out = [head, "\n" + _STEP if broken else " "]
    levels = [(broken, _STEP)]  # of each open group: whether each alternative has its own line; indentation
    commented = 0  # comments so far
    last = ""  # the last token; "\n" after a line end or `|`
    for place, token in enumerate(tokens):
        while commented < before[place]:
            _comment(out, text, comments[commented], levels[-1][1])
            commented, last = commented + 1, "\n"
        piece = token.text
        if piece == ")":
            was_broken, _ = levels.pop()
            if was_broken:
                if out[-1].isspace():
                    out.pop()
                out.append("\n" + levels[-1][1])
            out.append(")")
        elif piece == "|":
            out.append(" |" if last not in ("", "\n") else "|")
            out.append("\n" + levels[-1][1] if levels[-1][0] else " ")
            last = "\n"
            continue
        else:
            if last not in ("", "(", "\n") and piece[0] not in "*+?{":
                out.append(" ")
            out.append(piece)
            if piece == "(":
                closer = closers[place]
                inside = widths[closer] - widths[place]
                long = len(levels[-1][1]) + inside > MAX_DOCUMENT_LINE or before[closer] > before[place]
                indent = levels[-1][1] + _STEP if long else levels[-1][1]
                levels.append((long, indent))
                if long:
                    out.append("\n" + indent)
        last = piece
    while commented < len(comments):
        _comment(out, text, comments[commented], _STEP)
        commented += 1
    return "".join(out).rstrip()


def _comment(out: list[str], text: str, comment: syntax.Comment, indent: str) -> None:
    """Add a comment after the text so far, or on the next line if the text ends in a comment."""
    gap = "  "
    if out[-1].isspace():
        after_comment = out[-2].lstrip().startswith("#")
        out.pop()
        gap = f"\n{indent}" if after_comment else gap
    out.append(f"{gap}{text[comment.start : comment.end].rstrip()}")
    out.append(f"\n{indent}")


def _closers(tokens: list[_Token]) -> dict[int, int]:
    """From the place of each `(` to the place of its `)`."""
    closers, opened = {}, []
    for place, token in enumerate(tokens):
        if token.text == "(":
            opened.append(place)
        elif token.text == ")":
            closers[opened.pop()] = place
    return closers


def _top_bars(tokens: list[_Token]) -> Iterator[bool]:
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        yield not depth and token.text == "|"


def _tokens(body: syntax.Alternatives, text: str) -> Iterator[_Token]:
    """The tokens of a body in order, without recursion."""
    waiting: list[syntax.Alternatives | syntax.Item | _Token] = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Token):
            yield node
        elif isinstance(node, syntax.Alternatives):
            parts: list[syntax.Item | _Token] = []
            for before, option in zip((None, *node.options), node.options):
                if before is not None:
                    # a comment before the sign is moved after it, where it is also allowed
                    parts.append(_Token("|", before.end + 1))
                parts += option.items
            waiting += parts[::-1]
        elif isinstance(node, syntax.GroupItem):
            waiting += [_Token(")", node.end), node.body, _Token("(", node.start + 1)]
        elif isinstance(node, syntax.Repetition):
            operator = _SPACE_IN_BRACES.sub("", text[node.operator : node.end])
            waiting += [_Token(operator, node.end), node.item]
        else:
            yield _Token(text[node.start : node.end], node.end)
