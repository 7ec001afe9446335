"""Errors of a chat template, found by rendering conversations of every shape: what it loses, leaves open, or rejects.

An error is what makes the model read something else than the conversation, or another form than it was trained on. A
template that writes no calls is checked without them, which is an error itself if it describes tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from glyphscope.base.errors import PromptError
from glyphscope.base.lines import common_length
from glyphscope.base.shorten import capitalised, excerpt, json_excerpt, listed
from glyphscope.turns.conversations import CALLED, CONVERSATIONS, TOOLS, Said, SampleConversation
from glyphscope.turns.derive import Derived, form_of
from glyphscope.turns.form import TurnForm
from glyphscope.turns.markup import solid_tokens
from glyphscope.turns.probe import FILLER, Renders, SampleCall, TemplateDialect
from glyphscope.turns.proving import Prover

Level: TypeAlias = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = get_args(Level)


class FaultKind(NamedTuple):
    """How bad an error of templates is, and its consequence in a sentence."""

    level: Level
    why: str


FAULTS = {
    "TURN_OPEN": FaultKind("error", "The model reads one turn where there are two."),
    "PROMPT_MISSING": FaultKind("error", "The model does not know that the answer begins here."),
    "BOS_TWICE": FaultKind("error", "No text that the model was trained on begins so."),
    "SYSTEM_DROPPED": FaultKind("error", "The model never reads these instructions."),
    "USER_DROPPED": FaultKind("error", "The model never reads this message."),
    "ANSWER_DROPPED": FaultKind("error", "The model does not know its earlier answer."),
    "CALL_DROPPED": FaultKind(
        "error", "The model does not know that it called the tool, and calls it again."
    ),
    "RESULT_DROPPED": FaultKind("error", "The model never reads the result: it calls again, or invents one."),
    "TOOL_DROPPED": FaultKind("error", "The model cannot call what it does not know."),
    "NAME_CHANGED": FaultKind("error", "The model reads another name than the one that it has to write."),
    "ARGUMENT_CHANGED": FaultKind(
        "error", "The model reads other arguments than it wrote, and imitates them."
    ),
    "RAISES": FaultKind("warning", "Such a conversation ends in an error."),
    "ORDER": FaultKind("warning", "The model reads the messages in another order."),
    "TEXT_DROPPED": FaultKind("warning", "The model does not know what it said next to the call."),
    "REASONING_DROPPED": FaultKind("warning", "The model does not know why it called the tool."),
    "DETAIL_DROPPED": FaultKind("warning", "The model has to guess what the description says."),
    "NULL_PRINTED": FaultKind("warning", "The model reads the word None as a text."),
    "THOUGHTS_DROPPED": FaultKind("note", "The model reads its earlier answers without their reasoning."),
    "CONTROL_TEXT": FaultKind("note", "Such a text ends its turn, and may begin any other."),
}
"""Every code. A usual conversation that raises is an error."""

_MAX_VALUE = 40


class Fault(msgspec.Struct, frozen=True):
    """An error of a template. `conversations` are the keys of those that show it, none if all do; `start` and `end` are
    the characters that show it in the first, both 0 if the whole does.
    """

    code: str
    level: Level
    message: str
    conversations: tuple[str, ...] = ()
    start: int = 0
    end: int = 0

    @property
    def why(self) -> str:
        return FAULTS[self.code].why


class RenderedConversation(msgspec.Struct, frozen=True):
    """A conversation as a template writes it, up to the answer: `bare` is without the generation prompt. Or what the
    template `raised`.
    """

    key: str
    title: str
    text: str = ""
    bare: str = ""
    raised: str = ""


class TemplateLint(msgspec.Struct, frozen=True):
    """The faults, errors first; and all conversations."""

    faults: tuple[Fault, ...]
    conversations: tuple[RenderedConversation, ...]

    def count(self, level: Level) -> int:
        return sum(fault.level == level for fault in self.faults)


def render_conversations(renderer: Renders, dialect: TemplateDialect) -> tuple[RenderedConversation, ...]:
    """Every conversation, as a template of that dialect writes it."""
    return tuple(_rendered(renderer, dialect, each) for each in CONVERSATIONS)


def _rendered(renderer: Renders, dialect: TemplateDialect, asked: SampleConversation) -> RenderedConversation:
    texts = []
    for generate in (True, False):
        try:
            text = renderer.render(
                asked.messages(dialect),
                asked.tools,
                thinking=asked.thinking,
                add_generation_prompt=generate,
            )
        except PromptError as error:
            raised = error.message.removeprefix("The template raises: ")
            return RenderedConversation(asked.key, asked.title, raised=raised)
        texts.append(text.replace(FILLER, "") if dialect.empty == FILLER else text)
    return RenderedConversation(asked.key, asked.title, *texts)


def find_faults(renderer: Renders, bos: str = "") -> TemplateLint:
    """The faults of a template; `bos` is the text of the token that begins a prompt. Raises PromptError for a template
    without a form of turns.
    """
    form, derived = form_of(renderer)
    rendered = render_conversations(renderer, derived.dialect)
    linter = _Linter(renderer, form, derived, {each.key: each for each in rendered}, bos)
    return TemplateLint(tuple(_joined(linter.faults())), rendered)


def _joined(faults: Iterable[Fault]) -> list[Fault]:
    """Each fault once, with all conversations that show it, and errors first."""
    found: dict[tuple[str, str], Fault] = {}
    for fault in faults:
        same = found.setdefault((fault.code, fault.message), fault)
        keys = dict.fromkeys((*same.conversations, *fault.conversations))
        worst = min(same.level, fault.level, key=LEVELS.index)
        found[fault.code, fault.message] = replace(same, conversations=tuple(keys), level=worst)
    return sorted(found.values(), key=lambda fault: LEVELS.index(fault.level))


class _Place(NamedTuple):
    """The characters of a message's text in a rendering; `start` is -1 if it is not there."""

    start: int
    end: int


