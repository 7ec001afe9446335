"""Read Lark as llguidance does, but continue after a problem with the next definition, to report all of them.

llguidance's parser decides only by the lexeme that comes next, so `_Parser` follows it step by step: a rule ends at a
line end that no `|` follows, also inside of parentheses.
"""

from __future__ import annotations

import json
import re
from typing import Any

from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, fix
from glyphscope.grammar.gbnf.parse.syntax import (
    Alternatives,
    Conjunction,
    Embedded,
    GroupItem,
    Item,
    Negation,
    Pattern,
    Quoted,
    Reference,
    Repetition,
    Sequence,
    TokenItem,
)
from glyphscope.grammar.lark_text.diagnostics import report
from glyphscope.grammar.lark_text.parse.parameters import Parameters
from glyphscope.grammar.lark_text.parse.pieces import MAX_PROBLEMS, LarkLexeme, read_pieces
from glyphscope.grammar.lark_text.parse.syntax import (
    Attributes,
    Import,
    LarkOption,
    LarkRule,
    LarkSyntax,
    ParameterReference,
)

MAX_NESTING = 28
"""Groups inside of each other."""
MAX_COUNT = 2**31 - 1
_ENDS = frozenset({"newline", "|", "->", "}", ")", "]", "&", "%if"})
"""The lexemes before which an alternative ends."""
_BOUNDS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FOREIGN_SIGN = re.compile(r"[ \t]*(::=|:=|=)")
_HEX_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|.)", re.DOTALL)


class _Problem(Exception):
    """A syntax error, which was reported; reading continues with the next definition."""


def read_lark(text: str) -> LarkSyntax:
    """The syntax tree of any text; `problems` lists the deviations from llguidance's syntax. Never raises."""
    pieces, comments, problems = read_pieces(text)
    parser = _Parser(text, pieces, problems)
    parser.read()
    ordered = tuple(sorted(parser.problems, key=lambda problem: (problem.start, problem.end)))
    return LarkSyntax(
        text, tuple(parser.rules), tuple(comments), ordered, tuple(parser.ignored), tuple(parser.imports),
        tuple(parser.options),
    )  # fmt: skip


