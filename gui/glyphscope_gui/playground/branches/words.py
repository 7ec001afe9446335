"""A branch in words: its place in the parent run, the replacement, the result, and the dropped constraints."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from glyphscope.base.pointer import follow
from glyphscope.base.shorten import capitalised, json_excerpt, shorten
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.events import PrefixPart, Relaxed, RunRequest
from glyphscope.explain.constraint_attribution import Attribution
from glyphscope.registry import ToolRegistry
from glyphscope.registry.keywords import CUSTOM
from glyphscope.runs import RunState
from glyphscope.runs.endings import outcome_words
from glyphscope.runs.relaxation import ANSWER, parts_of
from glyphscope.store import Kin
from glyphscope_gui.shared.language import tr

NOTHING = tr("deleted: the model continues")
_BEFORE = 14
"""Number of characters of the kept text that show the place of a branch."""
_MAX_LENGTH = 60


def visible_token(data: bytes, text: str = "", *, special: bool = False) -> str:
    """The visible form of a token: an incomplete character as bytes, invisible ones as signs, a special token in
    brackets.
    """
    words = visible(token_text(data, text), lines=True)
    return f"⟨{words}⟩" if special else words


def replacement_of(request: RunRequest) -> list[PrefixPart]:
    """The replacement at the branch's place: an alternative, a typed text, both, or nothing."""
    point = request.branch_of
    return [] if point is None else [one for one in request.written[point.token :] if not one.kept]


def replacement_words(request: RunRequest, special: Container[int] = ()) -> str:
    """`·50`, `“typed”`, `⟨F0 9F⟩`; empty if the token was only deleted."""
    pieces = [
        visible_token(one.data, special=one.id in special)
        if one.id >= 0
        else f"“{visible(one.data.decode('utf-8', 'replace'), lines=True)}”"
        for one in replacement_of(request)
    ]
    words = " ".join(pieces)
    return shorten(words, _MAX_LENGTH)


def shared_bytes(request: RunRequest) -> bytes:
    """The part of the answer that is shared with the parent run."""
    return b"".join(
        one.data for one in request.written[: len(request.written) - len(replacement_of(request))]
    )


def before_words(request: RunRequest) -> str:
    """The end of the text that is shared with the parent: `…_results=`."""
    return shorten(visible_token(shared_bytes(request)), _BEFORE, keep="end")


def place_words(request: RunRequest) -> str:
    """The place in the parent run, such as `at token 14, after …_results=`."""
    point = request.branch_of
    if point is None:
        return ""
    before = before_words(request)
    if before:
        return tr("at token {token}, after “{before}”", token=point.token, before=before)
    return tr("at token {token}", token=point.token)


def text_words(kin: Kin) -> str:
    """The text of the run from its place in the parent on; the whole text of a run without a parent."""
    kept = shared_bytes(kin.started.request).decode("utf-8", "ignore")
    answer = kin.answer
    return visible(answer[len(kept) :] if answer.startswith(kept) else answer, lines=True).replace("\n", "⏎")


def newly_relaxed(request: RunRequest, parent: RunRequest | None) -> tuple[Relaxed, ...]:
    """The constraints that are relaxed in this run but not in its parent, as far as known."""
    before = parent.relaxed if parent is not None else ()
    return tuple(one for one in request.relaxed if one not in before)


def is_less_constrained(request: RunRequest, parent: RunRequest | None) -> bool:
    """Whether this run is less constrained than its parent."""
    if parent is None:
        return bool(request.relaxed)
    return (request.constraint == "off" != parent.constraint) or bool(newly_relaxed(request, parent))


def relaxation_words(request: RunRequest, parent: RunRequest | None) -> str:
    """`without a constraint`, `without minimum of max_results`; empty if no constraint was dropped."""
    if parent is not None and request.constraint == "off" != parent.constraint:
        return tr("without a constraint")
    relaxed = newly_relaxed(request, parent)
    constraints = [constraint_words(one.pointer, one.tool if one.tool == ANSWER else "") for one in relaxed]
    return tr("without {constraints}", constraints=", ".join(constraints)) if constraints else ""


def constraint_words(pointer: str, tool: str = "") -> str:
    """`minimum of max_results`, for `/properties/max_results/minimum`; `required q` for a required name, `rule term of
    input` for a rule of a grammar.
    """
    steps, keyword, name = parts_of(pointer)
    words = tr("required {name}", name=name) if name else keyword or tr("constraint")
    if tool == ANSWER or (keyword == CUSTOM and name):
        words = tr("rule {name}", name=name or keyword)
    names = [str(steps[n + 1]) for n, step in enumerate(steps[:-1]) if step == "properties"]
    place = ".".join(names) or tool
    return tr("{constraint} of {place}", constraint=words, place=place) if place else words


def row_words(kin: Kin, parent: RunRequest | None, special: Container[int] = ()) -> str:
    """A run in the tree: its name, its place in the parent and the replacement, and the dropped constraints."""
    request = kin.started.request
    point = request.branch_of
    if point is None:
        return kin.row.name or tr("Original run")
    put = f"{point.token}  {replacement_words(request, special) or NOTHING}"
    return "  ·  ".join(part for part in (kin.row.name, put, relaxation_words(request, parent)) if part)


