"""The sampler and its evidence, against a few lines of plain float64, and against llama.cpp's own samplers."""

import ctypes
import math
import os
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import ModelError, PromptError
from glyphscope.events import Sampling
from glyphscope.models import embedded_path
from glyphscope.models.decoding import (
    Allowed,
    Draw,
    Evidence,
    SamplerState,
    best_token,
    compiled,
    copy_allowed,
    text_decoder,
    top,
)
from glyphscope.models.tokens import read_pieces

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
    draw = SamplerState(sampling).draw(row, Allowed.of(allowed), [])
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
    draw = sampler.draw(row, Allowed.of(np.array([True, False, True, True])), [])
    assert (draw.id, draw.probability(3), draw.probability(1)) == (3, 1.0, 0.0)


@at_most(300)
@given(rows, st.sampled_from([1.0, 2.0]), st.sampled_from([0.0, 1.0]), st.data())
def test_a_known_best_token_does_not_change_the_choice(row, penalty, temperature, data):
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=row.size, max_size=row.size)))
    allowed[data.draw(st.integers(0, row.size - 1))] = True
    recent = data.draw(st.lists(st.integers(0, row.size - 1), max_size=5))
    sampling = Sampling(temperature=temperature, repeat_penalty=penalty)
    for mask in (Allowed.of(allowed), None):
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


