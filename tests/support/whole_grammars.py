"""Whole grammars as users have them, each with texts that it must and must not match.

The twelve in Lark are the bundled ones and those that documentations of llguidance and OpenAI show, in other words.
Those in GBNF are llama.cpp's examples in the developers' shared folder; where it is missing, short ones with every
feature.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gbnf_mutants import SNIPPETS
from glyphscope.events import Answer
from glyphscope.grammar.bundled import bundled_grammars
from glyphscope.grammar.languages import GBNF, LARK, GrammarLanguage

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "gbnf"


class WholeGrammar(NamedTuple):
    """A grammar and examples of its texts; those of llama.cpp have none."""

    language: GrammarLanguage
    text: str
    matches: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        """The grammar as what an answer must be."""
        return Answer("gbnf" if self.language is GBNF else "lark", self.text)


_DOCUMENTED = {
    "text or JSON": (
        'start: WORDS | call\nWORDS: /[^{](.|\\n)*/\ncall: %json {"type": "object", "properties": {"city":'
        ' {"enum": ["Rome", "Oslo"]}}, "required": ["city"], "additionalProperties": false}\n',
        ("There is nothing to call.", '{"city": "Rome"}'),
        ('{"city": "Bonn"}', ""),
    ),
    "a tool call in a text": (
        'start: call* REST\nREST: /(.|\\n)*/\nhead[lazy]: REST "<tool"\ncall: head "=add>" SUM "</tool>"\n'
        "SUM: /[0-9]+\\+[0-9]+/\n",
        ("no call", "I add: <tool=add>1+2</tool> done", "<tool=add>1+2</tool><tool=add>3+4</tool>"),
        ("a <tool=sub>", "a <tool=add>1</tool>"),
    ),
    "thoughts before an answer": (
        'start: thoughts answer\nthoughts[suffix="</think>"]: /(.|\\n)*/\nanswer: "yes" | "no"\n',
        ("Is it? </think>yes", "</think>no"),
        ("yes", "a</think>maybe", "a</think>b</think>yes"),
    ),
    "each fruit once": (
        'start: fruits::0x0\nfruits::_: "" | fruit::_\nfruit::_: "apple;" fruits::set_bit(0) %if bit_clear(0)\n'
        ' | "pear;" fruits::set_bit(1) %if bit_clear(1)\n | "plum;" fruits::set_bit(2) %if bit_clear(2)\n',
        ("", "pear;", "plum;apple;pear;"),
        ("pear;pear;", "fig;"),
    ),
    "a time stamp": (
        "start: /^(January|June|July) [0-9]{1,2}(st|nd|rd|th)? [0-9]{4} at (0?[1-9]|1[0-2])(AM|PM)$/\n",
        ("June 3rd 2026 at 10AM", "July 14 1999 at 08PM"),
        ("Juno 3 2026 at 10AM", "June 3 2026 at 13AM"),
    ),
    "a quotation": (
        'start: "He said: " QUOTED\nQUOTED: %regex {"substring_words": "to be, or not to be"}\n',
        ("He said: to be", "He said: or not to", "He said: "),
        ("He said: to or", "He said: o be"),
    ),
}
LARK_GRAMMARS = {
    **{name: WholeGrammar(LARK, *of) for name, of in _DOCUMENTED.items()},
    **{
        name: WholeGrammar(LARK, one.text, one.matches, one.rejects)
        for name, one in bundled_grammars().items()
    },
}
GBNF_GRAMMARS = {
    path.name: WholeGrammar(GBNF, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.gbnf"))
} or {f"snippet {at}": WholeGrammar(GBNF, text) for at, text in enumerate(SNIPPETS) if "<[" not in text}
WHOLE_GRAMMARS = {**LARK_GRAMMARS, **GBNF_GRAMMARS}