def tip_words(kin: Kin, parent: RunRequest | None, special: Container[int] = ()) -> str:
    """All known facts about a run of the tree, one per line."""
    request = kin.started.request
    lines = [kin.row.name, kin.row.title]
    if request.branch_of is not None:
        lines.append(
            tr(
                "Branched {place}: {put}",
                place=place_words(request),
                put=replacement_words(request, special) or NOTHING,
            )
        )
        dropped = relaxation_words(request, parent)
        lines.append(capitalised(dropped))
    lines += [kin.row.note, outcome_words(kin.row.outcome, tr), tr("%n token(s)", "", kin.row.tokens)]
    return "\n".join(line for line in lines if line)


def usage_words(state: RunState) -> str:
    """The cost of the shown branch: the prompt tokens from the cache, if known, and the tokens kept, written and
    decoded.
    """
    stage = state.stages[0]
    words = []
    if stage.prompt is not None and stage.prompt.tokens:
        words.append(
            tr(
                "{cached:,} of {tokens:,} prompt tokens from the cache",
                cached=stage.prompt.cached,
                tokens=stage.prompt.tokens,
            )
        )
    origins = [token.step.origin for token in stage.tokens]
    kept, written, own = (origins.count(origin) for origin in ("kept", "written", "model"))
    words.append(tr("{kept} kept, {written} written, {own} decoded", kept=kept, written=written, own=own))
    return ". ".join(words) + "."


def incomplete_words(data: bytes) -> str:
    """The bytes of an incomplete character at the end: `⟨F0 9F⟩`; empty if there is none."""
    for length in range(1, min(4, len(data)) + 1):
        tail = data[-length:]
        if 0xC0 <= tail[0] < 0xF5:
            needed = 2 if tail[0] < 0xE0 else 3 if tail[0] < 0xF0 else 4
            return token_text(tail) if length < needed else ""
        if tail[0] < 0x80:
            return ""
    return ""


def pieces_words(pieces: Sequence[bytes], count: int) -> str:
    """`3 tokens: ·AI | ·news | "`; without pieces, their number."""
    number = tr("%n token(s)", "", count)
    shown = "  ".join(f"[{visible_token(piece)}]" for piece in pieces[:24])
    return f"{number}: {shown}" + (" …" if len(pieces) > 24 else "") if shown else number


def outcome_line(kin: Kin) -> str:
    """The end of the run; a valid call of a relaxed run is marked as such."""
    if kin.row.outcome == "unfinished":
        return tr("running")
    words = outcome_words(kin.row.outcome, tr)
    relaxed = kin.row.outcome == "valid" and kin.started.request.relaxed
    return tr("{outcome}, relaxed", outcome=words) if relaxed else words


_MAX_VALUE = 60
LOOKING = tr("Looking for the constraint that blocks this token…")
NO_CONSTRAINT = tr("No single constraint blocks this token; only the whole constraint can be dropped.")
SPECIAL = tr("A special token of the model, which cannot be part of a call.")
OWN_GRAMMAR = tr("This run uses a custom grammar; only the whole constraint can be dropped.")


@dataclass(frozen=True)
class MaskReason:
    """`why` has the reasons, one per line; `relax` is the constraint to relax to allow the alternative, and `words` its
    name, such as `minimum of max_results`.
    """

    why: tuple[str, ...] = ()
    relax: Relaxed | None = None
    words: str = ""


def mask_reason(
    request: RunRequest,
    registry: ToolRegistry | None,
    message: str,
    said: str,
    attribution: Attribution | None,
    *,
    known: bool,
    special: bool = False,
) -> MaskReason:
    """The reasons why an alternative is masked.

    `message` is the schema's reason and `said` the grammar's, if any. `known`: the search for the blocking constraint
    is over, and `attribution` is its result. `special`: the alternative is a special token.
    """
    words = [SPECIAL] if special else []
    words += [message] if message else []
    if attribution is not None:
        words.append(_place(attribution, registry))
    if said:
        words.append(tr("The grammar: {reason}", reason=said))
    if request.grammar is not None:
        words.append(OWN_GRAMMAR)
    elif not known:
        words.append(LOOKING)
    elif attribution is None:
        words.append(NO_CONSTRAINT)
    else:
        relax = Relaxed(attribution.tool, attribution.pointer)
        return MaskReason(tuple(words), relax, constraint_words(attribution.pointer, attribution.tool))
    return MaskReason(tuple(words))


def _place(attribution: Attribution, registry: ToolRegistry | None) -> str:
    """`search, /properties/max_results/minimum: 1`."""
    tool = registry.get(attribution.tool) if registry is not None else None
    found = follow(tool.parameters, attribution.pointer) if tool else None
    if found is None:
        return tr(
            "Blocked by {keyword}: {tool}, {pointer}",
            keyword=attribution.keyword,
            tool=attribution.tool,
            pointer=attribution.pointer,
        )
    return tr(
        "Blocked by {keyword}: {tool}, {pointer} is {value}",
        keyword=attribution.keyword,
        tool=attribution.tool,
        pointer=attribution.pointer,
        value=json_excerpt(found[1], _MAX_VALUE),
    )
