"""Converts the chunks of an answer to a run's steps and counts, and detects an ignored constraint.

A step is a token if the endpoint sends its tokens, otherwise a piece. The figures are the endpoint's; a probability
that it does not send is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from glyphscope.base.errors import ConstraintIgnored, ModelError
from glyphscope.base.figures import pluralize
from glyphscope.events import Alternative, PrefixPart, TokenStep, Violation
from glyphscope.events.encoding import whole_text
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.match.earley import MatchLimit
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.models.decoding.text import shown, text_decoder
from glyphscope.models.interface import GenerateRequest, Output, Usage
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.chunks import UNSAID, Chunk, Likely
from glyphscope.models.remote.dialect import Dialect
from glyphscope.models.remote.fields import EndpointConstraint
from glyphscope.models.remote.parts import PartWriter
from glyphscope.validation.value import ValueValidator

_ENFORCED_BY_ALL = frozenset(
    {"SYNTAX", "LEADING_TEXT", "TRAILING_TEXT", "TYPE_MISMATCH", "CONSTRAINT_ENUM", "UNKNOWN_ARGUMENT"}
)
_SHOWN = 60
HINT = (
    "Name the server's dialect in the address (?dialect=…), or use --constraint off to see the model alone."
)


class _Reader(Protocol):
    def feed(self, text: str) -> int | None:
        """The index of the first excluded character; None while there is none."""

    def may_end(self) -> bool:
        """Whether the text may end here."""


class Watch:
    """Checks, while an answer is streamed, whether the endpoint enforces the constraint that it was sent.

    A grammar is exact: the first character that it excludes proves that it was not enforced. Engines differ in the
    keywords of JSON Schema that they enforce (a number's range, a pattern), but all of them enforce JSON syntax, types,
    names and enumerations, and only these are proof. Other violations are left to the validator. Raises
    ConstraintIgnored at the first proof; calls are counted at the answer's end, so that they are seen.
    """

    def __init__(self, request: GenerateRequest, constraint: EndpointConstraint, title: str) -> None:
        self._constraint, self._title = constraint, title
        self._choice, self._most_calls = request.tool_choice, request.most_calls
        self._reader = _reader(request, constraint)
        self._text = ""
        self._last = ""

    def feed(self, text: str) -> None:
        """The next piece of the answer's text."""
        if self._reader is None:
            return
        self._text += text
        excluded = self._reader.feed(text)
        if excluded is not None:
            twice = (
                " The piece before it was the same: it may send pieces twice." if text == self._last else ""
            )
            beginning = self._text[max(0, excluded - 20) : excluded]
            raise self._ignored(
                f"at character {excluded} it wrote {self._text[excluded : excluded + _SHOWN]!r}"
                + (f" after {beginning!r}" if beginning else "")
                + f", which what was sent in {self._constraint.field} excludes.{twice}"
            )
        self._last = text

    def end(self, calls: int) -> None:
        """The answer, with this number of calls, ended by itself, not at its length."""
        if self._constraint.enforced == "tools":
            self._check(calls)
        if self._reader is not None and not self._reader.may_end():
            shown = f" after {self._text[-_SHOWN:]!r}" if self._text else " before its first character"
            raise self._ignored(f"its text ended{shown}, where the constraint allows no end.")

    def _check(self, calls: int) -> None:
        if self._choice == "none" and calls:
            raise self._ignored("it called a tool, which tool_choice (none) forbids.", _OF_CALLS)
        if self._choice not in ("auto", "none") and not calls:
            raise self._ignored("it answered without a call, though tool_choice was required.")
        if self._most_calls == 1 and calls > 1:
            raise self._ignored(f"it made {calls} calls, though parallel_tool_calls was false.", _OF_CALLS)

    def _ignored(self, how: str, hint: str = HINT) -> ConstraintIgnored:
        return ConstraintIgnored(f"The endpoint ({self._title}) ignored the constraint: {how}", hint=hint)


class _GrammarReader:
    def __init__(self, text: str) -> None:
        self._state = compile_grammar(load_gbnf(text, where="the grammar sent")).start()
        self._read = True

    def feed(self, text: str) -> int | None:
        if not self._read:
            return None
        try:
            self._state = self._state.feed(text)
        except MatchLimit:  # too ambiguous to follow; the validator judges the text anyway
            self._read = False
            return None
        return self._state.failed_at

    def may_end(self) -> bool:
        return not self._read or self._state.accepted


class _SchemaReader:
    def __init__(self, schema: dict[str, Any]) -> None:
        self._validator = ValueValidator(schema)
        self._wrong = False

    def feed(self, text: str) -> int | None:
        for event in self._validator.feed(text):
            if isinstance(event, Violation) and not self._wrong:
                self._wrong = True
                if event.code in _ENFORCED_BY_ALL:
                    return event.char
        return None

    def may_end(self) -> bool:
        return self._wrong or self._validator.complete


def _reader(request: GenerateRequest, constraint: EndpointConstraint) -> _Reader | None:
    if constraint.enforced == "grammar" and request.grammar is not None:
        return _GrammarReader(request.grammar)
    if constraint.enforced == "schema" and request.schema is not None:
        return _SchemaReader(request.schema)
    return None


_CUT = frozenset(
    {
        "content_filter",
        "abort",
        "error",
        "cancelled",
        "insufficient_system_resource",
        "network_error",
        "safety",
    }
)
_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_MORE_STEPS = 16
"""Steps that an answer may have beyond the requested tokens: its end, and a character in parts."""
_OF_CALLS = (
    "Check the calls before they are executed: this server does not keep to what a request says of them."
)


class ChatStreamDecoder:
    """The decoder of one answer: `feed` each chunk, then `end`."""

    def __init__(
        self, request: GenerateRequest, constraint: EndpointConstraint, dialect: Dialect, address: Address
    ) -> None:
        self._request, self._dialect, self._address = request, dialect, address
        self._watch = Watch(request, constraint, dialect.title)
        self._maker = StepMaker(request.alternatives)
        self._parts = PartWriter()
        self._usage: Usage | None = None
        self._characters = self._reasoning = self._received = 0
        self._finish = ""
        self._answered = False

    def prefix(self) -> tuple[TokenStep, ...]:
        """The prefix of the answer, before any text of the endpoint; it has no figures."""
        return self._maker.written(self._request.written)

    def feed(self, chunk: Chunk) -> Iterator[Output]:
        """Raises GrammarError before yielding text that the constraint excludes; ModelError if it is too long."""
        if chunk.usage is not None and chunk.usage != self._usage:
            self._usage = chunk.usage
            yield chunk.usage
        self._received += chunk.characters
        self._reasoning += len(chunk.reasoning)
        self._finish = self._finish or chunk.finish
        if self._request.tools:  # only an answer in the endpoint's own form has a place for reasoning
            yield from self._written(self._parts.reasoning(chunk.reasoning))
        if chunk.text or chunk.tokens:
            self._answered = True
            self._watch.feed(chunk.text)
            text = self._parts.text(chunk.text)
            yield from self._steps(self._maker.steps(text, chunk.tokens if text == chunk.text else ()))
        for piece in chunk.calls:
            self._answered = True
            yield from self._written(self._parts.call(piece))
        self._check_length()

    def end(self) -> Iterator[Output]:
        """The answer's last step, if it ended by itself. Raises GrammarError and ModelError."""
        yield from self._written(self._parts.end())
        if self._finish.lower() in _CUT:
            raise ModelError(
                f"The endpoint aborted its answer ({self._finish}), "
                f"after {pluralize(self._characters, 'character')}.",
                where=str(self._address),
                hint="Its content filter or its operator ended it: change the prompt, or use another endpoint.",
            )
        if self._reasoning and not self._answered:
            raise ModelError(
                f"The endpoint sent {pluralize(self._reasoning, 'character')} of reasoning and no answer.",
                where=str(self._address),
                hint="Allow more tokens (--max-tokens), or turn its thinking off (--thinking off, or at the server).",
            )
        if not self._cut:
            self._watch.end(self._parts.calls)
            yield (self._maker.end(),)

    @property
    def _cut(self) -> bool:
        """Whether the token limit ended the answer."""
        if self._finish == UNSAID:
            return self._usage is not None and (self._usage.tokens or 0) >= self._request.max_tokens
        return self._finish.lower() in _LENGTH

    @property
    def _step_count(self) -> int:
        """The number of steps that the endpoint sent."""
        return self._maker.count - len(self._request.written)

    def _written(self, text: str) -> Iterator[Output]:
        """The steps of the text written for parts that the endpoint sends separately."""
        return self._steps(self._maker.steps(text, ()) if text else ())

    def _steps(self, steps: tuple[TokenStep, ...]) -> Iterator[Output]:
        if not steps:
            return
        self._characters += sum(len(step.text) for step in steps)
        self._check_length()
        yield steps

    def _check_length(self) -> None:
        """Also counts data without a step: reasoning, a name that does not end, calls that wait for others."""
        most = self._request.max_tokens
        if self._step_count > 2 * most + _MORE_STEPS or self._received > max(1 << 20, 256 * most):
            raise ModelError(
                f"The endpoint continues beyond the {most:,} tokens that it was asked for.",
                where=str(self._address),
                hint="Does it send its chunks repeatedly? See the server's log.",
            )


class StepMaker:
    """Numbers the steps of one answer."""

    def __init__(self, alternatives: int) -> None:
        self._alternatives = alternatives
        self.count = 0
        """The steps so far."""
        self._decoder = text_decoder()
        self._half = ""
        self._spelled: dict[int, bytes] = {}
        """The bytes of tokens by their ids, as the alternatives have shown them."""

    def written(self, written: Sequence[PrefixPart]) -> tuple[TokenStep, ...]:
        """The steps of the answer's prefix. They are numbered with the others."""
        return tuple(
            TokenStep(
                index=self._next(),
                id=one.id,
                data=one.data,
                text=self._decoder.decode(one.data),
                probability=None,
                piece=one.id < 0,
                origin="kept" if one.kept else "written",
            )
            for one in written
        )

    def steps(self, text: str, tokens: tuple[Likely, ...]) -> tuple[TokenStep, ...]:
        """The steps of one chunk; their joined texts are its text.

        Tokens that do not spell the text, because a server leaves some of it out, are left out.
        """
        text = self._whole(text)
        texts = [self._decoder.decode(token.data) for token in tokens]
        if tokens and "".join(texts) == text:
            return tuple(self._token(token, text) for token, text in zip(tokens, texts))
        self._decoder = text_decoder()
        return (self._piece(text),) if text else ()

    def end(self) -> TokenStep:
        """The answer's end, which the endpoint reported."""
        return self._piece("", end=True)

    def _whole(self, text: str) -> str:
        """The text with surrogate pairs joined: some servers send each surrogate as an escape in a separate chunk."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole_text(text)

    def _token(self, token: Likely, text: str) -> TokenStep:
        if self._is_joined(token):
            return self._piece(text)
        others = sorted(token.others, key=lambda other: -other.logprob)[: self._alternatives]
        rank = next((place for place, other in enumerate(others) if other.data == token.data), None)
        return TokenStep(
            index=self._next(),
            id=token.id,
            data=token.data,
            text=text,
            logprob=token.logprob,
            rank=rank,
            probability=None,
            alternatives=tuple(_alternative(other) for other in others),
        )

    def _is_joined(self, token: Likely) -> bool:
        """Whether an entry stands for several tokens: llama-server joins those of a character, and those that it keeps
        back as the beginning of a stop text. The id, the log-probability and the alternatives are the last one's.
        """
        self._spelled.update((other.id, other.data) for other in token.others if other.id >= 0)
        last = self._spelled.get(token.id)
        if last is not None:
            return last != b"" and last != token.data and token.data.endswith(last)
        if token.data.isascii() or _begins_inside(token.data):
            return False
        if not token.others:
            return token.id >= 0  # from llama-server, and nothing shows which tokens it has
        return all(other.data != token.data for other in token.others) and any(
            _begins_inside(other.data) for other in token.others
        )

    def _piece(self, text: str, *, end: bool = False) -> TokenStep:
        return TokenStep(
            index=self._next(), id=-1, data=text.encode(), text=text, probability=None, piece=True, end=end
        )

    def _next(self) -> int:
        """The number of the next step."""
        self.count += 1
        return self.count - 1


def _begins_inside(data: bytes) -> bool:
    """Whether bytes begin inside a character in UTF-8."""
    return data[:1] != b"" and 0x80 <= data[0] < 0xC0


def _alternative(token: Likely) -> Alternative:
    return Alternative(
        id=token.id,
        data=token.data,
        text=shown(token.data),
        raw=math.exp(token.logprob),
        final=None,
        allowed=None,
    )