class _Linter:
    def __init__(
        self,
        renderer: Renders,
        form: TurnForm,
        derived: Derived,
        rendered: dict[str, RenderedConversation],
        bos: str,
    ) -> None:
        self._renderer, self._form, self._derived, self._bos = renderer, form, derived, bos
        self._rendered = rendered
        self._calls = "calls" not in derived.drops
        self._writes_reasoning = form.reasoning is not None and form.reasoning.derived == "rendered"
        self._header = form.header.strip()
        self._close = self._closing()
        self._continues = self._continued()

    def faults(self) -> Iterator[Fault]:
        for asked in CONVERSATIONS:
            shown = self._rendered[asked.key]
            if asked.has_calls and not self._calls:
                continue
            if shown.raised:
                level: Level = "error" if asked.usual else "warning"
                yield Fault("RAISES", level, f"The template raises: {shown.raised}", (asked.key,))
                continue
            yield from self._written(asked, shown.text)
            yield from self._turns(asked, shown)
        yield from self._whole()

    # -- what every rendering has --------------------------------------------------------------------------------

    def _written(self, asked: SampleConversation, text: str) -> Iterator[Fault]:
        """Faults of contents that are missing or at another place."""
        at, after = 0, ""
        for said in asked.said:
            place = _found(said.text or "", text, at)
            if said.text and place.start < 0:
                anywhere = _found(said.text, text, 0)
                if anywhere.start < 0:
                    yield self._dropped(said, asked)
                else:
                    words = f"“{excerpt(said.text)}” is written before “{after}”"
                    yield _fault("ORDER", words, asked.key, *anywhere)
            yield from self._calls_written(said, asked, text, at)
            if said.reasoning and said.reasoning not in text and self._writes_reasoning:
                code = "REASONING_DROPPED" if said.calls else "THOUGHTS_DROPPED"
                of = "before the call" if said.calls else "of an earlier turn"
                yield _fault(code, f"The reasoning {of} is not in the prompt", asked.key)
            if place.start >= 0 and said.text:
                at, after = place.end, excerpt(said.text)

    def _dropped(self, said: Said, asked: SampleConversation) -> Fault:
        kind = {"system": "SYSTEM", "user": "USER", "tool": "RESULT", "assistant": "ANSWER"}[said.role]
        code = "TEXT_DROPPED" if said.calls else f"{kind}_DROPPED"
        return _fault(code, f"“{excerpt(said.text or '')}” is not in the prompt", asked.key)

    def _calls_written(self, said: Said, asked: SampleConversation, text: str, at: int) -> Iterator[Fault]:
        for call in said.calls:
            if _found(_mark(call), text, at).start < 0:
                yield _fault("CALL_DROPPED", f"The call of {call.name} is not in the prompt", asked.key)
            elif changed := [name for name in (call.name, *call.arguments) if name not in text[at:]]:
                yield _fault(
                    "NAME_CHANGED", f"{listed(changed, 3)} of a call is written otherwise", asked.key
                )

    # -- turns -----------------------------------------------------------------------------------------------------

    def _turns(self, asked: SampleConversation, shown: RenderedConversation) -> Iterator[Fault]:
        text = shown.text
        if self._bos and text.startswith(self._bos * 2):
            yield _fault("BOS_TWICE", f"Begins with {self._bos} twice", asked.key, 0, 2 * len(self._bos))
        for start, end in self._own_turns(asked, text) if self._close else ():
            if self._close not in text[start:end]:
                words = f"The turn of the assistant is not closed by {self._close}"
                yield _fault("TURN_OPEN", words, asked.key, start, end)
        yield from self._open_call(asked, shown)
        if not self._header or self._header not in self._rendered["question"].text:
            return
        last = max((_found(said.text or "", text, 0).end for said in asked.said if said.text), default=0)
        closed = bool(self._close) and text.rstrip().endswith(self._close)
        missing = self._header not in text[last:] and not (self._continues and asked.said[-1].role == "tool")
        if (closed or missing) and last:
            yield _fault(
                "PROMPT_MISSING", f"The prompt does not end with {self._header}", asked.key, last, len(text)
            )

    def _open_call(self, asked: SampleConversation, shown: RenderedConversation) -> Iterator[Fault]:
        """A call that nothing closes before a result which is a separate turn."""
        last, calls = asked.said[-1], asked.said[-2:][0].calls
        if not self._close or not calls or last.role != "tool" or not last.text:
            return
        text = shown.bare
        asks = next((said.text for said in asked.said if said.role == "user"), None)
        start = _found(_mark(calls[-1]), text, _found(asks, text, 0).end if asks else 0).end
        result = _found(last.text, text, start)
        closed = any(end in text[start : result.start] for end in {self._close, *self._form.ends})
        if start >= 0 and self._close in text[result.end :] and not closed:
            words = f"The turn of the assistant is not closed by {self._close}"
            yield _fault("TURN_OPEN", words, asked.key, text.rfind(self._header, 0, start), result.end)

    def _own_turns(self, asked: SampleConversation, text: str) -> Iterator[tuple[int, int]]:
        """The characters from an assistant's header up to the next text of the user, or the generation prompt."""
        begun = answered = 0
        for said in asked.said:
            answered += said.role == "assistant"
            if said.role != "user" or not said.text:
                continue
            place = _found(said.text, text, begun)
            start = text.find(self._header, begun, place.start)
            if answered and start >= 0:
                yield start, place.start
            begun, answered = place.end, 0
        start, end = text.find(self._header, begun), text.rfind(self._header)
        if answered and self._header and start < end:
            yield start, end

    def _closing(self) -> str:
        """The marker that closes a turn of the assistant; empty if the next turn's first marker does."""
        answered = self._rendered["answered"]
        if answered.raised:
            return ""
        alone = SampleConversation("", "", CONVERSATIONS[1].said[:2], offers=False)
        shown = _rendered(self._renderer, self._derived.dialect, alone)
        said = CONVERSATIONS[1].said[1].text or ""
        closed = solid_tokens(shown.bare.partition(said)[2])
        if not closed:
            return ""
        after = solid_tokens(answered.text.partition(said)[2])
        return after[max(common_length(closed, after), 1) - 1]

    def _continued(self) -> bool:
        """Whether an answer after a result belongs to the same turn as the call."""
        shown = self._rendered["result and answer"]
        _, found, rest = shown.text.partition("platform 7.")
        return bool(found) and self._header not in rest.partition("You can leave")[0]

    # -- the whole template ----------------------------------------------------------------------------------------

    def _whole(self) -> Iterator[Fault]:
        yield from self._empty_result()
        yield from self._null()
        yield from self._tools()
        yield from self._arguments()
        yield from self._control_text()

    def _empty_result(self) -> Iterator[Fault]:
        """An empty result that leaves no trace."""
        shown, full = self._rendered["empty result"], self._rendered["result"]
        called = _rendered(self._renderer, self._derived.dialect, CALLED)
        if self._calls and not (shown.raised or called.raised) and shown.bare == called.bare != full.bare:
            yield _fault("RESULT_DROPPED", "An empty result is not in the prompt", shown.key)

    def _null(self) -> Iterator[Fault]:
        shown = self._rendered["null"]
        at = shown.text.find("None")
        if self._calls and at >= 0:
            yield _fault("NULL_PRINTED", "The missing text is written as None", shown.key, at, at + 4)

    def _tools(self) -> Iterator[Fault]:
        shown = self._rendered["tools"]
        if not self._form.describes_tools:
            if self._calls:
                yield _fault("TOOL_DROPPED", "No tool is in the prompt", shown.key)
            return
        if not self._calls:
            yield _fault(
                "CALL_DROPPED", "Tools are described, but no call of the conversation is written", "result"
            )
        if shown.raised:
            return
        lost: dict[str, list[str]] = {}
        for tool in TOOLS:
            for code, words, text in _details(tool["function"]):
                if _found(text, shown.text, 0).start < 0:
                    lost.setdefault(code, []).append(words)
        for code, details in lost.items():
            yield _fault(code, f"Not in the prompt: {listed(details, 6)}", shown.key)

    def _arguments(self) -> Iterator[Fault]:
        if not self._calls or not self._form.calls:
            return
        for value in Prover(self._renderer, self._derived, self._form).values:
            if not value.expressible:
                lost = value.read is None
                read = "is lost" if lost else f"is read back as {json_excerpt(value.read, _MAX_VALUE)}"
                example = json_excerpt(value.example, _MAX_VALUE)
                yield _fault("ARGUMENT_CHANGED", f"{capitalised(value.kind)} in a call, {example}, {read}")

    def _control_text(self) -> Iterator[Fault]:
        """A text of the user that has the template's own markers."""
        markers = self._close or next(iter(solid_tokens(self._header)), "")
        if not markers:
            return
        words = f"before {markers} after"
        asked = SampleConversation("control text", "", (Said("user", words),), offers=False)
        if words in _rendered(self._renderer, self._derived.dialect, asked).text:
            yield _fault("CONTROL_TEXT", f"{markers} in a text of the user is written unchanged")


