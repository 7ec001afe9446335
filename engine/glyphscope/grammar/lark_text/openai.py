"""The limits of OpenAI's custom tools (`"syntax": "lark"`), which are built on llguidance, by their documentation.

OpenAI's guide to function calling lists what its Lark lacks; it is silent on llguidance's own extensions, so these are
warnings: they may be accepted, but nothing says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from glyphscope.grammar.gbnf.diagnostics import Diagnostic
from glyphscope.grammar.gbnf.parse.syntax import (
    Alternatives,
    Conjunction,
    Embedded,
    Negation,
    Part,
    Pattern,
    Repetition,
    TokenItem,
)
from glyphscope.grammar.lark_text.diagnostics import report
from glyphscope.grammar.lark_text.parse.syntax import Attributes, LarkOption, LarkSyntax, ParameterReference

_NOT_LAZY = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_LAZY = re.compile(r"[*+?}]\?")
_NO_LAZY = "OpenAI rejects lazy operators (`*?`, `+?`, `??`). llguidance ignores them."
_UNBOUNDED = re.compile(r"[*+]|\{\d+,\}")


def openai_problems(syntax: LarkSyntax) -> tuple[Diagnostic, ...]:
    """The parts that a custom tool rejects, is advised against, or is not documented to accept, in their order."""
    found = [*_of_whole(syntax)]
    if syntax.is_pattern and (
        lazy := _LAZY.search(_NOT_LAZY.sub(lambda part: "x" * len(part[0]), syntax.text))
    ):
        found.append(report("openai", _NO_LAZY, *lazy.span()))
    for rule in syntax.rules:
        if rule.attributes != Attributes():
            found.append(_undocumented("Attributes of rules", *rule.name_span))
        if rule.is_parametric:
            found.append(_undocumented("Parameters of rules", *rule.name_span))
        for part in _inside(rule.body):
            found += _of_part(part)
    return tuple(sorted(found, key=lambda problem: problem.start))


def _of_whole(syntax: LarkSyntax) -> Iterator[Diagnostic]:
    for options in syntax.options:
        yield _undocumented("`%llguidance`", options.start, options.end)
    for body in syntax.ignored:
        for part in _inside(body):
            unbounded = isinstance(part, Repetition) and part.maximum is None
            if unbounded or (isinstance(part, Pattern) and _UNBOUNDED.search(_plain(part))):
                message = "OpenAI advises against an unbounded `%ignore`: write where a space may be, as a terminal."
                yield report("openai", message, body.start, body.end)
                break
            yield from _of_part(part)


def _of_part(part: Part) -> Iterator[Diagnostic]:
    span = part.start, part.end
    if isinstance(part, Pattern):
        if part.kind == "regex" and _LAZY.search(_plain(part)):
            yield report("openai", _NO_LAZY, *span)
        if part.kind in ("substring", "tokens"):
            yield _undocumented("`%regex`" if part.kind == "substring" else "Tokens of the model", *span)
    elif isinstance(part, Embedded):
        yield _undocumented(f"`%{part.kind}`", *span)
    elif isinstance(part, TokenItem):
        yield _undocumented("Tokens of the model", *span)
    elif isinstance(part, Negation | Conjunction):
        yield _undocumented("`~` and `&`", *span)
    elif isinstance(part, ParameterReference):
        yield _undocumented("Parameters of rules", *span)
    elif isinstance(part, Alternatives) and any(isinstance(option, LarkOption) for option in part.options):
        yield _undocumented("`%if`", *span)


def _undocumented(what: str, start: int, end: int) -> Diagnostic:
    return report(
        "openai", f"{what}: an extension of llguidance that OpenAI's guide does not mention.", start, end
    )


def _plain(part: Pattern) -> str:
    """The expression without its escapes and classes."""
    return _NOT_LAZY.sub("x", part.value) if isinstance(part.value, str) else ""


def _inside(node: Part) -> Iterator[Part]:
    waiting: list[Part] = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += part.inner[::-1]
