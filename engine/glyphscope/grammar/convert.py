"""A grammar in another language: GBNF, Lark, a regular expression, or a JSON Schema of a string.

What is lost is found, not foreseen: the converted text is read again, and the languages of both are compared.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.builder.tools import build_value_grammar
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.generate.difference import Bound, Differences, shortest_differences
from glyphscope.grammar.languages import load_grammar
from glyphscope.grammar.lark.emit import to_lark
from glyphscope.grammar.regular.regex import whole_node
from glyphscope.grammar.regular.rust_regex import rust_regex
from glyphscope.grammar.text_grammar import one_expression
from glyphscope.grammar.tree import NEVER, Grammar, Node, Rule

TargetLanguage: TypeAlias = Literal["gbnf", "lark", "regex", "json-schema"]
_SYNTAX = frozenset("\\.+*?()|[]{}^$/")
_IN_CLASS = frozenset("\\]^-[&~")
_CONTROLS = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}


class Conversion(NamedTuple):
    """The text in the other language, and the differences of both (None if they were not compared)."""

    text: str
    differences: Differences


def convert(
    grammar: Grammar,
    to: TargetLanguage,
    *,
    bound: Bound | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Conversion:
    """Write the grammar in another language. Raises GrammarError if that language cannot have it at all.

    A JSON Schema describes a string with such a text as its value.
    """
    rules = dataclasses.replace(grammar, lexer=None, lexed=grammar.lexed and grammar.lexer is None)
    if to == "gbnf":
        text = emit_gbnf(rules).text
        read = load_gbnf(text)
    elif to == "lark":
        text = to_lark(rules)
        read = load_grammar(text, path="converted.lark")
    else:
        node = one_expression(rules)
        pattern = regex_text(node)
        read = Grammar({"text": Rule("text", tree.terminal(rust_regex(pattern)))}, "text", lexed=True)
        text = pattern if to == "regex" else _string_schema(node, pattern)
    differences = shortest_differences(grammar, read, bound=bound or Bound(seconds=5.0), cancelled=cancelled)
    return Conversion(text if text.endswith("\n") else text + "\n", differences)


def pattern_grammar(pattern: str) -> Grammar:
    """The texts that a pattern matches as a whole. Raises GrammarError for one that is not regular."""
    return Grammar({"pattern": Rule("pattern", tree.terminal(whole_node(pattern)))}, "pattern", lexed=True)


def source_grammar(text: str, language: Literal["regex", "json-schema"]) -> Grammar:
    """The grammar of a pattern, or of the values of a JSON Schema in JSON. Raises GrammarError."""
    if language == "regex":
        return pattern_grammar(text.rstrip("\r\n"))
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GrammarError(
            f"The schema is not JSON: {error}.", hint="Give a JSON Schema, an object."
        ) from None
    return build_value_grammar(schema, "json")


def regex_text(node: Node) -> str:
    """A regular node as a regular expression that Rust, Python and ECMA-262 read alike."""
    if isinstance(node, tree.Literal):
        return "".join(_character(ord(char), _SYNTAX) for char in node.text)
    if isinstance(node, tree.CharClass):
        ranges = chars.complement(node.ranges) if node.negated else node.ranges
        without = chars.complement(ranges)
        negated = len(without) < len(ranges)
        return (
            f"[{'^' if negated else ''}{''.join(_spans(without if negated else ranges))}]"
            if ranges
            else "[^\\s\\S]"
        )
    if isinstance(node, tree.Seq):
        return "".join(
            f"(?:{regex_text(p)})" if isinstance(p, tree.Alt) else regex_text(p) for p in node.parts
        )
    if isinstance(node, tree.Alt):
        if node == NEVER:
            return "[^\\s\\S]"
        return "|".join(regex_text(option) for option in node.options)
    if isinstance(node, tree.Terminal):
        return f"(?:{regex_text(node.body)})"
    if isinstance(node, tree.Repeat):
        body = node.body
        single = isinstance(body, tree.CharClass) or (isinstance(body, tree.Literal) and len(body.text) == 1)
        return (regex_text(body) if single else f"(?:{regex_text(body)})") + node.sign
    kind = (
        "tokens of a model" if isinstance(node, tree.TokenMatch) else "intersections, exceptions or any order"
    )
    raise GrammarError(f"A regular expression has no {kind}.", where="grammar", hint="Convert to Lark.")


def _spans(ranges: chars.Ranges) -> Iterator[str]:
    for low, high in ranges:
        first = _character(low, _IN_CLASS)
        yield first if low == high else f"{first}-{_character(high, _IN_CLASS)}"


def _character(code: int, special: frozenset[str]) -> str:
    if code in _CONTROLS:
        return _CONTROLS[code]
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    return f"\\{chr(code)}" if chr(code) in special else chr(code)


def _string_schema(node: Node, pattern: str) -> str:
    options = node.options if isinstance(node, tree.Alt) else (node,)
    if all(isinstance(option, tree.Literal) for option in options):
        schema: dict[str, object] = {
            "enum": [option.text for option in options if isinstance(option, tree.Literal)]
        }
    else:
        schema = {"type": "string", "pattern": f"^(?:{pattern})$"}
    return json.dumps(schema, ensure_ascii=False)
