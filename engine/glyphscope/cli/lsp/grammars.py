"""Grammars in an editor: what it asks about one text, answered with the words of its lines, as in the window."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from lsprotocol import types

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import pluralize
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.lsp.documents import Findings, OpenText
from glyphscope.cli.lsp.places import Places
from glyphscope.grammar.gbnf.lint.analysis import Analysis
from glyphscope.grammar.gbnf.lint.rules import ways_to_begin
from glyphscope.grammar.gbnf.parse.syntax import RuleSyntax
from glyphscope.grammar.generate.sample import short_samples
from glyphscope.grammar.languages import GBNF, LARK, AnyCheck
from glyphscope.grammar.lark_text.common import COMMON
from glyphscope.grammar.lark_text.parse.syntax import LarkRule
from glyphscope.grammar.line_lexer import LEXERS, LineLexer, Word, offered, prefix_of
from glyphscope.grammar.time_limit import limited

SAMPLES = 5
SECONDS = 1.0
"""The CPU time for the samples of a rule."""
_SHOWN = 600
"""Characters of a rule in a hover."""
_IMPORT = "%import common."
_UNDEFINED = ("undefined-rule", "undefined-name")
_UNUSED = {"unused-rule": "unused", "unreachable-rule": "unreachable"}
_COLOURS = {
    "comment": types.SemanticTokenTypes.Comment,
    "literal": types.SemanticTokenTypes.String,
    "class": types.SemanticTokenTypes.Regexp,
    "token": types.SemanticTokenTypes.Macro,
    "definition": types.SemanticTokenTypes.Function,
    "name": types.SemanticTokenTypes.Variable,
    "bounds": types.SemanticTokenTypes.Number,
    "mark": types.SemanticTokenTypes.Operator,
}
"""The lexer's kinds of words by the protocol's types."""
_TYPES = {kind: number for number, kind in enumerate(_COLOURS)}
MAX_COLOURED = 200_000
"""Characters of a text whose words are sent; its further lines are not coloured, as the answer has 15 bytes a word."""


def lexer_of(opened: OpenText) -> LineLexer:
    """The words of the text's language."""
    assert opened.language is not None, "only grammars have words"
    return LEXERS[opened.language.name]


def name_at(opened: OpenText, position: types.Position) -> tuple[str, types.Range] | None:
    """The rule's name at a position."""
    places = opened.places
    word: Word | None = lexer_of(opened).name_in(places.text, places.offset(position))
    return (word.text, places.span(word.start, word.end)) if word else None


def occurrences(opened: OpenText, name: str, position: types.Position) -> list[types.Range]:
    """The places where a rule is defined and used, in the grammar at the position."""
    places = opened.places
    found = lexer_of(opened).occurrences(places.text, name, places.offset(position))
    return [places.span(at, at + len(name)) for at in found]


def definition(opened: OpenText, name: str, position: types.Position) -> types.Range | None:
    """The place where a rule is defined, in the grammar at the position."""
    places = opened.places
    at = lexer_of(opened).find_definition(places.text, name, places.offset(position))
    return None if at is None else places.span(at, at + len(name))


def completions(opened: OpenText, position: types.Position) -> list[types.CompletionItem]:
    """The rules that may be used at a position; in a new line, those that are used and not defined."""
    lexer, places = lexer_of(opened), opened.places
    before = places.before(position)
    prefix = prefix_of(before)
    here = places.offset(position)
    place = places.span(here - len(prefix), here)
    words = list(lexer.words_around(places.text, here))
    defined = {word.text: word.start for word in words if word.kind == "definition"}
    after, kind = "", types.CompletionItemKind.Function
    if opened.language is LARK and before.lstrip().startswith(_IMPORT):
        names, details = list(COMMON), COMMON
    elif lexer.takes_name(before):
        names, details = list(defined), {}
    elif before == prefix:
        found = opened.findings
        spans = (found.span_of(each) for each in found.problems if each["code"] in _UNDEFINED)
        names, details = list(dict.fromkeys(found.text[start:end] for start, end in spans)), {}
        after = f"{' ' * (opened.language is GBNF)}{lexer.sign} "
    else:
        return []
    return [
        types.CompletionItem(
            name,
            kind=kind,
            detail=details.get(name) or _line_of(places, defined.get(name)),
            sort_text=f"{number:04}",
            text_edit=types.TextEdit(place, name + after),
        )
        for number, name in enumerate(offered(names, prefix))
    ]


