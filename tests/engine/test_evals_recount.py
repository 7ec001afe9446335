"""The figures of a result, counted again from the lines of its samples by independent code.

Plain dictionaries of JSON, SciPy, and the formulas as in papers.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from glyphscope.evals.results import by_scenario, by_scenario_and_strategy, summarise
from made_samples import MadeResult, jsonl, made_arms

pytestmark = pytest.mark.slow

scipy = pytest.importorskip("scipy", reason="SciPy is in the dev group")

MEASURES = ("ok", "parsed", "valid", "right_tool", "right_arguments", "valid_wrong", "copied")
SILENT = {
    "MODEL_FAILED",
    "CONSTRAINT_IGNORED",
    "CONSTRAINT_FAILED",
    "TIMEOUT",
    "CONTEXT_OVERFLOW",
    "BAD_REQUEST",
}
Line = dict[str, Any]

RESULTS = {
    "greedy and sampled, several arms, suites and trials": MadeResult(),
    "one trial": MadeResult(trials=1, scenarios=40, seed=2),
    "two arms that differ in several things": MadeResult(
        arms=[made_arms()[0], made_arms()[-1]], suites=("tool-calls",), scenarios=60, seed=3
    ),
    "a model is missing": MadeResult(
        arms=made_arms(("a.gguf", "b.gguf")), without=("b.gguf",), scenarios=12, savings=0, seed=4
    ),
}


@pytest.mark.parametrize("made", RESULTS.values(), ids=RESULTS.keys())
def test_the_figures_equal_a_recount(made: MadeResult) -> None:
    lines = _lines(made)
    reported = msgspec.to_builtins(summarise(made.manifest, made.samples()))
    assert reported["samples"] == len(lines)
    assert [arm["arm"] for arm in reported["arms"]] == list(dict.fromkeys(line["arm"] for line in lines))
    for arm in reported["arms"]:
        mine = [line for line in lines if line["arm"] == arm["arm"]]
        tools = [line for line in mine if not line.get("control")]
        _same(arm["tools"], tools)
        _same(arm["control"], [line for line in mine if line.get("control")])
        for part, name in (("by_suite", "suite"), ("by_group", "group"), ("by_level", "level")):
            assert set(arm[part]) == {line[name] for line in tools if line[name]}
            for value, figures in arm[part].items():
                _same(figures, [line for line in tools if line[name] == value])
    _same_comparisons(reported["comparisons"], lines)
    for each in reported["sensitivity"]:
        _same_sensitivity(each, lines)
    if len(made.arms) > 2:
        assert reported["comparisons"]
        assert reported["sensitivity"]


@pytest.mark.parametrize("made", RESULTS.values(), ids=RESULTS.keys())
def test_the_figures_of_each_scenario_equal_a_recount(made: MadeResult) -> None:
    lines = _lines(made)
    reported = msgspec.to_builtins(by_scenario(made.manifest, made.samples()))
    count = 0
    for each in reported["scenarios"]:
        mine = [x for x in lines if x["suite"] == each["suite"] and x["scenario"] == each["scenario"]]
        assert set(each["figures"]) == {line["arm"] for line in mine}
        for arm, figures in each["figures"].items():
            of = [line for line in mine if line["arm"] == arm]
            count += len(of)
            _same(figures, of, intervals=False)
            answered = [line for line in of if _answered(line)]
            independent = 1 if ".deterministic" in arm else len(answered)
            if answered:
                _same_interval(figures["ok"], independent)
    assert count == len(lines)
    reported = msgspec.to_builtins(by_scenario_and_strategy(made.manifest, made.samples()))
    for each in reported["scenarios"]:
        mine = [x for x in lines if x["suite"] == each["suite"] and x["scenario"] == each["scenario"]]
        assert set(each["figures"]) == {"suite"}
        assert each["figures"]["suite"]["n"] == len(mine)
        assert each["figures"]["suite"]["ok"]["correct"] == sum(x["ok"] for x in mine if _answered(x))


def _lines(made: MadeResult) -> list[Line]:
    lines = [json.loads(line) for line in jsonl(made.samples()).splitlines()]
    for line in lines:
        right = line["right_arguments"]
        wrong = line["valid_wrong"] = None if right is None else line["valid"] and not right
        copied = line.get("copied_values")
        line["copied"] = None if copied is None else wrong and copied > 0
    return lines


def _answered(line: Line) -> bool:
    return not any(failure["reason"] in SILENT for failure in line["failures"])


def _same(figures: dict[str, Any], lines: list[Line], *, intervals: bool = True) -> None:
    answered = [line for line in lines if _answered(line)]
    assert (figures["n"], figures["answered"]) == (len(lines), len(answered))
    for measure in MEASURES:
        known = [line for line in answered if line[measure] is not None]
        reported = figures[measure]
        assert (reported["correct"], reported["n"]) == (
            sum(bool(line[measure]) for line in known),
            len(known),
        )
        if intervals and known:
            groups = [list(g) for _, g in _by(known, "suite", "scenario")]
            _same_interval(reported, _worth([[float(line[measure]) for line in group] for group in groups]))
    firsts = [line["failures"][0] for line in lines if line["failures"]]
    for name, field in (("failures", "reason"), ("codes", "code")):
        words = [failure[field] for failure in firsts if failure[field]]
        assert figures[name] == {word: words.count(word) for word in set(words)}
    for name, field in (("decoded", "decoded"), ("bytes", "bytes"), ("prompt_tokens", "prompt_tokens"),
                        ("first_token_ms", "first_token_ms"), ("total_ms", "total_ms")):  # fmt: skip
        values = [line[field] for line in answered]
        if values:
            assert figures[name]["mean"] == pytest.approx(math.fsum(values) / len(values))
            quantiles = scipy.stats.mstats.mquantiles(values, [0.5, 0.95], alphap=1, betap=1)
            assert [figures[name]["p50"], figures[name]["p95"]] == pytest.approx(list(quantiles))
    ok = sum(line["ok"] for line in answered)
    if ok:
        assert figures["tokens_per_ok"] == pytest.approx(sum(line["decoded"] for line in answered) / ok)
    aborted = [line for line in lines if line["stopped_at"] is not None]
    measured = [line for line in aborted if line["saved"] is not None]
    assert figures["saving"] == {
        "aborted": len(aborted),
        "measured": len(measured),
        "decoded": sum(line["decoded"] for line in measured),
        "would_have": sum(line["decoded"] + line["saved"] for line in measured),
    }
    groups = [[line["ok"] for line in g] for _, g in _by(answered, "arm", "suite", "scenario")]
    for k in range(1, max(map(len, groups), default=0) + 1):
        chances = [
            sum(all(drawn) for drawn in itertools.combinations(group, k)) / math.comb(len(group), k)
            for group in groups
            if len(group) >= k
        ]
        assert figures["pass_k"][str(k)] == pytest.approx(sum(chances) / len(chances))


def _by(lines: Iterable[Line], *names: str) -> Iterable[tuple[Any, Iterable[Line]]]:
    def key(line: Line) -> tuple[Any, ...]:
        return tuple(line[name] for name in names)

    return itertools.groupby(sorted(lines, key=key), key)


def _worth(groups: list[list[float]]) -> float:
    """n over the design effect, by an analysis of variance."""
    n, k = sum(map(len, groups)), len(groups)
    squared = sum(len(group) ** 2 for group in groups) / n
    if n == k:
        return n
    if k == 1:
        return 1
    values = [x for group in groups for x in group]
    if len(set(values)) == 1:
        return n / squared
    grand = sum(values) / n
    means = [sum(group) / len(group) for group in groups]
    msb = sum(len(g) * (m - grand) ** 2 for g, m in zip(groups, means)) / (k - 1)
    msw = sum((x - m) ** 2 for g, m in zip(groups, means) for x in g) / (n - k)
    m0 = (n - squared) / (k - 1)
    icc = max(0.0, (msb - msw) / (msb + (m0 - 1) * msw))
    return n / (1 + (squared - 1) * icc)


def _same_interval(reported: dict[str, Any], worth: float) -> None:
    """Whether Wilson's limits are the shares from which the observed one is 1.96 standard errors away."""
    assert reported["effective"] == pytest.approx(worth)
    p, z = reported["share"], scipy.stats.norm.ppf(0.975)
    assert reported["low"] <= p + 1e-12
    assert p <= reported["high"] + 1e-12
    for limit in (reported["low"], reported["high"]):
        assert (p - limit) ** 2 == pytest.approx(z * z * limit * (1 - limit) / worth, abs=1e-9)


