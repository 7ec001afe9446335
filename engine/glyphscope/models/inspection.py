"""The form of a model's turns in its chat template, prepared for display by `models inspect` and the window."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from glyphscope.base.errors import GlyphscopeError, PromptError, Stopped
from glyphscope.base.figures import pluralize
from glyphscope.events import AUTO
from glyphscope.models.gguf import read_token_types
from glyphscope.models.grammar_probe import GrammarProbe
from glyphscope.models.template_environment import Noted
from glyphscope.models.template_lint import faults_of
from glyphscope.models.template_variables import TemplateVariable, variables_of
from glyphscope.models.templates import TemplateSource, limited_work
from glyphscope.models.turn_forms import ASSUMED_END, TemplateRenderer, renderer_of
from glyphscope.processes import limited
from glyphscope.turns import Derived, FormProof, TurnForm, form_of
from glyphscope.turns.lint import Fault
from glyphscope.turns.pairs import Pair, more_renderings, pairs_of
from glyphscope.turns.probe import NAMES
from glyphscope.turns.proving import prove
from glyphscope.turns.slots import Slot, ThinkingState, form_markers, slots_of, thinking_states

TokenKind: TypeAlias = Literal["control", "defined", "text"]
_KINDS: dict[int, TokenKind] = {3: "control", 4: "defined"}
_WORDS: dict[TokenKind, str] = {
    "control": "one special token",
    "defined": "one token, not special",
    "text": "one text token",
}
_SECONDS = 60.0


class MarkerToken(msgspec.Struct, frozen=True):
    """A token. `control`: special, never text; `defined`: added by the maker, but text; `text`: ordinary text."""

    id: int
    text: str
    kind: TokenKind


class TemplateMarker(msgspec.Struct, frozen=True):
    """A marker's tokens in this vocabulary."""

    text: str
    tokens: tuple[MarkerToken, ...]

    @property
    def words(self) -> str:
        """The tokens in words."""
        if len(self.tokens) == 1:
            return _WORDS[self.tokens[0].kind]
        if all(token.kind == "text" for token in self.tokens):
            return f"{len(self.tokens):,} text tokens"
        special = sum(token.kind == "control" for token in self.tokens)
        return f"{pluralize(len(self.tokens), 'token')}, {special} of them special"


class VocabularyMarkers(msgspec.Struct, frozen=True):
    """The markers, and every token at which llama.cpp ends a generation."""

    markers: tuple[TemplateMarker, ...]
    ends: tuple[MarkerToken, ...]

    def surprising_ends(self, ends: Sequence[str], written: Sequence[str]) -> tuple[MarkerToken, ...]:
        """Tokens that end a generation although the file declares them as text and the template never writes them."""
        return tuple(
            token
            for token in self.ends
            if token.kind != "control"
            and token.text not in ends
            and not any(token.text in text for text in written)
        )

    def known_ends(self, ends: Sequence[str]) -> tuple[str, ...]:
        """The form's ends at which llama.cpp stops: they begin with such a token."""
        texts = {token.text for token in self.ends}
        return tuple(end for end in ends if any(end.startswith(text) for text in texts if text))


def find_markers(path: Path, texts: Sequence[str]) -> VocabularyMarkers:
    """The tokens of the texts in the vocabulary of a GGUF. Raises ModelError and ModelDied.

    llama.cpp tokenizes, in a separate process with the file's vocabulary but not its weights. The types of tokens are
    read from the file: llama.cpp treats some texts as ends of a generation whatever their type.
    """
    types = read_token_types(path)
    with GrammarProbe(path, seconds=_SECONDS) as probe:
        tokens = probe.tokens(texts)

    def token(number: int, data: bytes) -> MarkerToken:
        kind = _KINDS.get(types[number], "text") if number < len(types) else "text"
        return MarkerToken(number, data.decode("utf-8", errors="replace"), kind)

    markers = (
        TemplateMarker(text, tuple(token(*each) for each in found))
        for text, found in zip(texts, tokens.texts, strict=True)
    )
    return VocabularyMarkers(tuple(markers), tuple(token(*each) for each in tokens.ends))


