"""The interface of a model: text in, evidence of each token out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import msgspec

from glyphscope.errors import ModelError
from glyphscope.events import (
    ConstraintKind,
    EvidenceKind,
    Message,
    ModelInfo,
    PrefixPart,
    Sampling,
    Thinking,
    TokenStep,
)
from glyphscope.turns import TurnForm


class GenerateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One generation. `grammar` is Lark for `mask`, GBNF for `gbnf` and `endpoint`.

    `messages` and `tools` (in OpenAI's form) are what `prompt` was rendered from, with `thinking`, and `begun` is how
    the answer begins in it: an endpoint is sent these, as its template is its own; any other model reads the prompt
    alone. `schema` is the constraint as JSON Schema, for an endpoint that takes no grammar; None where none says it.
    `alternatives` are reported for each token that has `evidence`. `build_ms` is what making the grammar's
    text took, 0 where it was kept; the model has no use for it. `repeatable` is the request's (`RunRequest`).
    `written` is what the answer begins with: its tokens come as the first step, and `max_tokens` after it.
    With `triggers`, a grammar in GBNF is enforced from where the answer writes one of these texts; it begins so.
    `stop` are strings that end the answer: an endpoint is sent them, and whoever reads the tokens looks for them.
    `tool_choice` and `most_calls` are the request's too: an endpoint that is sent `tools` is asked for them.
    """

    prompt: str
    constraint: ConstraintKind = "off"
    grammar: str | None = None
    triggers: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    messages: tuple[Message, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str = "required"
    most_calls: int | None = 1
    thinking: Thinking = "auto"
    begun: str = ""
    sampling: Sampling = Sampling()
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    alternatives: int = 10
    evidence: EvidenceKind = "all"
    build_ms: float = 0.0
    repeatable: bool = False
    written: tuple[PrefixPart, ...] = ()
    rules: bytes = b""
    near: int | None = None
    reasoning_budget: int | None = None


class RenderedPrompt(msgspec.Struct, frozen=True):
    """Messages in the model's chat template; `note` says where it could not take them as given.

    `added` is what the template wrote for the tools that it was given. `tokens` is 0 where that is not known: an
    endpoint counts them only when it answers.
    """

    text: str
    tokens: int
    note: str = ""
    added: str = ""


class Vocabulary(msgspec.Struct, frozen=True):
    """The bytes of the model's tokens, by id; b"" for tokens without text. `names` are the control tokens."""

    tokens: tuple[bytes, ...] = ()
    names: dict[str, int] = {}


class PromptProgress(msgspec.Struct, frozen=True):
    """Evaluation of the prompt: `done` of `total` tokens after `ms` milliseconds; the first is what was cached.

    `restored` of those that were cached, in the first, were read from disk: another process had evaluated them.
    `note` is what is to be said beside the prompt of how it was sent, where it was sent; both are 0 there.
    """

    done: int
    total: int
    ms: float
    note: str = ""
    restored: int = 0


class ConstraintMade(msgspec.Struct, frozen=True):
    """The compilation of a constraint. `key` is the digest of grammar and vocabulary in the cache.

    `hit`: it was compiled before; if not, compiling took `compile_ms` milliseconds.
    """

    key: str
    hit: bool
    compile_ms: float


class PromptReady(msgspec.Struct, frozen=True):
    """The prompt is in the context: `cached` of its `tokens` were there before, the others took `ms` milliseconds.

    `constraint` is None for a generation without one, and where nothing was compiled.
    """

    tokens: int
    cached: int
    ms: float
    constraint: ConstraintMade | None = None


class Usage(msgspec.Struct, frozen=True):
    """The counts that an endpoint reports: the last one counts. None is not reported."""

    prompt: int | None = None
    cached: int | None = None
    tokens: int | None = None


class Cancelled(msgspec.Struct, frozen=True):
    """The last item of a generation that `cancel` ended."""


Output: TypeAlias = PromptProgress | PromptReady | tuple[TokenStep, ...] | Usage | Cancelled


class OneAtATime:
    """The right to generate, of one thread at a time: another one waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Waits for the generation of another thread. Raises ModelError where this thread has one already."""
        here = threading.get_ident()
        if self._owner == here:
            raise ModelError(
                "The model is still generating in this thread.",
                hint="Close the generation before the next one.",
            )
        with self._lock:
            self._owner = here
            try:
                yield
            finally:
                self._owner = None


class Opening:
    """Receives the loaded share of a model, as a `progress`; any thread can end the loading with it at once."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._end: Callable[[], None] | None = None
        self.cancelled = False

    def __call__(self, share: float) -> None:
        self._report(share)

    def begins(self, end: Callable[[], None]) -> None:
        """By who opens: `end` ends the loading, from any thread; at once, where it was cancelled before."""
        with self._lock:
            self._end = end
            if self.cancelled:
                end()

    def cancel(self) -> None:
        """The model is not opened: who opens it raises ModelError."""
        with self._lock:
            self.cancelled = True
            if self._end is not None:
                self._end()


class Model(Protocol):
    """A source of tokens. One generation at a time; the other methods may be called from any thread meanwhile."""

    @property
    def info(self) -> ModelInfo:
        """The known facts about the model, for records and figures."""

    def count_tokens(self, text: str) -> int:
        """The number of the model's tokens in the text. Raises ModelError."""

    def tokenize(self, text: str) -> list[int]:
        """The text's token ids, without a token that only begins a sequence. Raises ModelError."""

    def vocabulary(self) -> Vocabulary:
        """Every token's bytes; empty where they are not known. The same object each time. Raises ModelError."""

    def render_chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        thinking: Thinking = "auto",
    ) -> RenderedPrompt:
        """The messages in the model's chat template, open for the assistant's answer. Raises PromptError.

        `tools`, in OpenAI's form, are the template's own to write; one that has no place for them is a PromptError.
        One that has no switch for `thinking` says so in the note.
        """

    def turn_form(self) -> TurnForm | None:
        """How the model writes a turn, as its chat template says; None where nothing can be derived from one.

        Derived when it is asked for first, in up to half a second, and kept. Raises ModelError.
        """

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        """Progress, then `PromptReady`, then the tokens of each step; the next is decoded when it is asked for.

        Closing the iterator stops. Nothing more comes at its end: the last step is an `end` token, or `max_tokens` were
        decoded, or the context is full, or the constraint allows nothing after it.
        Raises GrammarError and ContextOverflow before anything is decoded, also for a prefix that is not allowed;
        ModelError where it cannot begin with that, ModelDied when the process ends.
        """

    def cancel(self) -> None:
        """Ends the running generation within 100 ms: its iterator ends with `Cancelled`. From any thread."""

    def close(self) -> None:
        """Frees the model's memory and process. Later calls open it again where that is possible."""


class ForwardingModel:
    """The base of models that change one thing of another one: `model` does the work.

    A generation that is closed closes its own.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def tokenize(self, text: str) -> list[int]:
        return self._model.tokenize(text)

    def vocabulary(self) -> Vocabulary:
        return self._model.vocabulary()

    def render_chat(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = (), thinking: Thinking = "auto"
    ) -> RenderedPrompt:
        if thinking == "auto":  # as `priced_prompt` asks: only who is asked for a state need know of it
            return self._model.render_chat(messages, tools)
        return self._model.render_chat(messages, tools, thinking)

    def turn_form(self) -> TurnForm | None:
        return self._model.turn_form()

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        return self._model.generate(request)

    def cancel(self) -> None:
        self._model.cancel()

    def close(self) -> None:
        self._model.close()


def same_model(one: ModelInfo, other: ModelInfo) -> bool:
    """Whether both are the same file: by SHA-256, or by path and size where one of them has no hash."""
    if one.sha256 and other.sha256:
        return one.sha256 == other.sha256
    return one.path == other.path and one.bytes == other.bytes
