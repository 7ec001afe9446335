"""The rule tree of a Lark text, and the problems that llguidance finds when it compiles one.

llguidance compiles what `start` needs and what is ignored, so problems elsewhere are warnings. Each literal, regular
expression and terminal in a rule becomes one lexeme, followed by what `%ignore` allows (the rule `IGNORED`);
terminals inside of terminals become parts of it. A rule with a parameter becomes a rule for each value that is
needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from glyphscope.base.errors import GlyphscopeError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, fix
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.lark_text.common import COMMON
from glyphscope.grammar.lark_text.parse.syntax import LarkOption, LarkRule, LarkSyntax, ParameterReference
from glyphscope.grammar.lark_text.terminals import Cut, Terminals, inside
from glyphscope.grammar.match.nullability import may_be_empty
from glyphscope.grammar.regular.rust_regex import rust_regex
from glyphscope.grammar.tree import EMPTY, NEVER, Grammar, Lexer, Node, Rule, RuleRef

START = "start"
IGNORED = "%ignore"
"""The rule for the ignored text after each lexeme."""
MAX_INSTANCES = 3_000
"""The maximum number of rules that rules with parameters become."""
MAX_TOKENS = 500
"""The maximum number of tokens of a range such as `<[1-500]>` in the rule tree."""
_ANYTHING = tree.repeat(tree.CharClass(chars.ALL))
_SOMETHING = tree.repeat(tree.CharClass(chars.ALL), 1)
_OPTIONS = ("no_forcing", "allow_invalid_utf8", "allow_initial_skip", "ignore_once")
_SUBSTRING = ("substring_chunks", "substring_words", "substring_chars")


class Meaning(NamedTuple):
    """The problems, and the rule tree if none is an error. `names_tokens`: it names tokens of a model by their text."""

    grammar: Grammar | None
    problems: tuple[Diagnostic, ...]
    names_tokens: bool = False


def meaning_of(syntax: LarkSyntax, value: Callable[[Any], Grammar] | None = None) -> Meaning:
    """The meaning of a text without syntax errors. `value` makes the grammar of a schema after `%json`; None if
    that is not possible, as inside of a schema.
    """
    maker = _Maker(syntax, value=value)
    grammar = maker.make()
    failed = any(problem.severity == "error" for problem in maker.problems)
    return Meaning(None if failed else grammar, tuple(maker.problems), maker.names_tokens)


class _Maker(Terminals):
    def __init__(
        self, syntax: LarkSyntax, prefix: str = "", outer: _Maker | None = None, *,
        value: Callable[[Any], Grammar] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(syntax)
        self._value: Callable[[Any], Grammar] | None = value if outer is None else outer._value
        if outer is not None:
            self.problems = outer.problems
        self._prefix = prefix  # of the names of a nested grammar's rules
        self._made: dict[str, Rule] = {} if outer is None else outer._made
        self._lazy: dict[str, Node] = {} if outer is None else outer._lazy
        self.names_tokens = False
        self._waiting: deque[tuple[str, int | None]] = deque()
        self._seen: set[tuple[str, int | None]] = set()
        self._used: set[str] = set()
        self._longest = True
        self._nested = 0
        self._ignores = False
        self._options: dict[str, Any] = {}

    # -- the whole -----------------------------------------------------------------------------------------------

    def make(self) -> Grammar | None:
        self._read_options()
        self._import()
        self._define()
        if START not in self._rules:
            others = [rule for rule in self._syntax.rules if not rule.is_terminal]
            first = others[0].name_span if others else (0, 0)
            repair = fix("Rename it to start", (*first, START)) if others else None
            message = "There is no rule `start`, with which a text begins. " + (
                f"Rename {others[0].name}, or add one." if others else "Write one: `start: …`."
            )
            self._report("no-start", message, *first, repair)
            return None
        self._read_ignored()
        if self._rules[START].is_parametric:
            self._report("parametric", "The rule start has no parameter.", *self._rules[START].name_span)
            return None
        self._need(START, None)
        self._read_waiting()
        self._read_unused()
        root = self._prefix + START
        if self._options.get("allow_initial_skip") and self._ignores:
            root = self._prefix + "%text"
            body = tree.Seq((RuleRef(self._prefix + IGNORED), RuleRef(self._prefix + START)))
            self._made = {root: Rule(root, body), **self._made}
        skipped = frozenset(name for name in self._made if name.endswith(IGNORED))
        lexer = Lexer(self._lazy, skipped) if self._longest else None
        return Grammar(self._made, root, lexed=True, lexer=lexer)

    def _read_options(self) -> None:
        for place in self._syntax.options:
            found = place.value
            if not isinstance(found, dict):
                self._report(
                    "bad-options", "The options of `%llguidance` are a JSON object.", place.start, place.end
                )
                continue
            for name in _OPTIONS:
                if name in found and not isinstance(found[name], bool):
                    message = f"The option `{name}` is true or false."
                    self._report("bad-options", message, place.start, place.end)
            self._options |= found
        if self._options.get("allow_invalid_utf8"):
            self._approximate("Texts that are not valid UTF-8 are not read.", self._syntax.options[0])

    def _import(self) -> None:
        for each in self._syntax.imports:
            library, _, name = each.path.rpartition(".")
            if library != "common" or name not in COMMON:
                close = get_close_matches(name, COMMON, 1)
                message = f"There is no `{each.path}`. llguidance has only `common.…`: {', '.join(COMMON)}."
                start = self._syntax.text.find(name, each.start, each.end)
                repair = None
                if library == "common" and close and start >= 0:
                    repair = fix(f"Write {close[0]}", (start, start + len(name), close[0]))
                self._report("unknown-import", message, each.start, each.end, repair)
                self._terminals.setdefault(each.name, NEVER)
            elif each.name in self._terminals:
                self._duplicate(each.name, each.start, each.end)
            else:
                self._terminals[each.name] = rust_regex(COMMON[name])

    def _define(self) -> None:
        for rule in self._syntax.rules:
            if rule.unsupported is not None:
                start, end, what = rule.unsupported
                message = f"llguidance does not have {what}. Delete this."
                repair = fix("Delete it", (start, end, "")) if what == "priorities" else None
                self._report("not-supported", message, start, end, repair)
            known: dict[str, Any] = self._terminals if rule.is_terminal else self._rules
            if rule.name in known:
                self._duplicate(rule.name, *rule.name_span)
            else:
                known[rule.name] = rule

    def _duplicate(self, name: str, start: int, end: int) -> None:
        message = f"{name} is defined twice. Join the definitions with `|`, or rename one."
        self._report("duplicate-rule", message, start, end)

    def _read_ignored(self) -> None:
        options = []
        for body in self._syntax.ignored:
            try:
                options.append(self._alternatives_in_terminal(body))
            except Cut:
                continue
        ignored = tree.alt(*options)
        self._ignores = ignored != NEVER and ignored != EMPTY
        if self._ignores:
            most = 1 if self._options.get("ignore_once") else None
            name = self._prefix + IGNORED
            self._made[name] = Rule(name, tree.Repeat(tree.terminal(ignored), 0, most))

    @property
    def _skipping(self) -> tuple[Node | None, bool]:
        """The texts that are ignored, and whether also at the start of a text."""
        rule = self._made.get(self._prefix + IGNORED)
        return rule.body if rule else None, bool(self._options.get("allow_initial_skip"))

    def _need(self, name: str, parameter: int | None) -> str:
        """The name that the rule has in the tree; it is read later."""
        key = name, parameter
        if key not in self._seen:
            self._seen.add(key)
            self._waiting.append(key)
        return self._prefix + (name if parameter is None else f"{name}::{parameter}")

    def _read_waiting(self) -> None:
        while self._waiting:
            checkpoint()
            name, parameter = self._waiting.popleft()
            rule = self._rules[name]
            self._used.add(name)
            full = self._prefix + (name if parameter is None else f"{name}::{parameter}")
            if len(self._made) > MAX_INSTANCES and parameter is not None:
                self._approximate(f"More than {MAX_INSTANCES:,} values of parameters are not read.", rule)
                self._made[full] = Rule(full, NEVER)
                continue
            try:
                body = self._rule_body(rule, full, parameter)
            except Cut:
                body = EMPTY
            self._made[full] = Rule(full, body)

    def _read_unused(self) -> None:
        """Check what llguidance does not read, with warnings instead of errors."""
        self._severity = "warning"
        made, self._made = self._made, dict(self._made)
        lazy = dict(self._lazy)
        unused = [rule for rule in self._syntax.rules if not self._is_used(rule)]
        for rule in unused:
            self._unused(rule)
        for rule in unused:
            try:
                if rule.is_terminal:
                    self._terminal(rule.name, rule)
                elif rule.name in self._rules:
                    self._need(rule.name, 0 if rule.is_parametric else None)
            except Cut:
                continue
        self._read_waiting()
        self._made, self._lazy, self._severity = made, lazy, None

    def _is_used(self, rule: LarkRule) -> bool:
        return rule.name in (self._regular if rule.is_terminal else self._used)

    def _unused(self, rule: LarkRule) -> None:
        known = self._terminals.get(rule.name) if rule.is_terminal else self._rules.get(rule.name)
        if known is not rule:
            return  # a duplicate
        what = "terminal" if rule.is_terminal else "rule"
        text = self._syntax.text
        end = rule.end + (text[rule.end : rule.end + 1] == "\n")
        message = (
            f"The {what} {rule.name} is not used, and llguidance does not read it. Use it, or delete it."
        )
        self._report(
            "unused-rule", message, *rule.name_span, fix(f"Delete {rule.name}", (rule.start, end, ""))
        )

    # -- rules -----------------------------------------------------------------------------------------------------

    def _rule_body(self, rule: LarkRule, name: str, parameter: int | None) -> Node:
        has = rule.attributes
        stop = has.stop or has.suffix
        if rule.is_parametric and (
            stop is not None or has.lazy or has.max_tokens is not None or has.temperature is not None
        ):
            self._fail("attribute-of-rule", "A rule with a parameter has no such attributes.", rule)
        if has.max_tokens == 0:
            return EMPTY
        if stop is not None or has.lazy:
            return self._ended(rule, name)
        if has.stop_capture is not None:
            self._fail("attribute-of-rule", "`stop_capture` needs `stop` or `suffix`.", rule)
        if has.max_tokens is not None:
            self._approximate("The number of tokens is not counted, neither in a match nor in a run.", rule)
            self._longest = False
        if has.max_tokens is not None or has.temperature is not None:
            only = _single(rule.body)
            if isinstance(only, syntax.Embedded):
                return self._embedded(only)
            return self._lexeme(self._alternatives_in_terminal(rule.body, of_rule=rule))
        body = self._alternatives(rule.body, parameter)
        needs = _needs_parameter(rule.body)
        if rule.is_parametric != needs:
            message = (
                f"{rule.name} has a parameter, but its body does not need it. Delete `::_`."
                if rule.is_parametric
                else f"The body of {rule.name} needs a parameter. Write `{rule.name}::_`."
            )
            self._report("parametric", message, *rule.name_span)
        return body

    def _ended(self, rule: LarkRule, name: str) -> Node:
        """A rule with `stop`, `suffix` or `lazy`: the shortest text after which the suffix follows."""
        has = rule.attributes
        body = self._alternatives_in_terminal(rule.body, of_rule=rule)
        ending = EMPTY if has.lazy else self._in_terminal(has.stop or has.suffix)  # type: ignore[arg-type]
        if isinstance(has.stop, syntax.Quoted) and not has.stop.text:
            return self._lexeme(body)  # ends with the text
        if has.stop is not None:
            message = (
                "`stop` takes its text back, and it is read again. A text is matched without "
                "its order of reading."
            )
            self._approximate(message, rule)
            self._longest = False
            return self._lexeme(tree.all_but(body, tree.seq(_ANYTHING, ending, _ANYTHING)))
        whole = tree.seq(body, ending)
        some = tree.intersect((whole, _SOMETHING)) if may_be_empty(whole) else whole
        shortest = self._lexeme(tree.all_but(some, tree.seq(some, _SOMETHING)))
        self._lazy[name] = whole
        return tree.Alt((shortest, EMPTY)) if may_be_empty(whole) else shortest

    def _lexeme(self, body: Node) -> Node:
        """A lexeme, and what is ignored after it."""
        one = tree.terminal(body)
        if one in (EMPTY, NEVER):
            return one
        whole = tree.Seq((one, RuleRef(self._prefix + IGNORED))) if self._ignores else one
        return tree.Alt((whole, EMPTY)) if may_be_empty(body) else whole

    def _alternatives(self, node: syntax.Alternatives, parameter: int | None) -> Node:
        options = []
        for option in node.options:
            if isinstance(option, LarkOption) and not option.holds(parameter or 0):
                continue
            parts = [self._node(item, parameter) for item in option.items]
            options.append(parts[0] if len(parts) == 1 else tree.Seq(tuple(parts)))
        return options[0] if len(options) == 1 else tree.Alt(tuple(options))

    def _node(self, node: syntax.Part, parameter: int | None) -> Node:
        """A part of a rule."""
        checkpoint()
        if isinstance(node, syntax.Alternatives):
            return self._alternatives(node, parameter)
        if isinstance(node, syntax.GroupItem):
            return self._alternatives(node.body, parameter)
        if isinstance(node, syntax.Repetition):
            self._check_bounds(node)
            body = self._node(node.item, parameter)
            if node.maximum is None and (where := self._repeated_character(node.item)):
                message = f"Each character is a lexeme here, which is slow. Write the `{self._operator(node)}` {where}."
                self._report("character-lexeme", message, node.start, node.end)
            return tree.Repeat(body, node.minimum, node.maximum)
        if isinstance(node, syntax.Conjunction):
            self._fail(
                "and-in-rule",
                "`&` is possible in terminals only. Move it to a terminal: `NAME: a & b`.",
                node,
            )
        if isinstance(node, syntax.Reference):
            return self._reference(node, parameter)
        if isinstance(node, syntax.TokenItem):
            self.names_tokens = True
            message = f"<{node.token}> is one token of the model; a model without it rejects the grammar."
            self._report("token-of-model", message, node.start, node.end)
            return tree.TokenMatch(node.token)
        if isinstance(node, syntax.Embedded):
            return self._embedded(node)
        if isinstance(node, syntax.Pattern) and node.kind == "tokens":
            return self._tokens(node)
        if isinstance(node, syntax.Quoted) and not node.text:
            return EMPTY
        return self._lexeme(self._in_terminal(node))

    def _operator(self, node: syntax.Repetition) -> str:
        return self._syntax.text[node.operator : node.end]

    def _repeated_character(self, item: syntax.Part) -> str:
        if (
            isinstance(item, syntax.Pattern)
            and item.kind == "regex"
            and isinstance(self._in_terminal(item), tree.CharClass)
        ):
            return "inside of the slashes"
        if not isinstance(item, syntax.Reference) or item.name in self._rules:
            return ""
        if isinstance(self._regular.get(item.name), tree.CharClass):
            return f"into the terminal {item.name}"
        return ""

    def _reference(self, node: syntax.Reference, parameter: int | None) -> Node:
        rule = self._rules.get(node.name)
        if rule is None:
            if isinstance(node, ParameterReference):
                self._undefined(node)
            body = self._terminal(node.name, node)
            full = self._prefix + node.name
            if full not in self._made:
                self._made[full] = Rule(full, self._lexeme(body))
            return RuleRef(full)
        if isinstance(node, ParameterReference):
            if not rule.is_parametric:
                self._fail(
                    "parametric", f"{node.name} has no parameter. Write `{node.name}::_:` there.", node
                )
            return RuleRef(self._need(node.name, node.value(parameter or 0)))
        if rule.is_parametric:
            self._fail("parametric", f"{node.name} needs a parameter, as in `{node.name}::0`.", node)
        return RuleRef(self._need(node.name, None))

    def _tokens(self, node: syntax.Pattern) -> Node:
        """`<[5]>`, `<[5-9,12]>`, `<[^5]>`, `<[*]>`."""
        negated = bool(node.flags)
        if node.value == "*":
            if negated:
                self._fail("token-range", "`<[^*]>` excludes every token.", node)
            return tree.TokenMatch(-1, negated=True)
        ranges = []
        for part in node.value.split(","):
            ends = [end.strip() for end in part.split("-")]
            if ends == [""]:
                continue
            numbers = [int(end) for end in ends if end.isdecimal() and len(end) < 11 and int(end) < 2**32]
            if len(ends) > 2 or len(numbers) != len(ends) or numbers[0] > numbers[-1]:
                message = (
                    f"`{part}` is not a range of token numbers: `<[5]>`, `<[5-9,12]>`, `<[^5]>`, `<[*]>`."
                )
                self._fail("token-range", message, node)
            ranges.append((numbers[0], numbers[-1]))
        if not ranges:
            self._fail("token-range", "A range of tokens needs at least one number.", node)
        count = sum(high - low + 1 for low, high in ranges)
        if negated and count == 1:
            return tree.TokenMatch(ranges[0][0], negated=True)
        if negated or count > MAX_TOKENS:
            self._approximate("These tokens are read as any token.", node)
            return tree.TokenMatch(-1, negated=True)
        return tree.alt(*(tree.TokenMatch(n) for low, high in ranges for n in range(low, high + 1)))

    def _embedded(self, node: syntax.Embedded) -> Node:
        if node.kind == "grammar":
            message = f"`{node.value}` is another grammar of the same request, which a file does not have."
            self._fail("grammar-reference", message, node)
        self._nested += 1
        prefix = f"{self._prefix}%{node.kind}-{self._nested}."
        if node.kind == "lark":
            inner = _Maker(node.value, prefix, self)
            inner._severity = self._severity
            made = inner.make()
            self._made.update(inner._made)
            self.names_tokens |= inner.names_tokens
            if inner._skipping != self._skipping:
                message = "Ignored text is read by the grammar of the lexeme before it, not by that of the one after."
                self._approximate(message, node)
            if made is None:
                raise Cut
            return RuleRef(made.root)
        if self._value is None:
            self._fail("not-supported", "`%json` is not possible in the grammar of a value.", node)
        message = "The schema is read as Glyphscope reads it: llguidance writes some values in other ways."
        self._approximate(message, node)
        try:
            value = self._value(node.value)
        except GlyphscopeError as error:
            self._fail("llguidance", f"The schema of `%json` cannot be read: {error.message}", node)
        names = {name: prefix + name for name in value.rules}
        for name, rule in value.rules.items():
            body = tree.replace_refs(rule.body, lambda ref: RuleRef(names[ref]))
            self._made[names[name]] = Rule(names[name], body)
        self._longest = False
        return RuleRef(names[value.root])


def _single(body: syntax.Alternatives) -> syntax.Part | None:
    if len(body.options) == 1 and len(body.options[0].items) == 1:
        return body.options[0].items[0]
    return None


def _options_of(node: syntax.Alternatives) -> Iterator[syntax.Sequence]:
    for part in inside(node):
        if isinstance(part, syntax.Alternatives):
            yield from part.options


def _needs_parameter(body: syntax.Alternatives) -> bool:
    if any(isinstance(option, LarkOption) for option in _options_of(body)):
        return True
    return any(isinstance(part, ParameterReference) and not part.is_constant for part in inside(body))
