"""The evidence in words: the constraint and the sampler at a token, the sizes of a call, and the legends of charts.

It imports no chart, as their library loads slowly.
"""

from __future__ import annotations

from glyphscope.base.figures import count, percent
from glyphscope.events import Notation, RunStarted, Token
from glyphscope.notation.write import Sizes
from glyphscope.runs.state import StageState
from glyphscope_gui.runs.token_table import ORIGINS
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import step_text

STYLES: dict[str, tuple[str, str]] = {
    "openai": (tr("OpenAI wrapper"), "chart-faint"),
    "json-spaced": (tr("JSON spaced"), "chart-soft"),
    "json": (tr("JSON compact"), "chart-other"),
    "glyph": ("GLYPH", "chart-main"),
    "glyph-canonical": (tr("GLYPH canonical"), "chart-main-soft"),
}
"""The name and the colour role of each style in which a call is measured."""
SAVED = ((tr("without stopping"), "chart-other"), (tr("with early abort"), "chart-main"))
"""The name and the colour role of each bar of a saving."""


def token_words(token: Token, stage: StageState, started: RunStarted) -> str:
    """The effect of the constraint and of the sampling filters at this token; of one that was not sampled, its origin
    and the effect of the constraint.
    """
    if token.step.origin != "model":
        return f"{ORIGINS[token.step.origin]}. {_constraint_words(token, stage, started)}"
    return f"{_constraint_words(token, stage, started)} {_sampler_words(token, started)}".strip()


def _constraint_words(token: Token, stage: StageState, started: RunStarted) -> str:
    """The effect of the constraint at this token, in words."""
    step = token.step
    if step.forced:
        raw = (
            _no_probabilities(started)
            if step.logprob is None
            else tr("Raw probability: {share}.", share=percent(step.raw))
        )
        return tr("Forced: the grammar allowed only this token. {raw}", raw=raw)
    if not step.alternatives:
        return _no_probabilities(started)
    if started.request.constraint == "endpoint":
        return tr("The endpoint enforced the constraint and reports no mask statistics.")
    if not _is_constrained(stage, started):
        return (
            tr("No constraint: all {allowed} tokens allowed.", allowed=count(step.allowed))
            if step.allowed
            else tr("No constraint.")
        )
    kept = tr(
        "The mask kept {share} of the probability mass: %n token(s) allowed",
        "",
        step.allowed,
        share=percent(step.feasible),
    )
    if step.origin != "model":
        return f"{kept}."
    return tr("{kept}, “{token}” sampled.", kept=kept, token=step_text(step))


def _is_constrained(stage: StageState, started: RunStarted) -> bool:
    """Whether a constraint was enforced in the stage; in old records, only the request says so."""
    if started.request.strategy == "direct":
        return started.request.constraint != "off"
    return stage.constraint is not None


def _sampler_words(token: Token, started: RunStarted) -> str:
    """The numbers of tokens after each sampling filter; empty if no token was sampled."""
    step = token.step
    if step.left:
        left = zip(started.request.sampling.filters, map(count, step.left))
        return tr(
            "Of these, the filters left: {counts}.", counts=", ".join(f"{name} {kept}" for name, kept in left)
        )
    sampling = started.request.sampling
    greedy = sampling.temperature == 0 and bool(step.alternatives) and not step.forced
    if greedy and started.request.constraint != "endpoint":
        if not sampling.takes_best:
            return tr("Temperature 0: the most likely allowed token after biases and penalties is taken.")
        return tr("Temperature 0: the most likely allowed token is always taken.")
    return ""


def _no_probabilities(started: RunStarted) -> str:
    if started.request.evidence == "all":
        return tr("This model reports no probabilities.")
    return tr("Probabilities were not recorded (evidence: {evidence}).", evidence=started.request.evidence)


def size_words(sizes: tuple[Sizes, ...], instructions: dict[Notation, int]) -> str:
    """Compare GLYPH with the smallest JSON, and state the cost of instructing the model in the notation."""
    by_style = {size.style: size for size in sizes}
    glyph, json_ = by_style["glyph"], by_style["json"]
    lines = []
    if glyph.tokens is not None and json_.tokens is not None:
        lines.append(
            tr(
                "Compared with compact JSON, GLYPH needs {bytes} and {tokens} of this model.",
                bytes=_bytes(glyph.bytes, json_.bytes),
                tokens=_tokens(glyph.tokens, json_.tokens),
            )
        )
    else:
        lines.append(
            tr(
                "Compared with compact JSON, GLYPH needs {bytes}. Open the model of the run to count tokens.",
                bytes=_bytes(glyph.bytes, json_.bytes),
            )
        )
    if instructions:
        lines.append(
            tr(
                "Instructions cost {glyph:,} tokens in GLYPH, {json:,} in JSON.",
                glyph=instructions["glyph"],
                json=instructions["json"],
            )
        )
    return " ".join(lines)


def _bytes(ours: int, theirs: int) -> str:
    if ours == theirs:
        return tr("the same number of bytes")
    by = abs(ours - theirs)
    return tr("%n byte(s) fewer", "", by) if ours < theirs else tr("%n byte(s) more", "", by)


def _tokens(ours: int, theirs: int) -> str:
    if ours == theirs:
        return tr("the same number of tokens")
    by = abs(ours - theirs)
    return tr("%n token(s) fewer", "", by) if ours < theirs else tr("%n token(s) more", "", by)
