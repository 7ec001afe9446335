"""One request with several seeds: equal calls are one group, and groups diverge at a token with its probabilities."""

from __future__ import annotations

import json
import math
import random
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_command import command as glyphscope
from examples import at_most
from glyphscope.evals import distribution, divergence_words, option_words, seed_run
from glyphscope.events import RunFailed, RunRequest, RunStarted
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.store import read_record

CALL = '{action="search" query="AI news" max_results=%s}'
REQUEST = RunRequest(prompt="p", registry=default_registry().to_document(), constraint="off")


def run_of(seed, text, **changes):
    pieces = text if isinstance(text, list) else [character.encode() for character in text]
    request = RunRequest(prompt="p", registry=REQUEST.registry, constraint="off", **changes)
    return seed_run(seed, run_state(run(request, ScriptedModel(turns=[pieces]))))


@cache
def state_of(text):
    return run_of(0, text).state


def test_runs_with_the_same_call_are_one_group_and_the_largest_comes_first():
    texts = (CALL % 5, CALL % 10, '{"action": "search", "max_results": 10, "query": "AI news"}', CALL % 10)
    runs = [
        run_of(seed, text, notation="json" if '"action"' in text else "glyph")
        for seed, text in enumerate(texts)
    ]
    result = distribution(runs)
    assert result.n == 4
    assert [(group.seeds, group.share.correct, group.ok) for group in result.groups] == [
        ((1, 2, 3), 3, True),
        ((0,), 1, True),
    ]
    assert result.groups[0].share.low < 0.75 < result.groups[0].share.high


def test_a_boolean_and_a_number_are_different_arguments():
    schema = {"type": "object", "properties": {"a": {}}}
    registry = {"tools": [{"name": "t", "description": "d", "inputSchema": schema}]}
    request = RunRequest(prompt="p", registry=registry, constraint="off", notation="json")
    runs = [
        seed_run(seed, run_state(run(request, ScriptedModel(json.dumps({"action": "t", "a": value})))))
        for seed, value in enumerate((1, True, 1.0))
    ]
    assert [group.seeds for group in distribution(runs).groups] == [(0, 2), (1,)]


def test_groups_diverge_at_the_first_token_that_differs_with_its_count_and_probability():
    result = distribution(
        [run_of(1, CALL % 10), run_of(2, CALL % 15), run_of(3, CALL % 10), run_of(4, CALL % 7)]
    )
    first, second = result.divergences
    at = CALL.index("%")
    assert (first.char, first.token, first.runs) == (at, at, 4)
    assert [(option.text, option.sampled, option.groups) for option in first.options] == [
        ("1", 3, (0, 1)),
        ("7", 1, (2,)),
    ]
    assert second.char == at + 1 and [option.text for option in second.options] == ["0", "5"]
    assert [group.divergence for group in result.groups] == [None, 1, 0]
    assert divergence_words(first).endswith("max_results=”") and option_words(first.options[0]) == "“1”"
    assert "The answers first differ at character" in " ".join(result.words)


def test_the_probabilities_at_a_divergence_are_those_of_the_runs():
    runs = [run_of(1, CALL % 10), run_of(2, CALL % 7)]
    for run_, probability in zip(runs, (0.75, 0.25)):
        tokens, at = run_.state.stages[0].tokens, CALL.index("%")
        step = msgspec.structs.replace(
            tokens[at].step, logprob=math.log(probability / 2), probability=probability
        )
        tokens[at] = msgspec.structs.replace(tokens[at], step=step)
    (divergence,) = distribution([seed_run(run_.seed, run_.state) for run_ in runs]).divergences
    assert [(option.text, option.final) for option in divergence.options] == [("1", 0.75), ("7", 0.25)]
    assert [option.raw for option in divergence.options] == pytest.approx([0.375, 0.125])


def test_the_json_output_keeps_the_members_of_earlier_versions():
    written = msgspec.to_builtins(distribution([run_of(1, CALL % 10), run_of(2, CALL % 7)]))
    assert [group["parting"] for group in written["groups"]] == [None, 0]
    assert [option["drawn"] for option in written["partings"][0]["options"]] == [1, 1]


def test_a_difference_within_the_same_call_is_no_divergence():
    spaced = run_of(2, (CALL % 10).replace(" max", "  max"))
    assert distribution([run_of(1, CALL % 10), spaced]).divergences == ()


def test_an_invalid_answer_is_a_group_by_its_error_and_a_failed_run_is_not_counted():
    broken = run_of(2, CALL % 500)
    stopped = run_of(4, CALL % 10)
    stopped.state.failed = RunFailed(code="MODEL_DIED", message="gone", hint="", t=0.0)
    result = distribution([run_of(1, CALL % 10), broken, run_of(3, CALL % 10), seed_run(4, stopped.state)])
    assert [(group.label.partition(" {")[0], group.ok) for group in result.groups] == [
        ("search", True),
        ("No valid call: CONSTRAINT_MAX /max_results", False),
    ]
    assert (result.n, result.failed) == (3, (4,))
    assert "1 run failed or stopped" in result.words[0]


def test_an_answer_that_ends_where_another_continues_diverges_at_the_end():
    result = distribution([run_of(1, CALL % 10), run_of(2, (CALL % 10)[:-4])])
    (divergence,) = result.divergences
    assert {option_words(option) for option in divergence.options} >= {"the end"}


def test_no_run_and_one_run_have_no_divergence():
    assert distribution([]).words == ("No run has finished yet.",)
    one = distribution([run_of(1, CALL % 10)])
    assert one.divergences == () and one.words[0] == "One run."


@given(st.lists(st.sampled_from([CALL % n for n in (1, 10, 15, 100)]), min_size=1, max_size=8))
@at_most(20)
def test_every_group_but_the_largest_has_its_divergence_and_the_counts_add_up(texts):
    result = distribution([seed_run(seed, state_of(text)) for seed, text in enumerate(texts)])
    assert sum(group.share.correct for group in result.groups) == result.n == len(texts)
    assert [group.divergence is None for group in result.groups] == [True] + [False] * (
        len(result.groups) - 1
    )
    for divergence in result.divergences:
        assert sum(option.sampled for option in divergence.options) == divergence.runs


# -- the command -----------------------------------------------------------------------------------------------------


class Drawing(ScriptedModel):
    """Writes another number for another seed."""

    def generate(self, request):
        number = random.Random(request.sampling.seed).choice((5, 10))
        self._turns = [[(CALL % number).encode()]]
        return super().generate(request)


@pytest.fixture
def model(monkeypatch):
    opened = []

    def opener(*_args, **_options):
        opened.append(Drawing(CALL % 5))
        return opened[-1]

    monkeypatch.setattr("glyphscope.store.named_models.open_model", opener)
    return opened


def command(*options):
    return glyphscope("run", "Search", "--constraint", "off", "--temperature", "1", *options)


@pytest.mark.slow
def test_the_command_prints_the_distribution_and_saves_the_runs(model, tmp_path):
    done = command("--seeds", "1-6", "--record", str(tmp_path / "runs"), "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["n"] == 6 and sum(group["share"]["correct"] for group in result["groups"]) == 6
    assert len(list((tmp_path / "runs").iterdir())) == 6
    record = read_record(tmp_path / "runs" / "seed-3.jsonl")
    first = next(event for event in record.events if isinstance(event, RunStarted))
    assert first.request.sampling.seed == 3 and not first.request.dispatch
    words = command("--seeds", "1-6").stdout
    assert "6 runs, 2 distinct answers." in words and "At character" in words and "Wilson" in words
