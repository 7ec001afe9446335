"""Emission for llguidance: its variant of Lark's syntax."""

from __future__ import annotations

from functools import lru_cache

from llguidance import LLMatcher

from glyphscope.errors import GrammarError
from glyphscope.grammar.lexemes import byte_tokenizer, lexeme, quoted
from glyphscope.grammar.tree import (
    NEVER,
    Alt,
    CharClass,
    Grammar,
    Literal,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Terminal,
)


class _ByIdentity:
    # Grammars are made once and never change; hashing one by its rules would cost as much as emitting it.
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar

    def __hash__(self) -> int:
        return id(self.grammar)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.grammar is self.grammar


def to_lark(grammar: Grammar) -> str:
    """The grammar for llguidance, checked by it. Raises GrammarError with its message."""
    return _emit(_ByIdentity(grammar))


@lru_cache(maxsize=8)
def _emit(key: _ByIdentity) -> str:
    text = _Emitter().emit(key.grammar)
    matcher = LLMatcher(byte_tokenizer(), LLMatcher.grammar_from_lark(text), log_level=0)
    if matcher.is_error():
        raise GrammarError(f"llguidance does not take the grammar: {matcher.get_error()}")
    return text


class _Emitter:
    def __init__(self) -> None:
        self.terminals: dict[Node, str] = {}

    def emit(self, grammar: Grammar) -> str:
        lines = [f"start: {grammar.root}"]
        for rule in grammar.rules.values():
            if rule.body == NEVER:
                raise GrammarError("The rule derives no text at all.", where=rule.name)
            lines.append(f"{rule.name}: {self._node(rule.body)}")
        lines += [f"{name}: {lexeme(body)}" for body, name in self.terminals.items()]
        return "\n".join(lines) + "\n"

    def _node(self, node: Node) -> str:
        if isinstance(node, RuleRef):
            return node.name
        if isinstance(node, Literal):
            return quoted(node.text)
        if isinstance(node, Terminal):
            return self.terminals.setdefault(node.body, f"T{len(self.terminals) + 1}")
        if isinstance(node, CharClass):
            return self.terminals.setdefault(node, f"T{len(self.terminals) + 1}")
        if isinstance(node, Seq):
            return " ".join(self._node(part) for part in node.parts) if node.parts else '""'
        if isinstance(node, Alt):
            return "(" + " | ".join(self._node(option) for option in node.options) + ")"
        assert isinstance(node, Repeat), "intersections are inside terminals"
        sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.minimum, node.maximum))
        high = "" if node.maximum is None else node.maximum
        return f"({self._node(node.body)}){sign or f'{{{node.minimum},{high}}}'}"
