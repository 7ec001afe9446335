"""An evaluation in words: measures, reasons, arms and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from glyphscope.base.figures import duration_ms, plain_number
from glyphscope.evals.matrix.arms import AXES, Arm, varied
from glyphscope.evals.results import words
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import REASON_WORDS, comparison_words, conclusion, sensitivity_words
from glyphscope.evals.running.progress import SampleBegun
from glyphscope.events import DEFAULT_LOAD
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.run_words import model_name, opened_name, value_words

MeasureName: TypeAlias = Literal[
    "ok",
    "parsed",
    "valid",
    "right_tool",
    "right_arguments",
    "valid_wrong",
    "copied",
    "decoded",
    "prompt_tokens",
    "model_turns",
    "first_token_ms",
    "total_ms",
    "saved",
]


class MeasureSpec(NamedTuple):
    """A measure for the choice and the table, with its `words` within a sentence; `unit` is empty for shares, which are
    in percent.
    """

    name: MeasureName
    title: str
    words: str
    tip: str
    unit: str = ""

    @property
    def is_share(self) -> bool:
        return not self.unit


MEASURES = (
    MeasureSpec(
        "ok",
        tr("All correct"),
        tr("all correct"),
        tr("Everything that the scenario expects: tool, arguments, answer, effects"),
    ),
    MeasureSpec(
        "parsed",
        tr("Parsed"),
        tr("parsed"),
        tr("The text parses as a call in its notation, or as an answer of its form"),
    ),
    MeasureSpec(
        "valid",
        tr("Valid"),
        tr("valid"),
        tr(
            "The call satisfies the tool’s schema, the answer is of its form, or no call was expected and none was made"
        ),
    ),
    MeasureSpec(
        "right_tool",
        tr("Correct tool"),
        tr("correct tool"),
        tr("Of the samples that expect a call: the tool is an expected one"),
    ),
    MeasureSpec(
        "right_arguments",
        tr("Correct arguments"),
        tr("correct arguments"),
        tr("Of the samples that expect a call: tool and arguments are as expected"),
    ),
    MeasureSpec(
        "valid_wrong",
        tr("Valid but wrong"),
        tr("valid but wrong"),
        tr("Of the samples that expect a call: a valid call that is not the expected one; lower is better"),
    ),
    MeasureSpec(
        "copied",
        tr("Copied value"),
        tr("wrong with a copied value"),
        tr(
            "Of the samples that expect a call: a valid but wrong call with a value of the prompt’s example or the "
            "schema’s default that is not in the request; lower is better"
        ),
    ),
    MeasureSpec(
        "decoded",
        tr("Tokens decoded"),
        tr("tokens decoded"),
        tr("Generated tokens per sample; lower is better"),
        "tokens",
    ),
    MeasureSpec(
        "prompt_tokens",
        tr("Prompt tokens"),
        tr("prompt tokens"),
        tr("Tokens of all prompts of a sample, as an endpoint counts them; lower is better"),
        "tokens",
    ),
    MeasureSpec(
        "model_turns",
        tr("Turns"),
        tr("turns"),
        tr("Texts that the model wrote in a sample, such as the turns of a tool loop; lower is better"),
        tr("turns"),
    ),
    MeasureSpec(
        "first_token_ms",
        tr("First token"),
        tr("first token"),
        tr("Milliseconds to the first token; lower is better"),
        "ms",
    ),
    MeasureSpec(
        "total_ms",
        tr("Total time"),
        tr("total time"),
        tr("Milliseconds per sample, all runs; lower is better"),
        "ms",
    ),
    MeasureSpec(
        "saved",
        tr("Saved"),
        tr("saved"),
        tr("Tokens saved by early abort, for runs that were continued to measure it"),
        "tokens",
    ),
)
BY_NAME = {measure.name: measure for measure in MEASURES}
WIDEST_ARM = f"GLYPH · {value_words('constraint', 'off')}"
"""The widest usual label."""
WIDEST_REASON = f"{REASON_WORDS['WRONG_ARGUMENTS']} /max_results/0/name"
"""The widest usual reason."""


def arm_tip(arm: Arm) -> str:
    """The id of an arm, and its value on each axis."""
    parts = arm_parts(arm)
    return "\n".join(
        [arm.id, "", *(f"{in_language(AXES[name].setting.title)}: {words}" for name, words in parts.items())]
    )


def arm_parts(arm: Arm) -> dict[str, str]:
    """Return the words for each axis of an arm."""
    return {name: value_words(name, getattr(arm, name)) for name in AXES}


def arm_labels(arms: Sequence[Arm]) -> dict[str, str]:
    """Labels by arm id, in the window's language: `GLYPH · mask`."""
    return words.arm_labels(arms, value_words, always=("notation", "constraint"))


