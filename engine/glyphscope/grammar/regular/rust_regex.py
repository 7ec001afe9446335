r"""Regular expressions in the syntax of Rust's crate `regex`, which llguidance reads in Lark, as nodes.

An expression is anchored: it is the whole text of a lexeme. `^` and `$` are possible at its ends only. Laziness
(`*?`) has no meaning there. Unlike in ECMA-262, `\d`, `\w` and `\s` are Unicode's, `.` excludes only the line feed,
and classes have operations (`[a-z&&[^aeiou]]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.regex import folded, property_ranges
from glyphscope.grammar.tree import EMPTY, NEVER, CharClass, Node, alt, repeat, seq
from glyphscope.registry.pattern_syntax import UnreadablePattern

MAX_NESTING = 250
MAX_COUNT = 2**32 - 1
_LINE_FEED: Ranges = ((0x0A, 0x0A),)
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D))
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_POSIX: dict[str, str] = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\0-\x7f", "blank": "\t\t  ", "cntrl": "\0-\x1f\x7f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@[-`{-~", "space": "\t-\r  ",
    "upper": "A-Z", "word": "0-9A-Z__a-z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_NAMED = re.compile(r"\[:(\^?)([a-z]+):\]")
_GROUP_NAME = re.compile(r"\?(?:P)?<([^>]*)>")
_FLAGS = re.compile(r"\?([^:)]*)([:)])")
_COUNT = re.compile(r"\{\s*(\d+)\s*(?:(,)\s*(\d*)\s*)?\}")
_PROPERTY = re.compile(r"(?!\s*in[_\s-])[A-Za-z0-9_ :=-]+", re.IGNORECASE)
_IS = re.compile(r"^\s*is[_\s-]*", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d][\w.\[\]]*")


class RegexProblem(ValueError):
    """An expression that llguidance rejects; `at` is the place in it. `look`: for look-around."""

    def __init__(self, message: str, at: int, *, look: bool = False) -> None:
        super().__init__(message)
        self.at = at
        self.look = look


@lru_cache(maxsize=1024)
def rust_regex(pattern: str, flags: str = "") -> Node:
    """The texts that an expression matches as a whole. Raises RegexProblem."""
    reader = _Reader(pattern)
    try:
        if flags:
            reader.set_flags(flags, 0)
        node = reader.alternatives()
    except RecursionError:
        raise RegexProblem("It is nested too deeply.", 0) from None
    if reader.at < len(pattern):
        raise RegexProblem("This `)` has no matching `(`.", reader.at)
    if reader.inner_edge is not None:
        raise RegexProblem(
            "`^` and `$` are possible only at the ends of the expression.", reader.inner_edge, look=True
        )
    return node


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset("u")
        self.depth = 0
        self.names: set[str] = set()
        self.anchors = 0  # read so far
        self.inner_edge: int | None = None
        """The place of the first anchor that is not at an end of the whole expression."""

    # -- structure -----------------------------------------------------------------------------------------------

    def alternatives(self, *, begins: bool = True, ends: bool = True) -> Node:
        """The expression up to a `)` or the end. `begins`, `ends`: it is at that end of the whole expression."""
        options = [self._sequence(begins, ends)]
        while self._take("|"):
            options.append(self._sequence(begins, ends))
        return alt(*options) if len(options) > 1 else options[0]

    def _sequence(self, begins: bool, ends: bool) -> Node:
        """Parts in sequence. Whether a part is the last is known afterwards: anchors wait in `edges`."""
        parts: list[Node] = []
        edges: list[tuple[int, bool, int]] = []  # the place of each anchor, whether `^`, and its index
        self._skip_space()
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            start, anchors = self.at, self.anchors
            char = self.pattern[self.at]
            if char in "*+?{":
                raise RegexProblem(f"There is nothing to repeat before `{char}`.", self.at)
            edge = self._edge()
            if edge is not None:
                if "m" in self.flags and self.pattern[start] != "\\":
                    raise RegexProblem("Anchors of lines are look-around.", start, look=True)
                if not (edges and edges[-1][1:] == (edge, len(parts) - 1)):  # `^^` is `^`
                    edges.append((start, edge, len(parts)))
                    parts.append(EMPTY)
                self.anchors += 1
            else:
                before = self.inner_edge
                # an anchor inside of a group is possible if the group is at that end
                self.inner_edge = None
                part = self._atom(begins and not parts, ends)
                if part is None:  # flags only
                    self.inner_edge = before
                    self._skip_space()
                    continue
                found = self.inner_edge
                parts.append(part)
                self.inner_edge = before if before is not None else found
            repeated = self._repetitions(parts)
            if repeated and self.anchors != anchors and self.inner_edge is None:
                self.inner_edge = start
            self._skip_space()
        for place, is_start, index in edges:
            fits = (begins and index == 0) if is_start else (ends and index == len(parts) - 1)
            if not fits and self.inner_edge is None:
                self.inner_edge = place
        return seq(*parts)

    def _edge(self) -> bool | None:
        """Whether an anchor is `^` or `\\A`; None if there is none here."""
        for text, is_start in (("^", True), ("$", False), ("\\A", True), ("\\z", False)):
            if self._take(text):
                return is_start
        return None

    def _repetitions(self, parts: list[Node]) -> bool:
        """Repeat the last part as often as the operators after it say. Returns whether there is one."""
        start = self.at
        while True:
            self._skip_space()
            char = self.pattern[self.at : self.at + 1]
            if char and char in "*+?":
                bounds: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
                self.at += 1
            elif char == "{":
                bounds = self._count()
            else:
                return self.at > start
            self._take("?")
            parts[-1] = repeat(parts[-1], *bounds)

    def _count(self) -> tuple[int, int | None]:
        match = _COUNT.match(self.pattern, self.at)
        if match is None:
            message = "Braces give the number of repetitions: `{3}`, `{3,}`, `{3,5}`. For the sign itself write `\\{`."
            raise RegexProblem(message, self.at)
        least = int(match[1][:12])
        most = least if not match[2] else int(match[3][:12]) if match[3] else None
        if max(least, most or 0) > MAX_COUNT:
            raise RegexProblem("The number of repetitions is too large.", self.at)
        if most is not None and most < least:
            raise RegexProblem(f"`{match[0]}` has the larger number first.", self.at)
        self.at = match.end()
        return least, most

    def _atom(self, begins: bool, ends: bool) -> Node | None:
        """One part; None for flags. An anchor in a group counts only if the group can be at that end."""
        char = self.pattern[self.at]
        if char == "(":
            return self._group(begins, ends)
        if char == "[":
            start = self.at
            self.at += 1
            return self._char_class(self._class(start))
        self.at += 1
        if char == ".":
            excluded = () if "s" in self.flags else _LINE_ENDS if "R" in self.flags else _LINE_FEED
            if "u" not in self.flags:
                raise RegexProblem("Without `u`, `.` matches bytes outside of characters.", self.at - 1)
            return CharClass(chars.complement(excluded))
        if char == "\\":
            escaped = self._escape()
            return self._char_class(escaped) if isinstance(escaped, tuple) else self._character(escaped)
        return self._character(ord(char))

    def _character(self, code: int) -> Node:
        if "i" in self.flags:
            return self._char_class(self._any_case(((code, code),)))
        return seq(chr(code)) if not 0xD800 <= code <= 0xDFFF else NEVER

    def _char_class(self, ranges: Ranges) -> Node:
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return seq(chr(ranges[0][0]))
        return CharClass(ranges) if ranges else NEVER

    def _any_case(self, ranges: Ranges) -> Ranges:
        return folded(ranges) if "i" in self.flags else ranges

    def _group(self, begins: bool, ends: bool) -> Node | None:
        start = self.at
        self.at += 1
        if self.depth >= MAX_NESTING:
            raise RegexProblem("It is nested too deeply.", start)
        outer = self.flags
        rest = self.pattern[self.at :]
        if rest.startswith(("?=", "?!", "?<=", "?<!")):
            raise RegexProblem("Look-around is not possible.", start, look=True)
        if name := _GROUP_NAME.match(self.pattern, self.at):
            if not _NAME.fullmatch(name[1]):
                raise RegexProblem("A group's name has letters, digits and `_`.", self.at)
            if name[1] in self.names:
                raise RegexProblem(f"Two groups have the name {name[1]}.", self.at)
            self.names.add(name[1])
            self.at = name.end()
        elif rest.startswith("?"):
            flags = _FLAGS.match(self.pattern, self.at)
            if flags is None or (not flags[1] and flags[2] == ")"):
                raise RegexProblem("After `(?` come flags, `:` or a name.", start)
            self.set_flags(flags[1], self.at + 1)
            self.at = flags.end()
            if flags[2] == ")":  # for the rest of the enclosing group
                return None
        self.depth += 1
        inner = self.alternatives(begins=begins, ends=ends)
        self.depth -= 1
        if not self._take(")"):
            raise RegexProblem("This `(` is not closed.", start)
        self.flags = outer
        # that the group is at the end of its sequence is not known yet
        if self.inner_edge is None and ends and self._has_end_anchor(start) and not self._is_last():
            self.inner_edge = start
        return inner

    def _has_end_anchor(self, start: int) -> bool:
        raw = re.sub(r"\\[^z]|\[\^?\]?[^\]]*\]", "", self.pattern[start : self.at])
        return "$" in raw or "\\z" in raw

    def _is_last(self) -> bool:
        self._skip_space()
        return self.pattern[self.at : self.at + 1] in ("", "|", ")")

    def set_flags(self, raw: str, at: int) -> None:
        """Set the flags of `(?i-u)`."""
        flags, negated, seen = set(self.flags), False, set()
        for offset, flag in enumerate(raw):
            if flag == "-" and not negated:
                negated = True
                continue
            if flag not in "imsUuRx" or flag in seen:
                message = (
                    f"`{flag}` is not a flag." if flag not in seen else f"The flag `{flag}` is given twice."
                )
                raise RegexProblem(message, at + offset)
            seen.add(flag)
            flags.discard(flag) if negated else flags.add(flag)
        if raw.endswith("-"):
            raise RegexProblem("A flag is missing after `-`.", at)
        self.flags = frozenset(flags)

    # -- escapes and classes ---------------------------------------------------------------------------------------

    def _escape(self) -> Ranges | int:
        """The characters, or the one character, of an escape; its backslash was read."""
        start = self.at - 1
        if self.at >= len(self.pattern):
            raise RegexProblem("A `\\` at the end escapes nothing.", start)
        char = self.pattern[self.at]
        self.at += 1
        if char in _HEX_DIGITS:
            return self._code(char, start)
        if char in "pP":
            return self._property(char == "P", start)
        if char in "dDsSwW":
            found = self._any_case(self._perl(char.lower()))
            return self._negated(found, start) if char.isupper() else found
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "bB<>":
            raise RegexProblem("A word boundary is look-around.", start, look=True)
        if char in "Az":
            raise RegexProblem("An anchor is not possible here.", start, look=True)
        if char.isdigit():
            raise RegexProblem("A reference to a group is not possible.", start)
        if char.isascii() and not char.isalnum():
            return ord(char)
        raise RegexProblem(f"There is no escape `\\{char}`.", start)

    def _code(self, kind: str, start: int) -> int:
        if self._take("{"):
            end = self.pattern.find("}", self.at)
            digits = self.pattern[self.at : end] if end >= 0 else ""
            self.at = end + 1
        else:
            digits = self.pattern[self.at : self.at + _HEX_DIGITS[kind]]
            if len(digits) < _HEX_DIGITS[kind]:
                digits = ""
            self.at += len(digits)
        if not re.fullmatch(r"[0-9a-fA-F]{1,12}", digits):
            raise RegexProblem(
                f"`\\{kind}` needs {_HEX_DIGITS[kind]} hexadecimal digits, or some in braces.", start
            )
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise RegexProblem("There is no such character.", start)
        if code > 0x7F and "u" not in self.flags:
            raise RegexProblem("Without `u`, this is a byte outside of characters.", start)
        return code

    def _property(self, negated: bool, start: int) -> Ranges:
        if self._take("{"):
            end = self.pattern.find("}", self.at)
            name = self.pattern[self.at : end] if end >= 0 else ""
            self.at = end + 1
        else:
            name = self.pattern[self.at : self.at + 1]
            self.at += 1
        if not name or "u" not in self.flags:
            raise RegexProblem("The name of a Unicode property is missing.", start)
        if "!=" in name:
            name, negated = name.replace("!=", "="), not negated
        try:
            if not _PROPERTY.fullmatch(name):
                raise UnreadablePattern(name)
            found = self._any_case(property_ranges(_IS.sub("", name)))
        except UnreadablePattern:
            raise RegexProblem(f"There is no Unicode property {name}.", start) from None
        return chars.complement(found) if negated else found

    def _perl(self, kind: str) -> Ranges:
        if "u" not in self.flags:
            return _posix({"d": "digit", "w": "word", "s": "space"}[kind])
        if kind == "w":
            names = ("Alphabetic", "M", "Nd", "Pc", "Join_Control")
            return chars.union(*map(property_ranges, names))
        return property_ranges("Nd" if kind == "d" else "White_Space")

    def _negated(self, ranges: Ranges, start: int) -> Ranges:
        if "u" not in self.flags:
            raise RegexProblem("Without `u`, this matches bytes outside of characters.", start)
        return chars.complement(ranges)

    def _class(self, start: int) -> Ranges:
        """The characters of a class; its `[` was read."""
        if self.depth >= MAX_NESTING:
            raise RegexProblem("It is nested too deeply.", start)
        self.depth += 1
        negated = self._take("^")
        self._skip_space()
        members: Ranges = ()
        while self._take("-"):
            members = chars.union(members, ((0x2D, 0x2D),))
            self._skip_space()
        if not members and self._take("]"):
            members = ((0x5D, 0x5D),)
        before: tuple[Ranges, Callable[[Ranges, Ranges], Ranges]] | None = None
        while True:
            self._skip_space()
            if self.at >= len(self.pattern):
                raise RegexProblem("This `[` is not closed with `]`.", start)
            sign = self.pattern[self.at : self.at + 2]
            if sign[0] == "]" or sign in ("&&", "--", "~~"):
                members = self._any_case(members)
                if before is not None:
                    members = before[1](before[0], members)
                self.at += 1 if sign[0] == "]" else 2
                if sign[0] == "]":
                    break
                operation = {"&&": chars.intersection, "--": chars.subtract, "~~": _either}[sign]
                before, members = (members, operation), ()
            else:
                members = chars.union(members, self._member())
        self.depth -= 1
        return self._negated(members, start) if negated else members

    def _member(self) -> Ranges:
        named = _NAMED.match(self.pattern, self.at)
        if named and named[2] in _POSIX:
            self.at = named.end()
            found = self._any_case(_posix(named[2]))
            return chars.complement(found) if named[1] else found
        if self._take("["):
            return self._class(self.at - 1)
        start = self.at
        first = self._class_item()
        self._skip_space()
        if self.pattern[self.at : self.at + 1] != "-" or self._peek_after_dash() in ("]", "-", ""):
            return ((first, first),) if isinstance(first, int) else first
        self.at += 1
        self._skip_space()
        last = self._class_item()
        if not isinstance(first, int) or not isinstance(last, int):
            raise RegexProblem("The ends of a range are single characters.", start)
        if first > last:
            raise RegexProblem(
                f"The range {self.pattern[start : self.at]} has the larger character first.", start
            )
        return chars.intersection(((first, last),), chars.ALL)

    def _peek_after_dash(self) -> str:
        at = self.at + 1
        while "x" in self.flags and self.pattern[at : at + 1].isspace():
            at += 1
        return self.pattern[at : at + 1]

    def _class_item(self) -> Ranges | int:
        if self.at >= len(self.pattern):
            raise RegexProblem("A class is not closed with `]`.", max(0, self.at - 1))
        char = self.pattern[self.at]
        self.at += 1
        return self._escape() if char == "\\" else ord(char)

    # -- characters ------------------------------------------------------------------------------------------------

    def _take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _skip_space(self) -> None:
        """White space and comments, if the flag `x` is set."""
        while "x" in self.flags and self.at < len(self.pattern):
            if self.pattern[self.at].isspace():
                self.at += 1
            elif self.pattern[self.at] == "#":
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end + 1
            else:
                return


def _either(a: Ranges, b: Ranges) -> Ranges:
    """The characters in one of the sets only."""
    return chars.union(chars.subtract(a, b), chars.subtract(b, a))


@lru_cache(maxsize=32)
def _posix(name: str) -> Ranges:
    spelled = _POSIX[name]
    ranges, at = [], 0
    while at < len(spelled):
        is_range = spelled[at + 1] == "-"
        high = spelled[at + 2] if is_range else spelled[at + 1]
        ranges.append((ord(spelled[at]), ord(high)))
        at += 3 if is_range else 2
    return chars.union(ranges)
