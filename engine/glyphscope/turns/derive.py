"""Derive the form of a model's turns by rendering its chat template and comparing the renderings."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec.structs import replace

from glyphscope.base.errors import PromptError
from glyphscope.turns.correcting import correct
from glyphscope.turns.derive_calls import ONE, OTHER, FoundCalls, derive_calls
from glyphscope.turns.derive_reasoning import Heading, derive_heading
from glyphscope.turns.form import STATES, CallForm, Piece, TurnForm, Wrap, text_pieces
from glyphscope.turns.markup import first_tag, is_tag, mirrors, solid_tokens, through_solid, tokens
from glyphscope.turns.probe import (
    KEYS,
    NAMES,
    NEXT,
    REASON,
    RESULT,
    TEXT,
    USER,
    Probe,
    Renders,
    SampleCall,
    TemplateDialect,
    dialects,
    result,
    sample_tools,
    spoils,
)

_THINKING: dict[str, bool | None] = {"on": True, "off": False, "undefined": None}
_MAX_END = 80
"""Up to this many characters, a text between turns ends a turn as a whole; in a longer text, only its markers do."""


class Derived(NamedTuple):
    """A form before corrections, the parts that the template drops, the renderings by name, the dialect, and the errors
    that the template raised in it.
    """

    form: TurnForm
    drops: tuple[str, ...]
    renderings: dict[str, str]
    dialect: TemplateDialect
    errors: tuple[str, ...] = ()


def derive(renderer: Renders) -> Derived:
    """The form of a template's turns, without the table's corrections. `calls` is empty if it does not write calls."""
    probe = Probe(renderer, tools=sample_tools())
    probe.dialect = _dialect(probe)
    prompts: dict[str, str | None] = {state: probe.prompt(_THINKING[state]) for state in STATES}
    text = probe.turn(TEXT)
    drops: list[str] = []
    if text is None or TEXT not in text:
        drops.append("text")
        text = None
    text_end = text[text.index(TEXT) + len(TEXT) :] if text else ""
    found = derive_calls(probe, text_end)
    if found is None:
        drops.append("calls")
    heading = derive_heading(probe, {state: p or "" for state, p in prompts.items()}, text, found)
    if heading.reasoning is None or heading.reasoning.derived != "rendered":
        drops.append("reasoning")
    form = _form(probe, heading, text, text_end, found, drops)
    renderings = _renderings(probe, prompts, text)
    tool_words = renderings.get("prompt with tools", "")
    form = replace(form, describes_tools=NAMES[0] in tool_words)
    return Derived(form, tuple(drops), renderings, probe.dialect, probe.errors)


def _dialect(probe: Probe) -> TemplateDialect:
    """The first way of writing messages in which a call with its arguments is rendered well."""
    call = ONE._replace(arguments={**ONE.arguments, KEYS[1]: True})
    for group in dialects():
        naming: list[TemplateDialect] = []  # dialects in which at least the tool's name is rendered
        for dialect in group:
            probe.dialect = dialect
            text = probe.turn(calls=(call,))
            if text is None or ONE.name not in text:
                continue
            naming.append(dialect)
            if not spoils(text, *KEYS):
                followed = probe.turn("", (ONE,), after=(result(ONE),))
                if followed is not None or dialect.empty is None:
                    return dialect
        if naming:
            return naming[0]
    return TemplateDialect()


def _form(
    probe: Probe,
    heading: Heading,
    text: str | None,
    text_end: str,
    found: FoundCalls | None,
    drops: list[str],
) -> TurnForm:
    header = heading.header
    calls: tuple[CallForm, ...] = ()
    if found is not None:
        header, call = _without_header(header, heading, found, _wraps(heading, header, text, text_end)[0])
        calls = (call,)
    wraps, end = _wraps(heading, header, text, text_end)
    used = "".join([*(w.open + w.close for w in wraps), found.before if found else ""])
    # the text after the header of another turn belongs to that turn
    endings = (end, found.end if found else "")
    ends = [each for text in endings for each in _ends(_before(text, header.strip()), used)]
    ends += [tag for tag in _next_headers(probe, found) if not ends or not found]
    before, after = _beside(probe, found, drops, heading)
    if calls and before:
        calls = (replace(calls[0], text_lead=_text_lead(probe, calls[0])),)
    begun = {
        state: prompt[len(header) :] if prompt.startswith(header) else heading.begun.get(state, "")
        for state, prompt in heading.prompts.items()
    }
    reasoning = heading.reasoning
    skips: tuple[str, ...] = ()
    close = reasoning.close.removesuffix(header) if reasoning is not None and header.strip() else ""
    if reasoning is not None and close.strip() and close != reasoning.close:
        # reasoning is a separate message: the next message begins with the header again
        reasoning = replace(reasoning, close=close)
        skips = (header,)
    if reasoning is not None:
        reasoning = replace(reasoning, kept=_keeps_reasoning(probe))
    return TurnForm(
        calls=calls,
        reasoning=reasoning,
        skips=skips,
        wraps=wraps,
        header=header,
        begun=begun,
        ends=tuple(dict.fromkeys(ends)),
        text_before=before,
        text_after=after,
        parallel=bool(found and found.parallel),
    )


def _without_header(
    header: str, heading: Heading, found: FoundCalls, wraps: tuple[Wrap, ...]
) -> tuple[str, CallForm]:
    """The header and the form of calls, each without the parts that belong to the other.

    The text before the first call begins with the header, and with an empty reasoning and an empty text if the
    template writes these. If the call's opening extends into the header, the prompt has begun the call, and the header
    is shorter.
    """
    call = found.form
    opening = call.call_opens[0]
    section = call.section_open
    lead = heading.lead_of(section + opening)
    if len(lead) > len(section):
        if section:
            return section, replace(call, section_open="")
        pieces = (*text_pieces(opening[len(lead) :]), *call.pieces[1:])
        between = call.separator + opening[: len(lead)] if found.parallel else ""
        unmarked = call.object is not None and len(pieces) == 1
        return header, replace(call, pieces=pieces, unmarked=unmarked, separator=between)
    section = section[len(lead) :]
    for wrap in wraps:
        section = section.removeprefix(wrap.open + wrap.close)
    if section:
        blank = len(section) - len(section.lstrip())
        call = replace(call, lead=section[:blank], section_open=section[blank:])
    elif opening:
        blank = len(opening) - len(opening.lstrip())
        pieces = (Piece("text", opening[blank:]), *call.pieces[1:])
        call = replace(call, lead=opening[:blank], section_open="", pieces=pieces)
    else:  # only the header precedes the call
        call = replace(call, section_open="")
    return header, replace(call, unmarked=call.unmarked or _is_bare(call))


def _is_bare(call: CallForm) -> bool:
    """Whether only its name or its keys distinguish a call from text: a bracket marks nothing."""
    known = call.object is not None or call.arguments.encoding == "pythonic"
    return known and call.opening.strip() in ("", "[")


def _wraps(heading: Heading, header: str, text: str | None, text_end: str) -> tuple[tuple[Wrap, ...], str]:
    """The markers around text for the user, and the rest of the turn's end."""
    if text is None:
        return (), text_end
    before = text[: text.index(TEXT)]
    opening = before[len(heading.lead_of(before)) :] if header == heading.header else before[len(header) :]
    if not opening.strip() or (heading.reasoning and opening.strip() == heading.reasoning.open.strip()):
        return (), text_end
    opened, following = solid_tokens(opening), solid_tokens(text_end)
    if following and mirrors(opened[0], following[0]) and len(opened) <= len(following):
        closing = through_solid(text_end, len(opened))
        return (Wrap(opening, closing),), text_end[len(closing) :]
    return (Wrap(opening),), text_end


