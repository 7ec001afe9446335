"""Read GBNF as llama.cpp does, but continue after a problem, to report all of them.

In llama.cpp, quotes and brackets may span lines, so an unclosed one swallows the rules that follow. The text is
therefore first read that way; if there is any problem, it is read again with quotes and brackets that end with their
line, so that the problem is reported where it is. A problem costs at most its line, and each character is read a
bounded number of times, so the time is linear for any text.

In this order: the tokens (`_LEXER`), a rule while it is being read (`_RuleBuilder`), and the reader (`read_gbnf`,
`_Reader`): its loop handles the common tokens, its methods the rare ones and the problems.
"""

from __future__ import annotations

import re
from itertools import islice

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, fix, report
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.gbnf.parse.literals import read_class, read_quoted
from glyphscope.grammar.gbnf.parse.recovery import (
    HEAD_ALIKE,
    NEXT_HEAD,
    SPACES,
    SPLIT_HEAD,
    bad_names,
    misplaced,
)

# The tokens: one compiled expression, so that reading the text again at each keystroke costs milliseconds. Each
# alternative is a group, and the group's number is the token's kind: a plain number, because comparing members of an
# enumeration takes longer than matching a token. Quantifiers are possessive, so that no text makes it backtrack. HEAD
# is a name followed by `::=`, BAD_NAME has characters that a name may not have, STAR is `*`, `+` or `?`, and DEFINE is
# `::=` without a name before it.
NAME, HEAD, BAD_NAME, QUOTED, CLASS, NEWLINE, COMMENT, BAR, OPEN, CLOSE, STAR, BRACES = range(1, 13)
ANY, TOKEN, DEFINE, OTHER, END = range(16, 21)  # after the three groups inside of BRACES

_LEXER = re.compile(
    r"""[ \t]*+(?:
      ([A-Za-z0-9-]++)(?!\w)(?:[ \t]*+(::=))?+            # 1 name, 2 head
    | ([\w-]++)                                           # 3
    | ("(?:[^"\\\r\n]++|\\[^\r\n])*+")                    # 4
    | (\[(?:[^\]\\\r\n]++|\\[^\r\n])*+\])                 # 5
    | (\r\n|\n|\r)                                        # 6
    | (\#[^\r\n]*+)                                       # 7
    | (\|)                                                # 8
    | (\()                                                # 9
    | (\))                                                # 10
    | ([*+?])                                             # 11
    | (\{SPACE([0-9]++)SPACE(?:(,)SPACE([0-9]++)?+SPACE)?+\})  # 12, with the minimum, the comma and the maximum
    | (\.)                                                # 16
    | (!?<(?:\[[0-9]++\]>|[^\s<>()\[\]{}"']{1,200}+>))       # 17
    | (::=)                                               # 18
    | ([\s\S])                                            # 19
    | (\Z)                                                # 20
    )""".replace("SPACE", r"(?:[ \t\r\n]++|\#[^\r\n]*+)*+"),
    re.VERBOSE,
)


_MAX_NESTING = 17_000
"""Nested parentheses that llama.cpp can read: 17,000 worked, 20,000 overflowed an 8 MB stack (measured)."""
_SEARCHED = 2_000
"""Code points in which the end of a quote or bracket is searched on later lines once there is a problem."""
_MAX_PROBLEMS = 1_000
"""The number of problems after which reading stops: a text with more is not a grammar."""

_UNREADABLE = re.compile("[\\0\ud800-\udfff]")
_LONG_QUOTED = re.compile(r'"(?:[^"\\]++|\\[\s\S])*+"')
_LONG_CLASS = re.compile(r"\[(?:[^\]\\]++|\\[\s\S])*+\]")
_LINE = re.compile(r"[^\r\n]*+")
_WORD = re.compile(r"\S*+")
_COMMENT = re.compile(r"#[^\r\n]*+")
_ROOT = re.compile(r"^[ \t]*+root[ \t]*+::=", re.MULTILINE)
_BOUNDS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_BODY_BEGINS = re.compile(r"[ \t]*+[\w-]++[ \t]*+(?=[\"\[(])")


class _Frame:
    """The body of the rule, or an open group: its start, its alternatives, and the items of the last one."""

    __slots__ = ("begin", "items", "options", "start")

    def __init__(self, start: int, begin: int) -> None:
        self.start = start
        self.begin = begin  # of the alternative that is being read
        self.items: list[syntax.Item] = []
        self.options: list[syntax.Sequence] = []

    def end_option(self, end: int) -> None:
        if self.items:
            option = syntax.Sequence(self.items[0].start, self.items[-1].end, tuple(self.items))
        else:
            option = syntax.Sequence(self.begin, max(self.begin, end), ())
        self.options.append(option)

    def body(self, end: int) -> syntax.Alternatives:
        self.end_option(end)
        return syntax.Alternatives(self.options[0].start, self.options[-1].end, tuple(self.options))


