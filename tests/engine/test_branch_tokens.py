"""A text for the model: cut into tokens, checked against the constraint, and shown with the model's figures."""

import numpy as np
import pytest

from glyphscope.base.errors import GrammarError, ModelError, PromptError
from glyphscope.events import PrefixPart, Sampling
from glyphscope.models import OTHER_TOKENS, place_prefix, tokenize_after
from glyphscope.models.decoding import Decoder, SamplerState, commit_prefix
from glyphscope.models.interface import GenerateRequest
from glyphscope.models.remote import LLAMA_SERVER, OPENAI, with_written
from table_model import END, PIECES, ScriptedConstraint, Table


def decoder(table, written, constraint=None, figures_from=0, max_tokens=3, **sampling):
    placed = commit_prefix([(token, "written") for token in written], constraint, PIECES)
    return Decoder(
        table,
        [0],
        constraint=constraint,
        sampling=Sampling(**sampling),
        max_tokens=max_tokens,
        alternatives=2,
        written=placed,
        figures_from=figures_from,
    )


def all_steps(it):
    batches = []
    while batch := it.step():
        it.evaluate()
        batches.append(batch)
    assert it.ended
    return batches


def test_a_written_token_has_the_figures_of_the_model_and_is_not_sampled():
    table = Table()
    first, *rest = all_steps(decoder(table, [1, 6, 7]))
    assert table.batches == [([0, 1, 6], 3), ([7], 1), ([8], 1)]
    assert [(s.id, s.origin, s.rank, s.probability) for s in first] == [
        (1, "written", 0, 1.0),
        (6, "written", 1, 0.0),
        (7, "written", 0, 1.0),
    ]
    assert all(s.logprob < 0 and s.allowed == len(PIECES) and s.alternatives for s in first)
    assert [(s.id, s.index, s.origin) for batch in rest for s in batch] == [
        (8, 3, "model"),
        (END, 4, "model"),
    ]


def test_figures_that_are_not_needed_are_not_evaluated():
    table = Table()
    first, *_ = all_steps(decoder(table, [1, 6, 7], figures_from=2))
    assert table.batches[0] == ([6], 1)
    assert [(s.logprob is None, s.probability) for s in first] == [(True, None), (True, None), (False, 1.0)]
    table = Table()
    first, *_ = all_steps(decoder(table, [1, 6, 7], figures_from=3))
    assert table.batches[0] == ([7], 1) and all(s.logprob is None for s in first)


def test_many_written_tokens_are_evaluated_in_one_batch():
    table = Table()
    first, *_ = all_steps(decoder(table, [1] * 150))
    assert [(len(tokens), outputs) for tokens, outputs in table.batches][:3] == [(64, 64), (64, 64), (22, 22)]
    assert len(first) == 150


def test_a_written_end_token_ends_the_answer():
    first, *rest = all_steps(decoder(Table(), [1, END]))
    assert first[-1].end and first[-1].data == b"" and not rest


def test_a_written_forced_token_equals_a_decoded_one():
    def constraint():
        return ScriptedConstraint([4, 6], {1, 2}, [5, 7], {0, 8})

    drawn = [s for batch in all_steps(decoder(Table(), [], constraint(), max_tokens=9)) for s in batch]
    for count in range(len(drawn) + 1):
        again = [
            s
            for batch in all_steps(
                decoder(Table(), [s.id for s in drawn[:count]], constraint(), max_tokens=9)
            )
            for s in batch
        ]
        assert [(s.id, s.forced, s.allowed, s.probability) for s in again] == [
            (s.id, s.forced, s.allowed, s.probability) for s in drawn
        ]


@pytest.mark.parametrize("count", range(9))
def test_sampling_after_a_branch_does_not_depend_on_who_wrote_the_text(count):
    def constraint():
        return ScriptedConstraint({0, 1, 2}, [4, 6], {1, 2, 3}, {0, 8, 7}, [5, 7], {0, 8}, {1, 2, 6})

    settings = {"temperature": 5.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 11}
    drawn = [s for b in all_steps(decoder(Table(), [], constraint(), max_tokens=20, **settings)) for s in b]
    saved = [s.id for s in drawn[:count]]
    again = [
        s for b in all_steps(decoder(Table(), saved, constraint(), max_tokens=20, **settings)) for s in b
    ]
    assert [s.id for s in again] == [s.id for s in drawn]
    assert [s.probability for s in again] == pytest.approx([s.probability for s in drawn])


def test_a_skipped_random_number_is_consumed():
    row = np.linspace(0, 1, 20).astype(np.float32)
    sampling = Sampling(temperature=1.0, seed=5, top_k=0, top_p=1, min_p=0)
    one, other = SamplerState(sampling), SamplerState(sampling)
    draws = [one.draw(row, None, []).id for _ in range(6)]
    other.skip()
    other.put(3, row, None, [])
    assert [other.draw(row, None, []).id for _ in range(5)] == draws[1:]