def _before(text: str, header: str) -> str:
    """The text before the header of another turn."""
    return text.partition(header)[0] if header else text


def _ends(text: str, used: str) -> list[str]:
    """The texts that end a turn: the whole text if it is short, and its markers without another use."""
    whole = text.strip()
    marks = [token for token in tokens(whole) if is_tag(token) and token not in used]
    out = [whole] if marks and len(whole) <= _MAX_END else []
    out += [mark for mark in marks[:1] if whole.startswith(mark)]
    return out + [mark for mark in marks[-1:] if whole.endswith(mark)]


def _next_headers(probe: Probe, found: FoundCalls | None) -> list[str]:
    """The beginning of the next message, which ends a turn that has no end marker."""
    out = []
    text = probe.turn(TEXT, after=(NEXT,))
    if text and TEXT in text and NEXT["content"] in text:
        out.append(first_tag(text[text.index(TEXT) + len(TEXT) : text.index(NEXT["content"])]))
    if found is not None:
        text = probe.turn(calls=(ONE,), after=(result(ONE),))
        if text and RESULT in text and found.form.pieces:
            close = found.form.section_close or found.form.pieces[-1].text
            before = text[: text.index(RESULT)]
            if close and close in before:
                out.append(first_tag(before.rpartition(close)[2]))
    return [tag for tag in out if tag]


