"""The decoding loop over a model made of a table: the decoded tokens, their batches, and the events."""

import numpy as np
import pytest

from glyphscope.base.errors import GrammarError, ModelError
from glyphscope.events import Sampling
from glyphscope.models.decoding import Decoder
from table_model import END, PIECES, ScriptedConstraint, Table


def decoder(table, constraint=None, max_tokens=50, prompt=(0,), evidence="all"):
    return Decoder(
        table,
        prompt,
        constraint=constraint,
        sampling=Sampling(),
        max_tokens=max_tokens,
        alternatives=2,
        evidence=evidence,
    )


def steps_of(it):
    batches = []
    while batch := it.step():
        batches.append(batch)
    return batches


def test_an_end_token_has_no_text_and_is_the_last():
    table = Table()
    steps = [s for batch in steps_of(decoder(table, prompt=(6,))) for s in batch]
    assert [(s.id, s.text, s.end) for s in steps] == [(7, "y", False), (8, "z", False), (END, "", True)]
    assert [s.index for s in steps] == [0, 1, 2]
    assert all(s.allowed == len(PIECES) and s.feasible == 1.0 and s.rank == 0 for s in steps)


def test_a_step_is_evaluated_only_when_it_is_requested():
    table = Table()
    it = decoder(table)
    assert not table.batches
    it.step()
    assert table.batches == [([0], 1)]


def test_forced_tokens_are_evaluated_in_one_batch():
    table = Table()
    batches = steps_of(decoder(table, ScriptedConstraint([4, 6, 7], {1, 2}, [5])))
    assert [tokens for tokens, _ in table.batches] == [[0, 4, 6, 7], [1, 5]]
    assert [[(s.id, s.forced) for s in batch] for batch in batches] == [
        [(4, True), (6, True), (7, True), (1, False)],
        [(5, True)],
    ]
    forced = batches[0][0]
    assert (forced.allowed, forced.probability, forced.rank) == (1, 1.0, 1)
    assert forced.logprob is not None and forced.feasible == pytest.approx(np.exp(forced.logprob))
    assert [a.id for a in forced.alternatives] == [1, 0, 4], "the model's preferred token, and the forced one"
    assert [a.allowed for a in forced.alternatives] == [False, False, True]


def test_evaluating_ahead_changes_neither_batches_nor_tokens():
    plain, ahead = Table(), Table()
    expected = steps_of(decoder(plain, ScriptedConstraint([4, 6, 7], {1, 2}, [5])))
    it = decoder(ahead, ScriptedConstraint([4, 6, 7], {1, 2}, [5]))
    batches = []
    while True:
        it.evaluate()
        it.evaluate()
        if not (batch := it.step()):
            break
        assert it.ended == (len(batches) == 1)
        batches.append(batch)
    assert ahead.batches == plain.batches
    assert [[s.id for s in batch] for batch in batches] == [[s.id for s in batch] for batch in expected]


def test_forced_tokens_survive_an_evaluation_that_fails_once():
    class Failing(Table):
        fails = True

        def decode(self, tokens, outputs):
            if self.fails:
                self.fails = False
                raise ModelError("not now")
            return super().decode(tokens, outputs)

    it = decoder(Failing(), ScriptedConstraint([4, 6], {1}))
    with pytest.raises(ModelError):
        it.evaluate()
    assert [s.id for s in it.step()] == [4, 6, 1]


@pytest.mark.parametrize("evidence", ["chosen", "none"])
def test_figures_that_were_not_requested_are_not_computed(evidence):
    table = Table()
    batches = steps_of(decoder(table, ScriptedConstraint([4, 6, 7], {1, 2}, [5]), evidence=evidence))
    assert table.batches == [([0, 4, 6, 7], 1)], (
        "nothing comes after the last forced token: no logits are needed"
    )
    assert [[(s.id, s.forced) for s in batch] for batch in batches] == [
        [(4, True), (6, True), (7, True), (1, False)],
        [(5, True)],
    ]
    *forced, chosen = batches[0]
    for step in (*forced, *batches[1]):
        assert (step.logprob, step.rank, step.feasible, step.entropy) == (None,) * 4
        assert step.alternatives == () and (step.allowed, step.probability) == (1, 1.0)
    assert (chosen.logprob is None) == (evidence == "none") == (not chosen.alternatives)
    assert chosen.allowed == 2 and chosen.probability == 1.0


def test_a_masked_token_is_not_sampled_and_is_listed():
    (batch,) = steps_of(decoder(Table(), ScriptedConstraint({3, 5})))
    step = batch[0]
    assert step.id == 3 and step.allowed == 2 and not step.forced and step.rank == 1
    assert step.feasible == pytest.approx(2 / (9 + np.exp(5)), rel=1e-3)
    assert [(a.id, a.allowed, a.final) for a in step.alternatives] == [
        (1, False, 0.0),
        (0, False, 0.0),
        (3, True, 1.0),
    ]


def test_no_more_tokens_come_than_were_requested():
    assert sum(map(len, steps_of(decoder(Table(), max_tokens=3)))) == 3
    table = Table()
    assert [len(b) for b in steps_of(decoder(table, ScriptedConstraint([4, 6, 7], {1}), max_tokens=2))] == [2]
    assert table.batches == [([0, 4, 6], 3)]
    assert steps_of(decoder(Table(), max_tokens=0)) == []


def test_no_more_tokens_come_than_the_context_has_room_for():
    table = Table(room=3)
    assert [len(b) for b in steps_of(decoder(table, ScriptedConstraint([4, 6, 7, 8], {1})))] == [3]
    assert table.room == 0


def test_an_incomplete_character_has_no_text():
    steps = [s for batch in steps_of(decoder(Table(), ScriptedConstraint([2, 3], {1}))) for s in batch]
    assert [(s.data, s.text) for s in steps] == [(b"\xc3", ""), (b"\xa9", "é"), (b"b", "b")]


def test_a_constraint_that_allows_no_token_is_an_error():
    with pytest.raises(GrammarError, match="allows no token"):
        decoder(Table(), ScriptedConstraint(set())).step()


@pytest.mark.parametrize("evidence", ["all", "none"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_numbers_are_a_model_error(evidence, temperature):
    class Damaged(Table):
        def decode(self, tokens, outputs):
            return [row * np.float32(np.nan) for row in super().decode(tokens, outputs)]

    it = Decoder(
        Damaged(),
        (0,),
        constraint=None,
        sampling=Sampling(temperature=temperature),
        max_tokens=5,
        alternatives=2,
        evidence=evidence,
    )
    with pytest.raises(ModelError, match="not a number"):
        it.step()