class _RuleBuilder:
    """Builds one rule, with a stack of open groups instead of recursion."""

    def __init__(self, name: str, start: int, end: int, body: int) -> None:
        """`body` is the end of `::=`."""
        self.name = name
        self.name_span = (start, end)
        self.body_start = body
        self.references: list[syntax.Reference] = []
        self._frames = [_Frame(body, body)]
        self.items = self._frames[0].items
        """The items of the alternative being read; append to it."""

    @property
    def depth(self) -> int:
        """The number of open groups."""
        return len(self._frames) - 1

    @property
    def innermost(self) -> int:
        """The start of the innermost open group."""
        return self._frames[-1].start

    def bar(self, start: int, end: int) -> None:
        """`|`"""
        frame = self._frames[-1]
        frame.end_option(start)
        frame.begin = end
        self.items = frame.items = []

    def open(self, start: int, end: int) -> None:
        """`(`"""
        frame = _Frame(start, end)
        self._frames.append(frame)
        self.items = frame.items

    def close(self, start: int, end: int) -> None:
        """`)`; there must be an open group."""
        frame = self._frames.pop()
        self.items = self._frames[-1].items
        self.items.append(syntax.GroupItem(frame.start, end, frame.body(start)))

    def repeat(self, minimum: int, maximum: int | None, start: int, end: int) -> None:
        """An operator from `start` to `end` on the last item; there must be one."""
        item = self.items[-1]
        self.items[-1] = syntax.Repetition(item.start, end, item, minimum, maximum, start)

    def finish(self, end: int) -> syntax.RuleSyntax:
        """The rule; `end` is the end of its last token, where groups that are still open are closed."""
        while self.depth:
            self.close(end, end)
        body = self._frames[0].body(max(end, self.body_start))
        start = self.name_span[0]
        return syntax.RuleSyntax(
            start, max(body.end, end), self.name, self.name_span, body, tuple(self.references)
        )


def read_gbnf(text: str) -> syntax.GrammarSyntax:
    """The document of any text; `problems` lists the deviations from llama.cpp's syntax. Never raises."""
    reader = _Reader(text, by_line=False)
    reader.read()
    if reader.problems and reader.ran_over:
        reader = _Reader(text, by_line=True)
        reader.read()
    return reader.document()


