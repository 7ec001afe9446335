"""Output for llguidance, in its variant of Lark's syntax.

A grammar that was not made for a lexer is first divided into lexemes that lose none of its texts
(`lexeme_partition.py`). Then each rule becomes a line of Lark, and so does each lexeme that is more than a literal
(`../lexemes.py`); members in any order become parametric rules (`parametric.py`). llguidance checks the text.

`MaskReader` finds whether llguidance, the engine of the masks, accepts a text. It reads single bytes, so it needs no
model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import tree
from glyphscope.grammar.lark.lexeme_partition import partition_lexemes, with_partitioned_rules
from glyphscope.grammar.lark.parametric import parametric_rules
from glyphscope.grammar.lexemes import lexeme, quoted
from glyphscope.grammar.rules import RuleNames
from glyphscope.grammar.time_limit import limited, seconds_left
from glyphscope.grammar.tree import NEVER, ByIdentity, Grammar, Node, Unenforced
from glyphscope.processes.compilers import service

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LINE = re.compile(r"at (\d+)\(")  # the line number in llguidance's messages


class _Emitted(NamedTuple):
    """The text for llguidance, the constraints that it does not enforce, and the rules that are in it."""

    text: str
    unenforced: tuple[Unenforced, ...]
    rules: Grammar


def to_lark(grammar: Grammar) -> str:
    """The grammar for llguidance, checked by it. Raises GrammarError with llguidance's message.

    The check has no model, so a grammar that names tokens of a vocabulary is only checked when a model loads it.
    """
    return _emit(ByIdentity(grammar)).text


def lark_unenforced(grammar: Grammar) -> tuple[Unenforced, ...]:
    """The constraints that the text for llguidance does not enforce: the grammar's, and those too large for lexemes.

    Raises GrammarError like `to_lark`.
    """
    return _emit(ByIdentity(grammar)).unenforced


def lark_rules(grammar: Grammar) -> Grammar:
    """The rules of the text for llguidance: the language that the mask enforces. Raises GrammarError like `to_lark`."""
    return _emit(ByIdentity(grammar)).rules


@lru_cache(maxsize=8)
def _emit(key: ByIdentity[Grammar]) -> _Emitted:
    with limited(key.value):
        grammar = with_partitioned_rules(key.value) if key.value.lexed else partition_lexemes(key.value)
        emitter = _Emitter(grammar)
        text = emitter.emit()
        if not emitter.names_tokens:
            refusal = service.refusal(text, seconds=max(1.0, seconds_left()))
            if refusal:
                # a reason begins with a place; a message about a crash or a timeout with "llguidance", one about
                # more symbols than it has numbers with "panic"
                hint = service.HINT if refusal.startswith(("llguidance", "panic")) else ""
                raise GrammarError(
                    f"llguidance rejects the grammar: {refusal}", where=emitter.rule_at(refusal), hint=hint
                )
    return _Emitted(text, grammar.unenforced, grammar)


class _Emitter:
    """Writes a grammar's rules under names that Lark accepts: lower-case letters, digits, hyphens, but not `start`."""

    def __init__(self, grammar: Grammar) -> None:
        self.names_tokens = False  # whether the text needs a vocabulary; known after `emit`
        self._grammar = grammar
        self._terminals: dict[Node, str] = {}  # names of lexemes, by their bodies
        self._unordered: dict[Node, str] = {}  # references to the parametric rules of members in any order
        self._parametric: list[str] = []  # the lines of these rules
        self._count = 0  # of `Unordered` nodes, for the names of these rules
        self._names = {name: name for name in grammar.rules if _NAME.fullmatch(name) and name != "start"}
        free = RuleNames(("start", *self._names))
        for name in grammar.rules:
            if name not in self._names:
                self._names[name] = free.fresh(re.sub(r"[^a-z0-9]+", "-", f"r-{name}".lower()).strip("-"))
        self._members = "members"  # the prefix of parametric rules' names, which no other name has
        while any(name.startswith(self._members) for name in self._names.values()):
            self._members += "-x"

    def emit(self) -> str:
        """A line for each rule, the first for `start`, then one for each terminal."""
        rule_of_text, text = self._grammar.lark or ("", "")
        if rule_of_text == self._grammar.root:
            return text
        lines = [f"start: {self._names[self._grammar.root]}"]
        for rule in self._grammar.rules.values():
            if rule.name == rule_of_text:
                continue
            if rule.body == NEVER:
                raise GrammarError("The rule derives no text at all.", where=rule.name)
            lines.append(f"{self._names[rule.name]}: {self._node(rule.body)}")
        lines += self._parametric
        lines += [f"{name}: {lexeme(body)}" for body, name in self._terminals.items()]
        if text:
            lines.append(f"{self._names[rule_of_text]}: %lark {{\n{text}\n}}")
        return "\n".join(lines) + "\n"

    def rule_at(self, message: str) -> str:
        """The grammar's name of the rule that a message of llguidance concerns; "" if it concerns none."""
        line = _LINE.search(message)
        rules = list(self._grammar.rules)
        return rules[int(line[1]) - 2] if line and 2 <= int(line[1]) < len(rules) + 2 else ""

    def _node(self, node: Node) -> str:
        """The Lark expression of a node."""
        if isinstance(node, tree.RuleRef):
            return self._names[node.name]
        lexeme_body = node.body if isinstance(node, tree.Terminal) else node
        if isinstance(lexeme_body, tree.Literal):
            return quoted(lexeme_body.text)
        if isinstance(node, tree.Terminal | tree.CharClass):
            return self._terminals.setdefault(lexeme_body, f"T{len(self._terminals) + 1}")
        if isinstance(node, tree.TokenMatch):
            return self._token(node)
        if isinstance(node, tree.Seq):
            return " ".join(self._node(part) for part in node.parts) if node.parts else '""'
        if isinstance(node, tree.Unordered):
            return self._in_any_order(node)
        if isinstance(node, tree.Alt):
            return "(" + " | ".join(self._node(option) for option in node.options) + ")"
        assert isinstance(node, tree.Repeat), "intersections are inside terminals"
        sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.minimum, node.maximum))
        high = "" if node.maximum is None else node.maximum
        return f"({self._node(node.body)}){sign or f'{{{node.minimum},{high}}}'}"

    def _in_any_order(self, node: tree.Unordered) -> str:
        reference = self._unordered.get(node)
        if reference is None:
            self._count += 1  # before the nodes inside are numbered
            rules = parametric_rules(node, f"{self._members}-{self._count}", self._node)
            reference = self._unordered[node] = rules.reference
            self._parametric += rules.lines
        return reference

    def _token(self, node: tree.TokenMatch) -> str:
        self.names_tokens = True
        if isinstance(node.token, int):
            return f"<[{'^' if node.negated else ''}{node.token}]>"
        if node.negated:
            raise GrammarError(
                f"llguidance excludes a token by its number only, not !<{node.token}>.",
                where="grammar",
                hint="Write !<[NUMBER]>, or run the grammar under the constraint gbnf.",
            )
        return f"<{node.token}>"


