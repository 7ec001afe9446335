"""Lark texts: with the code of their problem, and small random grammars whose lexemes overlap."""

from __future__ import annotations

import re
from random import Random

CASES: list[tuple[str, str]] = [
    ('start: "a"\n', ""),
    ('start: "\\x41\\u0042"', ""),
    ('start: "a"~2 "b" ~ 1 .. 3 "c"{2,} "d"{,3} ["e"]', ""),
    ('start: "a".."c" "b"i /c+/i', ""),
    ('start: "a"\n\n|"b"', ""),
    ('# one\nstart: "a" // two\n', ""),
    ('?start: x -> y\n!x: "a"', ""),
    ('start: A\nA: ~"a" & /[a-c]/ | B\nB: "x"', ""),
    (
        "%import common.WS\n%import common (INT, CNAME)\n%import common.NUMBER -> N\n%ignore WS\n"
        'start: INT "-" CNAME "=" N',
        "",
    ),
    ('%llguidance {"no_forcing": false}\nstart: "a"', ""),
    ('%llguidance {"allow_initial_skip": true}\n%ignore " "\nstart: "a"', ""),
    ("start: x::0x0\nx::_: /a/ x::incr(_) %if lt(_, 3)\n | /b/ %if bit_set(0)\n | /c/", ""),
    ('start: <[5]> <[1-3,7]> <[^5]> <[*]> "a"', ""),
    ('start: x "b"\nx[capture, suffix="c"]: /a*/', ""),
    ("start: x\nx[max_tokens=3, temperature=0.5]: /a+/", "approximate"),
    ('start: x "b"\nx[stop="b"]: /a*/', "approximate"),
    ('start: %json {"type": "integer"}', "approximate"),
    ('start: %lark {\nstart: "a"\n} "b"', ""),
    ('start: %lark {\nstart: "a"\n%ignore " "\n} "b"', "approximate"),
    ('start: %regex {"substring_words": "a b. c"}', ""),
    ('start: "a', "unclosed-literal"),
    ("start: /a", "unclosed-regex"),
    ("start: /[/]/", "unclosed-regex"),
    ('start: ("a"\n"b")', "unclosed-group"),
    ('start: ["a"', "unclosed-group"),
    ("start: <a b>", "unclosed-token"),
    ('start: "a";', "unexpected-text"),
    ("start: 'a'", "unexpected-text"),
    ('\ufeffstart: "a"', "unexpected-text"),
    ('start: "a"\x00', "unexpected-text"),
    ("%foo\nstart: A", "unexpected-text"),
    ('start: "a"\n)', "unexpected-text"),
    ('start: "a" -> B', "unexpected-text"),
    ('start: "\\d"', "unknown-escape"),
    ('start: "\\ud800"', "unknown-escape"),
    ("start: x\nx[temperature=1.5e]: /a/", "bad-number"),
    ('start: "a"{1.5}', "bad-number"),
    ("start: %json {a}", "bad-json"),
    ('%llguidance {"no_forcing": NaN}\nstart: "a"', "bad-json"),
    ('start ::= "a"', "definition-sign"),
    ('start = "a"', "definition-sign"),
    ("start: Foo\nFoo: /a/", "mixed-case-name"),
    ('start: "a"?b\nb: "b"', "optional-or-name"),
    ('start: "a"\n// so\n| "b"', "line-before-bar"),
    ('start: "a"\n \n| "b"', "line-before-bar"),
    ('start: "a"{0}', "bad-repetition"),
    ('start: "a"{x}', "bad-repetition"),
    ('start: "a"*?', "bad-repetition"),
    ('start: "a"{3,1}', "repetition-order"),
    ("start: " + "(" * 29 + '"a"' + ")" * 29, "nested-too-deep"),
    ("start: X\nX[lazy]: /a/", "bad-attribute"),
    ("start: x\nx[foo=3]: /a/", "bad-attribute"),
    ('start: x\nx[stop="a", suffix="b"]: /a/', "bad-attribute"),
    ('start: x\nx[capture="a"i]: /a/', "bad-attribute"),
    ('start: x::0\nx::_: "a" %if foo(_)', "bad-parameter"),
    ('start: x::0\nx::_: "a" %if lt([3:2], 1)', "bad-parameter"),
    ('start.2: "a"', "not-supported"),
    ('start: x{y}\nx{z}: "a"\ny: "b"', "not-supported"),
    ('%declare A\nstart: "a"', "not-supported"),
    ("%import common.FOO\nstart: FOO", "unknown-import"),
    ("%import python.NAME\nstart: NAME", "unknown-import"),
    ('%llguidance {"no_forcing": 1}\nstart: "a"', "bad-options"),
    ("start: %regex {}", "bad-options"),
    ('start: %regex {"substring_chars": ["a"]}', "bad-options"),
    ("start: @other", "grammar-reference"),
    ('b: "a"', "no-start"),
    ("", "no-start"),
    ('start: "a"\nstart: "b"', "duplicate-rule"),
    ("start: INT\nINT: /a/\n%import common.INT", "duplicate-rule"),
    ("start: x y", "undefined-name"),
    ("start: WORD", "undefined-name"),
    ("start: A\nA: b\nb: /x/", "rule-in-terminal"),
    ('%ignore a\na: " "\nstart: a', "rule-in-terminal"),
    ("start: A\nA: <think>", "not-in-terminal"),
    ('start: A\nA: "a" %if true', ""),
    ("start: A\nA: %json {}", "not-in-terminal"),
    ('start: A\nA: B\nB: "a" A', "circular-terminal"),
    ('start: "a" & "b"', "and-in-rule"),
    ('start: x\nx[max_tokens=3]: y\ny: "b"', "attribute-of-rule"),
    ('start: x\nx[stop_capture="a"]: /a/', "attribute-of-rule"),
    ('start: x::5\nx::_: "a"', "parametric"),
    ('start: x::5\nx: "a"', "parametric"),
    ('start: x\nx::_: "a" %if lt(_, 3)', "parametric"),
    ("start: /(a/", "bad-regex"),
    ("start: /a/l", "bad-regex"),
    ("start: /a{,3}/", "bad-regex"),
    ("start: /[z-a]/", "bad-regex"),
    ("start: /(?=a)b/", "look-around"),
    ("start: /\\ba/", "look-around"),
    ("start: /a^b/", "look-around"),
    ('start: "c".."a"', "bad-range"),
    ('start: "ab".."c"', "bad-range"),
    ("start: <[5-2]>", "token-range"),
    ("start: <[^*]>", "token-range"),
    ('start: "a"\nunused: "b"', "unused-rule"),
    ('start: "a"\nunused: nothing', "unused-rule"),
    ('start: "a" | x\nx: "b" x', "endless-rule"),
    ("start: A B\nA: /[a-z]+/\nB: /[a-z0-9]+/", "lexeme-lost"),
    ("start: /[a-z]/+", "character-lexeme"),
    ('start: x\nx: "a" x | "a"', "right-recursion"),
    ('start: <think> "a"', "token-of-model"),
]
"""A text, and the code that it is reported with; empty for a text without a problem."""