class _Parser(Parameters):
    def __init__(
        self, text: str, pieces: list[LarkLexeme], problems: list[Diagnostic], depth: int = 0
    ) -> None:
        self.text = text
        self.pieces = [*pieces, LarkLexeme("end", "", len(text), len(text))]
        self.problems = list(problems)
        self.at = 0
        self.depth = depth
        self.rules: list[LarkRule] = []
        self.ignored: list[Alternatives] = []
        self.imports: list[Import] = []
        self.options: list[Embedded] = []
        self._references: list[Reference] = []

    # -- pieces ------------------------------------------------------------------------------------------------

    @property
    def next(self) -> LarkLexeme:
        return self.pieces[self.at]

    def take(self, *kinds: str) -> LarkLexeme | None:
        """The next piece if it has one of these kinds."""
        piece = self.next
        if piece.kind not in kinds:
            return None
        self.at += piece.kind != "end"
        return piece

    def expect(self, kind: str, code: str, message: str, repair: Fix | None = None) -> LarkLexeme:
        """The next piece, which must have that kind."""
        piece = self.take(kind)
        if piece is None:
            raise self.problem(code, message, fix=repair)
        return piece

    def problem(
        self, code: str, message: str, place: tuple[int, int] | None = None, fix: Fix | None = None
    ) -> _Problem:
        """Report a syntax error, by default at the next piece."""
        start, end = place or (self.next.start, self.next.end)
        if self.next.kind == "newline" and place is None:
            end = min(start + 1, len(self.text))
        self.problems.append(report(code, message, start, end, fix))
        return _Problem()

    def _last_end(self) -> int:
        return self.pieces[self.at - 1].end if self.at else 0

    # -- definitions and statements ----------------------------------------------------------------------------

    def read(self) -> None:
        while len(self.problems) <= MAX_PROBLEMS:
            while self.take("newline"):
                pass
            if self.next.kind == "end":
                return
            begin = self.at
            try:
                self._definition()
            except _Problem:
                self._recover(begin)

    def _recover(self, begin: int) -> None:
        """Go to the next line that begins with a definition or a statement."""
        self.at = max(self.at, begin + 1)
        while self.next.kind != "end":
            kind = self.pieces[self.at - 1].kind
            if kind == "newline" and (self._is_head() or self.next.kind.startswith("%")):
                return
            self.at += 1

    def _is_head(self) -> bool:
        if self.next.kind not in ("rule", "terminal"):
            return False
        after = self.pieces[self.at + 1].kind
        return after in (":", "[", ".", "{", "::") or bool(_FOREIGN_SIGN.match(self.text, self.next.end))

    def _definition(self) -> None:
        piece = self.next
        if piece.kind in ("rule", "terminal"):
            self._rule()
        elif piece.kind == "%ignore":
            self.at += 1
            self.ignored.append(self._alternatives())
        elif piece.kind == "%import":
            self._import()
        elif piece.kind == "%llguidance":
            self.at += 1
            self.options.append(Embedded(piece.start, piece.end, "options", piece.value))
        elif piece.kind in ("%override", "%declare"):
            message = f"llguidance does not have `{piece.kind}`. Write the rule or terminal itself."
            raise self.problem("not-supported", message)
        elif piece.kind == "|" and self._after_gap():
            message = (
                "The rule ended before this line: between two alternatives there may be empty lines, "
                "but no comment and no"
                " line of spaces. Delete it."
            )
            raise self.problem("line-before-bar", message)
        else:
            message = "A line begins with `name:`, `NAME:`, `%ignore`, `%import` or `%llguidance`."
            raise self.problem("unexpected-text", message)

    def _after_gap(self) -> bool:
        return self.at > 1 and self.pieces[self.at - 1].kind == "newline" and bool(self.rules)

    def _rule(self) -> None:
        head = self.next
        self.at += 1
        is_terminal = head.kind == "terminal"
        self._refuse_mixed_case(head)
        unsupported: tuple[int, int, str] | None = None
        is_parametric = False
        if not is_terminal and self.next.kind == "::" and self.pieces[self.at + 1].kind != "=":
            self.at += 1
            self.expect("_", "bad-parameter", "A rule with a parameter begins with `name::_`.")
            is_parametric = True
        if begin := self.take("{"):
            self._names("terminal" if is_terminal else "rule", "}")
            unsupported = begin.start, self._last_end(), "templates"
        if begin := self.take("."):
            self._integer("A priority is a whole number.")
            unsupported = begin.start, self._last_end(), "priorities"
        attributes = Attributes()
        self._references = []
        if self.next.kind == "[":
            if is_terminal:
                message = (
                    f"Only a rule, with a name in lower case, has attributes. Write one around {head.text}."
                )
                raise self.problem("bad-attribute", message)
            attributes = self._attributes(head)
        self._colon(head)
        body = self._alternatives()
        name = head.text if is_terminal else head.text.removeprefix("!").removeprefix("?")
        span = head.end - len(name), head.end
        self.rules.append(
            LarkRule(
                head.start,
                max(body.end, self._last_end()),
                name,
                span,
                body,
                tuple(self._references),
                is_terminal,
                is_parametric,
                attributes,
                unsupported,
            )
        )

    def _refuse_mixed_case(self, head: LarkLexeme) -> None:
        name = re.compile(r"[A-Za-z0-9_-]+").match(self.text, head.start)
        if name is None or name.end() <= head.end:
            return
        whole = name[0]
        terminal = whole[:1].isupper()
        new = whole.upper() if terminal else whole.lower()
        kind = "terminal has only upper" if terminal else "rule has only lower"
        message = f"The name of a {kind} case letters: `{whole}` is read as several names. Write {new}."
        raise self.problem("mixed-case-name", message, name.span(), fix(f"Write {new}", (*name.span(), new)))

    def _colon(self, head: LarkLexeme) -> None:
        if self.take(":"):
            return
        repair = None
        message = f"A `:` separates the name {head.text} and its body."
        if sign := _FOREIGN_SIGN.match(self.text, head.end):
            repair = fix("Write `:`", (head.end, sign.end(), ":"))
            raise self.problem("definition-sign", message, sign.span(1), repair)
        raise self.problem("definition-sign", message, fix=fix("Insert `:`", (head.end, head.end, ":")))

    def _names(self, kind: str, close: str) -> None:
        while True:
            self.expect(kind, "unexpected-text", "A name is missing here.")
            if not self.take(","):
                break
        self.expect(close, "unexpected-text", f"A `{close}` is missing here.")

    def _name(self) -> LarkLexeme:
        piece = self.take("rule", "terminal")
        if piece is None:
            raise self.problem("unexpected-text", "The name of a rule or terminal is missing here.")
        return piece

    def _import(self) -> None:
        start = self.next.start
        self.at += 1
        path = "." if self.take(".") else ""
        path += self._name().text
        while self.take("."):
            path += f".{self._name().text}"
        if self.take("->"):
            name = self._name()
            self.imports.append(Import(start, name.end, path, name.text))
        elif self.take("("):
            while True:
                name = self._name()
                self.imports.append(Import(name.start, name.end, f"{path}.{name.text}", name.text))
                if not self.take(","):
                    break
            self.expect(")", "unexpected-text", "A `)` is missing after the names.")
        else:
            self.imports.append(Import(start, self._last_end(), path, path.rpartition(".")[2]))

    def _attributes(self, head: LarkLexeme) -> Attributes:
        self.at += 1
        found: dict[str, Any] = {}
        while self.next.kind != "]":
            key = self.expect("rule", "bad-attribute", "The name of an attribute is missing here.")
            name = key.text
            if name == "capture":
                found["capture"] = self._text() if self.take("=") else head.text
            elif name == "lazy":
                found.setdefault("lazy", True)
            else:
                self.expect("=", "bad-attribute", f"A value is missing: `{name}=…`.")
                self._attribute(key, found)
            if not self.take(","):
                break
        self.expect("]", "bad-attribute", "A `]` is missing after the attributes.")
        return Attributes(**found)

    def _attribute(self, key: LarkLexeme, found: dict[str, Any]) -> None:
        name = key.text
        if name in ("stop", "suffix"):
            item = self._value()
            if found.keys() & {"stop", "suffix", "lazy"}:
                message = "A rule has only one of `stop`, `suffix` and `lazy`."
                raise self.problem("bad-attribute", message, (key.start, key.end))
            found[name] = item
        elif name == "stop_capture":
            found[name] = self._text()
        elif name == "max_tokens":
            found[name] = self._integer("`max_tokens` is a whole number.", unsigned=True)
        elif name == "temperature":
            piece = self.expect("number", "bad-attribute", "`temperature` is a number.")
            found[name] = float(piece.text)
        else:
            known = "`capture`, `lazy`, `stop`, `suffix`, `stop_capture`, `max_tokens` and `temperature`"
            message = f"There is no attribute `{name}`. llguidance knows {known}."
            raise self.problem("bad-attribute", message, (key.start, key.end))

    def _text(self) -> str:
        piece = self.expect("string", "bad-attribute", "A text in quotes is missing here.")
        if piece.text.endswith("i"):
            raise self.problem(
                "bad-attribute", "The flag `i` is not possible here.", (piece.start, piece.end)
            )
        return self._literal(piece)

    # -- bodies ------------------------------------------------------------------------------------------------

    def _alternatives(self) -> Alternatives:
        if self.depth > MAX_NESTING:
            message = f"More than {MAX_NESTING} nested groups. Move the inner ones to a rule."
            raise self.problem("nested-too-deep", message)
        self.depth += 1
        try:
            options = [self._alternative()]
            while self._bar():
                options.append(self._alternative())
        finally:
            self.depth -= 1
        return Alternatives(options[0].start, options[-1].end, tuple(options))

    def _bar(self) -> bool:
        if self.take("|"):
            return True
        if self.next.kind == "newline" and self.pieces[self.at + 1].kind == "|":
            self.at += 2
            return True
        return False

    def _alternative(self) -> Sequence:
        parts = [self._sequence()]
        while self.take("&"):
            parts.append(self._sequence())
        if len(parts) == 1:
            option = parts[0]
        else:
            start, end = parts[0].start, parts[-1].end
            option = Sequence(start, end, (Conjunction(start, end, tuple(parts)),))
        if self.take("->"):
            self.expect("rule", "unexpected-text", "After `->` comes a name in lower case letters.")
        if self.take("%if") and self.next.text == "true":
            self.at += 1
        elif self.pieces[self.at - 1].kind == "%if":
            return LarkOption(option.start, self._last_end(), option.items, self.condition())
        return option

    def _sequence(self) -> Sequence:
        start = self.next.start
        items: list[Item] = []
        while self.next.kind not in _ENDS:
            items.append(self._item())
        return Sequence(start, self._last_end() if items else start, tuple(items))

    def _item(self) -> Item:
        item = self._atom()
        start = self.next.start
        if operator := self.take("operator"):
            return Repetition(item.start, operator.end, item, *_BOUNDS[operator.text], start)
        if self.next.kind == "~" and self.pieces[self.at + 1].kind == "number":
            self.at += 1
            least = self._count()
            most: int | None = self._count() if self.take("..") else least
        elif self.take("{"):
            least = 0 if self.next.kind == "," else self._count()
            most = least
            if self.take(","):
                most = None if self.next.kind == "}" else self._count()
            message = (
                "Braces give the number of repetitions: `{3}`, `{3,}` for 3 or more, `{3,5}` for 3 to 5."
            )
            self.expect("}", "bad-repetition", message)
            if most == 0:
                message = "An upper bound of 0 is not possible. Delete the item."
                raise self.problem("bad-repetition", message, (start, self._last_end()))
        else:
            return item
        span = start, self._last_end()
        if least < 0:
            raise self.problem("bad-repetition", "A negative number of repetitions is not possible.", span)
        return Repetition(item.start, span[1], item, least, None if most == MAX_COUNT else most, start)

    def _count(self) -> int:
        return self._integer("A number of repetitions is missing here.", code="bad-repetition")

    def _integer(self, message: str, *, code: str = "bad-number", unsigned: bool = False) -> int:
        piece = self.expect("number", code, message)
        if not _INTEGER.fullmatch(piece.text):
            span = piece.start, piece.end
            raise self.problem("bad-number", f"`{piece.text}` is not a whole number.", span)
        number = int(piece.text) if len(piece.text) < 25 else 10**25
        if (unsigned and (number < 0 or number >= 2**64)) or (not unsigned and abs(number) > MAX_COUNT):
            raise self.problem(
                "bad-number", f"{piece.text} is too small or too large.", (piece.start, piece.end)
            )
        return number

    def _atom(self) -> Item:
        start = self.next.start
        negated = bool(self.take("~"))
        if opened := self.take("("):
            body = self._group(opened, ")")
            item: Item = GroupItem(opened.start, self._last_end(), body)
        elif opened := self.take("["):
            body = self._group(opened, "]")
            end = self._last_end()
            item = Repetition(opened.start, end, GroupItem(opened.start, end, body), 0, 1, end)
        else:
            item = self._value()
        return Negation(start, item.end, item) if negated else item

    def _group(self, opened: LarkLexeme, close: str) -> Alternatives:
        body = self._alternatives()
        if self.next.kind != close:
            end = self._last_end()
            message = f"This `{opened.text}` is not closed"
            if self.next.kind == "newline":
                message += " on its line: a group continues on the next line only before `|`"
                ahead = next((p for p in self.pieces[self.at :] if p.kind != "newline"), None)
                if ahead is not None and ahead.kind == "|":
                    message += ", and without a comment or a line of spaces between"
            message += f". Add `{close}`, or join the lines."
            repair = fix(f"Close it with `{close}`", (end, end, close))
            raise self.problem("unclosed-group", message, (opened.start, opened.end), repair)
        self.at += 1
        return body

    def _value(self) -> Item:
        piece = self.next
        self.at += piece.kind != "end"
        span = piece.start, piece.end
        match piece.kind:
            case "string":
                return self._string(piece)
            case "regex":
                slash = piece.text.rfind("/")
                value, flags = piece.text[1:slash], piece.text[slash + 1 :]
                return Pattern(*span, "regex", piece.text, value, flags)
            case "special":
                return self._special(piece)
            case "grammar":
                return Embedded(*span, "grammar", piece.text)
            case "%json":
                return Embedded(*span, "json", piece.value)
            case "%regex":
                words = json.dumps(piece.value, ensure_ascii=False)
                return Pattern(*span, "substring", words, piece.value)
            case "%lark":
                return self._nested(piece)
            case "rule" | "terminal":
                return self._reference(piece)
        self.at -= piece.kind != "end"
        raise self._no_value(piece)

    def _no_value(self, piece: LarkLexeme) -> _Problem:
        if piece.kind == "operator":
            message = f"There is nothing to repeat before `{piece.text}`. Delete it, or put it in quotes."
            return self.problem("bad-repetition", message, fix=fix("Delete it", (piece.start, piece.end, "")))
        if piece.kind == ":":
            message = "A definition begins on a new line. Insert a line break before its name."
            return self.problem("definition-sign", message)
        message = "A text, a regular expression, a name or a group is missing here."
        return self.problem("unexpected-text", message)

    def _string(self, piece: LarkLexeme) -> Item:
        any_case = piece.text.endswith("i") and len(piece.text) > 1
        if self.take(".."):
            last = self.expect("string", "bad-range", 'After `..` comes a text, as in `"a".."z"`.')
            if any_case or last.text.endswith("i"):
                span = piece.start, last.end
                raise self.problem("bad-range", "The flag `i` is not possible in a range.", span)
            pair = self._literal(piece), self._literal(last)
            return Pattern(piece.start, last.end, "range", self.text[piece.start : last.end], pair)
        text = self._literal(piece)
        if any_case and text:
            return Pattern(piece.start, piece.end, "any case", piece.text, text)
        return Quoted(piece.start, piece.end, text)

    def _literal(self, piece: LarkLexeme) -> str:
        """The text of a literal with its escapes resolved."""
        if piece.text.startswith("'"):
            return piece.text[1:-1]
        raw = piece.text.removesuffix("i")
        if not raw.endswith('"') or len(raw) < 2:
            return ""  # a problem was reported
        if "\\" in raw:
            raw = _HEX_ESCAPE.sub(lambda found: f"\\u00{found[1]}" if found[1] else found[0], raw)
        try:
            text: str = json.loads(raw)
        except ValueError:
            return ""
        if "\\" in raw and any("\ud800" <= char <= "\udfff" for char in text):
            message = "A lone surrogate (U+D800 to U+DFFF). Write both surrogates, or the character."
            raise self.problem("unknown-escape", message, (piece.start, piece.end))
        return text

    def _reference(self, piece: LarkLexeme) -> Item:
        self._refuse_mixed_case(piece)
        after = [each.kind for each in self.pieces[self.at : self.at + 2]]
        if after[0] == "{" and after[1] not in (",", "number"):
            self.at += 1
            self._value()
            while self.take(","):
                self._value()
            self.expect("}", "unexpected-text", "A `}` is missing here.")
            message = "llguidance does not have templates. Write the rule for each of its uses."
            raise self.problem("not-supported", message, (piece.start, self._last_end()))
        if self.take("::"):
            expression = self.expression()
            found: Reference = ParameterReference(
                piece.start, self._last_end(), piece.text, expression.value, expression.is_constant
            )
        else:
            found = Reference(piece.start, piece.end, piece.text)
        self._references.append(found)
        return found

    def _special(self, piece: LarkLexeme) -> Item:
        raw = piece.text
        if not (raw.startswith("<[") and raw.endswith("]>")):
            return TokenItem(piece.start, piece.end, raw[1:-1], False)
        inside = raw[2:-2]
        negated = inside.startswith("^")
        return Pattern(piece.start, piece.end, "tokens", raw, inside.removeprefix("^"), "^" * negated)

    def _nested(self, piece: LarkLexeme) -> Item:
        self.expect("{", "unexpected-text", "After `%lark` comes a grammar in braces.")
        depth, begin = 1, self.at
        while depth:
            if self.next.kind == "end":
                raise self.problem(
                    "unclosed-group", "This `%lark {` is not closed.", (piece.start, piece.end)
                )
            depth += {"{": 1, "}": -1}.get(self.next.kind, 0)
            self.at += 1
        inner = _Parser(self.text, self.pieces[begin : self.at - 1], [], self.depth + 1)
        if inner.depth > MAX_NESTING + 1:
            raise self.problem("nested-too-deep", "Too many nested grammars.", (piece.start, piece.end))
        inner.pieces[-1] = LarkLexeme("end", "", self._last_end() - 1, self._last_end())
        inner.read()
        self.problems += inner.problems
        syntax = LarkSyntax(
            self.text,
            tuple(inner.rules),
            (),
            (),
            tuple(inner.ignored),
            tuple(inner.imports),
            tuple(inner.options),
        )
        return Embedded(piece.start, self._last_end(), "lark", syntax)
