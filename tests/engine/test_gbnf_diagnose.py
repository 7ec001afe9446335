"""Diagnoses of a grammar agree with llama.cpp's parser, and every fix removes its error."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import at_most, rounds
from gbnf_mutants import mutant, sources
from glyphscope.base.errors import GrammarError
from glyphscope.grammar.gbnf import (
    CODES,
    CheckCancelled,
    Diagnostic,
    apply_fixes,
    check_gbnf,
    check_gbnf_bytes,
    load_gbnf,
    read_gbnf,
)
from glyphscope.grammar.tree import Alt, CharClass, Literal, Repeat, RuleRef, Seq, TokenMatch
from glyphscope.models import GrammarProbe
from llama_verdict import llama_verdict

DOUBLING = "".join(f'r{i} ::= r{i + 1} "a" | r{i + 1} "b"\n' for i in range(40)) + 'r40 ::= "a"\n'

CASES: list[tuple[str, dict[str, str]]] = [
    ("", {"no-rules": ""}),
    ("# nothing\n", {"no-rules": ""}),
    ('foo ::= "a"', {"no-root": "foo"}),
    ("root ::= fo\nfoo ::= x", {"undefined-rule": "fo", "unused-rule": "foo"}),
    ('root ::= root "a" | "b"', {"left-recursion": "root"}),
    ('root ::= a "x" | "y"\na ::= ("q" | root)* "z"', {"left-recursion": "a"}),
    ('root ::= a | "y"\na ::= "z"? root "q"', {"left-recursion": "a"}),
    ('root ::= b root "x" | "y"\nb ::= c\nc ::= | "z"', {"left-recursion": "root"}),
    ('root ::= "a" root', {"endless-rule": "root"}),
    ('root ::= "a" | x\nx ::= "b" y\ny ::= "c" x', {"endless-rule": "x"}),
    ('root ::= undefined | x\nx ::= "b" x', {"undefined-rule": "undefined", "endless-rule": "x"}),
    ('root ::= "a"**', {"nullable-loop": '"a"**'}),
    ('root ::= (|"a")*', {"nullable-loop": '(|"a")*'}),
    ('root ::= a+\na ::= "x" |', {"nullable-loop": "a+"}),
    ('root ::= ("a"?)*', {"empty-loop": '("a"?)*'}),
    ('root ::= b*\nb ::= c\nc ::= | "z"', {"empty-loop": "b*"}),
    ('root ::= b root | "y"\nb ::= c\nc ::= | "z"', {}),
    ('root ::= ""*', {"empty-repetition": "*"}),
    ('root ::= "a"{0}?', {"zero-repetition": "{0}", "empty-repetition": "?"}),
    ('root ::= "a"{3,1}', {"repetition-order": "{3,1}"}),
    ('root ::= "a"{2001}', {"repetition-too-large": "{2001}"}),
    ('root ::= "a"{2,9999}', {"unbounded-maximum": "{2,9999}"}),
    ('root ::= "a"{1,99999999999999999999}', {"repetition-too-large": "{1,99999999999999999999}"}),
    ('root ::= ("a"{0,1000}){2}', {"repetition-too-large": "{2}"}),
    ('root ::= ("a"{0,999}){2}', {}),
    ('root ::= (("a")){1001}', {"repetition-too-large": "{1001}"}),
    ('root ::= "a"{44}{45} "b"{2000} ("a" x){1000}\nx ::= "b"', {}),
    ('root ::= x ("," x){2000}\nx ::= "b"', {}),
    ('root ::= "a"{45}{45}', {"repetition-too-large": "{45}"}),
    ("root ::= <[99999999999999999999]>", {"token-id": "<[99999999999999999999]>"}),
    ("root ::= <[99999999]> !<[5]>", {}),
    ("root ::= <|im_start|>", {"token-of-model": "<|im_start|>"}),
    ("root ::= r0\n" + DOUBLING, {"too-many-steps": "r"}),
    ('root ::= "a"\nroot ::= "b"', {"duplicate-rule": "root"}),
    ('root ::= "a"\nx ::= "b"', {"unused-rule": "x"}),
    ('root ::= "a"\nx ::= y\ny ::= "b" x |', {"unreachable-rule": "x"}),
    ("root ::= [] [^]", {"empty-class": "[]"}),
    ("root ::= [z-a]", {"range-order": "z-a"}),
    (r'root ::= [\U00110000] "\uD800"', {"no-such-character": r"\U00110000"}),
    ("root ::= [^é]+", {"negated-non-ascii": "[^é]"}),
    (r"root ::= [^\x00-\x9F]", {"negated-non-ascii": r"[^\x00-\x9F]"}),
    (r'root ::= [^\x00-\u00FF"\\] [é-ü] [^"]', {}),
    ('root ::= "a\nb"', {"line-end-in-text": '"a\nb"'}),
    ('root ::= [a-z\nx ::= ["] "b"', {"line-end-in-text": '[a-z\nx ::= ["]'}),
    ('root ::= "a" | "b" | "a"', {"same-alternative": '"a"'}),
    ('root ::= "a" | [a-z]', {"same-alternative": '"a"'}),
    ('root ::= "x" ("a" | "b") | "ab"', {}),
    ("root ::= " + '"a"? ' * 30, {"slow-optionals": ('"a"? ' * 30).strip()}),
    ('root ::= "<" <item> ">"\nitem ::= "a"', {"token-named-like-rule": "<item>"}),
    ('root ::= ws "a"\nws ::= [ \\t\\n]*', {"unbounded-space": "*"}),
    (r'root ::= "\-" [a\-z]', {"new-escape": r"\-"}),
]


def test_left_recursion_is_reported_where_the_rule_begins_with_itself():
    text = 'root ::= ws "b"\nws ::= | " " ws | ws "x"'
    (found,) = (d for d in check_gbnf(text).diagnostics if d.code == "left-recursion")
    assert found.start == text.rindex("ws")


def test_the_message_on_left_recursion_shows_the_repetition_of_these_rules():
    text = 'root ::= sum " = " number\nsum ::= sum " + " number | number\nnumber ::= [0-9]+'
    (found,) = (d for d in check_gbnf(text).diagnostics if d.code == "left-recursion")
    assert found.message.endswith('use a repetition: `sum ::= number (" + " number)*`.')
    assert found.fix.edits[0][2] == 'number (" + " number)*'


@pytest.mark.parametrize(("text", "expected"), CASES, ids=lambda case: str(case)[:40])
def test_each_problem_is_reported_at_its_place(text: str, expected: dict[str, str]) -> None:
    found = {d.code: text[d.start : d.end] for d in reversed(check_gbnf(text).diagnostics)}
    # a wrong rule may also be unused or endless
    assert {code: found.get(code, "")[: len(place)] for code, place in expected.items()} == expected
    if not expected:
        assert not found


def test_every_code_has_an_example_and_is_in_the_users_table() -> None:
    reported = {d.code for text, _ in CASES for d in check_gbnf(text).diagnostics}
    reader = Path(__file__).with_name("test_gbnf_reader.py").read_text(encoding="utf-8")
    elsewhere = set(re.findall(r'\["([a-z-]+)"\]', reader)) | {"not-utf-8", "too-many-mistakes"}
    assert reported | elsewhere >= CODES.keys() - {"slow-alternatives", "too-many-ways"}
    guide = (Path(__file__).parents[2] / "docs" / "grammar-diagnostics.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \|", guide, re.MULTILINE)
    assert dict(table) == {code: severity for code, (severity, _) in CODES.items()}


def check_fixes(text: str) -> None:
    diagnostics = check_gbnf(text).diagnostics
    reported = Counter((d.code, d.message) for d in diagnostics)
    errors = count(diagnostics)
    for diagnostic in diagnostics[:50]:
        if diagnostic.fix is None:
            continue
        after = check_gbnf(diagnostic.fix.apply(text)).diagnostics
        key = (diagnostic.code, diagnostic.message)
        assert Counter((d.code, d.message) for d in after)[key] < reported[key], diagnostic
        if diagnostic.code in ("undefined-rule", "token-named-like-rule"):
            after = tuple(
                d for d in after if d.code != "left-recursion"
            )  # consequences of the name that was meant
        assert count(after) <= errors - (diagnostic.severity == "error"), diagnostic


def count(diagnostics: tuple[Diagnostic, ...]) -> int:
    return sum(d.severity == "error" for d in diagnostics)


@pytest.mark.parametrize("text", [text for text, _ in CASES], ids=lambda text: text[:40])
def test_a_fix_removes_its_diagnostic_and_adds_no_error(text: str) -> None:
    check_fixes(text)


def test_an_ambiguous_alternative_is_reported_in_time() -> None:
    wide = "".join(f'r{i} ::= r{i + 1} "a" | r{i + 1} "b"\n' for i in range(12)) + 'r12 ::= "a"\n'
    assert [d.code for d in check_gbnf("root ::= r0\n" + wide).diagnostics if d.severity != "hint"][:1] == [
        "slow-alternatives"
    ]
    wider = "".join(f'r{i} ::= r{i + 1} "a" | r{i + 1} "b"\n' for i in range(17)) + 'r17 ::= "a"\n'
    assert "too-many-ways" in {d.code for d in check_gbnf("root ::= r0\n" + wider).diagnostics}


@pytest.mark.parametrize(
    "name", ["json", "c", "chess", "arithmetic", "japanese", "english", "list", "json_arr"]
)
def test_llama_cpps_own_examples_have_no_errors(shared_data: Path, name: str) -> None:
    found = check_gbnf((shared_data / "gbnf" / f"{name}.gbnf").read_text(encoding="utf-8"))
    assert found.ok
    assert {d.severity for d in found.diagnostics} <= {"hint"}
    assert found.grammar is not None
    assert found.grammar.root == "root"


def test_the_tree_is_that_of_the_text() -> None:
    text = 'root ::= "a" ("b" | x)? [^a-c]{2,} . <[5]> !<think> [] "b"{1,3000}\nx ::= "\\u00e9" |\n'
    grammar = load_gbnf(text)
    any_character = CharClass(((0, 0xD7FF), (0xE000, 0x10FFFF)))
    assert grammar.rules["root"].body == Seq(
        (
            Literal("a"),
            Repeat(Alt((Literal("b"), RuleRef("x"))), 0, 1),
            Repeat(CharClass(((97, 99),), negated=True), 2, None),
            any_character,
            TokenMatch(5),
            TokenMatch("think", negated=True),
            Seq(()),
            Repeat(Literal("b"), 1, None),
        )
    )
    assert grammar.rules["x"].body == Alt((Literal("é"), Seq(())))


def test_a_grammar_with_errors_has_no_tree_and_a_place() -> None:
    with pytest.raises(GrammarError) as raised:
        load_gbnf('root ::= "a"\nx ::= y\n')
    assert raised.value.message.startswith("line 2, column 7: ")
    assert check_gbnf("root ::= x").grammar is None


mutants = st.integers(0, 10**9).map(lambda number: mutant(number, sources()))


@at_most(600)
@given(
    mutants
    | st.text(max_size=200)
    | st.binary(max_size=200).map(lambda data: data.decode("utf-8", "surrogateescape"))
)
@example(mutant(3, sources()))
def test_any_text_is_checked_and_its_syntax_errors_are_fixed(text: str) -> None:
    found = check_gbnf(text)
    assert all(0 <= d.start <= d.end <= len(text) for d in found.diagnostics)
    assert found.ok == (found.grammar is not None)
    after = check_gbnf(apply_fixes(found)[0])
    assert not found.ok or after.document.text == text


@at_most(300)
@given(mutants)
def test_a_fix_of_a_semantic_problem_fixes_it_in_any_grammar(text: str) -> None:
    if not read_gbnf(text).problems:
        check_fixes(text)


def test_bytes_that_are_not_utf_8_are_reported_with_their_places() -> None:
    found = check_gbnf_bytes(b'root ::= "a\xff"\n\xe9 # \xc3\xa9')
    assert [(d.code, d.start) for d in found.diagnostics if d.code == "not-utf-8"] == [
        ("not-utf-8", 11),
        ("not-utf-8", 14),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "root ::= x" + "*" * 20_000,
        "root ::= " + "(" * 5_000 + '"a"' + ")?" * 5_000,
        "root ::= " + "x |" * 20_000,
        "root ::= " + "root " * 20_000,
        "root ::= " + " ".join(f"x{i}" for i in range(10_000)),
        "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(70_000)) + 'r70000 ::= "a"',
        "".join(f"r{i} ::= r{(i * 7 + 1) % 5_000} r{(i * 3) % 5_000} | \n" for i in range(5_000)),
    ],
    ids=["operators", "nested", "alternatives", "recursion", "undefined", "chain", "tangle"],
)
def test_hostile_grammars_are_checked_to_the_end(text: str) -> None:
    assert check_gbnf(text).diagnostics


def test_an_error_is_reported_after_any_number_of_warnings() -> None:
    text = 'root ::= "a"\n' * 5_000 + "x ::= y\n"
    assert not check_gbnf(text).ok
    items = "root ::= " + "[] " * 5_000 + '"a"{3,1}'
    assert not check_gbnf(items).ok


@pytest.fixture
def seed_snippets(shared_data: Path) -> list[str]:
    """Return the grammars of the requirements document, in its order."""
    text = (shared_data.parent / "seeds" / "003_87d9df45ad76eaa1.txt").read_text(encoding="utf-8")
    blocks = re.findall(r"^```gbnf\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [*blocks, *re.findall(r"<<'EOF'\n(.*?)^EOF", text, re.DOTALL | re.MULTILINE)]


def missing(text: str) -> set[str]:
    return {text[d.start : d.end] for d in check_gbnf(text).diagnostics if d.code == "undefined-rule"}


def test_complete_grammars_of_the_guide_are_valid_and_the_others_name_what_is_missing(
    seed_snippets: list[str],
) -> None:
    tour, one_tool, several_tools, enumeration, generated, tested = seed_snippets
    assert check_gbnf(one_tool).ok
    assert check_gbnf(tested).ok
    assert missing(tour) == {"item"}
    assert missing(several_tools) == {"ws", "navigate-args", "search-args", "file-args"}
    assert [d.code for d in check_gbnf(enumeration).diagnostics] == ["no-root"]
    # llama.cpp rejects it unchanged: four rules continue on the next line outside of parentheses
    found = check_gbnf(generated)
    assert [d.code for d in found.diagnostics if d.severity == "error"] == ["rule-on-one-line"] * 4
    text, count = apply_fixes(found)
    assert (count, check_gbnf(text).ok) == (4, True)


# --- llama.cpp itself ------------------------------------------------------------------------------------------


@pytest.fixture
def probe() -> Iterator[GrammarProbe]:
    with GrammarProbe(seconds=1.0) as running:
        yield running


@pytest.mark.model
@pytest.mark.slow
def test_llama_cpp_agrees_on_each_example(probe: GrammarProbe) -> None:
    for text, expected in CASES:
        if "token-named-like-rule" in expected:
            continue  # that depends on the model
        verdict = llama_verdict(probe, text)
        assert check_gbnf(text).ok == verdict.ok, (text, verdict)


@pytest.mark.model
@pytest.mark.slow
def test_llama_cpp_accepts_the_users_grammars_unchanged_or_fixed(
    probe: GrammarProbe, seed_snippets: list[str]
) -> None:
    _, one_tool, _, _, generated, tested = seed_snippets
    assert not llama_verdict(probe, generated).ok
    for text in (one_tool, tested, apply_fixes(check_gbnf(generated))[0]):
        assert llama_verdict(probe, text).ok


@pytest.mark.model
@pytest.mark.slow
def test_llama_cpp_accepts_fixed_texts(probe: GrammarProbe) -> None:
    started = time.monotonic()
    for number in range(rounds(300, 15_000)):
        text = mutant(number, sources())
        found = check_gbnf(text)
        if not found.ok:
            text, _ = apply_fixes(found)
            after = check_gbnf(text)
            if after.ok and not any(d.code == "token-of-model" for d in after.diagnostics):
                assert llama_verdict(probe, text).ok, (number, text)
        if time.monotonic() - started > 60:
            break


@pytest.mark.model
@pytest.mark.slow
def test_llama_cpp_agrees_on_mutated_grammars(probe: GrammarProbe) -> None:
    """250 here; `tests/support/gbnf_mutants.py` tests any number (docs/decisions/0009 has the result of 100,000)."""
    of = sources()
    wrong = []
    for number in range(rounds(250, 10_000)):
        text = mutant(number, of)
        if check_gbnf(text).ok != llama_verdict(probe, text).ok:
            wrong.append((number, text))
    assert len(wrong) <= 2, wrong


LARGE = {
    "rules": "".join(f'r{i} ::= "a" [a-z]+ (r{i + 1} | "b")?\n' for i in range(1_500))
    + "root ::= r1500 | r0",
    "items": "root ::= " + '"ab" [a-z] x ' * 5_000 + '\nx ::= "y"',
    "alternatives": "root ::= " + " | ".join(f'"{i}"' for i in range(8_000)),
    "groups": "root ::= " + "(" * 4_000 + '"a"' + ")?" * 4_000,
    "class": "root ::= [" + "".join(map(chr, range(0x4E00, 0x9E00))) + "]",
    "quote": 'root ::= "' + r"a\n" * 20_000 + '"',
    "undefined": "root ::= " + " ".join(f"x{i}" for i in range(8_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE.keys())
def test_a_check_of_a_large_text_can_be_cancelled(text: str) -> None:
    asked = []

    def stop_after(count: int) -> Callable[[], bool]:
        asked.clear()
        return lambda: asked.append(True) or len(asked) > count  # type: ignore[func-returns-value]

    for count in (0, 5):
        with pytest.raises(CheckCancelled):
            check_gbnf(text, cancel=stop_after(count))
        assert len(asked) == count + 1
    whole = check_gbnf(text, cancel=stop_after(10**6))
    assert whole.diagnostics == check_gbnf(text).diagnostics  # no partial result is cached
    assert whole.ok == (whole.grammar is not None)
