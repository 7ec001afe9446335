"""The sampler and its evidence, against a few lines of plain float64."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import ModelError
from glyphscope.events import Sampling
from glyphscope.models.decoding import Draw, Evidence, SamplerState, best_token, text_decoder, top

floats = st.floats(-20, 20, width=32)
rows = st.lists(floats, min_size=2, max_size=400).map(lambda v: np.array(v, dtype=np.float32))


def softmax(values):
    weights = [math.exp(v - max(values)) for v in values]
    return [w / sum(weights) for w in weights]


def reference(logits, sampling, allowed):
    """Return the final distribution, computed the slow way: id to probability."""
    ids = [i for i in range(len(logits)) if allowed is None or allowed[i]]
    ids.sort(key=lambda i: (-float(logits[i]), i))
    if sampling.top_k > 0:
        ids = ids[: sampling.top_k]
    weights = softmax([float(logits[i]) for i in ids])
    remaining, total = 0, 0.0
    for weight in weights:
        if remaining and sampling.top_p < 1 and total >= sampling.top_p:
            break
        remaining, total = remaining + 1, total + weight
    remaining = max(1, sum(w >= sampling.min_p * weights[0] for w in weights[:remaining]))
    final = softmax([float(logits[i]) / sampling.temperature for i in ids[:remaining]])
    return dict(zip(ids, final))


def near_a_cut(logits, sampling, allowed):
    """Whether rounding decides which tokens top-p or min-p keep: a sum or a share lies on the border itself."""
    remaining = sorted((float(v) for v, free in zip(logits, allowed) if free), reverse=True)
    weights = softmax(remaining[: sampling.top_k or None])
    sums = np.cumsum(weights)
    top_p = sampling.top_p < 1 and bool(np.any(np.abs(sums - sampling.top_p) < 1e-6))
    min_p = sampling.min_p > 0 and any(abs(w / weights[0] - sampling.min_p) < 1e-6 for w in weights)
    return top_p or min_p


@at_most(300)
@given(
    rows,
    st.integers(0, 50),
    st.sampled_from([1.0, 0.9, 0.5]),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([0.3, 1.0, 1.7]),
    st.randoms(use_true_random=False),
)
def test_the_final_distribution_is_that_of_the_definition(row, k, p, min_p, temperature, random):
    sampling = Sampling(temperature=temperature, top_k=k, top_p=p, min_p=min_p)
    allowed = np.array([random.random() < 0.6 for _ in row])
    allowed[random.randrange(row.size)] = True
    draw = SamplerState(sampling).draw(row, allowed, [])
    expected = reference(row, sampling, allowed)
    assert allowed[draw.id]
    assert draw.probabilities.sum() == pytest.approx(1)
    assume(not near_a_cut(row, sampling, allowed))
    assert draw.ids.tolist() == list(expected)
    for token, probability in expected.items():
        assert draw.probability(token) == pytest.approx(probability, rel=1e-4)


@at_most(300)
@given(rows, st.integers(1, 30))
def test_the_top_tokens_are_those_of_a_full_sort(row, k):
    expected = sorted(range(row.size), key=lambda i: (-float(row[i]), i))[:k]
    assert top(row, k).tolist() == expected


def test_the_top_tokens_of_a_large_vocabulary_are_those_of_a_full_sort():
    random = np.random.default_rng(1)
    for _ in range(20):
        row = np.round(random.normal(0, 3, 5003), 2).astype(np.float32)
        row[random.integers(0, 5003, 4900)] = -np.inf
        expected = [i for i in sorted(range(row.size), key=lambda i: (-float(row[i]), i)) if row[i] > -np.inf]
        assert top(row, 40).tolist() == expected[:40]


def test_all_tokens_of_a_large_vocabulary_are_sorted_like_those_of_a_small_one():
    random = np.random.default_rng(1)
    row = np.round(random.normal(0, 3, 50_000), 1).astype(
        np.float32
    )  # many are equal, and zero with either sign
    row[:7] = [3e38, -3e38, 1e-40, -1e-40, 0.0, -0.0, -np.inf]
    allowed = np.flatnonzero(row > -np.inf)
    assert (top(row, 0) == allowed[np.argsort(-row[allowed], kind="stable")]).all()
    draw = SamplerState(Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)).draw(row, None, ())
    share = np.exp(row.astype(np.float64) - row.max())
    for token in (0, 1, 4, 6, 49_999):
        assert draw.probability(token) == pytest.approx(share[token] / share.sum())
    assert draw.probability_of([5, 5, 2]) == [draw.probability(token) for token in (5, 5, 2)]


def test_greedy_takes_the_best_allowed_token():
    row = np.array([1, 5, 3, 4], dtype=np.float32)
    sampler = SamplerState(Sampling(temperature=0))
    assert sampler.draw(row, None, []).id == 1
    draw = sampler.draw(row, np.array([True, False, True, True]), [])
    assert (draw.id, draw.probability(3), draw.probability(1)) == (3, 1.0, 0.0)


@at_most(300)
@given(rows, st.sampled_from([1.0, 2.0]), st.sampled_from([0.0, 1.0]), st.data())
def test_a_known_best_token_does_not_change_the_choice(row, penalty, temperature, data):
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=row.size, max_size=row.size)))
    allowed[data.draw(st.integers(0, row.size - 1))] = True
    recent = data.draw(st.lists(st.integers(0, row.size - 1), max_size=5))
    sampling = Sampling(temperature=temperature, repeat_penalty=penalty)
    for mask in (allowed, None):
        one, other = (
            SamplerState(sampling).draw(row, mask, recent, best) for best in (best_token(row), None)
        )
        assert one.id == other.id and one.ids.tolist() == other.ids.tolist() and one.left == other.left


def test_the_penalty_counts_a_repeated_token_once():
    row = np.array([4.0, -1.0, 3.0], dtype=np.float32)
    sampling = Sampling(temperature=1, top_k=0, top_p=1, min_p=0, repeat_penalty=2, repeat_last_n=2)
    draw = SamplerState(sampling).draw(row, None, [2, 0, 0, 1])
    expected = softmax([2.0, -2.0, 3.0])
    assert [draw.probability(i) for i in range(3)] == pytest.approx(expected)
    assert row[0] == 4.0, "the model's own logits are evidence and unchanged"


@pytest.mark.slow
def test_the_same_seed_samples_the_same_tokens():
    row = np.zeros(100, dtype=np.float32)
    sampling = Sampling(temperature=1, top_k=0, top_p=1, min_p=0, seed=7)

    def tokens(seed):
        sampler = SamplerState(Sampling(temperature=1, top_k=0, top_p=1, min_p=0, seed=seed))
        return [sampler.draw(row, None, []).id for _ in range(30)]

    assert tokens(7) == tokens(7)
    assert tokens(7) != tokens(8)
    assert tokens(-1) == tokens(-1)
    first = SamplerState(sampling)
    counts = np.bincount([first.draw(row, None, []).id for _ in range(20_000)], minlength=100)
    assert counts.min() > 130 and counts.max() < 280, "sampling from a flat distribution is uniform"


@at_most(300)
@given(rows, st.integers(0, 10**6))
def test_the_evidence_adds_up(row, place):
    token = place % row.size
    evidence = Evidence(row)
    raw = softmax([float(v) for v in row])
    assert evidence.logprob(token) == pytest.approx(math.log(raw[token]), abs=1e-3)
    assert evidence.rank(token) == sum(float(v) > float(row[token]) for v in row)
    assert evidence.entropy == pytest.approx(-sum(p * math.log2(p) for p in raw), abs=1e-3)
    allowed = np.arange(row.size) % 2 == 0
    assert evidence.feasible(allowed) == pytest.approx(sum(raw[::2]), abs=1e-4)
    assert evidence.feasible(np.ones(row.size, dtype=bool)) == pytest.approx(1)
    draw = Draw(token, np.array([token]), np.ones(1))
    alternatives = evidence.alternatives(3, draw, allowed, [bytes([i % 256]) for i in range(row.size)])
    assert token in [a.id for a in alternatives], "the sampled token is always among them"
    assert all(a.allowed == (a.id % 2 == 0) for a in alternatives)
    assert sum(a.final for a in alternatives) == 1.0


def test_logits_of_minus_infinity_leave_the_entropy_a_number():
    evidence = Evidence(np.array([0, 0, -np.inf, -np.inf], dtype=np.float32))
    assert evidence.entropy == pytest.approx(1)
    assert evidence.logprob(0) == pytest.approx(math.log(0.5))


def test_evidence_of_logits_that_are_not_numbers_is_a_model_error():
    with pytest.raises(ModelError, match="not a number"):
        Evidence(np.array([0, np.nan], dtype=np.float32))


@at_most(300)
@given(st.text(max_size=20), st.lists(st.integers(1, 4), min_size=1, max_size=80))
def test_text_in_pieces_of_bytes_is_the_same_text(text, sizes):
    data, at, pieces, decoder = text.encode(), 0, [], text_decoder()
    for size in sizes * (len(data) + 1):
        pieces.append(decoder.decode(data[at : at + size]))
        at += size
        if at >= len(data):
            break
    assert "".join(pieces) + decoder.decode(b"", final=True) == text


def test_a_character_is_shown_when_it_is_complete():
    decoder = text_decoder()
    assert [decoder.decode(b) for b in (b"\xf0\x9f", b"\x98\x80", b"\xff", b"a\xc3")] == ["", "😀", "�", "a"]
    assert decoder.decode(b"", final=True) == "�"
