r"""The lexemes of Lark's own syntax, as llguidance divides a text: the longest match, never going back.

The consequences surprise: `"a"?b` has the name `?b`, `1..3` has the number `1.`, `Foo` is `F` and `oo`, and a regular
expression ends at the first `/`, also inside of brackets, but not at the end of its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from glyphscope.base.visible import visible
from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, fix
from glyphscope.grammar.gbnf.parse.syntax import Comment
from glyphscope.grammar.lark_text.diagnostics import report

_PIECE = re.compile(
    r"""(?P<comment>(?:\#|//)[^\n]*)
    | (?P<space>[ \t]+)
    | (?P<newline>(?:\r?\n)+[ \t]*)
    | (?P<keyword>%(?:ignore|import|override|declare|json|regex|llguidance|lark|if))
    | (?P<string>"(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|[^"\\\x00-\x1f\x7f])*+"i?)
    | (?P<regex>/(?:\\[^\n]|[^/\\])++/[imslux]*)
    | (?P<special><[^<>\s]++>)
    | (?P<grammar>@[a-zA-Z0-9_-]+)
    | (?P<hex>0[xX][0-9a-fA-F]+)
    | (?P<arrow>->)
    | (?P<number>[+-]?[0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][+-]?[0-9]+)?)
    | (?P<rule>!?[_?]?[a-z][_a-z0-9-]*)
    | (?P<terminal>_?[A-Z][_A-Z0-9-]*)
    | (?P<operator>[+*?])
    | (?P<sign>\.\.|::|[:,.(){}\[\]~|&=_])""",
    re.VERBOSE,
)
_STUCK = re.compile(r"[eE][+-]?|[xX]")  # begins the rest of a number, which never comes
_LINE = re.compile(r"[^\r\n]*")
_JSON_SPACE = re.compile(r"[ \t\n\r]*")
_LONG_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|(\\.)', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
WITH_JSON = ("%json", "%regex", "%llguidance")
MAX_PROBLEMS = 1_000


class LarkLexeme(NamedTuple):
    """A lexeme. `kind`: `string`, `regex`, `special`, `grammar`, `hex`, `number`, `rule`, `terminal`, `operator`,
    `newline`, `end`, or for keywords and signs the text itself. `value`: the JSON after a keyword.
    """

    kind: str
    text: str
    start: int
    end: int
    value: Any = None


class _NotJson(ValueError):
    pass


def _refuse(constant: str) -> Any:
    raise _NotJson(f"JSON has no {constant}")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def read_pieces(text: str) -> tuple[list[LarkLexeme], list[Comment], list[Diagnostic]]:
    """The lexemes of a text without spaces and comments, its comments, and its problems.

    After a problem, reading continues on the next line. If there is one, regular expressions end with their line.
    """
    pieces = _Pieces(text, by_line=False)
    pieces.read()
    if pieces.problems and pieces.ran_over:
        pieces = _Pieces(text, by_line=True)
        pieces.read()
    return pieces.found, pieces.comments, pieces.problems


class _Pieces:
    def __init__(self, text: str, *, by_line: bool) -> None:
        self.text = text
        self.by_line = by_line
        self.ran_over = False  # a regular expression was read across a line end
        self.found: list[LarkLexeme] = []
        self.comments: list[Comment] = []
        self.problems: list[Diagnostic] = []

    def read(self) -> None:
        text, at = self.text, 0
        while at < len(text) and len(self.problems) <= MAX_PROBLEMS:
            checkpoint()
            match = _PIECE.match(text, at)
            kind = match.lastgroup if match else None
            if match is None or kind is None:
                at = self._problem(at)
                continue
            end = match.end()
            if kind == "comment":
                self.comments.append(Comment(at, end))
            elif kind == "regex" and "\n" in match[0]:
                self.ran_over = True
                if self.by_line:
                    end = self._unclosed_regex(at)
                else:
                    self._add(kind, at, end)
            elif kind in ("number", "hex") and self._is_stuck(match):
                end = self._line(end)
                self._report("bad-number", f"`{text[at:end][:20]}` is not a number.", at, end)
            elif kind == "keyword" and match[0] in WITH_JSON:
                end = self._json(match[0], at, end)
            elif kind != "space":
                self._add(match[0] if kind in ("keyword", "sign", "arrow") else kind, at, end)
            at = end
        if len(self.problems) > MAX_PROBLEMS:
            message = f"More than {MAX_PROBLEMS} problems; the rest was not checked. Is this a Lark grammar?"
            self._report("too-many-mistakes", message, at, min(at + 1, len(text)))
        for surrogate in islice(_SURROGATE.finditer(text), 100):
            message = "A lone surrogate, which cannot be encoded as UTF-8. Delete it."
            self._report("lone-surrogate", message, *surrogate.span(), "")
        if not self.found or self.found[-1].kind != "newline":
            self._add("newline", len(text), len(text))

    def _add(self, kind: str, start: int, end: int, value: Any = None) -> None:
        self.found.append(LarkLexeme(kind, self.text[start:end], start, end, value))

    def _is_stuck(self, number: re.Match[str]) -> bool:
        rest = _STUCK.match(self.text, number.end())
        if rest is None or "e" in number[0].lower():
            return False
        return rest[0] not in "xX" or number[0] in "0"

    def _json(self, keyword: str, start: int, end: int) -> int:
        space = _JSON_SPACE.match(self.text, end)
        begin = space.end() if space else end
        try:
            value, after = _DECODER.raw_decode(self.text, begin)
            if any("\ud800" <= char <= "\udfff" for char in json.dumps(value, ensure_ascii=False)):
                raise _NotJson("a lone surrogate")
        except json.JSONDecodeError as error:
            message, place = f"The JSON after `{keyword}` is invalid: {error.msg}.", error.pos
        except (ValueError, RecursionError) as error:
            message, place = f"The JSON after `{keyword}` is invalid: {error}.", begin
        else:
            self._add(keyword, start, after, value)
            return after
        place = min(place, len(self.text))
        self._report("bad-json", message, place, min(place + 1, len(self.text)))
        self._add(keyword, start, self._line(place), {})
        return self._line(place)

    # -- problems ----------------------------------------------------------------------------------------------

    def _problem(self, at: int) -> int:
        """Report what begins no lexeme. Returns the place where reading continues."""
        text, sign = self.text, self.text[at]
        line = self._line(at)
        if sign == '"':
            return self._bad_string(at)
        if sign == "/":
            return self._unclosed_regex(at)
        if sign == "<":
            message = (
                'The `>` of this token is missing, or it contains a space. For the sign itself write `"<"`.'
            )
            self._report("unclosed-token", message, at, at + 1)
            return line
        if "\ud800" <= sign <= "\udfff":
            return at + 1  # reported with all others
        if sign == "'" and (other := re.compile(r"'([^'\\\n\"]*)'").match(text, at)):
            message = 'A text is written in double quotes: `"…"`.'
            self._report("unexpected-text", message, at, other.end(), f'"{other[1]}"')
            self._add("string", at, other.end(), other[1])
            return other.end()
        if sign == ";":
            message = "A rule ends with its line, without `;`. Delete it."
        elif sign == "\ufeff":
            message = "A byte order mark, at which llguidance stops. Delete it."
        elif sign == "%":
            message = (
                "An unknown statement. llguidance knows `%ignore`, `%import`, `%json`, "
                "`%regex`, `%lark`, `%if` and `%llguidance`."
            )
            self._report("unexpected-text", message, at, line)
            return line
        else:
            message = (
                f"`{visible(sign)}` has no meaning here. A text is written in quotes, a regular "
                "expression between slashes."
            )
        self._report("unexpected-text", message, at, at + 1, "")
        return at + 1

    def _bad_string(self, at: int) -> int:
        text = self.text
        closed = _LONG_STRING.match(text, at)
        if closed is None:
            end = self._line(at)
            message = 'This literal is not closed on its line. Add `"`; a line end in it is `\\n`.'
            self._report("unclosed-literal", message, at, end, text[at:end] + '"')
            self._add("string", at, end, "")
            return end
        for escape in _ESCAPE.finditer(text, at, closed.end() - 1):
            if escape[1]:
                message = (
                    f"A literal has no escape `{escape[1]}`. For a class of characters use a "
                    "regular expression, `/…/`."
                )
                self._report("unknown-escape", message, escape.start(), escape.end(), "\\" + escape[1])
        for place in range(at, closed.end()):
            if text[place] < " " or text[place] == "\x7f":
                message = "A control character in a literal. Write it as an escape."
                self._report("unexpected-text", message, place, place + 1, f"\\u{ord(text[place]):04x}")
        self._add("string", at, closed.end(), "")
        return closed.end()

    def _unclosed_regex(self, at: int) -> int:
        end = self._line(at)
        message = (
            "This regular expression is not closed with `/`. It ends at the first `/` that has "
            "no backslash before it."
        )
        self._report("unclosed-regex", message, at, end, self.text[at:end] + "/")
        self._add("regex", at, end, "")
        return end

    def _line(self, at: int) -> int:
        line = _LINE.match(self.text, at)
        return line.end() if line else at

    def _report(self, code: str, message: str, start: int, end: int, new: str | None = None) -> None:
        repair = (
            None if new is None else fix("Delete it" if not new else f"Write `{new[:40]}`", (start, end, new))
        )
        self.problems.append(report(code, message, start, end, repair))


def names_of(text: str) -> Iterator[re.Match[str]]:
    """The pieces of a text with their groups as kinds, for colours; what begins none is left out."""
    return _PIECE.finditer(text)
