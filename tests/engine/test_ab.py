"""Two prompts on the same seeds: counted, paired and tested; a few seeds decide nothing."""

from __future__ import annotations

import json
import signal
import threading

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_command import command
from examples import at_most
from glyphscope.base.errors import GlyphscopeError
from glyphscope.cli.streaming import interrupted, run_all
from glyphscope.evals.ab import AbPair, Trial, ab_report, pair_of, what_differs
from glyphscope.evals.matrix.seeds import RequestPlan, distinct_seeds, run_key, seeded, seeds_of
from glyphscope.events import Answer, RunRequest, Sampling
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.store import Project, save_project
from glyphscope.store.records import read_record

GOOD = '{action="search" query="AI news" max_results=10}'
OTHER = '{action="search" query="AI" max_results=10}'
BAD = '{action="delete_database"}'
REQUEST = RunRequest(prompt="p", registry=default_registry().to_document(), constraint="off")


def state(text):
    return run_state(run(REQUEST, ScriptedModel(text)))


def pairs(first, second):
    return [
        AbPair(seed=n, first=Trial(ok=a, call="x"), second=Trial(ok=b, call="x"))
        for n, (a, b) in enumerate(zip(first, second))
    ]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("1-3", (1, 2, 3)), ("5", (5,)), ("1, 3,7-9", (1, 3, 7, 8, 9)), ("2,2,1-2", (2, 1)), ("0-0", (0,))],
)
def test_seeds_are_read_as_they_are_written(text, seeds):
    assert seeds_of(text) == seeds


@pytest.mark.parametrize(
    "text", ["", "a", "1-", "-1", "3-1", "1-1000000", "1,,2", "1-600,1000-1600", "1.5", "²"]
)
def test_an_invalid_list_of_seeds_is_rejected(text):
    with pytest.raises(GlyphscopeError):
        seeds_of(text)


def test_answers_that_are_not_calls_are_compared_as_they_are_written():
    asked = msgspec.structs.replace(REQUEST, answer=Answer("choice", "yes\nno"))
    yes, no = (run_state(run(asked, ScriptedModel(text))) for text in ("yes", "no"))
    same, other = pair_of(1, (yes, yes), ("A", "B")), pair_of(2, (yes, no), ("A", "B"))
    assert same.first == Trial(ok=True, call="yes", tokens=same.first.tokens) and not same.difference
    assert other.difference == 'A wrote answer "yes", B "no".'
    assert ab_report([same, other], ("A", "B")).same == 1


def test_a_pair_is_judged_and_its_first_difference_described():
    pair = pair_of(3, (state(GOOD), state(OTHER)), ("A", "B"))
    assert (pair.first.ok, pair.second.ok) == (True, True)
    assert pair.difference == 'A wrote query "AI news", B "AI".'
    broken = pair_of(3, (state(GOOD), state(BAD)), ("A", "B"))
    assert broken.second.ok is False and "UNKNOWN_TOOL" in broken.second.why
    assert pair_of(3, (state(GOOD), state(GOOD)), ("A", "B")).difference == ""


def test_a_failed_run_makes_no_pair_and_is_not_counted():
    class Dead(ScriptedModel):
        def generate(self, request):
            raise GlyphscopeError("gone")
            yield

    dead = run_state(run(REQUEST, Dead("")))
    pair = pair_of(1, (state(GOOD), dead), ("A", "B"))
    assert pair.second.ok is None
    report = ab_report([pair], ("A", "B"))
    assert report.n == 0 and report.p is None and "nothing to compare" in report.words[0]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
@at_most(80)
def test_a_winner_needs_significance_and_figures_show_their_n(outcomes):
    first, second = zip(*outcomes)
    report = ab_report(pairs(first, second), ("A", "B"))
    n = len(outcomes)
    assert report.n == n == report.table.pairs
    assert report.low <= report.difference <= report.high
    assert any("significantly more" in words for words in report.words) == (report.p < 0.05 and n > 1)
    assert f"of {n}" in report.words[0] and f"of {n}" in report.words[1]
    turned = ab_report(pairs(second, first), ("B", "A"))
    assert turned.p == pytest.approx(report.p) and turned.difference == pytest.approx(-report.difference)
    assert turned.low == pytest.approx(-report.high)


