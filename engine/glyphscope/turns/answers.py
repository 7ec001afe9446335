"""Answers other than calls: the rules of their texts, what is wrong with them, and the validator of their texts.

A value of a schema has the rules and the validator of a tool's arguments. All other answers are texts of a grammar: the
same rules constrain them and judge them (`TextValidator`).
"""

from __future__ import annotations

import codecs
import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from glyphscope.base.errors import GrammarError
from glyphscope.events import Answer, Code, Notation, RunEvent, Violation
from glyphscope.grammar import chars, tree
from glyphscope.grammar.match.earley import State
from glyphscope.grammar.match.nullability import may_be_empty
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.grammar.match.words import END
from glyphscope.grammar.regular.regex import whole_node
from glyphscope.grammar.text_grammar import open_rules, rule_words, with_relaxed
from glyphscope.turns.own import ANSWER_MARKER, OwnCall
from glyphscope.validation.reasons import one_of
from glyphscope.validation.streaming_validator import JudgedCall, Limits
from glyphscope.validation.value import ValueValidator

if TYPE_CHECKING:  # builders of grammars, which a judge of texts does not need
    from glyphscope.grammar.builder.tools import ToolRules
    from glyphscope.registry import Tool

_CODES: dict[str, Code] = {"regex": "CONSTRAINT_PATTERN", "choice": "CONSTRAINT_ENUM"}
_SUBJECTS = {"regex": "the pattern", "choice": "the choices"}


def schema_of(answer: Answer) -> Any:
    """The schema of an answer of the kind schema. Raises GrammarError if its text is not JSON."""
    try:
        return json.loads(answer.text)
    except (ValueError, RecursionError) as error:
        raise GrammarError(
            f"The schema is not JSON: {error}.", where="answer", hint="Give a JSON Schema, an object."
        ) from None


@lru_cache(maxsize=16)
def schema_answer(answer: Answer) -> Tool:
    """The schema as the parameters of a tool. Raises GrammarError for an invalid one."""
    from glyphscope.grammar.builder.tools import schema_tool

    return schema_tool(schema_of(answer))


@lru_cache(maxsize=16)
def answer_grammar(answer: Answer) -> tree.Grammar:
    """The texts of an answer that is neither a call nor a value.

    Raises GrammarError, which says what is wrong with it, also for a grammar without a text that is not empty.
    """
    match answer.kind:
        case "gbnf" | "lark":
            from glyphscope.grammar.languages import load_grammar

            grammar = load_grammar(answer.text, where="answer", path=f"answer.{answer.kind}")
            if grammar.lexer is not None:
                grammar = replace(grammar, lark=(grammar.root, answer.text))
            elif answer.kind == "lark":
                # llguidance would write other texts than these approximate rules have: it gets the rules
                grammar = replace(grammar, lexed=False)
        case "choice":
            grammar = _lexeme("choice", tree.alt(*_choices(answer)))
        case _:
            grammar = _lexeme("pattern", _pattern(answer.text))
    if answer.relaxed:
        grammar = with_relaxed(grammar, answer.relaxed, "answer")
    _check(grammar, compile_grammar(grammar).start())
    return grammar


def _lexeme(name: str, body: tree.Node) -> tree.Grammar:
    return tree.Grammar({name: tree.Rule(name, tree.terminal(body))}, name, lexed=True)


def _pattern(pattern: str) -> tree.Node:
    """The texts that the pattern matches, without the empty one."""
    node = whole_node(pattern, "answer")
    return tree.all_but(node, tree.EMPTY) if may_be_empty(node) else node


def _choices(answer: Answer) -> tuple[str, ...]:
    choices = answer.choices
    if not all(choices) or not choices:
        raise GrammarError(
            "A choice is empty." if len(choices) > 1 else "There is nothing to choose from.",
            where="answer",
            hint="Give one text per line; in a command, separate them by |.",
        )
    if twice := next((text for text in choices if choices.count(text) > 1), ""):
        raise GrammarError(f"The choice {twice!r} is listed twice.", where="answer", hint="List each once.")
    return choices


def _check(grammar: tree.Grammar, start: State) -> None:
    """Raises GrammarError for a grammar without a text, and for one that names tokens."""
    from glyphscope.grammar.rules import RuleBook

    if not start.alive:
        way = RuleBook(grammar.rules).dead_end(grammar.root)
        named = (
            f": the rule {way[0] if way else grammar.root} never ends"
            if grammar.rules[grammar.root].refs
            else ""
        )
        raise GrammarError(
            f"The answer's grammar matches no text{named}.",
            where="answer",
            hint="Give each rule an alternative that does not need the rule itself.",
        )
    if any(
        isinstance(node, tree.TokenMatch) for rule in grammar.rules.values() for node in tree.walk(rule.body)
    ):
        raise GrammarError(
            "The answer's grammar names tokens of a vocabulary, and these are not text.",
            where="answer",
            hint="Write them as texts, or use the grammar in place of that of the tools (--grammar).",
        )
    if not start.next_chars():
        raise GrammarError(
            "The answer's grammar matches only the empty text.",
            where="answer",
            hint="Give it a text with at least one character.",
        )


