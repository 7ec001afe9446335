"""Grammars with small errors: mutations of llama.cpp's example grammars and of short ones with every feature.

Seeded: a number is always the same grammar, so a disagreement can be reproduced by its number.
`python tests/support/gbnf_mutants.py N FIRST` compares the N from FIRST on with llama.cpp and prints disagreements.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

SNIPPETS = (
    'root ::= "yes" | "no"\n',
    'root ::= item ("," item)*\nitem ::= [a-z]+ | "\\"" [^"\\\\]* "\\""\n',
    'root ::= object\nobject ::= "{" ws (pair ("," ws pair)*)? "}"\npair ::= string ":" ws value\n'
    'value ::= object | string | number | ("true" | "false" | "null")\nstring ::= "\\"" char* "\\""\n'
    'char ::= [^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})\n'
    'number ::= "-"? ([0] | [1-9] [0-9]{0,15}) ("." [0-9]+)?\nws ::= | " " | "\\n" [ \\t]{0,20}\n',
    'root ::= expr\nexpr ::= term (("+" | "-") term)*\nterm ::= factor | factor "*" term\n'
    'factor ::= "(" expr ")" | [0-9]+ | "-" factor\n',
    "# tokens\nroot ::= <[1]> .* !<[2]>{1,3} # end\n",
    'root ::= (\n  "a" # one\n  | "b"\n)+ x{2} y{1,} z{0,3}\n'
    'x ::= "\\x41\\u0042\\U00000043"\ny ::= [\\]\\[-]\nz ::= .\n',
    'root ::= a b? c*\na ::= | "a"\nb ::= a a\nc ::= "c" b\n',
    'root ::= ws "{" ws "\\"tool\\"" ws ":" ws tool ws "}"\n'
    'tool ::=\n  "\\"navigate\\"" |\n  "\\"search\\""\nws ::= [ \\t\\n]*\n',
    'root ::= ("x" | ("y" | ("z")?)? "w")* "!"{3}\n',
    'root\t::=\tlist\r\nlist ::= "[" (value ("," value)*)? "]"\r\nvalue ::= list | [0-9]+ | "é😀" | [ぁ-ゟ]\r\n',
)
TOKENS = (
    "::=", "|", "(", ")", "[", "]", "*", "+", "?", ".", '"', "{", "}", "{2}", "{0,}", "{1,3}", "{0}", "{3,1}", "#",
    " ", "\n", "\t", "\r\n", "\\", "\\d", "\\n", "\\x4", "\\-", "^", "-", ",", "<[3]>", "<", ">", "!", "''", "root",
    "ws", "item", "a", "x", "value", "missing", "a_b", '""', '"a"', "[a-z]", "[^a]", "[]", "()", "(|", "é",
    "root ::= ", "x ::= ", "{1,2001}", "{2000}", "{400}", "0", "9",
)  # fmt: skip
_PIECES = re.compile(r'"(?:[^"\\\n]|\\.)*"|\[(?:[^\]\\\n]|\\.)*\]|[\w-]+|::=|\s+|.', re.DOTALL)


def sources(folder: Path | None = None) -> list[str]:
    """Return the texts to mutate: the snippets, and the grammars of a folder if it exists."""
    found = sorted(folder.glob("*.gbnf")) if folder and folder.is_dir() else []
    return [*SNIPPETS, *(path.read_text(encoding="utf-8") for path in found)]


def mutant(number: int, of: list[str]) -> str:
    """Return the grammar of that number: one to four changes of one of the texts."""
    rng = random.Random(number)
    text = rng.choice(of)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        text = rng.choice((_characters, _characters, _tokens, _tokens, _tokens, _lines))(text, rng)
    return text


def _characters(text: str, rng: random.Random) -> str:
    return "".join(_changed(list(text), rng, lambda: rng.choice(TOKENS)))


def _tokens(text: str, rng: random.Random) -> str:
    return "".join(_changed(_PIECES.findall(text), rng, lambda: rng.choice(TOKENS)))


def _lines(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(_changed(lines, rng, lambda: rng.choice(SNIPPETS)))


def _changed(parts: list[str], rng: random.Random, new: object) -> list[str]:
    """Return it with something deleted, inserted, doubled, replaced or swapped."""
    assert callable(new)
    if not parts:
        return [new()]
    at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
    match rng.randrange(6):
        case 0:
            del parts[at]
        case 1:
            parts.insert(at, new())
        case 2:
            parts.insert(other, parts[at])
        case 3:
            parts[at] = new()
        case 4:
            parts[at], parts[other] = parts[other], parts[at]
        case 5:
            del parts[at : at + rng.randrange(1, 4)]
    return parts


def main(count: int, first: int, folder: str) -> None:
    from glyphscope.grammar.gbnf import check_gbnf
    from glyphscope.models import GrammarProbe
    from llama_verdict import llama_verdict

    of = sources(Path(folder) if folder else None)
    taken = disagreed = 0
    with GrammarProbe(seconds=2.0) as probe:
        for number in range(first, first + count):
            text = mutant(number, of)
            check, verdict = check_gbnf(text), llama_verdict(probe, text)
            taken += verdict.ok
            if check.ok != verdict.ok:
                disagreed += 1
                why = next((d.message for d in check.diagnostics if d.severity == "error"), "ok")
                print(
                    f"{number}: ours {why!r}; llama.cpp {verdict.reason or 'takes it'!r} {verdict.crashed}\n{text!r}"
                )
    print(f"{count} mutants from {first}, {taken} taken by llama.cpp, {disagreed} disagreements")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