def _same_comparisons(comparisons: list[dict[str, Any]], lines: list[Line]) -> None:
    for reported in comparisons:
        sides: list[dict[Any, Line]] = [
            {
                (x["suite"], x["scenario"], x["trial"]): x
                for x in lines
                if x["arm"] == reported[side]
                and not x["control"]
                and _answered(x)
                and x[reported["measure"]] is not None
            }
            for side in ("first", "second")
        ]
        shared = sorted(set(sides[0]) & set(sides[1]))
        pairs = [tuple(bool(side[key][reported["measure"]]) for side in sides) for key in shared]
        assert reported["pairs"] == len(pairs)
        names = {"both": (1, 1), "only_first": (1, 0), "only_second": (0, 1), "neither": (0, 0)}
        for name, pair in names.items():
            assert reported[name] == pairs.count((bool(pair[0]), bool(pair[1])))
        assert reported["difference"] == pytest.approx(
            (reported["only_second"] - reported["only_first"]) / len(pairs)
        )
        means: dict[Any, list[int]] = {}
        for key, (first, second) in zip(shared, pairs):
            means.setdefault(key[:2], []).append(second - first)
        each = [sum(values) / len(values) for values in means.values()]
        moved = [value for value in each if value]
        assert (reported["scenarios"], reported["discordant"]) == (len(each), len(moved))
        if moved and len({abs(value) for value in moved}) == 1:  # McNemar's own test
            up = sum(value > 0 for value in moved)
            if len(moved) < 25:
                assert reported["p"] == pytest.approx(scipy.stats.binomtest(up, len(moved)).pvalue)
            else:
                chi = max(0, abs(2 * up - len(moved)) - 1) ** 2 / len(moved)
                assert reported["p"] == pytest.approx(scipy.stats.chi2.sf(chi, 1))
        assert reported["low"] <= reported["difference"] <= reported["high"]
        assert reported["p"] <= reported["p_holm"] <= 1
        # significance by the test implies it by the interval, except at the very edge
        if reported["p"] < 0.01 and reported["discordant"] > 10:
            assert reported["low"] > 0 or reported["high"] < 0


def _same_sensitivity(reported: dict[str, Any], lines: list[Line]) -> None:
    table: dict[str, dict[Any, list[bool]]] = {arm: {} for arm in reported["arms"]}
    for x in lines:
        if x["arm"] in table and not x["control"] and _answered(x):
            table[x["arm"]].setdefault((x["suite"], x["scenario"]), []).append(x["ok"])
    shared = set.intersection(*(set(each) for each in table.values()))
    means = [sum(sum(each[key]) / len(each[key]) for key in shared) / len(shared) for each in table.values()]
    assert reported["scenarios"] == len(shared)
    assert (reported["least"], reported["most"]) == pytest.approx((min(means), max(means)))
    assert reported["spread"] == pytest.approx(max(means) - min(means))
    assert 0 < reported["p"] <= 1
