"""The check of a Lark text: its syntax tree, its problems, and its grammar if llguidance accepts it.

What the checks here do not find, llguidance reports itself (`llguidance`), in its process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.visible import visible
from glyphscope.grammar.builder.tools import build_value_grammar
from glyphscope.grammar.gbnf.cancellation import checkpoint, stoppable
from glyphscope.grammar.gbnf.check import GrammarCheck, in_bytes, in_order
from glyphscope.grammar.gbnf.diagnostics import Diagnostic
from glyphscope.grammar.generate.sample import texts_of_rules
from glyphscope.grammar.lark_text.diagnostics import report
from glyphscope.grammar.lark_text.meaning import START, Meaning, meaning_of
from glyphscope.grammar.lark_text.parse.parser import read_lark
from glyphscope.grammar.lark_text.parse.syntax import LarkRule, LarkSyntax
from glyphscope.grammar.match.earley import MatchLimits
from glyphscope.grammar.match.nullability import productive_rules
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.grammar.regular.rust_regex import RegexProblem, rust_regex
from glyphscope.grammar.text_grammar import UnreadableGrammar, text_grammar
from glyphscope.grammar.time_limit import limited
from glyphscope.grammar.tree import EMPTY, Grammar, Rule
from glyphscope.processes.compilers import service
from glyphscope.registry.keywords import CUSTOM

_TRIED = 24
"""Random texts with which the lexer is tried."""
_LONG = 2_000
"""The characters of such a text that are read."""
_SECONDS = 1.0
_PLACE = re.compile(r"(?:at )?(\d+)\((\d+)\): ")
_KNOWN_TOKEN = "<|tool|>"
"""A token of llguidance's tokenizer of bytes, for the check of a grammar that names tokens of a model."""

LarkCheck: TypeAlias = GrammarCheck[LarkSyntax]


def check_lark(text: str, *, cancel: Callable[[], bool] | None = None, ask: bool = True) -> LarkCheck:
    """Read and check any text. `ask`: also ask llguidance itself, if nothing is found.

    Raises only CheckCancelled, if `cancel`, which is called every few milliseconds, returns True.
    """
    with stoppable(cancel):
        syntax = read_lark(text)
        if any(problem.severity == "error" for problem in syntax.problems):
            return GrammarCheck(syntax, syntax.problems, lambda: None)
        meaning = meaning_of(syntax, _value)
        problems = [*syntax.problems, *meaning.problems]
        if meaning.grammar is not None:
            problems += _of_rules(syntax, meaning.grammar)
            if ask:
                problems += _asked(text, meaning)
            if meaning.grammar.lexer and not any(p.severity == "error" for p in problems):
                problems += _lost(syntax, meaning.grammar)
    return GrammarCheck(syntax, in_order(problems), lambda: meaning.grammar)


def check_format(form: Mapping[str, Any]) -> LarkCheck:
    """The check of the grammar in a custom tool's format: Lark, or a regular expression."""
    text = form["definition"]
    problems: tuple[Diagnostic, ...] = ()
    if form["syntax"] == "lark":
        found = check_lark(text)
        try:
            text_grammar({CUSTOM: form})
        except UnreadableGrammar as error:
            if found.ok:  # possible for llguidance, but not for the text of a string
                problems = (report("not-supported", error.message, 0, min(1, len(text))),)
        return GrammarCheck(found.document, (*problems, *found.diagnostics), lambda: found.grammar)
    try:
        rust_regex(text)
    except RegexProblem as problem:
        code = "look-around" if problem.look else "bad-regex"
        problems = (report(code, str(problem), problem.at, min(problem.at + 1, len(text))),)
    return GrammarCheck(LarkSyntax(text, (), (), problems, is_pattern=True), problems, lambda: None)


def _value(schema: Any) -> Grammar:
    """As in llguidance, white space is possible inside of a value, and not around it."""
    return build_value_grammar(schema, "json", white_space="any", alone=False)