_SECONDS_PER_TURN = 0.1
"""The processor time in which a turn of a proof is rendered and read back, twenty times what it usually takes."""


class Inspection(msgspec.Struct, frozen=True):
    """The output of --json. `form` has every slot; `renderings` are the texts it was derived from.

    `drops` are the parts of a turn that the template omits; `faults` those that whole conversations show. `variables`
    are those that its user may set, with what they change. `markers` and `end_tokens` belong to the vocabulary, and are
    empty without one. `proof` has `proved` and the counts; it is None if no proof was run yet.
    """

    form: TurnForm
    reasoning: Any
    ends: tuple[str, ...]
    drops: tuple[str, ...]
    warnings: tuple[str, ...]
    proof: Any
    renderings: dict[str, str]
    pairs: tuple[Pair, ...] = ()
    slots: tuple[Slot, ...] = ()
    thinking: tuple[ThinkingState, ...] = ()
    faults: tuple[Fault, ...] = ()
    arguments_as: str = "object"
    variables: tuple[TemplateVariable, ...] = ()
    markers: tuple[TemplateMarker, ...] = ()
    end_tokens: tuple[MarkerToken, ...] = ()


class Proved(msgspec.Struct, frozen=True):
    """A proof as in `Inspection`, and its warnings."""

    proof: dict[str, Any]
    warnings: list[str]


def inspect_template(template: TemplateSource, vocabulary: Path | None = None) -> Inspection:
    """The form of a template with everything that explains it, except the proof.

    `vocabulary` is a GGUF in whose tokens the markers are shown. One that cannot be read is a warning. Takes some
    tenths of a second, and about one second for the vocabulary: too long for a window's thread. Raises PromptError,
    also for a template that needs too much time or memory, and Stopped.
    """
    inspection = limited_work(_inspected, template)
    if vocabulary is None:
        return inspection
    form = inspection.form
    try:
        found = find_markers(vocabulary, form_markers(form))
    except Stopped:
        raise
    except GlyphscopeError as error:
        unread = f"The markers are not shown as tokens: {error.message}"
        return replace(inspection, warnings=(*inspection.warnings, unread))
    warnings = end_warnings(form, found, tuple(inspection.renderings.values()))
    return replace(
        inspection,
        warnings=(*inspection.warnings, *warnings),
        markers=found.markers,
        end_tokens=found.ends,
    )


def _inspected(template: TemplateSource) -> Inspection:
    renderer = renderer_of(template)
    form, derived = form_of(renderer, renderer.ends)
    renderer.noted.clear()  # of messages in forms that the template does not take
    renderings = derived.renderings | more_renderings(renderer, derived.dialect)
    pairs = pairs_of(renderings)
    return Inspection(
        form=form,
        reasoning=None if form.reasoning is None else msgspec.to_builtins(form.reasoning),
        ends=form.ends,
        drops=derived.drops,
        warnings=(*form_warnings(renderer, form, derived), *_server_warnings(renderer.noted)),
        proof=None,
        renderings=derived.renderings,
        pairs=pairs,
        slots=slots_of(form, {pair.key for pair in pairs if not pair.same}),
        thinking=thinking_states(form),
        faults=_faults(template),
        arguments_as="string" if derived.dialect.as_string else "object",
        variables=() if renderer.stopped else variables_of(replace(template, given="{}", effort=AUTO)),
    )


def _faults(template: TemplateSource) -> tuple[Fault, ...]:
    """The faults; none of a template that cannot be rendered within its limits."""
    with suppress(PromptError):
        return faults_of(template).faults
    return ()


def with_proof(found: Inspection, template: TemplateSource, turns: int) -> Inspection:
    """The same with a proof by that many random turns, and its warnings. Takes about a second for 200 turns.

    Raises PromptError, also for a template that needs too much time or memory, and Stopped.
    """
    seconds = 2 * limited.SECONDS + turns * _SECONDS_PER_TURN
    proved = limited_work(_proved, template, turns, seconds=seconds)
    return replace(found, proof=proved.proof, warnings=(*found.warnings, *proved.warnings))