def test_five_seeds_are_too_few_and_the_report_says_so():
    report = ab_report(pairs([False] * 5, [True] * 5), ("A", "B"))
    assert report.p == pytest.approx(0.0625) and "needs at least 6 seeds" in " ".join(report.words)
    six = ab_report(pairs([False] * 6, [True] * 6), ("A", "B"))
    assert "B is valid significantly more often for this request" in " ".join(six.words)


def test_at_temperature_0_only_one_seed_is_run():
    warm = RunRequest(prompt="", registry={}, sampling=Sampling(temperature=0.5))
    assert distinct_seeds((1, 2, 3), REQUEST, REQUEST) == (1,)
    assert distinct_seeds((1, 2, 3), REQUEST, warm) == (1, 2, 3)
    run_of = seeded(warm, 8)
    assert run_of.sampling.seed == 8 and run_of.repeatable and run_of.sampling.temperature == 0.5
    assert what_differs(REQUEST, warm) == ("prompt", "registry", "constraint", "sampling")


def test_samples_of_seeds_run_one_prompt_after_the_other_and_execute_nothing():
    other = msgspec.structs.replace(REQUEST, prompt="q", dispatch=True)
    plan = RequestPlan({"a": REQUEST, "b": other}, (4, 2))
    assert [(each.scenario.id, each.trial, each.seed) for each in plan.samples] == [
        ("a", 1, 4), ("a", 2, 2), ("b", 1, 4), ("b", 2, 2)
    ]  # fmt: skip
    asked = [each.request.request for each in plan.samples]
    assert [request.sampling.seed for request in asked] == [4, 2, 4, 2] and asked[3].prompt == "q"
    assert not any(request.dispatch for request in asked) and all(request.repeatable for request in asked)
    assert [run_key(each) for each in plan.samples] == [("a", 4), ("a", 2), ("b", 4), ("b", 2)]
    assert [each.request.request for each in RequestPlan({"1": other}).samples] == [other], "without seeds"


def test_an_interrupted_comparison_ends_with_the_run_that_was_stopped(tmp_path):
    cancelled = threading.Event()

    class Interrupted(ScriptedModel):
        def generate(self, request):
            signal.raise_signal(signal.SIGINT)
            assert cancelled.wait(20)
            return super().generate(request)

        def cancel(self):
            cancelled.set()
            super().cancel()

    samples = RequestPlan({"seed": REQUEST}, (1, 2, 3)).samples
    before = signal.getsignal(signal.SIGINT)
    runs = list(run_all(samples, Interrupted(GOOD), tmp_path, quiet=True))
    assert len(runs) == 1 and interrupted([state for _, state in runs], samples)
    assert [path.name for path in tmp_path.iterdir()] == ["seed-1.jsonl"]
    assert signal.getsignal(signal.SIGINT) is before


def test_projects_are_compared_with_what_they_are_expected_to_call(tmp_path):
    paths = []
    for name, words in (("one", "p"), ("two", "q")):
        paths.append(tmp_path / f"{name}.glyphscope")
        save_project(
            paths[-1], Project(request=RunRequest(prompt=words, registry=REQUEST.registry, constraint="off"))
        )
    call = '{"tool": "search", "arguments": {"query": "AI"}}'
    found = command("ab", *map(str, paths), "-m", f"scripted:{GOOD}", "--expect", call, "--json")
    report = json.loads(found.stdout)
    assert report["n"] == 1, "temperature 0"
    assert report["measure"] == "as expected" and report["differ"] == ["prompt"]
    assert report["pairs"][0]["first"]["why"].startswith('query is "AI news"')
    runs = tmp_path / "runs"
    written = ("--notation", "json", "--shape", "tool-args", "--records", str(runs))
    assert command("ab", *map(str, paths), "-m", f"scripted:{GOOD}", *written).exit_code == 0
    asked = read_record(runs / "a-1.jsonl").events[0].request
    assert (asked.notation, asked.shape) == ("json", "tool-args"), "an option is silently ignored"
