"""Derive the beginning of a turn: its header, the prompt's text after it, and the markers of reasoning."""

from __future__ import annotations

import re
from functools import reduce
from typing import NamedTuple

from msgspec.structs import replace

from glyphscope.turns.derive_calls import ONE, FoundCalls
from glyphscope.turns.form import PromptPart, ReasoningForm
from glyphscope.turns.markup import (
    closes,
    common_prefix,
    common_suffix,
    is_tag,
    last_tag,
    mirror_of,
    mirrors,
    solid_tokens,
    through_solid,
    tokens,
)
from glyphscope.turns.probe import REASON, REASONING_KEYS, TEXT, Probe

_PLAIN_TAG = re.compile(r"<[a-z]+>")
"""A tag of letters only, which a prompt leaves open at its end for the model to continue."""
_JSON_CHUNK = re.compile(r"""["']thinking["']\s*:""")
"""Chunks of content that a template does not know and writes unchanged."""

_FAR = 200
"""Characters of a prompt after the common header: more than the beginning of a turn has."""


class _Thought(NamedTuple):
    """A turn with reasoning: the texts before and after the reasoning, and the next part: "text" or "call"."""

    before: str
    between: str
    following: str


class Heading(NamedTuple):
    """`header` begins every turn; `prompts`, and the text `begun` after the header, are by state of thinking."""

    header: str
    prompts: dict[str, str]
    begun: dict[str, str]
    reasoning: ReasoningForm | None

    def lead_of(self, text: str) -> str:
        """The header and an empty reasoning, as far as a text begins with them."""
        at = text.find(self.header)
        if at < 0:
            return ""
        lead = text[: at + len(self.header)]
        if self.reasoning is None:
            return lead
        rest = text[len(lead) :]
        opening, closing = self.reasoning.open.strip(), self.reasoning.close.strip()
        stripped = rest.lstrip()
        if closing and stripped.startswith(closing):
            end = rest.index(closing) + len(closing)
        elif opening and stripped.startswith(opening) and closing in rest:
            end = rest.index(closing) + len(closing)
            if rest[rest.index(opening) + len(opening) : end - len(closing)].strip():
                return lead
        else:
            return lead
        tail = self.reasoning.close[self.reasoning.close.index(closing) + len(closing) :]
        while tail and not rest.startswith(tail, end):
            tail = tail[:-1]
        return lead + rest[: end + len(tail)]


def derive_heading(
    probe: Probe, prompts: dict[str, str], text: str | None, found: FoundCalls | None
) -> Heading:
    """Header and reasoning from the prompts of three states, a turn of text, and turns with reasoning."""
    before_text = text[: text.index(TEXT)] if text else None
    known = [prompt for prompt in prompts.values() if prompt]
    rendered = _with_reasoning(probe, found)
    sides = [*known, *([before_text] if before_text is not None else [])]
    if rendered is not None:
        sides.append(rendered.before)
    header = reduce(common_prefix, sides) if sides else ""
    # a prompt may continue with a different message's header than the turn
    far = before_text and any(len(prompt) > len(header) + _FAR for prompt in known)
    if far or (before_text is not None and known and not header.strip()):
        header = reduce(common_suffix, known, before_text or "")
        prompts = {state: _from(prompt, header) for state, prompt in prompts.items()}
    reasoning, header = (
        _rendered(rendered, header, prompts, before_text, found)
        if rendered is not None
        else _from_prompts(header, prompts)
    )
    prompts = {state: _from(prompt, header) for state, prompt in prompts.items()}
    begun = {state: prompt[len(header) :] for state, prompt in prompts.items() if prompt.startswith(header)}
    if reasoning is not None:
        reasoning = replace(reasoning, prompt={s: _part(reasoning, b) for s, b in begun.items()})
    return Heading(header, prompts, begun, reasoning)


def _from(prompt: str, header: str) -> str:
    at = prompt.rfind(header)
    return prompt[at:] if at >= 0 else prompt


def _with_reasoning(probe: Probe, found: FoundCalls | None) -> _Thought | None:
    """The first way of writing a turn with reasoning that the template keeps; None if it drops reasoning."""
    for key in REASONING_KEYS:
        probe.dialect = probe.dialect._replace(reasoning=key)
        for thinking in (None, True):
            for kind in ("text", "call"):
                if kind == "call" and found is None:
                    continue
                word = TEXT if kind == "text" else ONE.name
                text, calls = (TEXT, ()) if kind == "text" else ("", (ONE,))
                written = probe.turn(text, calls, REASON, thinking=thinking)
                if written is None or REASON not in written or word not in written:
                    continue
                at = written.index(REASON)
                stop = written.index(word)
                between = written[at + len(REASON) : stop]
                if _JSON_CHUNK.search(written):
                    continue
                if stop > at and between.strip():
                    return _Thought(written[:at], between, kind)
    probe.dialect = probe.dialect._replace(reasoning=REASONING_KEYS[0])
    return None


