"""Figures in words: short names of arms, comparisons as sentences, shares and p values as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from glyphscope.base.figures import percent, pluralize
from glyphscope.base.model_names import place_name
from glyphscope.base.shorten import capitalised
from glyphscope.base.translate import Translate, english
from glyphscope.evals.matrix.arms import Arm, subject_of, varied, words_of
from glyphscope.evals.results.figures import MEASURES, ArmComparison, ArmFigures, Measure, Sensitivity
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Reason
from glyphscope.evals.statistics import Share

MEASURE_WORDS: dict[Measure, str] = {
    "ok": "correct",
    "parsed": "parsed",
    "valid": "valid",
    "right_tool": "with the correct tool",
    "right_arguments": "with the correct arguments",
    "valid_wrong": "valid but wrong",
    "copied": "wrong with a copied value",
}
REASON_WORDS: dict[Reason, str] = {
    "PARSE": "The text is not of the expected form",
    "LENGTH": "The token limit was reached before the end of the text",
    "SCHEMA": "The call, or the answer, violates its schema",
    "WRONG_TOOL": "Wrong tool",
    "WRONG_ARGUMENTS": "Wrong arguments",
    "MISSING_CALL": "An expected call is missing",
    "EXTRA_CALL": "More calls than expected",
    "UNWANTED_CALL": "A call although none was expected",
    "FORBIDDEN_TOOL": "A forbidden tool was called",
    "WRONG_CHOICE": "The router chose otherwise",
    "FINAL_TEXT": "The answer is not as expected",
    "WORKSPACE": "The final workspace is not as expected",
    "NOT_SEEN": "An expected error code did not occur",
    "PATH": "A JSONPath assertion is not met",
    "PYTHON": "A Python function rejected the result",
    "JUDGE": "The judge rejected the result",
    "LIMIT": "A limit ended the run",
    "TOOL_FAILED": "A tool failed",
    "TIMEOUT": "The time limit was reached",
    "CONSTRAINT_IGNORED": "The endpoint ignored the constraint",
    "CONSTRAINT_FAILED": "The constraint could not be built",
    "CONTEXT_OVERFLOW": "The prompt did not fit the context",
    "BAD_REQUEST": "The request was rejected",
    "MODEL_FAILED": "The model's process or endpoint failed",
    "CHECK_FAILED": "An assertion could not be evaluated",
    "JUDGE_FAILED": "The judge gave no verdict",
    "SERVER_FAILED": "An MCP server did not start",
}
"""Why a sample is not right."""


ARM_TITLES = (
    "configuration",
    "n",
    "ok",
    "parsed",
    "valid",
    "correct tool",
    "correct arguments",
    "valid but wrong",
    "copied value",
)
"""The columns of `arm_cells`."""


def arm_cells(arm: ArmFigures, labels: Mapping[str, str]) -> tuple[str, ...]:
    """An arm's row in a table of shares, each with its interval."""
    tools = arm.tools
    shares = (getattr(tools, measure) for measure in MEASURES)
    return labels.get(arm.arm, arm.arm), f"{tools.answered:,}", *map(rate_words, shares)


def setting_words(name: str, value: Any) -> str:
    """A value of a setting of an arm within names; the window has its own words for it, in its language."""
    return " ".join(place_name(value)).strip() if name == "model" else words_of(name, value)


def arm_labels(
    arms: Sequence[Arm], words: Callable[[str, Any], str] = setting_words, always: Sequence[str] = ()
) -> dict[str, str]:
    """The settings in which the arms differ, and those that are `always` named, by id: `GLYPH · mask`. The model, if
    there is only one arm; the ids of arms with the same label.
    """
    shown = {*always, *varied(arms)} or {"model"}
    names = [name for name in Arm.__struct_fields__ if name in shown]
    labels = {arm.id: " · ".join(words(name, getattr(arm, name)) for name in names) for arm in arms}
    times = Counter(labels.values())
    return {id: label if times[label] == 1 else id for id, label in labels.items()}


def sample_words(
    manifest: Manifest, sample: Any, labels: Mapping[str, str] | None = None, tr: Translate = english
) -> str:
    """The name of a sample, or of one that has begun, such as `search-news · mask`: arm (by its label), suite and trial
    only if the result varies them.
    """
    parts = [sample.scenario]
    if len(manifest.suites) > 1:
        parts.insert(0, sample.suite)
    if len(manifest.arms) > 1:
        parts.append((labels or arm_labels(manifest.arms)).get(sample.arm, sample.arm))
    if manifest.trials > 1:
        parts.append(tr("trial {n}", n=sample.trial))
    return " · ".join(parts)