def test_a_masked_written_token_is_rejected_with_its_place_and_the_allowed_tokens():
    with pytest.raises(GrammarError) as refused:
        commit_prefix([(4, "kept"), (8, "written")], ScriptedConstraint([4], {1, 6}), PIECES)
    for words in (
        "token 1 of the existing text, 'z' (id 8)",
        "after '{'",
        "2 tokens are allowed there, 'b', 'x'",
    ):
        assert words in str(refused.value)
    with pytest.raises(GrammarError, match="complete before it"):
        commit_prefix([(4, "kept"), (8, "written")], ScriptedConstraint([4]), PIECES)


def test_another_tokenization_of_a_forced_text_is_accepted():
    (one,) = commit_prefix([(7, "written")], ScriptedConstraint([4], {1}, spelled=(7,)), PIECES)
    assert not one.forced and one.allowed(len(PIECES)).ids().tolist() == [4, 7]


# from a text to tokens

WORDS = [
    b"s",
    b"e",
    b"a",
    b"r",
    b"c",
    b"h",
    b"se",
    b"arch",
    b"search",
    b" ",
    b"\xc3",
    b"\xa9",
    b"<end>",
    b"x" * 4,
]


class Longest:
    """Cuts a text into the longest tokens, as BPE mostly does; `blank` puts one before it, as SentencePiece does."""

    pieces = WORDS

    def __init__(self, blank=False):
        self.blank = blank

    def tokenize(self, text, *, begin=False, special=True):
        data = (b" " if self.blank else b"") + text.encode()
        found = []
        while data:
            fitting = [n for n, word in enumerate(WORDS) if data.startswith(word) and (special or n != 12)]
            best = max(fitting, key=lambda n: len(WORDS[n]), default=None)
            if best is None:
                data, best = data[1:], 9
            else:
                data = data[len(WORDS[best]) :]
            found.append(best)
        return found

    def is_end(self, token):
        return token == 12


@pytest.mark.parametrize("blank", [False, True])
def test_typed_text_is_tokenized_without_a_space_or_a_change_before_it(blank):
    cutter = Longest(blank)
    assert tokenize_after(b"", b"search", cutter) == [8]
    assert tokenize_after(b"a", b"search", cutter) == [8]
    assert tokenize_after(b"se", b"arch", cutter) == [7], "`se` is unchanged"
    assert tokenize_after(b"\xc3", b"se", cutter) == [6]
    assert tokenize_after(b"s", b"", cutter) == []


def test_typed_text_that_the_model_would_tokenize_otherwise_has_a_note():
    saved = (PrefixPart(b"a", 2, kept=True), PrefixPart(b"se", 6, kept=True))
    placed = place_prefix((*saved, PrefixPart(b"arch")), Longest())
    assert [token for token, _ in placed.tokens] == [2, 6, 7] and placed.note == OTHER_TOKENS.format(1)
    assert [origin for _, origin in placed.tokens] == ["kept", "kept", "written"]
    assert place_prefix((saved[0], PrefixPart(b"search")), Longest()).note == ""
    assert place_prefix(saved, Longest()).note == "", "no text was typed"
    assert place_prefix((PrefixPart(b"\xc3", 10, kept=True), PrefixPart(b"se")), Longest()).note == ""


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (PrefixPart(b"q", 4000), "Token 0 .* 'q' .id 4000.* has no such token"),
        (PrefixPart(b"q", 3), "writes 'r' with it"),
        (PrefixPart("ü".encode()), "no tokens that spell 'ü'"),
    ],
)
def test_a_token_of_another_model_is_rejected(written, words):
    with pytest.raises(ModelError, match=words):
        place_prefix((written,), Longest())


def test_text_after_the_answers_end_is_rejected():
    with pytest.raises(ModelError, match=r"Token 0 .* ends the answer"):
        place_prefix((PrefixPart(b"<end>", 12), PrefixPart(b"s", 0)), Longest())


def test_an_endpoint_cannot_continue_under_a_constraint_from_the_start():
    written = (PrefixPart(b"{a", -1, kept=True), PrefixPart(b"b"))
    asked = GenerateRequest(prompt="p", written=written, begun="<x>")
    assert with_written(asked, LLAMA_SERVER).begun == "<x>{ab"
    with pytest.raises(GrammarError, match="Turn the constraint off"):
        with_written(GenerateRequest(prompt="p", written=written, constraint="endpoint"), LLAMA_SERVER)
    with pytest.raises(PromptError, match=r"OpenAI.* cannot continue .* Branch with a model here"):
        with_written(asked, OPENAI)