_LEXEMES = (
    '"a"', '"ab"', '"b"', '" "', '"é"', '"è"', '"ba"', '"abc"', "/[a-c]+/", "/a*/", "/[ab]/", "/é+/", "/(ab)*c?/",
    "/[^a]/", "/./", "/.*b/", '"A"i', '"a".."c"', "/a|ab/", '~"a"', r"/\w+/", '""',
)  # fmt: skip
_IGNORED = ('" "', "/ +/", "/[ b]+/", '" " | "c"')
_LAZY = (
    ("[lazy]", "/.*b/"),
    ('[suffix="b"]', "/[a-c]*/"),
    ("[suffix=/b|c/]", '/(.|\\n)*/ "c"'),
    ("[lazy]", '"a" /b*c/'),
)


def random_grammar(random: Random) -> str:
    """A grammar over the letters a, b, c, é, è and the space, whose lexemes overlap in every way."""
    terminals, rules = ["A", "B", "C"][: random.randrange(4)], ["start", "x", "y"][: random.randrange(1, 4)]
    lines = [f"{name}: {_terminal(random, 0)} {_terminal(random, 0)}" for name in terminals]
    names = [*terminals, *rules[1:]]
    if random.random() < 0.3:
        attribute, body = random.choice(_LAZY)
        names.append("z")
        lines.append(f"z{attribute}: {body}")
    for name in rules:
        options = (_sequence(random, names) for _ in range(random.randrange(1, 3)))
        lines.append(f"{name}: " + " | ".join(options))
    if random.random() < 0.4:
        lines.append(f"%ignore {random.choice(_IGNORED)}")
    if random.random() < 0.1:
        lines.append('%llguidance {"allow_initial_skip": true}')
    return "\n".join(lines) + "\n"


def nested_grammar(random: Random) -> str:
    """Two such grammars, one in the other, that ignore the same texts."""
    inner, outer = random_grammar(random), random_grammar(random)
    ignored = random.choice(("", f"%ignore {random.choice(_IGNORED)}\n"))
    inner, outer = (re.sub(r"(?m)^%.*\n", "", text) + ignored for text in (inner, outer))
    beside = random.choice(("n", "n /a+/", "/[ab]+/ n", "n n", "[n] |", "(n | /b+/)", "n |"))
    return outer.replace("start:", f"start: {beside} ", 1) + f"n: %lark {{\n{inner}}}\n"


def random_text(random: Random) -> str:
    return "".join(random.choice("aabbc é è") for _ in range(random.randrange(7)))


def _sequence(random: Random, names: list[str]) -> str:
    return " ".join(_item(random, names, 0) for _ in range(random.randrange(4)))


def _terminal(random: Random, depth: int) -> str:
    kind = random.randrange(7) if depth < 3 else 0
    if kind < 3:
        return random.choice(_LEXEMES)
    first = _terminal(random, depth + 1)
    if kind == 5:
        return f"({first}){_operator(random)}"
    return f"({first} {' |&'[kind - 3 if kind < 5 else 2]} {_terminal(random, depth + 1)})"


def _item(random: Random, names: list[str], depth: int) -> str:
    kind = random.randrange(8) if depth < 3 else 0
    if kind < 4:
        return random.choice([*_LEXEMES, *names * 4])
    first = _item(random, names, depth + 1)
    if kind == 6:
        return f"({first}){_operator(random)}"
    return f"[{first}]" if kind == 7 else f"({first} {' |'[kind - 4]} {_item(random, names, depth + 1)})"


def _operator(random: Random) -> str:
    return random.choice(("*", "+", "?", "{2}", "{1,3}"))
