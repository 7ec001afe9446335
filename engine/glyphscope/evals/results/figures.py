"""The figures of a result, for `summary.json`, the report and the window. Made by `summary.py`."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from glyphscope.evals.statistics import NO_SHARE, Share, Spread

Measure: TypeAlias = Literal[
    "ok", "parsed", "valid", "right_tool", "right_arguments", "valid_wrong", "copied"
]
MEASURES: tuple[Measure, ...] = (
    "ok", "parsed", "valid", "right_tool", "right_arguments", "valid_wrong", "copied",
)  # fmt: skip
SCORES = MEASURES[:-2]
"""Those that are better when they are higher."""


class ArmSaving(msgspec.Struct, frozen=True, kw_only=True):
    """The savings of early aborts: `aborted` runs, of which `measured` were continued; tokens are of these only."""

    aborted: int
    measured: int
    decoded: int
    would_have: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one set of samples. `n` counts all, `answered` those with an answer: shares are of these.

    A share whose measure is None for a sample (unknown or not applicable) is over the other samples, counted by its own
    `n`. The trials of a scenario are not independent: intervals are for each share's `effective` samples.
    `failures` counts the samples by their first failure's reason, `codes` by its code. `pass_k` is, for k up to the
    number of trials (ten at most), the probability that k random trials of a scenario are all right (tau-bench's
    pass^k), over the scenarios with k answers. Spreads are over the answered samples, and None without samples.
    `valid_wrong` are valid calls that are not the expected ones, `copied` those of them with a copied value.
    `model_turns` are the texts that the model wrote, `instructions` is a mean. `tokens_per_ok` is all decoded tokens
    per ok sample, None if none is ok.
    """

    n: int
    answered: int
    ok: Share
    parsed: Share
    valid: Share
    right_tool: Share
    right_arguments: Share
    failures: dict[str, int]
    codes: dict[str, int]
    pass_k: dict[str, float]
    decoded: Spread | None
    prompt_tokens: Spread | None
    bytes: Spread | None
    instructions: float
    first_token_ms: Spread | None
    total_ms: Spread | None
    saving: ArmSaving
    scenarios: int = 0
    tokens_per_ok: float | None = None
    valid_wrong: Share = NO_SHARE
    copied: Share = NO_SHARE
    model_turns: Spread | None = None


class ScenarioFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario: its figures by arm, or by strategy. Intervals are over its own trials; greedy ones count once."""

    suite: str
    scenario: str
    group: str
    level: str
    control: bool
    figures: dict[str, Figures]


class ScenarioSummary(msgspec.Struct, frozen=True, kw_only=True):
    """`summary_by_scenario.json`, by arm, and `summary_by_scenario_and_strategy.json`, by strategy over all arms."""

    glyphscope_summary: int = 1
    digest: str = ""
    by: Literal["arm", "strategy"] = "arm"
    scenarios: tuple[ScenarioFigures, ...] = ()


class ArmFigures(msgspec.Struct, frozen=True, kw_only=True):
    """An arm's figures: over all its tool samples, its control samples, and the tool samples broken down.

    A sample without a group is in no group; groups with the same name in two suites are one here.
    """

    arm: str
    tools: Figures
    control: Figures | None
    by_suite: dict[str, Figures]
    by_group: dict[str, Figures]
    by_level: dict[str, Figures]


class ArmComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two arms on the same scenarios, trials and seeds, by one measure.

    `both`, `only_first`, `only_second`, `neither` count the pairs. The cases of the test are the `scenarios`, not their
    trials: `p` is McNemar's over the `discordant` ones, each by its mean difference (`pairs.scenario_test`): exact for
    few of them (`exact`), otherwise with the continuity correction. `p_holm` is corrected for all comparisons by the
    same measure. `difference` is second minus first, with its 95 % interval (Newcombe's for paired shares, over the
    `effective` pairs). `differ` names the one setting in which the arms differ, or "several". The usual baseline is the
    first of two arms: no constraint before one, JSON before GLYPH.
    """

    first: str
    second: str
    measure: Measure
    differ: str
    pairs: int
    both: int
    only_first: int
    only_second: int
    neither: int
    difference: float
    low: float
    high: float
    p: float
    exact: bool
    scenarios: int = 0
    discordant: int = 0
    effective: float = 0.0
    p_holm: float = 1.0


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """The change of the ok share with the format alone: over arms that differ only in notation and shape.

    Shares are means over the `scenarios` that all these arms answered. Equivalent arms also have a spread:
    `by_chance` is its mean if formats made no difference, and `p` the probability of one at least as large.
    """

    arms: tuple[str, ...]
    least: float
    most: float
    spread: float
    scenarios: int = 0
    by_chance: float = 0.0
    p: float = 1.0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """`summary.json`. `notes` are sentences that a reader needs: about missing and unmeasured values."""

    glyphscope_summary: int = 1
    digest: str = ""
    samples: int = 0
    planned: int = 0
    arms: tuple[ArmFigures, ...] = ()
    comparisons: tuple[ArmComparison, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    notes: tuple[str, ...] = ()