def _proved(template: TemplateSource, turns: int) -> Proved:
    renderer = renderer_of(template, limited.SECONDS)
    form, derived = form_of(renderer, renderer.ends)
    proof = prove(renderer, derived, form, turns=turns)
    warnings = _proof_warnings(proof)
    if renderer.stopped:
        warnings.append("The template takes too long: not everything was rendered.")
    return Proved({"proved": proof.proved, **msgspec.to_builtins(proof)}, warnings)


def form_warnings(template: TemplateRenderer, form: TurnForm, derived: Derived) -> list[str]:
    """Warnings to read before relying on the form, one sentence each."""
    out = []
    messages = [{"role": "user", "content": "Hello"}]
    with suppress(PromptError):
        twice = {template.render(messages, [], thinking=None, add_generation_prompt=True) for _ in range(2)}
        if len(twice) > 1:
            out.append(
                "The template renders differently each time: nothing that is derived from it is certain."
            )
    if not form.describes_tools:
        out.append("The template describes no tools: the system prompt has to.")
    if "calls" in derived.drops:
        out.append(_without_calls(form, derived))
    if form.reasoning is not None and form.reasoning.prompt.get("off") == "opens":
        out.append("The prompt opens reasoning whether thinking is on or off.")
    if "eos_token" in template.reads and not template.ends:
        out.append(f"The template writes eos_token, and {ASSUMED_END} is assumed for it.")
    if form.calls and form.calls[0].arguments.literals == "python":
        out.append("Values in the history are Python's literals (True, None); both notations are read.")
    return out + [f"It rejects some conversations. {error}" for error in derived.errors[:5]]


def _without_calls(form: TurnForm, derived: Derived) -> str:
    """The consequence of a template that shows no calls, and the reason if no form is known at all."""
    if any(call.strict for call in form.calls):
        return "The template writes no calls of the history: the form of calls is from the table, and not proved."
    written = derived.renderings.get("one call")
    if written is None:
        why = "the template rejects a message with a call"
    elif NAMES[0] not in written:
        why = "the template writes no calls of the history"
    else:
        why = "the template's calls have no structure that can be derived"
    return (
        f"There is no form of calls: {why}, and the correction table has no row for it. "
        "Write the form as a JSON file, or use GLYPH or JSON for the calls."
    )


_OTHERWISE: dict[Noted, str] = {
    "object": "It prints an object as Python writes it. llama-server prints nothing there.",
    "list": "It prints a list as Python writes it. llama-server prints the items without brackets and commas, and "
    "nothing for objects.",
    "none": "It prints a missing value as None. llama-server prints nothing there.",
    "length": "It counts the characters of a text. llama-server counts bytes in UTF-8.",
}


def _server_warnings(noted: set[Noted]) -> list[str]:
    """Warnings about places where llama-server's template engine writes another text than Jinja, which is shown here.

    Measured with build 11549 of llama.cpp.
    """
    return [words for kind, words in _OTHERWISE.items() if kind in noted]


def end_warnings(form: TurnForm, found: VocabularyMarkers, written: tuple[str, ...]) -> list[str]:
    """Warnings about the tokens that end a generation in this vocabulary."""
    out = [
        f"llama.cpp also ends an answer at {token.text} (token {token.id}), which is a text of this vocabulary and no "
        "marker of the template: an answer with that text in it stops there."
        for token in found.surprising_ends(form.ends, written)
    ]
    if form.ends and not found.known_ends(form.ends):
        ends = " or ".join(form.ends)
        out.append(
            f"The template ends a turn with {ends}, at which llama.cpp does not stop: the answer runs on behind it."
        )
    return out


def _proof_warnings(proof: FormProof) -> list[str]:
    out = []
    missing = [value.kind for value in proof.values if not value.expressible]
    if missing:
        out.append(f"The template cannot express {', '.join(missing)}: these are not read back as they were.")
    if proof.left_out:
        out.append(f"The template cannot describe tools with arguments of type {', '.join(proof.left_out)}.")
    if proof.turns and proof.strict < proof.turns:
        out.append(
            f"{proof.turns - proof.strict} of {proof.turns} rendered turns leave the form: the template does not "
            "write in the history what the model writes."
        )
    return out
