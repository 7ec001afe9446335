"""The prefix of an answer under the constraint: each token is allowed, or the error names the first rejected one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glyphscope.base.errors import GrammarError
from glyphscope.events import Origin
from glyphscope.models.decoding.mask import Constraint
from glyphscope.models.decoding.rows import Allowed
from glyphscope.models.decoding.text import shown

_SHOWN = 8
"""The maximum number of allowed tokens that an error names."""
_BEFORE = 24
"""Characters before a rejected token that are shown with it."""


@dataclass(frozen=True, slots=True)
class PrefixToken:
    """A token that is not sampled. `forced`: the constraint allowed only this token.

    `among` are the tokens allowed in its place; None without a constraint, and for a forced token.
    """

    id: int
    origin: Origin
    forced: bool = False
    among: Allowed | None = None

    def allowed(self, size: int) -> Allowed | None:
        """The tokens allowed in its place, of a vocabulary of that size; None if any token was allowed."""
        return Allowed.listing([self.id], size) if self.forced else self.among


def commit_prefix(
    tokens: Sequence[tuple[int, Origin]],
    constraint: Constraint | None,
    pieces: Sequence[bytes],
    between: Callable[[], None] = lambda: None,
) -> list[PrefixToken]:
    """The tokens, each committed to the constraint as the loop would do it: forced ones are requested at the
    beginning and after each token that is not forced.

    A different tokenization of forced text is allowed. `between` is called before each token and may raise. Raises
    GrammarError for a token that is not allowed, with its place and the allowed ones.
    """
    if constraint is None:
        return [PrefixToken(token, origin) for token, origin in tokens]
    done: list[PrefixToken] = []
    forced: list[int] = []
    asked = False
    for token, origin in tokens:
        between()
        if not asked and not constraint.stopped:
            forced, asked = constraint.forced(), True
        if forced and forced[0] == token:
            constraint.commit(forced.pop(0))
            done.append(PrefixToken(token, origin, forced=True))
            continue
        allowed = None if constraint.stopped else constraint.allowed()
        if allowed is None or not (token in allowed or constraint.takes(token)):
            raise GrammarError(
                _refused(token, [one.id for one in done], allowed, pieces),
                hint="Write something else there, or turn the constraint off for this run.",
            )
        constraint.commit(token)
        done.append(PrefixToken(token, origin, among=allowed.with_tokens([token])))
        forced, asked = [], False
    return done


def _refused(token: int, before: Sequence[int], allowed: Allowed | None, pieces: Sequence[bytes]) -> str:
    text = shown(b"".join(pieces[each] for each in before))
    after = f" after {text[-_BEFORE:]!r}" if text else ""
    what = (
        f"The constraint does not allow token {len(before)} of the existing text, "
        f"{shown(pieces[token])!r} (id {token}){after}: "
    )
    if allowed is None:
        return f"{what}the text is complete before it."
    ids = allowed.ids()
    named = sorted({pieces[each] for each in ids.tolist()}, key=lambda piece: (len(piece), piece))[:_SHOWN]
    words = ", ".join(repr(shown(piece)) for piece in named)
    if not named:
        return f"{what}it allows nothing there."
    count = "1 token is" if ids.size == 1 else f"{ids.size} tokens are"
    return f"{what}{count} allowed there, {words if len(named) == ids.size else f'such as {words}'}."