def _line_of(places: Places, start: int | None) -> str | None:
    return None if start is None else shorten(places.lines.line(places.lines.place(start)[0]).strip(), 100)


def hover_words(check: AnyCheck, language: str, name: str, ambiguous: dict[str, str]) -> str:
    """A rule in Markdown: its text, texts that it accepts, and its cost."""
    rule = next((rule for rule in reversed(check.document.rules) if rule.name == name), None)
    if rule is None:
        return f"The rule {name} is not defined."
    parts = [
        f"```{language.lower()}\n{shorten(check.document.text[rule.start : rule.end].strip(), _SHOWN)}\n```"
    ]
    parts += _samples(check, name)
    if name in ambiguous:
        parts.append(f"Ambiguous: it reads ``{visible(ambiguous[name], single=True)}`` in several ways.")
    uses = sum(reference.name == name for rule in check.document.rules for reference in rule.references)
    parts.append(" · ".join(filter(None, (f"used {pluralize(uses, 'time')}", _cost(check, rule)))))
    return "\n\n".join(parts)


def _samples(check: AnyCheck, name: str) -> Iterator[str]:
    grammar = check.grammar
    if grammar is None or name not in grammar.rules:
        return
    try:
        with limited(seconds=SECONDS):
            texts = short_samples(dataclasses.replace(grammar, root=name), SAMPLES)
    except (GlyphscopeError, RecursionError):  # without a text, or too large: the rest is shown
        return
    lines = (visible(text, single=True) or "(the empty text)" for text in texts)
    yield "\n".join(("Texts, for example:", "````text", *lines, "````"))


def _cost(check: AnyCheck, rule: RuleSyntax) -> str:
    if isinstance(rule, LarkRule):
        return "one lexeme" if rule.is_terminal else ""
    ways = ways_to_begin(Analysis(check.document)).get(rule.name, 0)
    return (
        f"begins in up to {pluralize(ways, 'way')}, each of which llama.cpp tests at a token" if ways else ""
    )


COLOURS = types.SemanticTokensLegend(list(_COLOURS.values()), [types.SemanticTokenModifiers.Definition])
"""The types of words, of which the first modifier is set where a rule is defined."""


def colours(opened: OpenText) -> list[int]:
    """The words as the protocol encodes them: five numbers each, of which the place is relative to the word before."""
    lexer, places = lexer_of(opened), opened.places
    data: list[int] = []
    number, last = 1, 1
    while (start := places.lines.start(number)) < min(len(places.text), MAX_COLOURED):
        line = places.lines.line(number)[: MAX_COLOURED - start]
        left = 0  # columns from the word before, or from the beginning of the line
        end = 0
        for word in lexer.words(line):
            left += places.width(line[end : word.start])
            size, end = places.width(word.text), word.end
            data += (number - last, left, size, _TYPES[word.kind], int(word.kind == "definition"))
            left, last = size, number
        number += 1
    return data


def hints(opened: OpenText, found: Findings) -> Iterator[types.InlayHint]:
    """After the name of a rule: that it is unused, or a text that it reads in several ways."""
    places = opened.places
    for each in found.problems:
        if each["code"] in _UNUSED:
            yield _hint(places.of(each).end, _UNUSED[each["code"]], each["message"])
    for rule in found.check.document.rules if found.check else ():
        if rule.name in found.ambiguous:
            text = visible(found.ambiguous[rule.name], single=True)
            why = f"{rule.name} reads this text in several ways, all of which the engine follows."
            yield _hint(places.position(rule.name_span[1]), f'ambiguous: "{text}"', why)


def _hint(at: types.Position, label: str, tip: str) -> types.InlayHint:
    return types.InlayHint(at, label, tooltip=tip, padding_left=True)


def symbols(opened: OpenText, found: Findings) -> Iterator[types.DocumentSymbol]:
    """The rules, for an outline."""
    for rule in found.check.document.rules if found.check else ():
        whole, name = opened.places.span(rule.start, rule.end), opened.places.span(*rule.name_span)
        yield types.DocumentSymbol(rule.name, types.SymbolKind.Function, whole, name)
