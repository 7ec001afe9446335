"""Patterns as nodes, against Python's `re` on strings without the characters dialects disagree on."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glyphscope.grammar import compile_grammar
from glyphscope.grammar.gbnf import emit_gbnf, load_gbnf
from glyphscope.grammar.regular import PatternNotEnforced, pattern_node, search_text, string_node, unreadable
from glyphscope.grammar.regular.pattern import found
from glyphscope.grammar.tree import NEVER, Terminal
from glyphscope.notation import write_call, write_value
from glyphscope.processes.compilers import service
from glyphscope.registry import check_schema, load_registry
from glyphscope.turns import build_call_grammar
from glyphscope.validation import CallValidator
from glyphscope.validation.checker import Checker
from lark_reader import lark_reader

PATTERNS = [
    "", "^$", "a", "^a", "a$", "^a|b$", "^(?:a|b)+$", "(^a|b$)", "a{2}", "a{1,2}b", "^a{2,}$", "^a??b", "a.b", "[ab]1",
    "^[^ab]$", r"^[^\d]+$", r"\s", r"^\S*$", r"\w\W", r"^[\w-]+$", r"^\x61\u0062$", r"\.", "^[-a]$", "^[a-]$", r'^"\\$',
    "(?P<name>a)b", "(?<name>a)", "^((a|b)1){2}$", "a{", "{a}", "^[.]$", r"^[\]\\]$", "^()$", "^(|a)b$",
]  # fmt: skip
NOT_ENFORCED = [
    "(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", r"\bword", r"\p{L}", "a^b", "(^a)+", "[[a]]", "a**", "(a", "a)", "[b-a]",
    "*a", "(" * 200 + ")" * 200, "a{20000}", "\\",
]  # fmt: skip
# Texts in which ECMA-262 finds the pattern with the flag u, and texts in which it does not, as Node.js 20 decides.
ECMA_262 = [
    ("^[^]$", ["a", "\n", "😀"], ["", "aa"]),
    ("^[]$", [], ["", "a", "[]"]),
    (r"^\cJ$", ["\n"], ["J", "cJ", "\\cJ"]),
    (r"^[\u{1F600}-\u{1F64F}]$", ["😀", "🙏"], ["u", "{", "a"]),
    (r"^\ud83d\ude00$", ["😀"], ["😁", "d83d"]),
    (r"^[\ud83d\ude00]$", ["😀"], ["😁", "u"]),
    (r"^[^\ud800-\udfff]$", ["a", "😀"], ["", "aa"]),
    (r"^\s$", ["\ufeff", "\xa0", "\u1680", "\u2028", "\v"], ["\x85", "\x1c", "\u180e", "a"]),
    (r"^\S$", ["\x85", "\u180e", "a"], ["\ufeff", "\u2003"]),
    ("^a.c$", ["abc", "a\x85c", "a\x0bc"], ["a\rc", "a\nc", "a\u2028c", "a\u2029c"]),
    (r"^\d$", ["7"], ["٣", "７"]),
    (r"^\D$", ["٣", "a"], ["7"]),
    (r"^\w$", ["_", "Z"], ["é", "-"]),
    (r"^\W$", ["é", "-"], ["_", "Z"]),
    (r"^[^\w]$", ["é"], ["a"]),
    ("^[a~~b]+$", ["a~b"], ["c", ""]),
    ("^[a&&b]+$", ["a&b"], ["c", ""]),
    ("^[+--]$", ["+", ",", "-"], ["*", "."]),
    ("^[[a]$", ["[", "a"], ["]", "[a"]),
    (r"^[\w-.]$", ["-", ".", "x"], ["/", "é"]),
    (r"^\-\_\@\"$", ['-_@"'], ["\\"]),
    ("^{a}]$", ["{a}]"], ["a"]),
    ("a$", ["a", "ba"], ["a\n"]),
    ("(?P<name>a)b", ["xab"], ["a"]),
    ("(?i)^straße$", ["Straße", "STRAẞE"], ["STRASSE"]),
    ("^(?i:k)s$", ["ks", "\u212as"], ["kS"]),
    ("^(?s:.).$", ["\na"], ["a\n"]),
    (r"^\p{Lu}\p{Script=Greek}$", ["Aα", "Ωω"], ["aα", "AA"]),
    # not regular: judged at the end of a text, and not enforced by a grammar
    (r"\bcat\b", ["cat", "écat", "a cat."], ["cats", "_cat"]),
    (r"^\Bc", [], ["c", "a"]),
    (r"^(a|b)\1$", ["aa", "bb"], ["ab", "a"]),
    (r"^(a)?\1b$", ["aab", "b"], ["ab"]),
    (r"^\1(a)$", ["a"], ["aa"]),
    (r"^(?<n>a)\k<n>$", ["aa"], ["a"]),
    (r"^(?!.*\.\.)[a-z.]+$", ["a.b"], ["a..b"]),
    (r"(?<=\$)\d", ["$5"], ["5"]),
    (r"^(?:(?!a)){2}(?:$)?b", ["b", "bc"], ["ab", ""]),
    ("(?m:^b$)", ["a\nb", "a\u2028b\nc"], ["a\x85b", "ab"]),
]  # fmt: skip
UNREADABLE = [
    "^[a-z]{,4}$", "^a{ 2}$", "^a{2, 3}$", "^a{,}$", r"\Z", r"\Aa", r"a\z", "a++", "a?+", "(?>a)", "(?#a)", r"(?P=a)",
    r"\1", r"\01", r"\8", r"\k<a>", r"\p{Foo}", "[[a]]", "[]a]", "[^]a]", "[[:alpha:]]", r"\x", r"\u", r"\c1", r"\e",
    r"\<a\>", "a**", "a{2}{3}", "^*", "{2}", "[a--b]", "(?=a)*", r"(?:(a)|b)*\1", r"[\1]", r"(?x)a",
]  # fmt: skip


def reader(pattern, notation):
    node = string_node(notation, (pattern_node(pattern),))
    return lark_reader(node.body if isinstance(node, Terminal) else node)


@pytest.mark.parametrize("notation", ["json", pytest.param("glyph", marks=pytest.mark.slow)])
@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=min(20, settings().max_examples // 5), deadline=None)
@given(texts=st.lists(st.text('ab1 -."\\{}]\t', max_size=5), min_size=4, max_size=4))
def test_a_pattern_accepts_every_text_that_contains_a_match(pattern, notation, texts):
    accepts = reader(pattern, notation)
    compiled = re.compile(pattern if "(?<" not in pattern else pattern.replace("(?<", "(?P<"))
    for text in texts:
        assert accepts(write_value(text, notation)) == bool(compiled.search(text)), (pattern, text)


@pytest.mark.parametrize("pattern", NOT_ENFORCED, ids=lambda pattern: pattern[:20])
def test_a_pattern_that_is_not_regular_or_ambiguous_is_reported(pattern):
    with pytest.raises(PatternNotEnforced):
        pattern_node(pattern)


@pytest.mark.parametrize(("pattern", "found_in", "not_in"), ECMA_262, ids=[row[0] for row in ECMA_262])
def test_a_pattern_has_the_meaning_of_ecma_262_in_the_validator_and_in_a_grammar(pattern, found_in, not_in):
    texts, expected = [*found_in, *not_in], [True] * len(found_in) + [False] * len(not_in)
    assert not check_schema({"pattern": pattern}) and not unreadable(pattern)
    assert [found(pattern, text) for text in texts] == expected
    assert [service.searched(search_text(pattern), text, 1) for text in texts] == expected
    try:
        node = pattern_node(pattern)
    except PatternNotEnforced:
        return
    if node != NEVER:
        accepts = reader(pattern, "json")
        assert [accepts(write_value(text, "json")) for text in texts] == expected


LOOKING_AHEAD = [
    (r"^(?!\.)(?!.*\.\.)([\w'+\-.]*)[\w+-]@([A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$",
     ["a@b.cd", "a.b@c.de", "a.b.c@d-e.fg"], [".a@b.cd", "a..b@c.de", "a@b", "@b.cd", "a.@b.cd"]),
    (r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$", ["+1.5", "00.", "7"], ["", "-", "+.", "a"]),
    (r"^(?=.*[a-z])(?=.*\d)[A-Za-z\d]{4,}$", ["a1b2", "AAa1"], ["abcd", "a1", "1234", "A1A1"]),
    ("^(?!a)", ["", "b", "é", '"'], ["a", "ab"]),
    ("^(?!.*bad)", ["", "ba", "bba"], ["bad", "xbady"]),
    ("^(?=a)(?!ab)[a-c]*", ["a", "ac", "ax"], ["", "ab", "b"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "found_in", "not_in"), LOOKING_AHEAD, ids=[row[0] for row in LOOKING_AHEAD]
)
@pytest.mark.parametrize("notation", ["json", "glyph"])
def test_a_look_ahead_at_the_beginning_is_enforced(pattern, found_in, not_in, notation):
    schema = {
        "type": "object",
        "properties": {"x": {"type": "string", "pattern": pattern}},
        "required": ["x"],
    }
    registry = load_registry([{"name": "tool", "parameters": schema}])
    grammar = build_call_grammar(registry, notation, "flat")
    assert not grammar.unenforced
    accepts = lark_reader(grammar)
    compiled = compile_grammar(load_gbnf(emit_gbnf(grammar).text))
    for text in (*found_in, *not_in):
        assert found(pattern, text) is (text in found_in), text
        call = write_call("tool", {"x": text}, style=notation, shape="flat")
        assert accepts(call) == compiled.start().feed(call).accepted == (text in found_in), text
    # an escape does not evade it
    for text in not_in:
        if text[:1].isalpha():
            escaped = "".join(f"\\u{ord(char):04x}" for char in text)
            call = write_call("tool", {"x": "X"}, style=notation, shape="flat").replace("X", escaped)
            assert not accepts(call), call


@pytest.mark.parametrize("pattern", UNREADABLE)
def test_a_pattern_that_engines_read_differently_is_neither_enforced_nor_checked_and_reported(pattern):
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
    registry = load_registry([{"name": "tool", "parameters": schema}])
    grammar = build_call_grammar(registry, "json", "flat")
    listed = [each for each in grammar.unenforced if each.pointer == "/properties/x/pattern"]
    assert [each.checked for each in listed] == [False] and listed[0].why
    for text in ("", "abc", "a{,4}", "Z", "\n"):
        assert Checker(schema).valid({"x": text}, schema)
        validator = CallValidator(registry, "json", "flat")
        validator.feed(write_call("tool", {"x": text}, style="json", shape="flat"))
        validator.finish()
        assert validator.valid
    named = {
        "patternProperties": {pattern: False},
        "additionalProperties": False,
        "unevaluatedProperties": False,
    }
    assert Checker(named).valid({"any": 1}, named)


@pytest.mark.parametrize("pattern", ["(a", "a)", "[a", "*a", "[b-a]", "a{2,1}", "\\"])
def test_a_text_that_is_not_a_pattern_is_an_error_of_its_tool_with_a_reason(pattern):
    ((_, reason),) = check_schema({"pattern": pattern})
    assert reason.startswith("Invalid regular expression: ")
