"""One request with several seeds: equal calls are one group, and groups diverge at a token with its probabilities."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_command import command as glyphscope
from examples import at_most
from expected_texts import as_in_file, blocks_of
from glyphscope.evals.answers import distribution, divergence_words, option_words, seed_run
from glyphscope.evals.results.words import share_words
from glyphscope.events import RunFailed, RunRequest, RunStarted
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.store.records import read_record

CALL = '{action="search" query="AI news" max_results=%s}'
REQUEST = RunRequest(prompt="p", registry=default_registry().to_document(), constraint="off")


def run_of(seed, text, **changes):
    pieces = text if isinstance(text, list) else [character.encode() for character in text]
    request = RunRequest(**{"prompt": "p", "registry": REQUEST.registry, "constraint": "off", **changes})
    return seed_run(seed, run_state(run(request, ScriptedModel(turns=[pieces]))))


@cache
def state_of(text):
    return run_of(0, text).state


CASES = Path(__file__).with_name("distribution.txt")
ANY = {"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": {"a": {}}}}


def distribution_lines(texts: list[str]) -> Iterator[str]:
    """The groups with their seeds and shares, the tokens at which they diverge, and the words."""
    registry = {"tools": [*REQUEST.registry["tools"], ANY]}
    runs = [
        run_of(seed, text, notation="json" if '"action"' in text else "glyph", registry=registry)
        for seed, text in enumerate(texts)
    ]
    result = distribution(runs)
    for group in result.groups:
        at = "" if group.divergence is None else f", diverges at {group.divergence}"
        sign = "✓" if group.ok else "✗"
        yield f"= {sign} {group.label}: seeds {group.seeds}, {share_words(group.share)}{at}"
    for number, each in enumerate(result.divergences):
        options = "; ".join(
            f"{option_words(one)} {one.sampled} of {each.runs}, groups {one.groups}" for one in each.options
        )
        yield f"= {number}: token {each.token}, {divergence_words(each)}: {options}"
    yield from (f"= {words}" for words in result.words)


def test_distributions_are_those_of_the_file():
    def found() -> Iterator[str]:
        for block in blocks_of(CASES):
            texts = [line for line in block.split("\n") if not line.startswith("= ")]
            yield block if block.startswith("# ") else "\n".join((*texts, *distribution_lines(texts)))

    as_in_file(CASES, found())
    assert distribution([]).words == ("No run has finished yet.",)


def test_a_failed_run_is_not_counted():
    stopped = run_of(4, CALL % 10)
    stopped.state.failed = RunFailed(code="MODEL_DIED", message="gone", hint="", t=0.0)
    result = distribution([run_of(1, CALL % 10), seed_run(4, stopped.state)])
    assert (result.n, result.failed) == (1, (4,)) and "1 run failed or stopped" in result.words[0]


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


def test_the_divergence_of_an_answer_is_where_most_runs_diverge_if_texts_have_several_tokens():
    begin, end = b'{action="search" query=', b'"}'
    whole, cut = [begin + b'"'], [begin, b'"']  # the same text, as one token and as two
    runs = [
        run_of(seed, [*tokens, word, end])
        for seed, (tokens, word) in enumerate(
            [(whole, b"a")] * 6 + [(whole, b"b")] * 3 + [(cut, b"a"), (cut, b"b")]
        )
    ]
    result = distribution(runs)
    at = [group.divergence for group in result.groups]
    assert at[0] is None and result.divergences[at[1]].runs == 9
    assert {each.runs for each in result.divergences} == {9, 2}


def test_the_json_output_keeps_the_members_of_earlier_versions():
    written = msgspec.to_builtins(distribution([run_of(1, CALL % 10), run_of(2, CALL % 7)]))
    assert [group["parting"] for group in written["groups"]] == [None, 0]
    assert [option["drawn"] for option in written["partings"][0]["options"]] == [1, 1]


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
