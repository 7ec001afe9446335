"""Token boundaries: texts that differ from the model's own tokens, the cause, and the cost in tokens."""

import re
from typing import ClassVar

import pytest

from glyphscope.base.errors import ModelError
from glyphscope.events import Alternative, ModelInfo, TokenStep
from glyphscope.explain.retokenization import (
    boundaries_of,
    boundary_diff_words,
    boundary_words,
    compare_tokens,
)
from glyphscope.models.interface import Vocabulary, same_model
from glyphscope.models.scripted import ScriptedModel

WORDS = [
    b"max",
    b"_",
    b"results",
    b"max_",
    b"res",
    b"ults",
    b"=",
    b"1",
    b"0",
    b"10",
    b"\xc3",
    b"\xa9",
    b"\xc3\xa9",
]
ID = {word: place for place, word in enumerate(WORDS)}


class Cutting(ScriptedModel):
    """Cuts text into the longest of its words."""

    names: ClassVar[dict[str, int]] = {}

    def vocabulary(self):
        return Vocabulary((*WORDS, b"\n"), self.names)

    def tokenize(self, text):
        data, found = text.encode(), []
        while data:
            word = max((w for w in (*WORDS, b"\n") if data.startswith(w)), key=len, default=None)
            if word is None:
                raise ModelError("no tokens")
            found.append((*WORDS, b"\n").index(word))
            data = data[len(word) :]
        return found


def steps(*words, **more):
    return [
        TokenStep(index=i, id=ID[w], data=w, text=w.decode(errors="replace"), **more)
        for i, w in enumerate(words)
    ]


def reported(found):
    return [(one.first, one.last, one.run, one.own, one.more) for one in found.differences]


def test_the_models_own_tokenization_is_distinguished_from_another():
    own = boundaries_of("\n", steps(b"max_", b"results", b"=", b"10"), Cutting("x"))
    assert own.canonical and not own.differences and (own.tokens, own.own) == (4, 4)
    other = boundaries_of("\n", steps(b"max", b"_", b"results", b"=", b"1", b"0"), Cutting("x"))
    assert other.canonical is False and (other.tokens, other.own) == (6, 4)
    assert reported(other) == [(0, 2, ("max", "_"), ("max_",), 1), (4, 6, ("1", "0"), ("10",), 1)]
    assert other.at(1) is other.differences[0] and other.at(3) is None
    assert "At 2 places" in boundary_words(other) and "2 more than the model itself" in boundary_words(other)
    assert "not measured" in boundary_words(other)


def test_two_adjacent_differences_are_reported_as_two():
    found = boundaries_of("\n", steps(b"max", b"_", b"res", b"ults", b"="), Cutting("x"))
    assert reported(found) == [(0, 2, ("max", "_"), ("max_",), 1), (2, 4, ("res", "ults"), ("results",), 1)]


def test_the_cause_of_a_difference_is_named():
    forced = boundaries_of("\n", steps(b"1", b"0", forced=True), Cutting("x"))
    assert forced.differences[0].cause == "grammar" and "forced by the grammar" in boundary_diff_words(
        forced.differences[0]
    )
    typed = boundaries_of("\n", steps(b"1", b"0", origin="written"), Cutting("x"))
    assert typed.differences[0].cause == "written"
    masked = Alternative(ID[b"10"], b"10", "10", 0.9, 0.0, False)
    drawn = boundaries_of("\n", steps(b"1", b"0", alternatives=(masked,)), Cutting("x")).differences[0]
    assert (drawn.cause, drawn.masked) == ("model", True)
    assert boundary_diff_words(drawn) == (
        "[1] [0] (sampled by the model, whose own token the mask excluded); the model's own tokenization is [10]"
    )


def test_incomplete_characters_are_compared_by_their_text():
    found = boundaries_of("\n", steps(b"\xc3", b"\xa9"), Cutting("x"))
    assert reported(found) == [(0, 2, ("\ufffd", "\ufffd"), ("é",), 1)]
    assert "within a character" in boundaries_of("\n", steps(b"\xc3"), Cutting("x")).unknown


@pytest.mark.parametrize(
    ("model", "tokens", "words"),
    [
        (None, steps(b"1"), "not open"),
        (ScriptedModel("x"), steps(b"1"), "no vocabulary"),
        (Cutting("x"), [], "no tokens"),
        (Cutting("x"), [TokenStep(index=0, id=-1, data=b"1", text="1")], "endpoint"),
        (Cutting("x"), [TokenStep(index=0, id=0, data=b"z", text="z")], "no tokens that spell|no tokens"),
    ],
)
def test_boundaries_that_cannot_be_compared_are_unknown(model, tokens, words):
    found = boundaries_of("\n", tokens, model)
    assert found.canonical is None and re.search(words, found.unknown)
    assert boundary_words(found).startswith("Token boundaries are unknown")


def test_a_spelled_special_token_is_reported_as_unknown():
    class Named(Cutting):
        names: ClassVar[dict[str, int]] = {"max": 0}

    model = Named("x")
    assert "special token max" in boundaries_of("\n", steps(b"max", b"_"), model).unknown


def test_an_end_token_is_not_text():
    end = TokenStep(index=1, id=3, data=b"", text="", end=True)
    assert boundaries_of("\n", [*steps(b"10"), end], Cutting("x")).canonical


def test_a_text_shorter_than_the_models_own_tokenization_has_a_difference():
    found = compare_tokens(steps(b"1"), [(ID[b"10"], b"10")])
    assert len(found.differences) == 1


def test_models_are_compared_by_hash_or_by_file():
    one = ModelInfo(name="a", path="/m", bytes=5, sha256="aa")
    assert same_model(one, ModelInfo(name="b", path="/n", bytes=6, sha256="aa"))
    assert not same_model(one, ModelInfo(name="a", path="/m", bytes=5, sha256="bb"))
    assert same_model(one, ModelInfo(name="a", path="/m", bytes=5))
    assert not same_model(ModelInfo(name="a", path="/m"), ModelInfo(name="a", path="/n"))