def _beside(probe: Probe, found: FoundCalls | None, drops: list[str], heading: Heading) -> tuple[bool, bool]:
    """Whether the template writes text before calls, and after them."""
    if found is None:
        return True, False
    text = probe.turn(TEXT, (ONE,))
    if text is None or TEXT not in text:
        drops.append("text beside a call")
        return False, False
    if heading.reasoning is not None and text[: text.index(TEXT)].endswith(heading.reasoning.open):
        drops.append("text beside a call")  # it becomes reasoning
        return False, False
    if ONE.name not in text:
        drops.append("calls beside text")
        return True, False
    between = text[text.index(ONE.name) : text.index(TEXT)]
    header = heading.header.strip()
    if header and header in between:
        drops.append("text beside a call")  # it becomes a separate turn
        return False, False
    return not between, bool(between)


def _keeps_reasoning(probe: Probe) -> bool:
    """Whether the reasoning of a turn is still written after the user's next message."""
    written = probe.turn(TEXT, (), REASON, after=(NEXT,))
    return bool(written and REASON in written)


def _text_lead(probe: Probe, call: CallForm) -> str:
    """The white space that a template writes between text and the first call."""
    written = probe.turn(TEXT, (ONE,)) or ""
    rest = written[written.find(TEXT) + len(TEXT) :]
    blank = rest[: len(rest) - len(rest.lstrip())]
    return blank if call.opening and rest[len(blank) :].startswith(call.opening.strip()) else ""


def _renderings(probe: Probe, prompts: dict[str, str | None], text: str | None) -> dict[str, str]:
    """The renderings that users see: pairs that differ in one respect."""
    renderings: dict[str, str | None] = {
        f"prompt, thinking {state}": prompt for state, prompt in prompts.items()
    }
    renderings["text"] = text
    renderings["one call"] = probe.turn(calls=(ONE,))
    renderings["two calls"] = probe.turn(calls=(ONE, OTHER))
    renderings["no arguments"] = probe.turn(calls=(SampleCall(NAMES[0], {}),))
    renderings["text and call"] = probe.turn(TEXT, (ONE,))
    renderings["reasoning and text"] = probe.turn(TEXT, (), REASON)
    renderings["call and result"] = probe.turn(calls=(ONE,), after=(result(ONE),))
    messages: list[dict[str, Any]] = [{"role": "user", "content": USER}]
    for name, tools in (("prompt with tools", probe.tools), ("prompt without tools", [])):
        with suppress(PromptError):
            renderings[name] = probe.renderer.render(
                messages, tools, thinking=None, add_generation_prompt=True
            )
    return {name: each for name, each in renderings.items() if each is not None}


def form_of(renderer: Renders, ends: Iterable[str] = ()) -> tuple[TurnForm, Derived]:
    """The corrected form of a template's turns, and the derivation.

    `ends` are the texts of the vocabulary's tokens that end a generation; they also end a turn. Raises PromptError if
    no form can be derived.
    """
    try:
        derived = derive(renderer)
        form = correct(derived.form, derived.renderings)
    except ValueError as error:  # a template may write calls in a way that no rule covers
        raise PromptError(
            f"No form of turns can be derived from the template: {error}.", where="Chat template"
        ) from error
    known = tuple(filter(None, ends))
    return replace(form, ends=tuple(dict.fromkeys((*form.ends, *known))), generation_ends=known), derived
