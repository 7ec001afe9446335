"""The terminals of a Lark text as regular nodes, and the problems that llguidance finds in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, NoReturn

from glyphscope.grammar import chars, tree
from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, Severity, fix
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.lark_text.common import COMMON
from glyphscope.grammar.lark_text.diagnostics import report
from glyphscope.grammar.lark_text.parse.syntax import LarkOption, LarkRule, LarkSyntax, ParameterReference
from glyphscope.grammar.regular.regex import folded
from glyphscope.grammar.regular.rust_regex import RegexProblem, rust_regex
from glyphscope.grammar.tree import EMPTY, Node

_ANYTHING = tree.repeat(tree.CharClass(chars.ALL))
_SUBSTRING = ("substring_chunks", "substring_words", "substring_chars")


class Cut(Exception):
    """A part has an error, which was reported."""


class Terminals:
    """Reads terminals, and reports problems; those of what llguidance does not read have a lower `_severity`."""

    def __init__(self, syntax: LarkSyntax) -> None:
        self._syntax = syntax
        self.problems: dict[Diagnostic, None] = {}
        self._severity: Severity | None = None
        self._rules: dict[str, LarkRule] = {}
        self._terminals: dict[str, LarkRule | Node] = {}
        self._regular: dict[str, Node] = {}
        self._open: set[str] = set()  # terminals that are being read

    # -- terminals -------------------------------------------------------------------------------------------------

    def _terminal(self, name: str, place: Any) -> Node:
        """The texts of the terminal with this name."""
        known = self._regular.get(name)
        if known is not None:
            return known
        found = self._terminals.get(name)
        if found is None:
            self._undefined(place)
        if not isinstance(found, LarkRule):
            self._regular[name] = found
            return found
        if name in self._open:
            message = (
                f"The terminal {name} contains itself. Write a rule (in lower case) where nesting is needed."
            )
            self._fail("circular-terminal", message, place)
        self._open.add(name)
        try:
            node = self._alternatives_in_terminal(found.body)
        except (Cut, RecursionError):
            self._regular[name] = EMPTY
            raise Cut from None
        finally:
            self._open.discard(name)
        self._regular[name] = node
        return node

    def _alternatives_in_terminal(self, node: syntax.Alternatives, of_rule: LarkRule | None = None) -> Node:
        if of_rule is not None:
            bad = next((item for item in inside(node) if self._is_rule_part(item)), None)
            if bad is not None:
                message = "`max_tokens`, `temperature`, `stop`, `suffix` and `lazy` need a body that is one terminal."
                self._fail("attribute-of-rule", message, bad)
        options = []
        for option in node.options:
            if isinstance(option, LarkOption):
                self._fail("not-in-terminal", "`%if` is possible in rules only.", option)
            options.append(tree.seq(*(self._in_terminal(item) for item in option.items)))
        return tree.alt(*options)

    def _is_rule_part(self, item: syntax.Part) -> bool:
        return isinstance(item, syntax.TokenItem | syntax.Embedded) or (
            isinstance(item, syntax.Reference) and item.name in self._rules
        )

    def _in_terminal(self, node: syntax.Part) -> Node:
        """A part of a terminal."""
        checkpoint()
        if isinstance(node, syntax.Quoted):
            return tree.Literal(node.text) if node.text else EMPTY
        if isinstance(node, syntax.GroupItem):
            return self._alternatives_in_terminal(node.body)
        if isinstance(node, syntax.Repetition):
            self._check_bounds(node)
            return tree.repeat(self._in_terminal(node.item), node.minimum, node.maximum)
        if isinstance(node, syntax.Negation):
            return tree.all_but(_ANYTHING, self._in_terminal(node.item))
        if isinstance(node, syntax.Conjunction):
            parts = [tree.seq(*map(self._in_terminal, part.items)) for part in node.parts]
            return tree.intersect(parts)
        if isinstance(node, syntax.Pattern) and node.kind != "tokens":
            return self._pattern(node)
        if isinstance(node, syntax.Reference) and not isinstance(node, ParameterReference):
            if node.name in self._rules and node.name not in self._terminals:
                message = (
                    f"{node.name} is a rule; a terminal consists of terminals only. Write it in "
                    "upper case letters."
                )
                self._fail("rule-in-terminal", message, node)
            return self._terminal(node.name, node)
        what = "This is not possible in a terminal, which is one regular lexeme. Use it in a rule."
        return self._fail("not-in-terminal", what, node)

    def _check_bounds(self, node: syntax.Repetition) -> None:
        if node.maximum is not None and node.maximum < node.minimum:
            message = f"From {node.minimum} to {node.maximum} times is not possible. Swap the numbers."
            start, end = node.operator, node.end
            text = self._syntax.text[start:end]
            pair = f"{node.maximum},{node.minimum}"
            repair = fix("Swap them", (start, end, f"{{{pair}}}")) if text.startswith("{") else None
            self._report("repetition-order", message, start, end, repair)
            raise Cut

    def _pattern(self, node: syntax.Pattern) -> Node:
        if node.kind == "any case":
            return tree.seq(*(tree.CharClass(folded(((ord(char),) * 2,))) for char in node.value))
        if node.kind == "range":
            low, high = node.value
            if len(low) != 1 or len(high) != 1:
                self._fail("bad-range", "The ends of a range are single characters.", node)
            if low > high:
                repair = fix("Swap them", (node.start, node.end, f'"{high}".."{low}"'))
                self._fail("bad-range", "The larger character is first.", node, repair)
            return tree.CharClass(chars.intersection(((ord(low), ord(high)),), chars.ALL))
        if node.kind == "substring":
            return self._substring(node)
        if "l" in node.flags:
            self._fail("bad-regex", "The flag `l` is not supported.", node)
        try:
            return rust_regex(node.value, node.flags)
        except RegexProblem as problem:
            code = "look-around" if problem.look else "bad-regex"
            start = min(node.start + 1 + problem.at, node.end - 1)
            self._report(code, str(problem), start, node.end - 1 if problem.at else node.end)
            raise Cut from None

    def _substring(self, node: syntax.Pattern) -> Node:
        """Any run of the chunks, also the empty one."""
        value = node.value
        given = [name for name in _SUBSTRING if isinstance(value, dict) and value.get(name) is not None]
        unknown = [name for name in value if name not in _SUBSTRING] if isinstance(value, dict) else [""]
        wrong = [
            name
            for name in given
            if not (
                isinstance(value[name], list) and all(isinstance(each, str) for each in value[name])
                if name == "substring_chunks"
                else isinstance(value[name], str)
            )
        ]
        if unknown or wrong or len(given) != 1:
            names = "`substring_chunks` (a list of texts), `substring_words` and `substring_chars` (a text)"
            self._fail("bad-options", f"`%regex` has exactly one of {names}.", node)
        chunks = _chunks(given[0], value[given[0]])
        rest: Node = EMPTY
        starts = []
        for chunk in reversed(chunks):
            rest = tree.optional(tree.seq(chunk, rest))
            starts.append(rest)
        return tree.alt(EMPTY, *starts)

    # -- problems --------------------------------------------------------------------------------------------------

    def _undefined(self, node: syntax.Reference) -> NoReturn:
        known = [*self._rules, *self._terminals]
        name = node.name
        if name.startswith(("?", "!")):
            message = f"`{name}` is read as one name. Insert a space: `{name[0]} {name[1:]}`."
            repair = fix("Insert a space", (node.start + 1, node.start + 1, " "))
            self._fail("optional-or-name", message, node, repair)
        close = get_close_matches(name, known, 1)
        what = "terminal" if name.isupper() else "rule"
        message = f"The {what} {name} is not defined. Define it: `{name}: …`."
        if close:
            repair = fix(f"Write {close[0]}", (node.start, node.end, close[0]))
        elif name in COMMON:
            message = f"The terminal {name} is not defined. Import it: `%import common.{name}`."
            repair = fix(f"Import common.{name}", (0, 0, f"%import common.{name}\n"))
        else:
            end = len(self._syntax.text)
            line = "" if self._syntax.text.endswith("\n") else "\n"
            repair = fix(f"Add a {what} {name}", (end, end, f'{line}{name}: "{name.lower()}"\n'))
        self._fail("undefined-name", message, node, repair)

    def _fail(self, code: str, message: str, place: Any, repair: Fix | None = None) -> NoReturn:
        """Report a problem, and leave the part."""
        span = place.name_span if isinstance(place, LarkRule) else (place.start, place.end)
        self._report(code, message, span[0], span[1], repair)
        raise Cut

    def _approximate(self, message: str, place: Any) -> None:
        span = place.name_span if isinstance(place, LarkRule) else (place.start, place.end)
        self._report("approximate", message, *span)

    def _report(self, code: str, message: str, start: int, end: int, repair: Fix | None = None) -> None:
        found = report(code, message, start, end, repair)
        if self._severity is not None and found.severity == "error":
            found = report(code, message, start, end, repair, severity=self._severity)
        self.problems[found] = None


def inside(node: syntax.Part) -> Iterator[syntax.Part]:
    """The part and all parts inside it."""
    waiting: list[syntax.Part] = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += part.inner


def _chunks(kind: str, value: Any) -> list[str]:
    if kind == "substring_chunks":
        return [*value]
    if kind == "substring_chars":
        return [*value]
    chunks: list[str] = []
    of_last: Callable[[str], int] = _word_kind
    for char in value:
        if chunks and of_last(chunks[-1][-1]) == of_last(char):
            chunks[-1] += char
        else:
            chunks.append(char)
    return chunks


def _word_kind(char: str) -> int:
    return 0 if char.isspace() else 1 if char.isalnum() or char == "_" else 2
