"""Why each alternative of a recorded token was not possible: the grammar's expectation, or the validator's verdict.

For a whole stage at once, so that it can be stored: the grammar reads the text once, and a validator reads it again for
each alternative only if the text is short.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from glyphscope.errors import GlyphscopeError
from glyphscope.events import Alternative, RunRequest, Token, Violation
from glyphscope.explain.constraint_attribution import is_control_token
from glyphscope.explain.grammar_origins import rule_origin
from glyphscope.grammar.match.earley import Limits, State
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.grammar.match.words import Expectation
from glyphscope.registry import ToolRegistry
from glyphscope.runs.run_state import StageState
from glyphscope.strategies.constraints import answer_grammar
from glyphscope.strategies.turns import answer_validator

MAX_TOKENS = 5_000
"""Tokens of a stage that are explained under a mask."""
MAX_READ = 200_000
"""Characters of a stage that validators read, all alternatives together: a second or two."""
_MAX_TOKEN = 100
"""Characters of the generated text with which an alternative is compared."""
FEW = 4
"""Expectations that are listed for a place."""
WHOLE_CALLS = ("call", "turn")
"""The kinds of stages whose text is validated as a call of the whole registry."""


class Reasons(NamedTuple):
    """`place` is the text expected instead of a masked token. `alternatives` has a reason for each of them: the empty
    string if it is the place's reason, None if there is none or it is unknown.
    """

    place: str
    alternatives: tuple[str | None, ...]


def masked_reasons(request: RunRequest, registry: ToolRegistry, stage: StageState) -> dict[int, Reasons]:
    """The reasons by the index of the token. Tokens without an impossible alternative are left out."""
    found: dict[int, Reasons] = {}
    if request.strategy == "direct" and request.grammar is None and request.constraint != "off":
        with suppress(GlyphscopeError):  # the grammar takes too long to match, or cannot be built
            found = _by_grammar(request, registry, stage)
    if stage.kind in WHOLE_CALLS and request.grammar is None:
        found |= _by_validator(request, registry, stage, found)
    return found


def _by_grammar(request: RunRequest, registry: ToolRegistry, stage: StageState) -> dict[int, Reasons]:
    state = compile_grammar(answer_grammar(request, registry)).start(Limits())
    found: dict[int, Reasons] = {}
    for token in stage.tokens[:MAX_TOKENS]:
        if not state.alive:
            break
        step = token.step
        if any(one.allowed is False for one in step.alternatives):
            place = _expected(state, registry)
            rest = stage.text[token.start : token.start + _MAX_TOKEN].encode()
            texts = tuple(_refused(state, one, rest, registry) for one in step.alternatives)
            if place or any(texts):
                found[step.index] = Reasons(place, texts)
        state = state_after(state, token)
    return found


def state_after(state: State, token: Token, cancel: Callable[[], bool] | None = None) -> State:
    """The state after a token, read as its characters or, if they do not fit, as a token of the grammar.

    Raises MatchLimit and MatchCancelled.
    """
    spelled = state.feed(token.step.text, cancel=cancel)
    if spelled.alive or not state.alive or not state.token_matches():
        return spelled
    return state.feed_token(token.step.id, token.step.text)


def begins_inside_character(one: Alternative) -> bool:
    """Whether its first byte continues a character of several bytes."""
    return bool(one.data) and 0x80 <= one.data[0] < 0xC0


def _refused(state: State, one: Alternative, rest: bytes, registry: ToolRegistry) -> str | None:
    """The reason why one alternative was masked; `rest` is the text that was generated in its place."""
    if one.allowed is not False or not one.data or begins_inside_character(one):
        return None
    text = one.data.decode(errors="ignore")
    if is_control_token(text):
        return "a control token"
    after = state.feed_token(one.id, text)
    if after.alive:  # masked although the grammar accepts its text: a forced text has its own tokens
        return "the same text in other tokens" if rest.startswith(one.data) else None
    good = text[: (after.failed_at or 0) - state.position]
    words = _expected(after, registry) if good else ""
    return f"after {json.dumps(good, ensure_ascii=False)}, {words}" if words else ""


def _expected(state: State, registry: ToolRegistry) -> str:
    """`max_results expects 0-9 or "}": maximum 100`."""
    possible = state.expectations(FEW + 1)
    if not possible:
        return ""
    words, rule = listed_expectations(possible), possible[0]
    if rule.origin is None:
        return f"the grammar expects {words}"
    place = rule_origin(registry, rule.origin)
    constraint = f": {place.constraint}" if place.constraint else ""
    return f"{place.argument or place.tool} expects {words}{constraint}"


def listed_expectations(possible: Sequence[Expectation], *, more: str = "more", last: str = " or ") -> str:
    """`0-9, "," or "}"`: the first `FEW`. `more` and `last`, before the last one, are in the reader's language."""
    shown = list(dict.fromkeys(one.words for one in possible))
    shown = [*shown[:FEW], more] if len(shown) > FEW else shown
    return last.join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _by_validator(
    request: RunRequest, registry: ToolRegistry, stage: StageState, found: dict[int, Reasons]
) -> dict[int, Reasons]:
    """The verdicts on the alternatives that no grammar explains."""
    text, read, judged = stage.text, 0, {}
    for token in stage.tokens:
        step = token.step
        if step.index in found or not step.alternatives or not token.end:
            continue
        read += (token.start + 1) * len(step.alternatives)
        if read > MAX_READ:
            break
        words = tuple(
            why_invalid(request, registry, text[: token.start], one) or None for one in step.alternatives
        )
        if any(words):
            judged[step.index] = Reasons("", words)
    return judged


def why_invalid(request: RunRequest, registry: ToolRegistry, before: str, one: Alternative) -> str:
    """Why no valid call continues with the alternative after that text; "" if one does, or if it is unknown."""
    try:
        validator = answer_validator(request, registry)
        validator.feed(before)
        if validator.violations:
            return ""
        violations = [event for event in validator.feed(one.data) if isinstance(event, Violation)]
    except GlyphscopeError:
        return ""
    return violations[0].message if violations else ""