def _rendered(
    rendered: _Thought,
    header: str,
    prompts: dict[str, str],
    before_text: str | None,
    found: FoundCalls | None,
) -> tuple[ReasoningForm | None, str]:
    """Reasoning as rendered in a turn, and the header without the part that belongs to the opening."""
    before, between, following = rendered
    opening = before[len(header) :]
    if not opening.strip():
        begun = [p[len(header) :] for p in prompts.values() if p[len(header) :].strip()]
        tag = last_tag(header)
        plain = [b for b in begun if not closes(next((t for t in tokens(b) if is_tag(t)), "."))]
        if plain and not any(is_tag(t) for t in tokens(plain[0])):
            opening = plain[0]
        elif tag and any(mirrors(tag.strip(), t) for t in tokens(between)):
            opening, header = tag, header[: len(header) - len(tag)]
        elif plain:
            opening = plain[0]
    parts = solid_tokens(opening)
    if parts and not is_tag(parts[0]) and any(map(is_tag, parts)) and last_tag(header):
        tag = last_tag(header)
        opening, header = tag + opening, header[: len(header) - len(tag)]
    closing = _closing(between, opening, following, before_text, header, found)
    if not closing.strip():
        return None, header
    return ReasoningForm(open=opening, close=closing), header


def _closing(
    between: str, opening: str, following: str, before_text: str | None, header: str, found: FoundCalls | None
) -> str:
    """The closing marker of reasoning: everything up to the text or call, except markers that always precede these."""
    openings, after = solid_tokens(opening), solid_tokens(between)
    if openings and after and mirrors(openings[0], after[0]) and len(openings) <= len(after):
        closing = through_solid(between, len(openings) if is_tag(openings[-1]) else 1)
        return between[: len(between) - len(between[len(closing) :].lstrip())]
    if following == "text" and before_text is not None:
        extra = before_text[len(header) :]
        own = common_suffix(between, extra)
        if own.strip() and own != between:
            return between[: len(between) - len(own)]
        return between
    if found is not None:
        opened = common_suffix(between, found.form.opening)
        if opened.strip():
            return between[: len(between) - len(opened)]
    return between


def _from_prompts(header: str, prompts: dict[str, str]) -> tuple[ReasoningForm | None, str]:
    """Reasoning that the history drops but the prompt shows, opened in one state and closed in another; and the header
    without the part that belongs to it.
    """
    longest = max((prompt for prompt in prompts.values()), key=len, default="")
    parts = solid_tokens(longest[len(common_prefix(header, longest)) :])
    tag = last_tag(header).strip()
    for place, token in enumerate(parts):
        if is_tag(token) and closes(token):
            opening = parts[place - 1] if place else tag
            if place > 1 and not is_tag(opening) and mirrors(parts[place - 2], token):
                start = longest.rindex(parts[place - 2])  # a word after the tag belongs to the opening
                return ReasoningForm(
                    longest[start : longest.index(token, start)], token, derived="prompt"
                ), header
            if not mirrors(opening, token):
                continue
            if not place:
                header = header[: header.rindex(tag)]
            return ReasoningForm(_full(prompts, opening), token, derived="prompt"), header
    if not parts and _PLAIN_TAG.fullmatch(tag):
        header = header[: header.rindex(tag)]
        return ReasoningForm(_full(prompts, tag), mirror_of(tag), derived="prompt"), header
    for token in parts:
        if is_tag(token):
            return ReasoningForm(_full(prompts, token), mirror_of(token), derived="prompt"), header
    return None, header


def _full(prompts: dict[str, str], tag: str) -> str:
    """The marker with the white space that a prompt writes after it when it opens reasoning."""
    for prompt in prompts.values():
        if prompt.rstrip().endswith(tag):
            return prompt[prompt.rindex(tag) :]
    return tag


def _part(reasoning: ReasoningForm, begun: str) -> PromptPart:
    """The last marker of reasoning in the part of the turn that the prompt has begun."""
    opened = begun.rfind(reasoning.open.strip()) if reasoning.open.strip() else -1
    closed = begun.rfind(reasoning.close.strip())
    if closed > opened or (closed >= 0 and opened < 0):
        return "closes"
    return "opens" if opened >= 0 else "leaves"
