"""The next possible tokens, against feeding each of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.grammar import TokenTrie, allowed_tokens, compile_grammar
from glyphscope.grammar.tree import CharClass, TokenMatch, alt, repeat, seq
from grammar_examples import DIGIT, JSON, made
from grammar_strategies import grammars

WORDS = ["a", "b", "c", "ab", "abc", "ba", "cc", "", "d", "aab", "bcb"]


@at_most(300)
@given(grammars, st.text("abc", max_size=3))
def test_a_token_is_allowed_exactly_when_the_text_stays_valid(grammar, text):
    state = compile_grammar(grammar).start().feed(text)
    expected = [token for token, word in enumerate(WORDS) if word and state.feed(word).alive]
    assert allowed_tokens(state, TokenTrie([word.encode() for word in WORDS])) == expected


@at_most(300)
@given(st.lists(st.binary(min_size=1, max_size=5), max_size=30), st.sampled_from(["é", "€", "😀", "aé"]))
def test_tokens_of_any_bytes_are_allowed_where_their_characters_are(tokens, word):
    spelled = word.encode()
    tokens += [spelled[:1], spelled[:2], spelled[:-1], spelled[1:], spelled[-1:], spelled]
    trie = TokenTrie(tokens)
    state = compile_grammar(made(root=seq(word))).start()
    for read in range(len(spelled)):
        try:
            fed, pending = spelled[:read].decode(), b""
        except UnicodeDecodeError as error:
            fed, pending = spelled[: error.start].decode(), spelled[error.start : read]
        expected = [token for token, b in enumerate(tokens) if spelled[read:].startswith(b)]
        assert allowed_tokens(state.feed(fed), trie, pending=pending) == expected


def test_an_incomplete_character_is_allowed_only_as_a_prefix_of_the_class():
    greek = made(root=repeat(CharClass(((0x391, 0x3C9),)), 1))
    halves = ["α".encode()[:1], "ω".encode()[:1], "é".encode()[:1], "😀".encode()[:2], b"\xff", "α".encode()]
    assert allowed_tokens(compile_grammar(greek).start(), TokenTrie(halves)) == [0, 1, 5]


def test_tokens_that_a_grammar_names_are_allowed():
    body = seq(alt(TokenMatch(2), TokenMatch("think")), repeat(TokenMatch(0, True)), DIGIT)
    trie = TokenTrie([b"1", b"x", b"", b""], {"<think>": 3})
    start = compile_grammar(made(root=body)).start()
    assert allowed_tokens(start, trie) == [2, 3]
    assert allowed_tokens(start.feed_token(3, "<think>"), trie) == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_whole_vocabulary_is_checked_inside_of_a_string():
    words = [bytes([a, b, c]) for a in range(32, 127) for b in range(32, 127) for c in range(97, 102)]
    state = compile_grammar(JSON).start().feed('{"a": "x')
    allowed = allowed_tokens(state, TokenTrie(words))
    assert {words[token] for token in allowed} >= {b"abc", b"  a", b"\\na"}
    assert all(words[token][:1] != b'"' or words[token][1:2] in b" ,}" for token in allowed)