def comparison_words(comparison: ArmComparison, arms: Mapping[str, Arm], labels: Mapping[str, str]) -> str:
    """One sentence: how often each was right, the difference with its interval, the test and the number of its cases.

    `labels` are short names: for arms that differ in several settings, and for the settings that the two share.
    """
    c = comparison
    first, second = arms.get(c.first), arms.get(c.second)
    label = (labels.get(c.first, c.first), labels.get(c.second, c.second))
    if first is not None and second is not None and c.differ != "several":
        label = (
            subject_of(c.differ, getattr(first, c.differ)),
            subject_of(c.differ, getattr(second, c.differ)),
        )
    right, base = c.both + c.only_second, c.both + c.only_first
    measure = MEASURE_WORDS[c.measure]
    if c.differ == "constraint" and first is not None and first.constraint == "off":
        rates = f"{right:,} of {c.pairs:,} {measure} where without it {base:,} were"
    else:
        rates = f"{right:,} of {c.pairs:,} {measure} where {label[0]} had {base:,}"
    return (
        f"{capitalised(label[1])}: {rates}; difference {points(c.difference, c.pairs)} points "
        f"[{points(c.low, c.pairs)}, {points(c.high, c.pairs)}], {mcnemar_words(c.p, exact=c.exact)}, {pairs_words(c)}."
        f"{_in_common(c, arms, labels)}"
    )


def _in_common(c: ArmComparison, arms: Mapping[str, Arm], labels: Mapping[str, str]) -> str:
    """The common settings of both arms that not all arms have."""
    if c.differ == "several" or len(arms) <= 2:
        return ""
    first, second = (labels.get(arm, arm).split(" · ") for arm in (c.first, c.second))
    same = [part for part in first if part in second]
    return f" Both: {', '.join(same)}." if same else ""


def mcnemar_words(p: float, *, exact: bool) -> str:
    """`McNemar exact p < 0.0001`."""
    kind = "exact" if exact else "χ² with continuity correction,"
    return f"McNemar {kind} {p_words(p)}"


def pairs_words(comparison: ArmComparison) -> str:
    """`50 pairs`, with the number of scenarios if it is another."""
    pairs = pluralize(comparison.pairs, "pair")
    if comparison.scenarios == comparison.pairs:
        return pairs
    return f"{pairs} of {pluralize(comparison.scenarios, 'scenario')}"


def conclusion(comparison: ArmComparison, compared: int) -> str:
    """The valid conclusion, among `compared` comparisons by the same measure."""
    c = comparison
    holm = f" (after Holm {p_words(c.p_holm)})" if compared > 1 else ""
    if c.p_holm < 0.05:
        return f"Significant{holm}."
    if c.p < 0.05:
        return f"Significant by itself, but not among {compared} comparisons{holm}."
    low, high = points(c.low, c.pairs), points(c.high, c.pairs)
    return f"Not significant{holm}. Differences from {low} to {high} points remain possible."


def sensitivity_words(sensitivity: Sensitivity, labels: Mapping[str, str]) -> str:
    """The effect of the format alone, in words."""
    s = sensitivity
    names = ", ".join(labels.get(arm, arm) for arm in s.arms)
    judged = "significant" if s.p < 0.05 else "not significant"
    return (
        f"{names}: from {percent(s.least, 0)} to {percent(s.most, 0)} correct over "
        f"{pluralize(s.scenarios, 'scenario')}, a spread of {s.spread * 100:.1f} points. If the "
        f"format made no difference, it would be {s.by_chance * 100:.1f} points on average "
        f"({p_words(s.p)}: {judged})."
    )


def p_words(p: float) -> str:
    """`p = 0.012`, without meaningless digits."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.2f}" if p >= 0.1 else f"p = {p:.2g}"


def points(difference: float, n: int) -> str:
    """`+72`: percentage points with a sign, and with a decimal if `n` is large enough for it."""
    text = f"{difference * 100:+.{int(n >= 500)}f}".replace("-", "−")
    return text[1:] if not float(text[1:]) else text


def interval_words(share: Share) -> str:
    """`[65, 93]`, in percent; a dash if nothing was counted."""
    return f"[{share.low * 100:.0f}, {share.high * 100:.0f}]" if share.n else "–"


def rate_words(share: Share) -> str:
    """`83% [65, 93]`."""
    return f"{percent(share.share, 0)} {interval_words(share)}" if share.n else "–"


def share_words(share: Share) -> str:
    """`25 of 30, 83% [65, 93]`."""
    return f"{share.correct:,} of {share.n:,}, {rate_words(share)}" if share.n else "–"