def answer_rules(call: OwnCall, rules: ToolRules, *, after_text: bool) -> tree.RuleRef:
    """The rule of the answer, after a marker if text may precede it. Raises GrammarError."""
    from glyphscope.grammar.builder.tools import whole_value
    from glyphscope.grammar.notation_syntax import notation_syntax
    from glyphscope.turns.own_text import up_to

    book = rules.book
    if call.answer.kind == "schema":
        syntax = notation_syntax(call.notation, call.white_space)
        root = rules.add("answer", schema_answer(call.answer), syntax, whole_value)
    else:
        root = rules.include(answer_grammar(call.answer))
    if not after_text:
        return root
    name = book.reserve("answer")
    gap = tree.terminal(tree.repeat(tree.CharClass(chars.of(" \n")), 1, 2))
    book.add(name, tree.seq(up_to(ANSWER_MARKER), gap, root))
    return tree.RuleRef(name)


def answer_validator_of(
    call: OwnCall, limits: Limits | None = None, *, at: int = 0
) -> ValueValidator | TextValidator:
    """The validator of an answer, whose text begins at that character. Raises GrammarError."""
    if call.answer.kind == "schema":
        schema = schema_answer(call.answer).parameters
        return ValueValidator(schema, call.notation, subject="the answer", limits=limits, at=at)
    return TextValidator(call.answer, at=at)


class TextValidator:
    """Judges a text of a grammar, fed in pieces of any size: where it left the grammar, and what was possible there.

    White space around the answer does not belong to it where the grammar has none.
    """

    tool: None = None
    arguments: dict[str, Any] | None = None
    calls: tuple[JudgedCall, ...] = ()
    reasoning = ""
    turn = None
    notation: Notation = "json"

    def __init__(self, answer: Answer, *, at: int = 0) -> None:
        """Raises GrammarError."""
        self._answer = answer
        self._start = self._state = compile_grammar(answer_grammar(answer)).start()
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._ended = False  # white space follows the answer
        self._token = -1
        self.chars = at
        self.violations: list[Violation] = []

    @property
    def content(self) -> str:
        """The answer, without white space around it that its grammar does not require."""
        bare = self._text.strip()
        return bare if self._start.feed(bare).accepted else self._text

    @property
    def complete(self) -> bool:
        """Whether the text is an answer, and no longer one begins with it."""
        return self._state.accepted and (self._ended or not self._state.next_chars())

    @property
    def valid(self) -> bool:
        """Whether the text so far is an answer."""
        return not self.violations and self._state.accepted

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """The verdict that the next piece decides."""
        if isinstance(text, bytes):
            text = self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        self.chars += len(text)
        if self.violations:
            return []
        if not self._state.position:
            while text[:1].isspace() and not self._state.feed(text[0]).alive:
                text = text[1:]
        left = 0
        if not self._ended:
            after = self._state.feed(text)
            left = len(text) if after.failed_at is None else after.failed_at - self._state.position
            self._state = after if after.failed_at is None else self._state.feed(text[:left])
            self._text += text[:left]
        rest = text[left:]
        ink = rest.lstrip() if self._state.accepted else rest
        self._ended = self._state.accepted and (self._ended or ink != rest)
        return [self._left(ink[0], self.chars - len(ink))] if ink else []

    def skip(self, count: int) -> None:
        """Skip characters that are not a part of the answer."""
        self.chars += count

    def finish(self, token: int | None = None) -> list[RunEvent]:
        """The verdict at the text's end."""
        self._token = self._token if token is None else token
        rest = self._decoder.decode(b"", final=True)
        out = self.feed(rest, self._token) if rest else []
        if not self.violations and not self._state.accepted:
            words = "the text ends before the answer does" if self._state.position else "there is no answer"
            out.append(self._violate("TRUNCATED", words, self.chars))
        return out

    def _left(self, char: str, at: int) -> Violation:
        """Why the answer does not continue with the character."""
        shown = json.dumps(char, ensure_ascii=False)
        if self._ended or self._state.expected() == (END,):
            return self._violate("TRAILING_TEXT", f"{shown} follows the end of the answer", at)
        kind = self._answer.kind
        subject = _SUBJECTS.get(kind) or rule_words(self._state)
        return self._violate(_CODES.get(kind, "SYNTAX"), f"{subject} cannot continue with {shown}", at)

    def _violate(self, code: Code, message: str, at: int) -> Violation:
        rules = () if self._answer.kind in _SUBJECTS else open_rules(self._state)
        expected = (END,) if self._ended else self._state.expected()
        found = Violation(
            code=code, message=message, path="", char=at, token=self._token,
            rule=rules[0] if rules else "", viable=one_of(expected),
        )  # fmt: skip
        self.violations.append(found)
        return found
