"""The interface of a model: text in, evidence of each token out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import msgspec

from glyphscope import events
from glyphscope.base.errors import ModelError
from glyphscope.turns import TurnForm


class GenerateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One generation. `grammar` is Lark for the constraint `mask`, and GBNF for `gbnf` and `endpoint`.

    `messages` and `tools` (in OpenAI's form) are the source of `prompt`, with `chat`; the rendered prompt ends with
    `begun`, the beginning of the answer. Endpoints receive these, because they apply their own template; other
    models read only `prompt`. `answer` is the whole answer if it is not a call, for endpoints with a field for it.
    `schema` is the constraint as JSON Schema, for endpoints that take no grammar; None if it cannot be expressed.
    `evidence` selects the tokens whose `alternatives` are reported. `build_ms` is the time of writing the grammar,
    0 if it was cached; it is only passed on. `repeatable` is the request's (`RunRequest`).
    The tokens of the prefix `written` come as the first step; `max_tokens` counts the tokens after it.
    With `triggers`, a GBNF grammar applies from the first of these texts in the answer on, which begins with it.
    `stop` are strings that end the answer: endpoints receive them, otherwise the reader of the tokens looks for them.
    In the characters of `plain`, the prompt has no control tokens; endpoints do not receive it.
    `tool_choice` and `most_calls` are the request's; endpoints that receive `tools` receive them too. Only endpoints
    receive `extra_body`, merged into the body.
    A prompt that is evaluated `beside` the one before it leaves that one in the model's memory, as far as there is
    room, and is not stored on disk. With `hidden`, it is the same prompt, of which the tokens from `seen_from` on are
    evaluated again without seeing these ranges of tokens; ModelError if that is not possible.
    The figures of the first `scored_from` tokens of `written` are not needed: they are evaluated like the prompt.
    """

    prompt: str
    plain: events.Spans = ()
    constraint: events.ConstraintKind = "off"
    grammar: str | None = None
    triggers: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    answer: events.Answer = events.CALL
    messages: tuple[events.Message, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str = "required"
    most_calls: int | None = 1
    chat: events.ChatOptions = events.DEFAULT_CHAT
    extra_body: dict[str, Any] = {}
    begun: str = ""
    sampling: events.Sampling = events.Sampling()
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    alternatives: int = 10
    evidence: events.EvidenceKind = "all"
    build_ms: float = 0.0
    repeatable: bool = False
    written: tuple[events.PrefixPart, ...] = ()
    rules: bytes = b""
    near: int | None = None
    reasoning_budget: int | None = None
    beside: bool = False
    hidden: tuple[tuple[int, int], ...] = ()
    seen_from: int = 0
    scored_from: int = 0


class RenderedPrompt(msgspec.Struct, frozen=True):
    """Messages in the model's chat template; `note` names what the template could not render as given.

    `added` is the template's text for the tools. `tokens` is 0 if unknown: an endpoint may count them only when it
    answers. `pieces` are the bytes of the tokens, if an endpoint reports them: together, they are the text.
    """

    text: str
    tokens: int
    note: str = ""
    added: str = ""
    pieces: tuple[bytes, ...] = ()


class Vocabulary(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The bytes of the model's tokens, by id; b"" for tokens without text. `names` has the control tokens."""

    tokens: tuple[bytes, ...] = ()
    names: dict[str, int] = {}


class PromptProgress(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Evaluation of the prompt: `done` of `total` tokens after `ms` milliseconds. The first `done` is the cached part.

    `restored` of the cached tokens, in the first, were read from disk, where another process had stored them.
    `note` is shown next to the prompt: at an endpoint, how the prompt was sent; `done` and `total` are 0 there.
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


class PromptReady(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The prompt is in the context: `cached` of its `tokens` were there before, the others took `ms` milliseconds.

    `constraint` is None for a generation without one, and if nothing was compiled.
    """

    tokens: int
    cached: int
    ms: float
    constraint: ConstraintMade | None = None


class Usage(msgspec.Struct, frozen=True):
    """The token counts that an endpoint reports; the last report is valid. None for a count that is not reported."""

    prompt: int | None = None
    cached: int | None = None
    tokens: int | None = None


class Cancelled(msgspec.Struct, frozen=True):
    """The last item of a generation that `cancel` ended."""


Output: TypeAlias = PromptProgress | PromptReady | tuple[events.TokenStep, ...] | Usage | Cancelled


class OneAtATime:
    """Lets one thread at a time generate; the others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait for the generation of another thread. Raises ModelError if this thread is already generating."""
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
    """The `progress` of a loading model, which any thread can use to end the loading at once."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self.cancelled = False

    def __call__(self, share: float) -> None:
        self._report(share)

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """For the time of a loading: `end` ends it, from any thread. Called at once if loading was cancelled."""
        with self._lock:
            self._ends.append(end)
            if self.cancelled:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)

    def cancel(self) -> None:
        """End the loading: the function that opens the model raises ModelError. A loaded model continues."""
        with self._lock:
            self.cancelled = True
            for end in self._ends:
                end()


class Model(Protocol):
    """A source of tokens. One generation at a time; the other methods may be called from any thread meanwhile."""

    @property
    def info(self) -> events.ModelInfo:
        """The known facts about the model, for records and figures."""

    def count_tokens(self, text: str) -> int:
        """The number of the model's tokens in the text. Raises ModelError."""

    def tokenize(self, text: str, plain: events.Spans = ()) -> list[int]:
        """The text's token ids, without a BOS token. In the characters of `plain`, texts of control tokens are text; a
        model without control tokens does not need that parameter. Raises ModelError.
        """

    def vocabulary(self) -> Vocabulary:
        """Every token's bytes; empty if they are unknown. The same object each time. Raises ModelError."""

    def render_chat(
        self,
        messages: Sequence[events.Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: events.ChatOptions = events.DEFAULT_CHAT,
    ) -> RenderedPrompt:
        """The messages in the model's chat template, up to the beginning of the assistant's answer. Raises PromptError.

        The template renders `tools`, in OpenAI's form; PromptError if it does not use them. The note names the options
        that it has no variable for.
        """

    def turn_form(self, chat: events.ChatOptions = events.DEFAULT_CHAT) -> TurnForm | None:
        """The form of the model's turns, derived from its chat template under these options; None if that is not
        possible.

        Derived at the first call, in up to half a second, and cached. Raises ModelError.
        """

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        """Progress, then `PromptReady`, then the tokens of each step; each step is decoded when it is requested.

        Closing the iterator stops the generation. It ends by itself after an `end` token or `max_tokens`, when the
        context is full, or when the constraint allows nothing more.
        Raises GrammarError and ContextOverflow before anything is decoded, also for a prefix that is not allowed;
        ModelError if the model cannot begin with the prefix, ModelDied when the process ends.
        """

    def cancel(self) -> None:
        """End the running generation within 100 ms: its iterator ends with `Cancelled`. From any thread."""

    def close(self) -> None:
        """Free the model's memory and process. Later calls open it again if that is possible."""


def _asked(chat: events.ChatOptions) -> tuple[events.ChatOptions, ...]:
    """The options, if they are not the default: a model needs the parameter only for these."""
    return () if chat == events.DEFAULT_CHAT else (chat,)


class ForwardingModel:
    """The base of models that change one thing of another model, to which they forward all else.

    Closing a generation also closes that of `model`.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def info(self) -> events.ModelInfo:
        return self._model.info

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def tokenize(self, text: str, plain: events.Spans = ()) -> list[int]:
        return self._model.tokenize(text, plain) if plain else self._model.tokenize(text)

    def vocabulary(self) -> Vocabulary:
        return self._model.vocabulary()

    def render_chat(
        self,
        messages: Sequence[events.Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: events.ChatOptions = events.DEFAULT_CHAT,
    ) -> RenderedPrompt:
        return self._model.render_chat(messages, tools, *_asked(chat))

    def turn_form(self, chat: events.ChatOptions = events.DEFAULT_CHAT) -> TurnForm | None:
        return self._model.turn_form(*_asked(chat))

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        return self._model.generate(request)

    def cancel(self) -> None:
        self._model.cancel()

    def close(self) -> None:
        self._model.close()


def same_model(one: events.ModelInfo, other: events.ModelInfo) -> bool:
    """Whether both are the same file: by SHA-256, or by path and size if one of them has no hash; with the same LoRA
    adapters.
    """
    if sorted(one.adapters.values()) != sorted(other.adapters.values()):
        return False
    if one.sha256 and other.sha256:
        return one.sha256 == other.sha256
    return one.path == other.path and one.bytes == other.bytes