class _Reader:
    """One reading of a text. `by_line`: quotes and brackets end with their line, unless they clearly do not."""

    def __init__(self, text: str, *, by_line: bool) -> None:
        self.text = text
        self.limit = len(text)  # where reading stops
        self.by_line = by_line
        self.ran_over = False  # a quote or bracket was read across a line end
        self.rules: list[syntax.RuleSyntax] = []
        self.comments: list[syntax.Comment] = []
        self.problems: list[Diagnostic] = []
        self.bad_names: dict[str, list[tuple[int, int]]] = {}  # with the places of each
        self.has_root: bool | None = None  # None: not known yet
        self.rule: _RuleBuilder | None = None  # the rule being read
        self.expects_item = False  # after `::=`, `|` and `(`, where a line end has no meaning
        self.rule_over = False  # for llama.cpp, because a line ended outside of parentheses
        self.at_line_start = True  # no token of this line was read yet
        self.continued: tuple[int, int] | None = None  # the first token of the rule after it was over
        self.last_end = 0  # the end of the last token other than line ends and comments

    def document(self) -> syntax.GrammarSyntax:
        problems = sorted(self.problems, key=lambda problem: (problem.start, problem.end))
        return syntax.GrammarSyntax(self.text, tuple(self.rules), tuple(self.comments), tuple(problems))

    def read(self) -> None:
        text, limit, match, position = self.text, self.limit, _LEXER.match, 0
        while True:
            checkpoint()
            token = match(text, position, limit)
            assert token is not None and token.lastindex  # the last two alternatives match anything
            kind = token.lastindex
            start, position = token.span(kind)
            if kind == NEWLINE:
                self.at_line_start = True
                self.rule_over = self.rule_over or not (self.expects_item or (self.rule and self.rule.depth))
                if len(self.problems) > _MAX_PROBLEMS:
                    self._give_up(position)
                    break
                continue
            if kind == COMMENT:
                self.comments.append(syntax.Comment(start, position))
                continue
            if kind == END:
                break
            if kind == HEAD:
                self._begin_rule(token[1], *token.span(1), position)
                continue
            if self.at_line_start or self.rule is None:
                following = self._begin_line(kind, start, position)
                if following is not None:
                    position = following
                    continue
                self.at_line_start = False
            rule = self.rule
            assert rule is not None
            if kind == NAME:
                reference = syntax.Reference(start, position, token[1])
                rule.references.append(reference)
                rule.items.append(reference)
            elif kind == QUOTED:
                raw = text[start + 1 : position - 1]
                rule.items.append(read_quoted(raw, start, position, text, self.problems))
            elif kind == CLASS:
                raw = text[start + 1 : position - 1]
                rule.items.append(read_class(raw, start, position, self.problems))
            elif kind in (BAR, OPEN):
                if kind == BAR:
                    rule.bar(start, position)
                elif rule.depth < _MAX_NESTING:
                    rule.open(start, position)
                else:
                    position = self._too_deep(rule, start)
                    continue
                self.expects_item, self.last_end = True, position
                continue
            elif kind == CLOSE and rule.depth:
                rule.close(start, position)
            elif kind in (STAR, BRACES):
                self._repeat(token, start, position)
            else:
                position = self._rare_token(kind, token, start, position)
                if len(self.problems) > _MAX_PROBLEMS:
                    self._give_up(position)
                    break
            self.expects_item, self.last_end = False, position
        self._end_rule()
        self.problems += bad_names(self.bad_names, self.rules)
        unreadable = islice(_UNREADABLE.finditer(text, 0, self.limit), _MAX_PROBLEMS)
        self.problems += [_unreadable(character) for character in unreadable]

    # rare tokens

    def _rare_token(self, kind: int, token: re.Match[str], start: int, end: int) -> int:
        """Read a token that most rules do not have. Returns the place where reading continues."""
        rule = self.rule
        assert rule is not None
        if kind == CLOSE:
            message = "This `)` has no matching `(`. Delete it, or open the group."
            self._report("unopened-group", message, start, end, fix("Delete it", (start, end, "")))
        elif kind == ANY:
            rule.items.append(syntax.AnyCharacter(start, end))
        elif kind == TOKEN:
            raw = token[kind]
            inside = raw[1 + raw.startswith("!") : -1]
            number = inside[1:-1] if inside.startswith("[") else ""
            rule.items.append(
                syntax.TokenItem(start, end, _number(number) if number else inside, raw.startswith("!"))
            )
        elif kind == BAD_NAME:
            self.bad_names.setdefault(token[kind], []).append((start, end))
            rule.references.append(syntax.Reference(start, end, token[kind]))
            rule.items.append(rule.references[-1])
        elif kind == DEFINE:
            self._unnamed_rule(start, end)
        else:
            return self._unknown_sign(start)
        return end

    def _repeat(self, token: re.Match[str], start: int, end: int) -> None:
        rule = self.rule
        assert rule is not None
        operator = self.text[start]
        if operator == "{":
            minimum = _number(token[13])
            maximum = minimum if token[14] is None else None if token[15] is None else _number(token[15])
            raw = token[12]
            self.comments += [
                syntax.Comment(start + c.start(), start + c.end()) for c in _COMMENT.finditer(raw)
            ]
            if not rule.depth and ("\n" in raw or "\r" in raw):
                self.continued = self.continued or (start, end)
        else:
            minimum, maximum = _BOUNDS[operator]
        if rule.items:
            rule.repeat(minimum, maximum, start, end)
            return
        what = self.text[start:end]
        message = f"There is nothing to repeat before `{what}`. Delete it, or put it in quotes."
        self._report("nothing-to-repeat", message, start, end, fix("Delete it", (start, end, "")))

    def _unknown_sign(self, start: int) -> int:
        """Read a sign that does not begin a token on one line: a quote or bracket that spans lines, or a problem.

        Returns the place where reading continues.
        """
        rule, text = self.rule, self.text
        assert rule is not None
        sign = text[start]
        if sign in '"[':
            if end := self._runs_over(sign, start):
                raw = text[start + 1 : end - 1]
                if sign == '"':
                    rule.items.append(read_quoted(raw, start, end, text, self.problems))
                else:
                    rule.items.append(read_class(raw, start, end, self.problems))
                return end
            return self._unclosed(sign, start)
        if sign == "\0":
            return start + 1
        problem, end, quoted = misplaced(text, start, self.limit)
        self.problems.append(problem)
        if quoted is not None:
            rule.items.append(read_quoted(quoted, start, end, text, []))
        return end

    def _runs_over(self, sign: str, start: int) -> int:
        """The end of a quote or bracket that is closed on a later line; 0 if it is not, or appears not to be."""
        pattern = _LONG_QUOTED if sign == '"' else _LONG_CLASS
        closed = pattern.match(
            self.text, start, min(self.limit, start + _SEARCHED) if self.by_line else self.limit
        )
        if closed is None:
            self.by_line = True  # so that the text is not searched to its end again
            return 0
        self.ran_over = True
        end = closed.end()
        if self.by_line:
            rest = _LINE.match(self.text, end, self.limit)
            # with an odd number of quotes in the rest, the quote found there opens another text
            odd = rest is not None and rest[0].replace('\\"', "").count('"') % 2
            if odd or NEXT_HEAD.search(self.text, start, end):
                return 0
        return end

    def _unclosed(self, sign: str, start: int) -> int:
        end = self._line_end(start)
        close, code, what = (
            ('"', "unclosed-literal", "quote") if sign == '"' else ("]", "unclosed-class", "bracket")
        )
        at = end
        if sign == "[" and (word := _WORD.match(self.text, start, end)):
            at = word.end()
        raw = self.text[start + 1 : at]
        backslashes = len(raw) - len(raw.rstrip("\\"))
        repair = None if backslashes % 2 else fix(f"Close it with `{close}`", (at, at, close))
        message = f"This {what} is not closed, so llama.cpp reads to the end of the text. Add `{close}`."
        self._report(code, message, start, at, repair)
        if self.rule is not None:
            self.rule.items.append(read_quoted("", start, end, self.text, []))
        return end

    def _give_up(self, position: int) -> None:
        self._end_rule()
        self.limit = position
        message = f"More than {_MAX_PROBLEMS} problems; the rest was not checked. Is this a GBNF grammar?"
        self._report("too-many-mistakes", message, position, min(position + 1, len(self.text)))

    # where rules and lines begin and end

    def _begin_rule(self, name: str, start: int, end: int, body: int) -> None:
        rule = self.rule
        if rule is not None:
            if self.expects_item and not rule.depth:
                self._missing_body(rule)
            elif not self.at_line_start:
                message = f"The rule {name} begins on the line of another rule. Insert a line break."
                repair = fix("Insert a line break", (start, start, "\n"))
                self._report("rule-on-own-line", message, start, end, repair)
        self._end_rule()
        self.rule = _RuleBuilder(name, start, end, body)
        self.expects_item, self.rule_over, self.at_line_start, self.last_end = True, False, False, body

    def _begin_line(self, kind: int, start: int, end: int) -> int | None:
        """A line without `name ::=`. Returns where reading continues; None if the token belongs to the rule."""
        text, limit = self.text, self.limit
        if kind == OTHER and text[start] == "\0":
            return end
        if kind == OTHER and text[start] in SPACES:
            self.problems.append(misplaced(text, start, limit).problem)
            return end
        named = kind in (NAME, BAD_NAME, TOKEN)
        if named and (head := HEAD_ALIKE.match(text, start, limit) or SPLIT_HEAD.match(text, start, limit)):
            return self._foreign_head(head)
        if self.rule is not None and not self.rule_over:
            return None
        unindented = start == 0 or text[start - 1] in "\r\n\ufeff"
        if kind in (NAME, BAD_NAME) and (self.rule is None or unindented):
            if not _BODY_BEGINS.match(text, start, limit):
                return self._stray(start)
            message = f"`::=` is missing between the rule's name {text[start:end]} and its body."
            repair = fix("Insert `::=`", (end, end, " ::="))
            self._report("definition-sign", message, start, end, repair)
            return self._begin_bad_rule(start, end, end)
        if kind == DEFINE:
            self._unnamed_rule(start, end)
            return self._line_end(end)
        if self.rule is None:
            return self._stray(start)
        self.continued = self.continued or (start, end)
        self.rule_over = False
        return None

    def _foreign_head(self, head: re.Match[str]) -> int:
        """Begin a rule at `<name> ::=`, `name = `, `name: ` and so on. Returns the place where reading continues."""
        start, end = head.span(2)
        name, sign = head[2], head[3]
        if head.re is SPLIT_HEAD:
            message = f"`::=` must be on the same line as the rule's name, {name}."
            repair = fix("Join the lines", (end, head.start(3), " "))
            self._report("definition-sign", message, *head.span(3), repair)
        elif sign != "::=":
            message = f"`::=` separates a rule's name and its body, not `{sign}`."
            repair = fix("Write `::=`", (*head.span(3), "::="))
            self._report("definition-sign", message, *head.span(3), repair)
        if head[1]:
            message = f"A rule's name is written without `<` and `>` in GBNF: {name}."
            repair = fix(f"Write {name}", (head.start(), start, ""), (end, end + 1, ""))
            self._report("bad-name", message, head.start(), end + 1, repair)
        if " " in name or "\t" in name:
            new = "-".join(name.split())
            message = f"A rule's name must be one word: {new}."
            self._report("bad-name", message, start, end, fix(f"Write {new}", (start, end, new)))
            self._begin_rule(new, start, end, head.end())
            return head.end()
        return self._begin_bad_rule(start, end, head.end())

    def _begin_bad_rule(self, start: int, end: int, body: int) -> int:
        name = self.text[start:end]
        if not (name.isascii() and "_" not in name):
            self.bad_names.setdefault(name, []).append((start, end))
        self._begin_rule(name, start, end, body)
        return body

    def _unnamed_rule(self, start: int, end: int) -> None:
        if self.has_root is None:
            self.has_root = _ROOT.search(self.text) is not None
        name = "unnamed" if self.has_root else "root"
        message = "The name of the rule is missing before `::=`. Write one, or delete the line."
        repair = fix(f"Name it {name}", (start, start, f"\n{name} "))
        self._report("definition-sign", message, start, end, repair)

    def _line_end(self, start: int) -> int:
        """The end of the line without the white space before it."""
        line = _LINE.match(self.text, start, self.limit)
        return start + len(line[0].rstrip()) if line else start

    def _stray(self, start: int) -> int:
        end = max(self._line_end(start), start + 1)
        message = "This line is neither a rule, `name ::= …`, nor a comment, `# …`."
        self._report("stray-line", message, start, end, fix("Make it a comment", (start, start, "# ")))
        return end

    def _too_deep(self, rule: _RuleBuilder, start: int) -> int:
        message = (
            f"More than {_MAX_NESTING} nested parentheses: llama.cpp crashes. Move the inner ones to a rule."
        )
        self._report("nested-too-deep", message, start, start + 1)
        while rule.depth:
            rule.close(start, start)
        self.expects_item = False
        following = NEXT_HEAD.search(self.text, start, self.limit)
        return following.start() if following else self.limit

    def _missing_body(self, rule: _RuleBuilder) -> None:
        sign = self.text[self.last_end - 1]
        if sign == "|":
            message = "An alternative is missing after this `|`. Delete the `|`, or add the alternative."
            repair = fix("Delete it", (self.last_end - 1, self.last_end, ""))
            self._report("missing-body", message, self.last_end - 1, self.last_end, repair)
        else:
            message = f'The rule {rule.name} has no body. Add one; the empty text is `""`.'
            repair = fix('Write `""`', (self.last_end, self.last_end, ' ""'))
            self._report("missing-body", message, *rule.name_span, repair)

    def _end_rule(self) -> None:
        rule = self.rule
        if rule is None:
            return
        if rule.depth:
            count = rule.depth
            what = "This `(` is" if count == 1 else f"{count} `(` are"
            message = (
                f"{what} not closed. Add {'a `)`' if count == 1 else 'as many `)`'} at the end of the group."
            )
            at = rule.innermost
            repair = fix("Close it at the end of the rule", (self.last_end, self.last_end, ")" * count))
            self._report("unclosed-group", message, at, at + 1, repair)
        built = rule.finish(self.last_end)
        if self.continued:
            message = (
                f"The rule {rule.name} ended with its line: in llama.cpp it continues only after `|` or inside"
                " parentheses. Put its body in parentheses."
            )
            body, end = built.body.start, self.last_end
            gap = " " if body == rule.body_start else ""
            repair = fix("Put the body in parentheses", (body, body, f"{gap}("), (end, end, ")"))
            self._report("rule-on-one-line", message, *self.continued, repair)
        self.continued, self.rule_over = None, False
        self.rule = None
        self.rules.append(built)

    def _report(self, code: str, message: str, start: int, end: int, repair: Fix | None = None) -> None:
        self.problems.append(report(code, message, start, end, repair))


def _number(digits: str) -> int:
    """The number, bounded, because Python does not convert thousands of digits; llama.cpp's limits are far lower."""
    return int(digits) if len(digits) < 20 else 10**20


def _unreadable(character: re.Match[str]) -> Diagnostic:
    """The diagnostic for a character that cannot be passed to llama.cpp."""
    start, end = character.span()
    repair = fix("Delete it", (start, end, ""))
    if character[0] == "\0":
        message = "The character U+0000: llama.cpp reads nothing after it. Delete it."
        return report("nul-character", message, start, end, repair)
    message = "A lone surrogate, which llama.cpp cannot read. Delete it."
    return report("lone-surrogate", message, start, end, repair)