def _fault(code: str, message: str, conversation: str = "", start: int = 0, end: int = 0) -> Fault:
    keys = (conversation,) if conversation else ()
    sentence = message if message.endswith(".”") else f"{message}."
    return Fault(code, FAULTS[code].level, sentence, keys, start, end)


def _mark(call: SampleCall) -> str:
    """A text that shows a call: its first argument that is one, or its name."""
    return next((value for value in call.arguments.values() if isinstance(value, str)), call.name)


def _found(words: str, text: str, at: int) -> _Place:
    """The first place of the words from there on, also as a text in JSON."""
    for written in dict.fromkeys(
        (words, json.dumps(words, ensure_ascii=False)[1:-1], json.dumps(words)[1:-1])
    ):
        start = text.find(written, at)
        if start >= 0:
            return _Place(start, start + len(written))
    return _Place(-1, -1)


def _details(function: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The contents of a prompt about a tool: the code of its loss, its words, and its text."""
    name = function["name"]
    yield "TOOL_DROPPED", f"the tool {name}", name
    yield "DETAIL_DROPPED", f"the description of {name}", function["description"]
    yield from _schema_details(function["parameters"])


def _schema_details(schema: dict[str, Any], of: str = "") -> Iterator[tuple[str, str, str]]:
    code = "DETAIL_DROPPED" if of else "TOOL_DROPPED"
    for name, below in schema.get("properties", {}).items():
        yield code, f"the argument {name}{of}", name
        yield "DETAIL_DROPPED", f"the description of {name}{of}", below["description"]
        for value in below.get("enum", ()):
            yield "DETAIL_DROPPED", f"the value {value} of {name}", value
        yield from _schema_details(below, f" in {name}")
        if "items" in below:
            yield "DETAIL_DROPPED", f"the description of the items of {name}", below["items"]["description"]
