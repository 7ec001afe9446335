"""Reading GBNF: every syntax that llama.cpp accepts, exact places, and no text on which it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from gbnf_outline import outline
from glyphscope.grammar.gbnf import read_gbnf
from glyphscope.grammar.gbnf.parse.syntax import GrammarSyntax, Repetition


def body(text: str) -> Any:
    document = read_gbnf(f"root ::= {text}\nx ::= y\n")
    assert not document.problems
    assert [rule.name for rule in document.rules] == ["root", "x"]
    return outline(document.rules[0].body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"a\n\r\t\\\"\[\]\-\x41\u00e9\U0001F600"', [['a\n\r\t\\"[]-Aé😀']]),
        ('"a" | (x |)', [["a"], [[["→x"], []]]]),
        ('"over\nlines"', [["over\nlines"]]),
        ("[a-z0-9_]", [[("class", ((97, 122), (48, 57), (95, 95)))]]),
        (r"[^\"\]\x00-\x1f]", [[("not", ((34, 34), (93, 93), (0, 31)))]]),
        ("[a-]", [[("class", ((97, 97), (45, 45)))]]),
        ("[--/]", [[("class", ((45, 47),))]]),
        (r"[a-\]]", [[("class", ((97, 93),))]]),
        ("[]", [[("class", ())]]),
        ("[^]", [[("not", ())]]),
        ("[\n]", [[("class", ((10, 10),))]]),
        ("[ぁ-ゟ]", [[("class", ((0x3041, 0x309F),))]]),
        (r"[\U00110000]", [[("class", ((0x110000, 0x110000),))]]),
        ('. x* x+ x? "ab"{2} x{3,} x{ 4 , 5 }', None),
        ("x**", [[(("→x", 0, None), 0, None)]]),
        ('( "a"\n\n| # so\n x\n)? x', [[([["a"], ["→x"]], 0, 1), "→x"]]),
        ("()", [[[[]]]]),
        ("(x{2 # twice\n}\n)", [[[[("→x", 2, 2)]]]]),
        ("<[5]> !<[12]>* <think> !</think>", None),
        ("x |\n\n# more\n x", [["→x"], ["→x"]]),
        ("\n\n x", [["→x"]]),
        ("x{99999999999999999999999999}", [[("→x", 10**20, 10**20)]]),
    ],
)
def test_the_reader_agrees_with_llama_cpp(text: str, expected: Any) -> None:
    found = body(text)
    assert expected is None or found == expected


def test_all_operators_and_tokens() -> None:
    x = "→x"
    repeated = [(x, 0, None), (x, 1, None), (x, 0, 1), ("ab", 2, 2), (x, 3, None), (x, 4, 5)]
    assert body('. x* x+ x? "ab"{2} x{3,} x{ 4 , 5 }') == [[".", *repeated]]
    tokens = [("token", 5), (("!token", 12), 0, None), ("token", "think"), ("!token", "/think")]
    assert body("<[5]> !<[12]>* <think> !</think>") == [tokens]


def test_names_references_and_rules_have_exact_places() -> None:
    text = '# é\n  root\t::= "😀" item+ # all\r\nitem ::= (root | "b")\n'
    document = read_gbnf(text)
    root, _ = document.rules
    assert [text[slice(*rule.name_span)] for rule in document.rules] == ["root", "item"]
    assert [text[rule.start : rule.end] for rule in document.rules] == [
        'root\t::= "😀" item+',
        'item ::= (root | "b")',
    ]
    assert [text[c.start : c.end] for c in document.comments] == ["# é", "# all"]
    assert [text[r.start : r.end] for r in root.references] == ["item"]
    repetition = root.body.options[0].items[1]
    assert isinstance(repetition, Repetition)
    assert text[repetition.operator : repetition.end] == "+"
    assert [text[slice(*span)] for span in document.occurrences("root")] == ["root", "root"]


@pytest.mark.parametrize(
    "name", ["json", "c", "chess", "arithmetic", "japanese", "english", "list", "json_arr"]
)
def test_llama_cpps_own_examples_are_read_without_a_problem(shared_data: Path, name: str) -> None:
    text = (shared_data / "gbnf" / f"{name}.gbnf").read_text(encoding="utf-8")
    document = read_gbnf(text)
    assert not document.problems
    assert document.text == text
    assert len(document.rules) == text.count("::=")


PROBLEMS = [
    ('root ::= "a\nx ::= "b"', ["unclosed-literal"], '"a'),
    ("root ::= [a-z\nx ::= y", ["unclosed-class"], "[a-z"),
    ('root ::= ("a" ("b"\nx ::= "b"', ["unclosed-group"], "("),
    ('root ::= "a") "b"', ["unopened-group"], ")"),
    (r'root ::= "\d\q" [\w\x4]', ["unknown-escape"] * 4, r"\d"),
    ("root = x", ["definition-sign"], "="),
    ('root\n ::= "a"', ["definition-sign"], "::="),
    ('root "a"', ["definition-sign"], "root"),
    ('::= "a"', ["definition-sign"], "::="),
    ("<root> ::= x", ["bad-name"], "<root>"),
    ("my root ::= x", ["bad-name"], "my root"),
    ("r_t ::= r_t x", ["bad-name"] * 2, "r_t"),
    ('root ::= "a"\n  | "b"\n  | "c"', ["rule-on-one-line"], "|"),
    ('root ::= "{" x\n "}"\nx ::= y', ["rule-on-one-line"], '"}"'),
    ("root ::= x y ::= z", ["rule-on-own-line"], "y"),
    ("root ::=\nx ::= y", ["missing-body"], "root"),
    ("root ::= x |\nx ::= y", ["missing-body"], "|"),
    ("root ::= * x", ["nothing-to-repeat"], "*"),
    ("root ::= x{,3} y{a}", ["bad-repetition"] * 2, "{,3}"),
    ("root ::= 'a' “b”; // c", ["unexpected-text"] * 4, "'a'"),
    ("root ::= <[x]> <y z", ["unclosed-token"] * 2, "<[x]>"),
    ("\ufeffroot ::= x", ["unexpected-text"], "\ufeff"),
    ("Dear reader\nroot ::= x", ["stray-line"], "Dear reader"),
    ('root ::= "\ud800"', ["lone-surrogate"], "\ud800"),
    ('root ::= "a\0" \0 x', ["nul-character"] * 2, "\0"),
    ("root ::= " + "(" * 17_001 + ")" * 17_001, ["nested-too-deep"], None),
    ("a ?\n" * 2_000, None, None),
]


@pytest.mark.parametrize(("text", "codes", "where"), PROBLEMS)
def test_a_problem_is_reported_only_at_its_place(
    text: str, codes: list[str] | None, where: str | None
) -> None:
    problems = read_gbnf(text).problems
    assert problems
    if codes:
        assert sorted(m.code for m in problems) == sorted(codes)
    if where:
        assert text[problems[0].start : problems[0].end] == where


@pytest.mark.parametrize(("text", "codes", "where"), PROBLEMS)
def test_the_fix_of_a_problem_removes_it_and_adds_none(text: str, codes: Any, where: Any) -> None:
    problems = read_gbnf(text).problems
    if len(problems) > 1_000:
        return  # their number is constant, except at the end
    for problem in problems:
        if problem.fix:
            left = read_gbnf(problem.fix.apply(text)).problems
            assert len(left) < len(problems), problem


SIGNS = st.sampled_from(
    [*"\"[]()<>{}|*+?.!\\#\n\r\t -_,;'0a^:=", "::=", "root ::= ", "\0", "\ud800", "é", "😀", '"a"']
)


@at_most(300)
@given(st.lists(SIGNS, max_size=60).map("".join) | st.text(max_size=60))
def test_any_text_is_read_with_all_places_inside_it(text: str) -> None:
    document = read_gbnf(text)
    assert document.text == text
    check_places(document)


def check_places(document: GrammarSyntax) -> None:
    size = len(document.text)
    for problem in document.problems:
        assert 0 <= problem.start <= problem.end <= size
        for start, end, _ in problem.fix.edits if problem.fix else ():
            assert 0 <= start <= end <= size
    for rule in document.rules:
        assert rule.start <= rule.body.start <= rule.body.end <= rule.end <= size
        for reference in rule.references:
            assert document.text[reference.start : reference.end] == reference.name
            assert rule.body.start <= reference.start <= reference.end <= rule.body.end
        waiting: list[Any] = [rule.body]
        while waiting:
            node = waiting.pop()
            assert node.start <= node.end
            inner = [*getattr(node, "options", ()), *getattr(node, "items", ())]
            inner += [getattr(node, part) for part in ("body", "item") if hasattr(node, part)]
            for part in inner:
                assert node.start <= part.start
                assert part.end <= node.end
            waiting += inner


@pytest.mark.parametrize(
    "text",
    [
        "root ::= " + "(" * 5_000 + '"a"' + ")" * 5_000,
        "(" * 1_000_000,
        "a ::= [\n" * 100_000,
        '"\\' * 500_000,
    ],
    ids=["nested", "open", "unclosed", "quotes"],
)
def test_hostile_texts_are_read_to_the_end(text: str) -> None:
    assert read_gbnf(text).text == text