class MaskReader:
    """A grammar in llguidance's Lark dialect, or a JSON Schema compiled by llguidance, ready to read texts."""

    def __init__(self, *, lark: str | None = None, schema: dict[str, Any] | None = None) -> None:
        """Takes one of the two. Raises GrammarError, with llguidance's reason, if it cannot be built."""
        self._is_schema = lark is None
        try:
            self._grammar = json.dumps(schema or {}) if lark is None else lark
        except RecursionError:
            raise GrammarError("The schema is nested too deep.", where="grammar") from None
        if refusal := service.refusal(self._grammar, is_schema=self._is_schema):
            raise GrammarError(f"llguidance rejects the grammar: {refusal}", where="grammar")

    def read(self, texts: Sequence[str]) -> list[bool | str]:
        """For each text, whether the grammar accepts it, or a message if llguidance stopped with an error.

        Raises CompilerDied if llguidance crashed on one of them, or took too long.
        """
        # lone surrogates have no bytes that a grammar could read
        readable = [text for text in texts if not any("\ud800" <= char <= "\udfff" for char in text)]
        answers = service.read_texts(self._grammar, readable, is_schema=self._is_schema)
        by_text = dict(zip(readable, answers))
        return [by_text.get(text, False) for text in texts]

    def accepts(self, text: str) -> bool:
        """Whether the grammar accepts the text. Raises GrammarError if llguidance stops with an error."""
        answer = self.read([text])[0]
        if isinstance(answer, str):
            raise GrammarError(answer)
        return answer