def sample_words(manifest: Manifest, sample: SampleBegun | Sample) -> str:
    """The name of a sample with its arm's label: `search-news · GLYPH · mask`."""
    return words.sample_words(manifest, sample, arm_labels(manifest.arms), tr)


def pair_labels(first: Arm, second: Arm) -> tuple[str, str]:
    """Return the differences of two arms, each as short as possible."""
    one, other = arm_parts(first), arm_parts(second)
    differ = [name for name in varied((first, second)) if one[name] != other[name]]
    if not differ:
        return first.id, second.id
    return " · ".join(one[name] for name in differ), " · ".join(other[name] for name in differ)


def quantity(value: float, unit: str) -> str:
    """Such as `31` tokens, or `1.2 s` of milliseconds."""
    return duration_ms(value) if unit == "ms" else plain_number(value)


_USUAL_CACHE = DEFAULT_LOAD.kv_type


def provenance(manifest: Manifest, samples: int) -> str:
    """Return the provenance of the figures: model, hash, quantisation, seed, n, versions."""
    models = []
    for name, info in manifest.models.items():
        digest = f" {info.sha256[:12]}" if info.sha256 else ""
        named = opened_name(info).name or name
        cache = info.load.kv_type if info.load is not None else _USUAL_CACHE
        parts = (named, info.quantisation, f"KV {cache}" if cache != _USUAL_CACHE else "")
        models.append(" ".join(part for part in parts if part) + digest)
    judges = ", ".join(model_name(name).name for name in manifest.judges)
    size = (
        f"n = {samples:,}"
        if samples == manifest.planned
        else tr("n = {samples:,} of {planned:,}", samples=samples, planned=manifest.planned)
    )
    versions = ", ".join(f"{name} {version}" for name, version in list(manifest.versions.items())[:4])
    words = [
        "; ".join(models) or (tr("no model was loaded") if manifest.finished else ""),
        tr("judge {name}", name=judges) if judges else "",
        tr("seed {seed}", seed=manifest.seed),
        size,
        tr("%n trial(s)", "", manifest.trials),
        tr("batch size {size}", size=manifest.sequence_count) if manifest.sequence_count > 1 else "",
        versions,
    ]
    return "  ·  ".join(word for word in words if word)


def population_words(scenarios: int, controls: int) -> str:
    """The scenarios that the figures cover."""
    if not controls:
        return tr("%n scenario(s)", "", scenarios)
    return tr("%n scenario(s)", "", scenarios) + tr(", without %n control(s)", "", controls)


def summary_words(
    summary: Summary, manifest: Manifest, measure: str = "ok"
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the figures as the report's sentences: headings, each with its paragraphs.

    Comparisons are by `measure`; a measure that is not compared is replaced by "ok".
    """
    measure = measure if any(each.measure == measure for each in summary.comparisons) else "ok"
    arms, labels = {arm.id: arm for arm in manifest.arms}, arm_labels(manifest.arms)
    compared = [each for each in summary.comparisons if each.measure == measure]
    sentences = tuple(
        f"{comparison_words(each, arms, labels)} {conclusion(each, len(compared))}" for each in compared
    )
    format_alone = tuple(sensitivity_words(each, labels) for each in summary.sensitivity)
    parts = (
        (tr("Comparisons"), sentences),
        (tr("Effect of the format alone"), format_alone),
        (tr("Notes"), summary.notes),
    )
    return [(title, paragraphs) for title, paragraphs in parts if paragraphs]


def verdict_words(sample: Sample) -> str:
    if sample.ok:
        return tr("✓ correct")
    return tr("✕ incorrect") if sample.answered else tr("– no answer")


def why_words(sample: Sample) -> str:
    """Why a sample is not ok: its first failure, with the place."""
    if not sample.failures:
        return ""
    failure = sample.failures[0]
    place = f" {failure.path}" if failure.path else ""
    code = f" ({failure.code})" if failure.code else ""
    return f"{REASON_WORDS[failure.reason]}{code}{place}"
