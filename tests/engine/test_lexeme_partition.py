"""Any grammar at all under llguidance: its lexer takes the longest lexeme, which must not lose any text."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.events import NOTATIONS
from glyphscope.grammar import build_value_grammar, lark_unenforced, sample_texts, to_lark
from glyphscope.grammar.lark import lexeme_partition
from glyphscope.grammar.regular import RAW, word_except
from glyphscope.grammar.tree import (
    NEVER,
    Alt,
    CharClass,
    Grammar,
    Intersect,
    Literal,
    Origin,
    Rule,
    RuleRef,
    Seq,
    Terminal,
    TokenMatch,
    alt,
    optional,
    repeat,
    seq,
)  # fmt: skip
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.turns import build_call_grammar
from grammar_strategies import LETTERS, grammars, language
from lark_reader import lark_reader

SIZE = 4
LOWER = CharClass(((ord("a"), ord("z")),))
SMALL = CharClass(((ord("a"), ord("z")), (ord("本"), ord("本"))))
WORD = CharClass(((ord("a"), ord("z")), (ord("ñ"), ord("ñ"))))


def grammar(**rules):
    return Grammar(
        {name.replace("_", "-"): Rule(name.replace("_", "-"), body) for name, body in rules.items()}, "root"
    )


def texts(size):
    found = [""]
    for text in found:
        if len(text) < size:
            found += [text + letter for letter in LETTERS]
    return found


@pytest.mark.slow
@at_most(150)
@given(made=grammars)
def test_partitioned_lexemes_accept_the_same_texts(made):
    expected = language(made, SIZE)
    try:
        accepts = lark_reader(made)
    except GrammarError as error:
        assert "derives no text" in str(error) and not expected
        return
    for text in texts(SIZE):
        assert accepts(text) == (text in expected), text


@pytest.mark.parametrize(
    ("made", "good", "bad"),
    [
        (grammar(root=seq(alt("a", "ab"), RuleRef("x")), x=Literal("bc")), ["abc", "abbc"], ["ac", "ab"]),
        (grammar(root=seq(repeat(LOWER), optional(Literal("z")))), ["", "z", "az", "zz"], ["A"]),
        (grammar(root=seq(repeat(LOWER, 1), "z")), ["az", "zz", "zaz"], ["z", "a", ""]),
        (grammar(root=seq(RuleRef("ws"), RuleRef("ws"), "x"), ws=repeat(CharClass(((32, 32),)))), ["x", "   x"], [" "]),
        (grammar(root=alt("y", seq(RuleRef("root"), "x"))), ["y", "yxx"], ["x", "xy"]),
        (grammar(root=alt("", seq("a", RuleRef("root"), "b"))), ["", "ab", "aabb"], ["aab", "ba"]),
        (grammar(root=seq(CharClass(((0, 0x60),), negated=True), "é")), ["aé", "éé", "😀é"], ["Aé", "é"]),
        (grammar(root=Seq((Literal("a"), Literal(""), Literal("b")))), ["ab"], ["a"]),
        # the same with characters that share only the first byte
        (grammar(root=alt(RuleRef("y"), seq(LOWER, "日")), y=alt("", seq(SMALL, RuleRef("y")))), ["a本b"], ["日"]),
        (grammar(root=alt(RuleRef("y"), "aé"), y=alt("", seq(WORD, RuleRef("y")))), ["aé", "añ", "aña"], ["é", "añé"]),
    ],
)  # fmt: skip
def test_texts_that_conflict_with_a_greedy_lexer_are_accepted(made, good, bad):
    accepts = lark_reader(made)
    assert [text for text in good if not accepts(text)] == []
    assert [text for text in bad if accepts(text)] == []


def test_rules_may_have_any_name_of_gbnf():
    names = ["root", "start", "A", "a", "0", "a-b", "A-B", "-", "x" * 300]
    rules = {
        name: Rule(name, seq(f"<{i}", optional(RuleRef(names[(i + 1) % len(names)])), ">"))
        for i, name in enumerate(names)
    }
    accepts = lark_reader(Grammar(rules, "root"))
    assert accepts("<0<1<2<3<4<5<6<7<8<0>>>>>>>>>>") and not accepts("<1>")


def test_large_lexemes_stay_whole_where_they_are_safe():
    value = seq('"', repeat(CharClass(((0x22, 0x22), (0x5C, 0x5C)), negated=True)), '"')
    ws = repeat(CharClass(((9, 10), (32, 32))))
    made = grammar(
        root=RuleRef("value"),
        value=alt(RuleRef("string"), RuleRef("list")),
        list=seq(
            "[",
            RuleRef("ws"),
            RuleRef("value"),
            repeat(seq(",", RuleRef("ws"), RuleRef("value"))),
            "]",
            RuleRef("ws"),
        ),
        string=seq(value, RuleRef("ws")),
        ws=ws,
    )
    assert to_lark(made).count("\nT") <= 4
    accepts = lark_reader(made)
    assert accepts('["a", ["b" ,\n"c"] ]') and not accepts('["a" "b"]')


def test_an_intersection_that_must_be_split_is_its_automaton():
    short = Intersect((repeat(LOWER, 1), repeat(CharClass(((0, 0x7F),)), 0, 5)))
    accepts = lark_reader(grammar(root=seq(Terminal(short), "z")))
    assert accepts("az") and accepts("abcdez") and not accepts("abcdefz") and not accepts("z")


def test_long_texts_in_parallel_do_not_prevent_the_mask_of_a_large_schema():
    texts_of = [
        {"type": "string", "pattern": f"^[a-{last}]", "maxLength": 700 + 9 * i}
        for i, last in enumerate("dgkmpsvz")
    ]
    branches = [OBJECT | {"properties": {"kind": {"const": i}, "text": x}} for i, x in enumerate(texts_of)]
    made = build_value_grammar({"oneOf": [*branches, *texts_of]}, "json")
    accepts = lark_reader(made)
    assert accepts('{"kind":3,"text":"' + "m" * 727 + '"}') and not accepts(
        '{"kind":3,"text":"' + "m" * 728 + '"}'
    )
    assert accepts('{"kind":7,"text":"z"}') and not accepts('{"kind":6,"text":"z"}')


@pytest.mark.slow
def test_a_constraint_too_large_to_split_is_dropped_by_name_and_place():
    letter = CharClass(((ord("a"), ord("b")),))
    many = seq(repeat(letter), "a", repeat(letter, 11, 11))  # its automaton has thousands of states
    place = Origin("tool", "/properties/x")
    rules = {
        "root": Rule("root", seq(RuleRef("x"), "a")),
        "x": Rule("x", Terminal(Intersect((many, repeat(LOWER, 0, 40)))), place),
    }
    made = Grammar(rules, "root", lexed=True, unlexed=("root",))
    assert [(left.tool, left.pointer) for left in lark_unenforced(made)] == [
        ("tool", "/properties/x/pattern")
    ]
    accepts = lark_reader(made)
    assert accepts("a" * 13) and not accepts("a" * 42) and made.unenforced == ()


def test_an_empty_text_in_an_intersection_is_not_a_comment_of_lark():
    accepts = lark_reader(grammar(root=Terminal(Intersect((Literal(""), Alt((Literal(""), Literal("a"))))))))
    assert accepts("") and not accepts("a")


@pytest.mark.slow
def test_nesting_of_any_depth_is_cut_into_rules():
    body = Literal("x")
    for _ in range(3000):
        body = Alt((Literal("y"), Seq((Literal("a"), body))))
    accepts = lark_reader(grammar(root=body))
    assert accepts("y") and accepts("aay") and accepts("a" * 50 + "y") and not accepts("x")


def test_a_grammar_without_a_text_is_an_error():
    for made in (grammar(root=NEVER), grammar(root=seq("a", RuleRef("root"))), grammar(root=CharClass(()))):
        with pytest.raises(GrammarError, match="derives no text"):
            to_lark(made)


@pytest.mark.slow
def test_many_lexemes_are_split_without_being_compared():
    words = {f"w{i}": Rule(f"w{i}", alt(seq(str(i), RuleRef("root")), f"{i}.")) for i in range(3000)}
    root = Rule(
        "root", alt(*(seq(string.ascii_lowercase[i % 26], RuleRef(name)) for i, name in enumerate(words)))
    )
    assert len(lexeme_partition.partition_lexemes(Grammar({"root": root, **words}, "root")).rules) > 3000


def test_tokens_are_named_and_excluded_only_by_number():
    lark = to_lark(grammar(root=seq("a", TokenMatch(65), TokenMatch(66, negated=True))))
    assert "<[65]>" in lark and "<[^66]>" in lark
    assert "<think>" in to_lark(grammar(root=seq(TokenMatch("think"), "a")))
    with pytest.raises(GrammarError, match="by its number only"):
        to_lark(grammar(root=seq(TokenMatch("think", negated=True), "a")))


@pytest.mark.slow
@at_most(40)
@given(
    words=st.lists(st.text('ab\n\x7f\u2028\x00"\\/é😀]-^', min_size=1, max_size=4), min_size=1, max_size=4)
)
def test_every_character_is_read_back_in_lark(words):
    accepts = lark_reader(grammar(root=alt(*words)))
    for word in words:
        assert accepts(word)
        assert accepts(word[:-1]) == (word[:-1] in words)
    classes = CharClass(tuple(sorted({(ord(c), ord(c)) for word in words for c in word})))
    accepts = lark_reader(grammar(root=classes))
    for char in 'ab\n\x7f\u2028\x00"\\/é😀]-^c':
        assert accepts(char) == any(char in word for word in words)


INT = {"type": "integer"}
OBJECT = {"type": "object"}
ALIKE = [
    pytest.param(
        OBJECT
        | {"properties": {"tagid": INT, "tagId": INT}, "oneOf": [{"required": ["tagid"]}, {"required": ["tagId"]}]},
        marks=pytest.mark.slow,
    ),
    OBJECT | {"properties": {"a": INT, "bc": INT}, "additionalProperties": INT},
    {"anyOf": [OBJECT | {"properties": {"a": INT}, "required": ["a"]}, OBJECT | {"additionalProperties": INT}]},
    pytest.param({"anyOf": [INT | {"multipleOf": 7}, INT | {"minimum": 5}]}, marks=pytest.mark.slow),
    {"anyOf": [{"enum": [{"a": 1}, [1, 2]]}, OBJECT | {"properties": {"a": INT}}, {"type": "array", "items": INT}]},
]  # fmt: skip


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("schema", ALIKE, ids=lambda schema: str(schema)[:40])
def test_branches_and_free_keys_with_a_common_prefix_are_accepted(schema, notation):
    tool = Tool("tool", "", {"type": "object", "properties": {"x": schema}, "required": ["x"]})
    other = Tool("other", "", {"type": "object", "properties": {"y": {"type": "string"}}})
    for made in (
        build_value_grammar(schema, notation),
        build_call_grammar(ToolRegistry((tool, other)), notation, "flat"),
    ):
        accepts = lark_reader(made)
        for text in sample_texts(made, 40, seed=3):
            assert accepts(text), text


FREE = OBJECT | {
    "properties": {"q": {"type": "string"}, "n": INT},
    "additionalProperties": {"type": "string"},
}


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_free_key_beside_named_ones_excludes_their_names(notation):
    made = build_value_grammar(FREE, notation)
    assert not made.unlexed  # all of it is cut into lexemes
    lark = to_lark(made)
    assert r"~/\"(n|q)\"/" in lark
    accepts = lark_reader(made)
    separator, key_end = (",", ":") if notation == "json" else (" ", "=")
    for key, good in (("nn", True), ("qq", True), ("n", False), ("q", False), ("", True)):
        assert accepts(f'{{"tone"{key_end}"x"{separator}"{key}"{key_end}"x"}}') == good


@pytest.mark.slow
@at_most(60)
@given(words=st.frozensets(st.text('abc_é"\\/~&|', max_size=4), min_size=1, max_size=6))
def test_excluded_words_are_recovered_from_their_node(words):
    for first, following in ((RAW, RAW), (LOWER.ranges, RAW)):
        made = word_except(words, first, following)
        spelled = {word for word in words if set(word).isdisjoint('"\\')}
        if first != RAW:
            spelled = {word for word in spelled if not word or "a" <= word[0] <= "z"}
        quoted = grammar(root=Terminal(seq('"', made, '"')))
        assert ("~/" in to_lark(quoted)) == bool(spelled - {""})  # the form that llguidance recognises
        accepts = lark_reader(quoted)
        for word in {*words, *(word + "a" for word in words), *(word[:-1] for word in words)}:
            expected = first == RAW or not word or "a" <= word[0] <= "z"
            expected = expected and set(word).isdisjoint('"\\')
            assert accepts(f'"{word}"') == bool(expected and word not in words)


def branched(tools):
    """Tools whose arguments have branches that begin alike."""
    branches = [FREE | {"required": [key]} for key in ("q", "n")]
    schema = OBJECT | {"properties": {"x": {"anyOf": branches}, "y": {"anyOf": [{"type": "string"}, INT]}}}
    return build_call_grammar(
        ToolRegistry(tuple(Tool(f"t{i}", "", schema) for i in range(tools))), "json", "flat"
    )


@pytest.mark.slow
def test_common_parts_of_tools_are_searched_once(monkeypatch):
    made = []

    class Counted(lexeme_partition.LexemeConflicts):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setattr(lexeme_partition, "LexemeConflicts", Counted)
    to_lark(branched(2))
    to_lark(branched(40))
    few, many = made
    assert 0 < few.searches == many.searches <= 12