@pytest.fixture(scope="module", params=["compiled", "numpy"])
def read_by(request):
    """Evidence is read by the compiled pass where there is one, and by numpy."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr("glyphscope.models.decoding.rows.compiled", lambda: None)
        elif compiled() is None:
            pytest.skip("rows.c is not compiled here")
        yield


@at_most(300)
@given(rows, st.integers(0, 10**6))
def test_the_evidence_adds_up(read_by, row, place):
    token = place % row.size
    allowed = np.arange(row.size) % 2 == 0
    evidence = Evidence(row, allowed=Allowed.of(allowed))
    raw = softmax([float(v) for v in row])
    assert evidence.logprob(token) == pytest.approx(math.log(raw[token]), abs=1e-3)
    assert evidence.rank(token) == sum(float(v) > float(row[token]) for v in row)
    assert evidence.entropy == pytest.approx(-sum(p * math.log2(p) for p in raw), abs=1e-3)
    assert evidence.feasible == pytest.approx(sum(raw[::2]), abs=1e-4)
    assert Evidence(row, allowed=Allowed.of(np.ones(row.size, dtype=bool))).feasible == pytest.approx(1)
    draw = Draw(token, np.array([token]), np.ones(1))
    alternatives = evidence.alternatives(3, draw, [bytes([i % 256]) for i in range(row.size)])
    assert token in [a.id for a in alternatives], "the sampled token is always among them"
    assert all(a.allowed == (a.id % 2 == 0) for a in alternatives)
    assert sum(a.final for a in alternatives) == 1.0


@pytest.mark.parametrize("share", [0.0, 0.0003, 0.4, 0.997, 1.0])
def test_the_evidence_of_a_large_vocabulary_is_that_of_double_precision(read_by, share):
    random = np.random.default_rng(3)
    row = random.normal(0, 3, 150_003).astype(np.float32)
    row[[5, 70_000]] = [19, 18.5]
    row[150_000:] = -np.inf
    bools = random.random(row.size) < share
    exact = np.exp(row.astype(np.float64) - 19)
    exact /= exact.sum()
    for others in ((), (5,), (5, 70_000)):
        bools[[5, 70_000]] = True
        bools[list(others)] = False
        allowed = Allowed.of(bools)
        assert allowed.count == np.count_nonzero(bools) and (allowed.bools == bools).all()
        assert (allowed.ids() == np.flatnonzero(bools)).all()
        evidence = Evidence(row, allowed=allowed)
        assert evidence.feasible == pytest.approx(exact[bools].sum(), rel=1e-6)
        assert math.exp(evidence.logprob(5)) == pytest.approx(exact[5], rel=1e-7)
        some = exact[exact > 0]
        assert evidence.entropy == pytest.approx(-(some * np.log2(some)).sum(), rel=1e-6)
        if allowed.count:
            greedy = SamplerState(Sampling(temperature=0)).draw(row, allowed, [])
            assert greedy.id == int(np.where(bools, row, -np.inf).argmax())


def test_the_most_probable_tokens_are_exact(read_by):
    random = np.random.default_rng(6)
    for likely in (1, 3, 14):
        row = random.normal(-30, 1, 50_000).astype(np.float32)
        row[:likely] = 20 - random.random(likely)
        exact = np.exp(row.astype(np.float64) - row.max())
        exact /= exact.sum()
        evidence = Evidence(row, allowed=Allowed.of(np.arange(row.size) % 2 == 0))
        assert math.exp(evidence.logprob(0)) == pytest.approx(exact[0], rel=1e-14)
        assert evidence.feasible == pytest.approx(exact[::2].sum(), rel=1e-14)
        assert evidence.entropy == pytest.approx(-(exact * np.log2(exact)).sum(), rel=1e-12, abs=1e-12)
    flat = Evidence(np.zeros(40, dtype=np.float32))
    assert flat.entropy == pytest.approx(math.log2(40), rel=1e-12), (
        "all are equal: none is larger than the last"
    )


@given(st.lists(st.booleans(), min_size=1, max_size=100), st.lists(st.integers(0, 0), max_size=1))
def test_allowed_tokens_are_the_same_as_bits_and_as_booleans(bools, more):
    allowed = Allowed.of(np.array(bools))
    ids = [token for token, free in enumerate(bools) if free]
    assert allowed.ids().tolist() == ids and allowed.count == len(ids)
    assert allowed.others().tolist() == [token for token, free in enumerate(bools) if not free]
    assert [token for token in range(len(bools) + 40) if token in allowed] == ids
    assert allowed.with_tokens(more).ids().tolist() == sorted({*ids, *more})
    assert Allowed.listing(ids, len(bools)).bools.tolist() == bools


def test_a_copy_of_a_row_has_the_logits_of_the_allowed_tokens_and_no_others(read_by):
    random = np.random.default_rng(4)
    for size in (1, 31, 100, 50_003):
        for share in (0.0, 0.5, 1.0):
            bools = random.random(size) < share
            row = random.normal(0, 3, size).astype(np.float32)
            row[: size // 3] = -np.inf
            copy = np.empty_like(row)
            copy_allowed(row, Allowed.of(bools), copy)
            assert (copy == np.where(bools, row, -np.inf)).all()


def test_logits_of_minus_infinity_leave_the_entropy_a_number(read_by):
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


# -- llama.cpp's samplers on the same logits ---------------------------------------------------------------------

PIECES = [b"a", b"b", b"c d", b" yes", b"\n", b'"', b"x:y", b"ab", *(b"t%d" % n for n in range(8, 40))]
ALL = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
CHAINS = {
    "biases": {"logit_bias": ("3=5", "7=-2.5")},
    "presence": {"presence_penalty": 1.5, "repeat_last_n": -1},
    "frequency": {"frequency_penalty": 0.7, "repeat_last_n": 6},
    "a negative penalty": {"frequency_penalty": -0.7, "presence_penalty": -1.0, "repeat_last_n": -1},
    "all penalties": {"repeat_penalty": 1.3, "presence_penalty": 0.5, "frequency_penalty": 0.25},
    "typical-p": {"typical_p": 0.6},
    "typical-p after top-k": {"typical_p": 0.4, "top_k": 7, "top_p": 0.8},
    "top-n-sigma": {"top_n_sigma": 1.0},
    "top-n-sigma and top-k": {"top_n_sigma": 2.0, "top_k": 5, "temperature": 1.7},
    "XTC": {"xtc_probability": 1.0, "xtc_threshold": 0.1},
    "XTC after min-p": {"xtc_probability": 1.0, "xtc_threshold": 0.2, "min_p": 0.3, "temperature": 0.6},
    "XTC that cannot act": {"xtc_probability": 1.0, "xtc_threshold": 0.6},
    "everything": {
        "logit_bias": ("1=-3",), "repeat_penalty": 1.1, "presence_penalty": 0.3, "frequency_penalty": 0.2,
        "top_n_sigma": 3.0, "top_k": 20, "typical_p": 0.95, "top_p": 0.9, "min_p": 0.05,
        "xtc_probability": 1.0, "xtc_threshold": 0.15, "temperature": 1.4,
    },
}  # fmt: skip


class LlamaChain:
    """llama.cpp's samplers in the default order of its programs."""

    def __init__(self, sampling: Sampling, size: int, recent, vocab=None) -> None:
        self.llama = llama = pytest.importorskip("llama_cpp")
        one, last = sampling, sampling.repeat_last_n if sampling.repeat_last_n >= 0 else len(recent)
        self.chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        pairs = (text.split("=") for text in one.logit_bias)
        biases = [llama.llama_logit_bias(int(token), float(bias)) for token, bias in pairs]
        array = (llama.llama_logit_bias * len(biases))(*biases)
        made = [
            llama.llama_sampler_init_logit_bias(size, len(biases), array),
            llama.llama_sampler_init_penalties(
                size, last, one.repeat_penalty, one.frequency_penalty, one.presence_penalty
            ),
        ]
        if vocab is not None:
            breakers = [text.encode() for text in one.dry_sequence_breakers]
            window = one.dry_penalty_last_n if one.dry_penalty_last_n >= 0 else len(recent)
            made.append(
                llama.llama_sampler_init_dry(
                    vocab,
                    one.dry_multiplier,
                    one.dry_base,
                    one.dry_allowed_length,
                    window,
                    (ctypes.c_char_p * len(breakers))(*breakers),
                    len(breakers),
                )
            )
        made += [
            llama.llama_sampler_init_top_n_sigma(one.top_n_sigma),
            llama.llama_sampler_init_top_k(one.top_k),
            llama.llama_sampler_init_typical(one.typical_p, 1),
            llama.llama_sampler_init_top_p(one.top_p, 1),
            llama.llama_sampler_init_min_p(one.min_p, 1),
            llama.llama_sampler_init_xtc(one.xtc_probability, one.xtc_threshold, 1, 1),
            llama.llama_sampler_init_temp(one.temperature),
            llama.llama_sampler_init_dist(1),
        ]
        for sampler in made:
            llama.llama_sampler_chain_add(self.chain, sampler)
        for token in recent:
            llama.llama_sampler_accept(self.chain, int(token))

    def final(self, row) -> dict[int, float]:
        """The tokens that are left, with their probabilities."""
        llama = self.llama
        data = (llama.llama_token_data * row.size)(*((n, float(v), 0.0) for n, v in enumerate(row)))
        array = llama.llama_token_data_array(data, row.size, -1, False)
        llama.llama_sampler_apply(self.chain, ctypes.byref(array))
        left = {array.data[n].id: array.data[n].p for n in range(array.size)}
        llama.llama_sampler_free(self.chain)
        return {token: share for token, share in left.items() if share > 0}


