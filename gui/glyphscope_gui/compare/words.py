"""A column of a comparison in words: the state of its run, and its cost."""

from __future__ import annotations

import json
from typing import NamedTuple

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import UNKNOWN, count, duration_ms, rate
from glyphscope.base.shorten import capitalised, excerpt, shorten
from glyphscope.evals.costs import RunFigures
from glyphscope.evals.matrix.seeds import seeds_of
from glyphscope.events import RunRequest
from glyphscope.runs import RunState
from glyphscope.runs.endings import end_of
from glyphscope_gui.compare.comparison import Column
from glyphscope_gui.compare.experiment import RunPhase
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.verdict import END_VERDICTS

MAX_PROMPT = 60
"""Characters of an earlier request's prompt."""
MAX_ANSWER = 500
"""Characters of an answer that is not a call."""
MAX_SEEDS = 100
"""The seeds of an experiment on the one model of the window."""
FIRST_WORDS = tr("Press Run all: the answer appears here, token by token.")
WAITS_WORDS = tr("Waiting: one column runs at a time.")
ANOTHER_RUN = tr("Another run uses the model; only one run at a time is possible.")


_ANSWERS = {
    "answered": tr("answered"),
    "no-call": tr("no call"),
    "no-tool": tr("no tool"),
    "multi-intent": tr("several requests"),
    "cut-off": tr("cut off"),
    "call-failed": tr("call failed"),
    "aborted": tr("aborted"),
    "failed": tr("failed"),
    "limit": tr("limit"),
}
"""Ends without a valid call, as short as a pill needs."""


class ColumnVerdict(NamedTuple):
    """A column's verdict: `words` with a sign for the pill, in the colours of `role`; `detail` is in sentences, of
    which `short` is the essential part for little room.
    """

    words: str
    role: str
    detail: str = ""
    short: str = ""


class Figure(NamedTuple):
    """A figure with its unit; `tip` says how it was counted."""

    title: str
    value: str
    tip: str


def few_seeds(text: str, hint: str) -> tuple[int, ...]:
    """The seeds in a field. Raises GlyphscopeError, with the hint if there are more than `MAX_SEEDS`."""
    seeds = seeds_of(text)
    if len(seeds) > MAX_SEEDS:
        raise GlyphscopeError(tr("At most %n seed(s) can run here.", "", MAX_SEEDS), hint=hint)
    return seeds


def allowed_tools(request: RunRequest) -> int:
    """The number of allowed tools, as far as the registry of a damaged record has them."""
    tools = request.registry.get("tools")
    listed = tools if isinstance(tools, list) else []
    return sum(isinstance(tool, dict) and bool(tool.get("enabled", True)) for tool in listed)


def earlier_words(ran: RunRequest, now: RunRequest) -> str:
    """Marks results of a request that is not the present one; "" if they are the present one's."""
    if ran == now:
        return ""
    if ran.prompt == now.prompt and ran.registry == now.registry:
        return tr("These results are of earlier settings. Run again to update them.")
    return tr(
        "These results are of an earlier request: “{prompt}”, %n tool(s) allowed. Run again to update them.",
        "",
        allowed_tools(ran),
        prompt=excerpt(ran.prompt, MAX_PROMPT),
    )


def verdict(column: Column) -> ColumnVerdict:
    """The state of the column."""
    match column.phase:
        case RunPhase.NEW:
            return ColumnVerdict("", "open", FIRST_WORDS)
        case RunPhase.WAITING:
            return ColumnVerdict(tr("waiting"), "open", WAITS_WORDS)
        case RunPhase.RUNNING:
            return ColumnVerdict(tr("◌ running"), "open")
        case RunPhase.NOT_RUN:
            return ColumnVerdict(tr("not run"), "open", column.why)
        case RunPhase.STOPPED:
            return ColumnVerdict(tr("stopped"), "open", tr("Stopped; the output so far is kept."))
        case RunPhase.DONE:
            return _ended(column.state)


def _ended(state: RunState) -> ColumnVerdict:
    if state.outcome in ("running", "cancelled"):
        internal = tr("An internal error ended this run; the other columns continue.")
        return ColumnVerdict(tr("✕ failed"), "impossible", internal)
    end = end_of(state, tr)
    kind = end.outcome.partition(" ")[0]
    verdict = END_VERDICTS[end.status]
    usual = tr("invalid") if end.status == "impossible" else tr("valid")
    if end.status == "differs":
        usual = verdict.words
    words, short = f"{verdict.sign} {_ANSWERS.get(kind, usual)}", ""
    detail = f"{capitalised(end.words)}."
    fault = state.aborted if kind == "aborted" else next(iter(state.violations), None)
    if state.failed is not None:
        detail = " ".join(part for part in (state.failed.message, state.failed.hint) if part)
    elif end.status == "impossible" and fault is not None:
        short = tr("At character {char}: {code}", char=fault.char, code=fault.code)
        detail = f"{short}: {fault.message}"
    return ColumnVerdict(words, verdict.role, detail, short)


def call_words(state: RunState) -> str:
    """The call as one line, or an answer that is not a call; empty if there is none."""
    if state.call is None:
        return "" if state.asks_for_call or state.answer is None else shorten(state.answer.text, MAX_ANSWER)
    arguments = (f"{name}={json.dumps(v, ensure_ascii=False)}" for name, v in state.call.arguments.items())
    return f"{state.call.tool}({', '.join(arguments)})"


def figures_of(figures: RunFigures) -> list[Figure]:
    """Return the same figures in the same order for every column; unknown ones are a dash."""
    wrote = figures.tokens > 0
    return [
        Figure(
            tr("Tokens"),
            _tokens(figures),
            tr("Tokens decoded in all stages; forced tokens are the only ones that the grammar allowed."),
        ),
        Figure(
            tr("Text"),
            tr(
                "{characters} characters, {bytes} bytes",
                characters=count(figures.characters),
                bytes=count(figures.bytes),
            )
            if wrote
            else UNKNOWN,
            tr("Length of the output of all stages; bytes in UTF-8."),
        ),
        Figure(
            tr("Prompt"),
            _prompt(figures),
            tr(
                "Prompt tokens of all stages. Cached tokens were evaluated for an earlier column or "
                "stage and cost no time here."
            ),
        ),
        Figure(
            tr("First token"),
            duration_ms(figures.first_token_ms),
            tr(
                "From the start of the run to its first token. A cached prompt shortens it, so it "
                "does not compare notations."
            ),
        ),
        Figure(
            tr("Total"),
            duration_ms(figures.total_ms),
            tr("From the start of the run to its end, all stages; without the time spent waiting for you."),
        ),
        Figure(
            tr("Speed"),
            UNKNOWN if figures.tokens_per_second is None else rate(figures.tokens_per_second),
            tr(
                "All output tokens, forced ones included, divided by the time from the end of the "
                "prompt to the last token."
            ),
        ),
    ]


def _tokens(figures: RunFigures) -> str:
    if not figures.tokens:
        return UNKNOWN
    tokens = count(figures.tokens)
    if figures.forced:
        return tr("{tokens} decoded, {forced} of them forced", tokens=tokens, forced=count(figures.forced))
    return tr("{tokens} decoded", tokens=tokens)


def _prompt(figures: RunFigures) -> str:
    if figures.prompt_tokens is None:
        return UNKNOWN
    tokens = count(figures.prompt_tokens)
    if figures.cached:
        return tr("{tokens} tokens, {cached} cached", tokens=tokens, cached=count(figures.cached))
    return tr("{tokens} tokens", tokens=tokens)
