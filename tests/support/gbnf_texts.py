"""Random GBNF as a user might write it, and texts around the language of a grammar."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from glyphscope.grammar import State, compile_grammar
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.tree import Grammar

LETTERS = 'abcé日😀 \n"\\]-^é\x7f\U0010ffff'
NAMES = ("root", "x", "y-1", "Z")


def _spelled(char: str, how: int, *, inside: bool) -> str:
    """Return one of the spellings of the character inside of quotes or brackets."""
    code = ord(char)
    if how == 1 and code < 0x100:
        return f"\\x{code:02x}"
    if how == 2 and code < 0x10000:
        return f"\\u{code:04X}"
    if how == 3:
        return f"\\U{code:08x}"
    if char == "\n":
        return "\\n"
    if char in ('"', "\\") or (inside and char in "]["):
        return "\\" + char
    return f"\\x{code:02x}" if inside and char in "-^" else char


_spellings = st.integers(0, 5)
_letters = st.sampled_from(LETTERS)


@st.composite
def _literals(draw: st.DrawFn) -> str:
    count = draw(st.sampled_from((1, 1, 1, 2, 2, 3, 0)))
    return f'"{"".join(_spelled(draw(_letters), draw(_spellings), inside=False) for _ in range(count))}"'


@st.composite
def _classes(draw: st.DrawFn) -> str:
    items = []
    for _ in range(draw(st.integers(1, 3))):
        low, high = sorted((draw(_letters), draw(_letters)))
        items.append(_spelled(low, draw(_spellings), inside=True))
        if draw(st.booleans()):
            items.append("-" + _spelled(high, draw(_spellings), inside=True))
    return f"[{draw(st.sampled_from(['', '', '^']))}{''.join(items)}]"


_BOUNDS = ("+", "*", "?", "{1}", "{2}", "{0,1}", "{1,}", "{2,}", "{0,2}", "{1,3}", "{ 2 , 4 }", "{0}")

_leaves = _literals() | _literals() | _classes()
_calls = st.sampled_from(
    [*(f"[ab] {name}" for name in NAMES), *(f'{name} "b"' for name in NAMES[1:]), *NAMES, "."]
)


def _inner(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequences = st.lists(inner, min_size=1, max_size=3).map(" ".join)
    options = st.lists(sequences, min_size=1, max_size=3).map(" | ".join)
    empty = st.sampled_from(("({})", "({})", "({})", "({} | )", "( | {})"))
    groups = st.tuples(empty, options).map(lambda made: made[0].format(made[1]))
    repeatable = _leaves | groups | st.sampled_from(NAMES)
    return groups | st.tuples(repeatable, st.sampled_from(_BOUNDS)).map("".join)


_items = st.recursive(_leaves | _calls, _inner, max_leaves=6)
_options = st.lists(_items, min_size=1, max_size=3).map(" ".join)
_bodies = st.lists(_options, min_size=1, max_size=3).map(" | ".join)

gbnf_texts = st.tuples(*[_bodies] * len(NAMES), st.sampled_from(["\n", "\r\n", " # so\n", "\n\n"])).map(
    lambda made: "".join(f"{name} ::= {body}{made[-1]}" for name, body in zip(NAMES, made, strict=False))
)
"""Four rules of any form, often with errors: left recursion, repetition of nothing."""


def texts_around(grammar: Grammar, random: Random, count: int, alphabet: str = LETTERS) -> list[str]:
    """Texts of the grammar, prefixes of them, and both with a few characters changed; no U+0000 in them."""
    start = compile_grammar(grammar).start()
    found = {"", random.choice(alphabet)}
    for _ in range(count):
        text = _walk(start, random)
        found.add(text)
        for _ in range(2):
            found.add(_changed(text, random, alphabet))
    return sorted(text for text in found if "\0" not in text)


def _walk(state: State, random: Random, most: int = 12) -> str:
    written: list[str] = []
    while len(written) < most and not (state.accepted and random.random() < 0.25):
        ranges = state.next_chars()
        if not ranges:
            break
        char = _character(ranges, random)
        written.append(char)
        state = state.feed(char)
        assert state.alive, f"{char!r} was allowed after {''.join(written[:-1])!r}"
    return "".join(written)


def _character(ranges: Ranges, random: Random) -> str:
    """Return a character, often one at an edge, where errors are likely."""
    low, high = random.choice(ranges)
    low = max(low, 1) if high else low
    return chr(
        random.choice((low, high, random.randint(low, high), random.randint(low, min(high, low + 90))))
    )


def _changed(text: str, random: Random, alphabet: str) -> str:
    at = random.randint(0, len(text))
    char = random.choice(alphabet)
    near = chr(min(max(ord(text[at]) + random.choice((-1, 1)), 1), 0x10FFFF)) if at < len(text) else char
    if 0xD800 <= ord(near) <= 0xDFFF:
        near = char
    return random.choice(
        (text[:at], text + char, text[:at] + char + text[at:], text[:at] + text[at + 1 :],
         text[:at] + near + text[at + 1 :])
    )  # fmt: skip
