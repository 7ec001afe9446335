r"""The syntax of regular expressions in JSON Schema: ECMA-262 with the flag `u` (draft 2020-12, core §6.4).

`parse` makes the one tree from which grammars and validators read a pattern. Forms that ECMA-262 rejects but other
engines read, all alike, have that meaning: escaped punctuation (`\-`), lone brackets (`{a}`), `(?P<name>…)`, and `(?i)`
at the beginning. Forms that engines read differently (`{,4}`, `\Z`, `a++`) raise `UnreadablePattern`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

MAX_NESTING = 100
"""The maximum nesting of groups; each level takes several stack frames."""


class PatternError(ValueError):
    """A text that is not a regular expression; the message is the reason."""


class UnreadablePattern(PatternError):
    """A regular expression outside of ECMA-262 that engines read differently."""


class CharSpan(NamedTuple):
    """The characters from one code point to another, surrogates included."""

    low: int
    high: int


class Named(NamedTuple):
    r"""A named set of characters: `d`, `w`, `s` or `.` (all but line ends), or a Unicode property, such as `L`."""

    name: str
    negated: bool = False


class Chars(NamedTuple):
    """One character of a class. `any_case`: upper and lower case are alike."""

    members: tuple[CharSpan | Named, ...]
    negated: bool = False
    any_case: bool = False


class Edge(NamedTuple):
    """The start or the end of the text, or if `lines`, of a line."""

    at_start: bool
    lines: bool = False


class WordEdge(NamedTuple):
    """A word boundary; if `negated`, any other place."""

    negated: bool
    any_case: bool = False


class Look(NamedTuple):
    """Whether the body matches from here on, or if `behind`, up to here; if `negated`, whether it does not."""

    body: Tree
    behind: bool
    negated: bool


class Group(NamedTuple):
    """A group that is captured, numbered from 1."""

    body: Tree
    number: int


class Backreference(NamedTuple):
    """The text of the group, of which several may have the same name; empty if no group has one."""

    groups: tuple[int, ...]


class Quantified(NamedTuple):
    body: Tree
    low: int
    high: int | None
    lazy: bool = False


class Concatenation(NamedTuple):
    parts: tuple[Tree, ...]


class Alternation(NamedTuple):
    options: tuple[Tree, ...]


Tree: TypeAlias = (
    Chars | Edge | WordEdge | Look | Group | Backreference | Quantified | Concatenation | Alternation
)


@lru_cache(maxsize=1024)
def parse(pattern: str) -> Tree:
    """The tree of a pattern. Raises PatternError."""
    return _Parser(pattern).parse()


def is_ecma_262(pattern: str) -> bool:
    """Whether a text is a pattern without `(?P<name>…)` and without flags before it, which only other engines have."""
    parser = _Parser(pattern)
    try:
        parser.parse()
    except PatternError:
        return False
    return not parser.foreign


def inner(tree: Tree) -> tuple[Tree, ...]:
    """The parts of a tree."""
    match tree:
        case Concatenation(parts) | Alternation(parts):
            return parts
        case Look() | Group() | Quantified():
            return (tree.body,)
    return ()


_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SETS = frozenset("dDsSwW")
_QUANTIFIER = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_LIKE_QUANTIFIER = re.compile(r"\{ *(?:[0-9]+ *(?:, *[0-9]* *)?|, *[0-9]* *)\}")
_FLAGS = re.compile(r"\(\?([ims]*)(?:-([ims]+))?(:|\))")
_NAME = re.compile(r"\(\?P?<([^\W\d][\w$]*|\$[\w$]*)>")
_PROPERTY = re.compile(r"\{([A-Za-z_]+(?:=[A-Za-z0-9_]+)?)\}")
_POSIX = re.compile(r"\[[:=.].*?[:=.]\]")


class _Modes(NamedTuple):
    """The flags that apply at a place."""

    any_case: bool = False
    lines: bool = False
    dot_all: bool = False

    def changed(self, on: str, off: str) -> _Modes:
        return _Modes(*(flag in on or (value and flag not in off) for flag, value in zip("ims", self)))


class _Parser:
    """Each method reads one construct of the syntax."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.depth = 0
        self.modes = _Modes()
        self.groups = 0
        self.open: list[int] = []  # the groups around the place
        self.names: dict[str, list[int]] = {}
        self.behind = 0  # the look-behinds around the place
        self.strange_class = ""  # a class that not every engine ends at its first bracket
        self.foreign = False  # it has a form that only other engines have
        self.later: list[str] = []  # names of groups that are referred to before they end

    def parse(self) -> Tree:
        if (flags := _FLAGS.match(self.text)) and flags[3] == ")":
            if not flags[1] or flags[2]:
                raise UnreadablePattern("it sets flags in a form outside of ECMA-262")
            self.modes = self.modes.changed(flags[1], "")
            self.at = flags.end()
            self.foreign = True
        tree = self._alternatives()
        if self.at < len(self.text):
            raise PatternError("A ) is not opened.")
        if unknown := next((name for name in self.later if name not in self.names), ""):
            raise UnreadablePattern(f"there is no group {unknown}")
        if _skipped_groups(tree) & {
            n for each in parts_of(tree) if isinstance(each, Backreference) for n in each.groups
        }:
            raise UnreadablePattern("it refers back to a group that a repetition may skip")
        return tree

    def _peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        if self._peek(text):
            self.at += len(text)
            return True
        return False

    def _next(self, missing: str) -> str:
        if self.at >= len(self.text):
            raise PatternError(missing)
        self.at += 1
        return self.text[self.at - 1]

    def _alternatives(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise PatternError(f"Its groups are nested too deep: more than {MAX_NESTING} levels.")
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        self.depth -= 1
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def _sequence(self) -> Tree:
        parts = []
        while self.at < len(self.text) and not self._peek("|") and not self._peek(")"):
            parts.append(self._quantified(self._atom()))
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _quantified(self, atom: Tree) -> Tree:
        bounds = self._bounds()
        if bounds is None:
            return atom
        if isinstance(atom, Edge | WordEdge | Look):
            raise UnreadablePattern("it repeats a place, not a text")
        low, high = bounds
        if high is not None and low > high:
            raise PatternError("The numbers of a quantifier are out of order.")
        lazy = self._take("?")
        if self._peek("+"):
            raise UnreadablePattern("it has a possessive quantifier")
        if self._bounds() is not None:
            raise UnreadablePattern("a quantifier follows another one")
        return Quantified(atom, low, high, lazy)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        found = _QUANTIFIER.match(self.text, self.at)
        if found is None:
            self._reject_like_quantifier(self.at)
            return None
        self.at = found.end()
        low = int(found[1][:9])
        return low, int(found[3][:9]) if found[3] else None if found[2] else low

    def _reject_like_quantifier(self, at: int) -> None:
        if like := _LIKE_QUANTIFIER.match(self.text, at):
            low, comma, high = like[0].strip("{}").replace(" ", "").partition(",")
            written = f"{{{low or 0}{comma}{high}}}"
            raise UnreadablePattern(f"engines read {like[0]} differently; {written} has one meaning")

    def _atom(self) -> Tree:
        if self._peek("("):
            return self._group()
        char = self._next("")
        if char == "[":
            return self._class()
        if char in "^$":
            return Edge(char == "^", self.modes.lines)
        if char == ".":
            return Chars((CharSpan(0, 0x10FFFF) if self.modes.dot_all else Named("."),))
        if char == "\\":
            return self._escape()
        if char == "{" and _QUANTIFIER.match(self.text, self.at - 1):
            raise UnreadablePattern("a quantifier has nothing to repeat")
        if char in "*+?":
            raise PatternError("A quantifier has nothing to repeat.")
        self._reject_like_quantifier(self.at - 1)
        if char == "]" and self.strange_class:
            raise UnreadablePattern(f"engines read the class {self.strange_class} differently")
        return self._chars(CharSpan(ord(char), ord(char)))

    def _chars(self, *members: CharSpan | Named, negated: bool = False) -> Chars:
        return Chars(members, negated, self.modes.any_case)

    def _group(self) -> Tree:
        modes, opened = self.modes, self.groups
        body_of = self._named_group() or self._plain_group()
        if body_of is None:
            flags = _FLAGS.match(self.text, self.at)
            if flags is None or flags[3] == ")":
                raise UnreadablePattern("it has a group outside of ECMA-262")
            self.at = flags.end()
            self.modes = self.modes.changed(flags[1], flags[2] or "")
        captured = self.groups > opened
        self.open += [self.groups] if captured else []
        number = self.groups
        behind = body_of in ("(?<=", "(?<!")
        self.behind += behind
        body = self._alternatives()
        self.behind -= behind
        if not self._take(")"):
            raise PatternError("A ( is not closed.")
        self.modes = modes
        if captured:
            self.open.pop()
            return Group(body, number)
        if body_of in ("(?=", "(?!", "(?<=", "(?<!"):
            return Look(body, behind, body_of.endswith("!"))
        return (
            Concatenation((body,)) if isinstance(body, Edge | WordEdge | Look) else body
        )  # it may be repeated

    def _named_group(self) -> str | None:
        found = _NAME.match(self.text, self.at)
        if found is None:
            return None
        self.foreign |= self.text[self.at + 2] == "P"
        self.at = found.end()
        self.groups += 1
        self.names.setdefault(found[1], []).append(self.groups)
        return "("

    def _plain_group(self) -> str | None:
        for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
            if self._take(opening):
                return opening
        if self._peek("(?"):
            return None
        self.at += 1
        self.groups += 1
        return "("

    def _class(self) -> Chars:
        start = self.at - 1
        if _POSIX.match(self.text, self.at):
            raise UnreadablePattern("engines read a class such as [[:alpha:]] differently")
        negated = self._take("^")
        members: list[CharSpan | Named] = []
        if self._peek("]"):
            self.strange_class = self.text[start : self.at + 1]
        while not self._take("]"):
            if self._peek("["):
                self.strange_class = self.text[start : self.at + 1]
            low = self._member()
            if not self._peek("-") or self._peek("-]"):
                members.append(low)
                continue
            self.at += 1
            high = self._member()
            if isinstance(low, Named) or isinstance(high, Named):  # all engines that accept it read a hyphen
                members += [low, CharSpan(0x2D, 0x2D), high]
            elif low.low > high.low and high.low == 0x2D:
                raise UnreadablePattern("engines read -- in a class differently")
            elif low.low > high.low:
                raise PatternError("The ends of a range are out of order.")
            else:
                members.append(CharSpan(low.low, high.low))
        return self._chars(*members, negated=negated)

    def _member(self) -> CharSpan | Named:
        char = self._next("A [ is not closed.")
        if char != "\\":
            return CharSpan(ord(char), ord(char))
        if self._take("b"):
            return CharSpan(8, 8)
        member = self._character_escape()
        if member is None:
            raise self._unknown_escape()
        return member

    def _escape(self) -> Tree:
        if self._take("b"):
            return WordEdge(False, self.modes.any_case)
        if self._take("B"):
            return WordEdge(True, self.modes.any_case)
        member = self._character_escape()
        return self._reference() if member is None else self._chars(member)

    def _reference(self) -> Tree:
        if name := re.compile(r"k<([\w$]+)>").match(self.text, self.at):
            self.at = name.end()
            self.later.append(name[1])
            groups = tuple(n for n in self.names.get(name[1], ()) if n not in self.open)
        elif digits := re.compile(r"[1-9][0-9]*").match(self.text, self.at):
            number = int(digits[0][:9])
            if number > self._number_of_groups():
                raise self._unknown_escape()
            self.at = digits.end()
            groups = (number,) if number <= self.groups and number not in self.open else ()
        else:
            raise self._unknown_escape()
        if self.modes.any_case or self.behind:
            raise UnreadablePattern("it refers back to a group inside a look-behind or ignoring case")
        return Backreference(groups)

    def _number_of_groups(self) -> int:
        plain = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?P?<(?![=!])|(?!\?))", re.DOTALL)
        return sum(found[0].startswith("(") for found in plain.finditer(self.text))

    def _character_escape(self) -> CharSpan | Named | None:
        """The characters of an escape, after its backslash; None for other escapes."""
        char = self._next("It ends with a backslash.")
        if char in _SETS:
            return Named(char.lower(), char.isupper())
        if char in _CONTROLS:
            return CharSpan(_CONTROLS[char], _CONTROLS[char])
        code = self._code(char)
        if code is not None:
            return CharSpan(code, code)
        if char in "pP" and (found := _PROPERTY.match(self.text, self.at)):
            self.at = found.end()
            return Named(found[1], char == "P")
        if not char.isascii() or (not char.isalnum() and char not in "<>"):
            return CharSpan(ord(char), ord(char))
        self.at -= 1
        return None

    def _code(self, char: str) -> int | None:
        if char == "0":
            return None if self.text[self.at : self.at + 1].isdecimal() else 0
        letter = self.text[self.at : self.at + 1]
        if char == "c" and letter.isascii() and letter.isalpha():
            self.at += 1
            return ord(letter) % 32
        if char == "x":
            return self._hexadecimal("[0-9A-Fa-f]{2}")
        if char != "u":
            return None
        if self._peek("{"):
            code = self._hexadecimal(r"\{0*[0-9A-Fa-f]{1,6}\}")
            return code if code is None or code <= 0x10FFFF else None
        code = self._hexadecimal("[0-9A-Fa-f]{4}")
        if code is not None and 0xD800 <= code < 0xDC00 and self._peek("\\u"):
            self.at += 2
            low = self._hexadecimal("[Dd][C-Fc-f][0-9A-Fa-f]{2}")
            if low is not None:
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            self.at -= 2
        return code

    def _hexadecimal(self, digits: str) -> int | None:
        found = re.compile(digits).match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return int(found[0].strip("{}"), 16)

    def _unknown_escape(self) -> PatternError:
        return UnreadablePattern(f"engines read \\{self.text[self.at : self.at + 1]} differently")


def _skipped_groups(tree: Tree) -> set[int]:
    """The groups that a repetition may enter and later skip: only ECMA-262 forgets their text."""
    skipped: set[int] = set()
    waiting = [(tree, False, False)]
    while waiting:
        each, repeated, optional = waiting.pop()
        if isinstance(each, Group) and optional:
            skipped.add(each.number)
        if isinstance(each, Quantified):
            optional = repeated and (optional or each.low == 0)
            repeated = repeated or each.high is None or each.high > 1
        elif isinstance(each, Alternation | Look):
            optional = repeated
        waiting += ((part, repeated, optional) for part in inner(each))
    return skipped


def parts_of(tree: Tree) -> Iterator[Tree]:
    """The tree and everything in it."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += inner(each)