@pytest.mark.parametrize("changes", CHAINS.values(), ids=CHAINS)
@at_most(40)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 39), max_size=30), st.sampled_from([0.5, 2.0, 5.0]))
def test_the_final_distribution_is_that_of_llama_cpps_samplers(changes, seed, recent, spread):
    row = np.random.default_rng(seed).normal(0, spread, 40).astype(np.float32)
    sampling = msgspec.structs.replace(ALL, **changes)
    ours = SamplerState(sampling, PIECES).draw(row, None, recent)
    theirs = LlamaChain(sampling, row.size, recent).final(row)
    assert sorted(ours.ids.tolist()) == sorted(theirs)
    for token, share in theirs.items():
        assert ours.probability(token) == pytest.approx(share, rel=2e-3, abs=1e-6)
    assert len(ours.left) == len(sampling.filters) == len(ours.kept)
    removed = Counter(ours.removed_by(range(row.size)))
    before = row.size
    for name, left in zip(sampling.filters, ours.left):
        assert removed[name] == before - left
        before = left


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"dry_multiplier": 0.8},
        {"dry_multiplier": 2.0, "dry_base": 1.1, "dry_allowed_length": 1},
        {"dry_multiplier": 1.0, "dry_penalty_last_n": 12},
        {"dry_multiplier": 1.0, "dry_sequence_breakers": ("zebra",)},
        {"dry_multiplier": 1.0, "dry_base": 1.0, "dry_sequence_breakers": (" cat", "\n")},
    ],
)
def test_dry_is_llama_cpps(changes):
    llama = pytest.importorskip("llama_cpp")
    parameters = llama.llama_model_default_params()
    parameters.vocab_only = True
    model = llama.llama_model_load_from_file(os.fsencode(embedded_path()), parameters)
    vocab = llama.llama_model_get_vocab(model)
    size = llama.llama_vocab_n_tokens(vocab)
    pieces = read_pieces(vocab, size)
    words = [" the", " cat", " sat", ":", '"', "\n", " on", " a", " mat"]
    ids = [pieces.index(word.encode()) for word in words]
    random = np.random.default_rng(7)
    sampling = msgspec.structs.replace(ALL, top_k=30, **changes)
    acted = 0
    for _ in range(12):
        recent = [
            ids[n] for n in random.choice(len(ids), 40, p=[0.3, 0.2, 0.2, 0.02, 0.02, 0.02, 0.1, 0.1, 0.04])
        ]
        row = random.normal(0, 1, size).astype(np.float32)
        row[ids] += 8
        ours = SamplerState(sampling, pieces).draw(row, None, recent)
        theirs = LlamaChain(sampling, size, recent, vocab).final(row)
        assert sorted(ours.ids.tolist()) == sorted(theirs)
        assert [ours.probability(token) for token in theirs] == pytest.approx([*theirs.values()], rel=2e-3)
        plain = SamplerState(msgspec.structs.replace(sampling, dry_multiplier=0.0)).draw(row, None, recent)
        acted += ours.probability(ids[0]) != plain.probability(ids[0])
    assert acted > 1
    llama.llama_model_free(model)