def _of_rules(syntax: LarkSyntax, grammar: Grammar) -> list[Diagnostic]:
    found = []
    productive = productive_rules(grammar, lambda _: True)
    for rule in syntax.rules:
        checkpoint()
        if rule.name in grammar.rules and rule.name not in productive:
            message = (
                f"{rule.name} derives no finite text: it always needs itself. Add an alternative without it."
            )
            found.append(report("endless-rule", message, *rule.name_span))
        if _is_right_recursive(rule):
            message = f"{rule.name} ends with itself, which is slow in llguidance. Write a repetition: `…*` or `…+`."
            found.append(report("right-recursion", message, *rule.name_span))
    return found


def _is_right_recursive(rule: LarkRule) -> bool:
    for option in rule.body.options:
        names = [getattr(item, "name", "") for item in option.items]
        if len(names) > 1 and names[-1] == rule.name and names[0] != rule.name and not rule.is_parametric:
            return True
    return False


def _asked(text: str, meaning: Meaning) -> list[Diagnostic]:
    """llguidance's own reason, if it rejects the text."""
    asked = _with_known_tokens(text) if meaning.names_tokens else text
    refusal = service.refusal(asked)
    if not refusal:
        return []
    place = _PLACE.match(refusal)
    line = int(place[1]) if place else 1
    start = sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])
    end = text.find("\n", start)
    reason = visible(refusal[place.end() if place else 0 :].partition("\n")[0])
    return [report("llguidance", f"llguidance rejects it: {reason}", start, len(text) if end < 0 else end)]


def _with_known_tokens(text: str) -> str:
    syntax = read_lark(text)
    comments = {(comment.start, comment.end) for comment in syntax.comments}
    return re.sub(
        r"(?m)^(.*)$",
        lambda line: line[0] if (line.start(), line.end()) in comments else _TOKEN.sub(_known_token, line[0]),
        text,
    )


_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|/(?:[^/\\\n]|\\.)+/|<(?!\[)[^<>\s]+>')


def _known_token(found: re.Match[str]) -> str:
    return _KNOWN_TOKEN if found[0].startswith("<") else found[0]


def _lost(syntax: LarkSyntax, grammar: Grammar) -> list[Diagnostic]:
    """A warning with a text of the rules that the lexer cannot read, if one of a few is such a text."""
    start = compile_grammar(grammar).start(MatchLimits(items=20_000))
    try:
        with limited(seconds=_SECONDS):
            for text in texts_of_rules(_without_skipped(grammar), _TRIED):
                checkpoint()
                state = start.feed(text[:_LONG])
                if state.alive if len(text) > _LONG else state.accepted:
                    continue
                at = len(text) if state.failed_at is None else state.failed_at
                rules = [rule.name for rule in state.active_rules()]
                name = next((name for name in reversed(rules) if not name.startswith("%")), START)
                rule = next((rule for rule in syntax.rules if rule.name == name), syntax.rules[0])
                message = (
                    f"The rules have the text {visible(text[:60])}, but llguidance rejects it at "
                    f"character {at}: its lexer"
                    " takes the longest lexeme and never goes back. Write what belongs together as one terminal."
                )
                return [report("lexeme-lost", message, *rule.name_span)]
    except GlyphscopeError:
        return []
    return []


def _without_skipped(grammar: Grammar) -> Grammar:
    skipped = grammar.lexer.skipped if grammar.lexer else frozenset()
    return replace(grammar, rules=grammar.rules | {name: Rule(name, EMPTY) for name in skipped}, lexer=None)


def check_lark_bytes(data: bytes) -> LarkCheck:
    """Check the bytes of a file: invalid UTF-8 is reported with its place, as in `check_gbnf_bytes`."""
    check = check_lark(data.decode("utf-8", "surrogateescape"))
    problems = in_bytes(check.document.text, check.diagnostics)
    return GrammarCheck(check.document, problems, lambda: check.grammar)


@lru_cache(maxsize=4)
def _checked(text: str) -> LarkCheck:
    return check_lark(text)