def test_a_sequence_breaker_over_several_tokens_ends_a_repetition():
    row = np.zeros(40, dtype=np.float32)
    recent = [0, 1, 8, 0, 1]  # "a" "b" … "a" "b": "t8" would continue it
    dry = msgspec.structs.replace(ALL, dry_multiplier=3.0)
    assert SamplerState(dry, PIECES).draw(row, None, recent).probability(8) < 0.003
    broken = msgspec.structs.replace(dry, dry_sequence_breakers=("ab",))
    assert SamplerState(broken, PIECES).draw(row, None, recent).probability(8) == pytest.approx(1 / 40)
    # a token that contains a breaker is never penalised
    colon = [0, 1, 6, 9, 0, 1]
    assert SamplerState(dry, PIECES).draw(row, None, colon).probability(6) == pytest.approx(1 / 40, rel=0.1)


def test_the_prompt_and_the_answer_count_for_penalties_and_the_best_token_follows_them_at_temperature_0():
    row = np.array([3.0, 2.5, 0.0], dtype=np.float32)
    penalised = SamplerState(Sampling(temperature=0, presence_penalty=1.0))
    assert penalised.draw(row, None, [], best=0).id == 0
    assert penalised.draw(row, None, [0], best=0).id == 1
    assert (
        SamplerState(Sampling(temperature=0, logit_bias=("2=9",)), PIECES[:3]).draw(row, None, [], best=0).id
        == 2
    )
    xtc = Sampling(temperature=0, xtc_probability=1.0, typical_p=0.1)
    assert xtc.takes_best and SamplerState(xtc).draw(row, None, []).id == 0, "filters are not used"


def test_xtc_acts_at_its_share_of_the_tokens_and_a_written_token_uses_up_its_numbers():
    row = np.array([2.0, 2.0, 0.0], dtype=np.float32)
    sampling = msgspec.structs.replace(ALL, xtc_probability=0.3, xtc_threshold=0.2, seed=5)
    sampler = SamplerState(sampling)
    drawn = [sampler.draw(row, None, []) for _ in range(400)]
    acted = [draw.probability(0) == 0 for draw in drawn]
    assert 80 < sum(acted) < 160
    assert all(draw.removed_by([0]) == ["XTC" if by else ""] for draw, by in zip(drawn, acted))
    other = SamplerState(sampling)
    for draw in drawn[:20]:
        other.skip()
        assert other.put(draw.id, row, None, []).left == draw.left, "XTC acts at the same positions"
    assert other.draw(row, None, []).id == drawn[20].id


@at_most(100)
@given(
    rows, st.sampled_from(["typical_p", "top_n_sigma", "xtc_probability"]), st.floats(0.05, 0.95), st.data()
)
def test_each_filter_leaves_a_token_and_sees_only_allowed_ones(row, name, value, data):
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=row.size, max_size=row.size)))
    allowed[data.draw(st.integers(0, row.size - 1))] = True
    sampling = Sampling(temperature=1.0, **{name: value})
    draw = SamplerState(sampling).draw(row, Allowed.of(allowed), [])
    assert allowed[draw.id] and min(draw.left) >= 1 and draw.probabilities.sum() == pytest.approx(1)
    alone = SamplerState(sampling).draw(row[allowed], None, [])
    assert draw.left == alone.left


@pytest.mark.parametrize(
    ("bias", "said"),
    [("40=1", "the model has 40 tokens"), ("c d e=1", "no single token"), ('"7"=2', "no single token")],
)
def test_a_logit_bias_of_no_token_is_an_error(bias, said):
    with pytest.raises(PromptError, match=said):
        SamplerState(Sampling(logit_bias=(bias,)), PIECES)


def test_a_logit_bias_of_a_text_is_for_every_token_with_exactly_this_text():
    pieces = [b"yes", b" yes", b"yes", b"yes!"]
    draw = SamplerState(msgspec.structs.replace(ALL, logit_bias=("yes=2",)), pieces).draw(
        np.zeros(4, dtype=np.float32), None, []
    )
    assert [draw.probability(n) for n in range(4)] == pytest.approx(softmax([2, 0, 2, 0]))
