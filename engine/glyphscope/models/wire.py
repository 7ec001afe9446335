"""The messages of the model's process."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from glyphscope.events import LoadOptions, ModelInfo, Spans, TokenStep
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.interface import GenerateRequest, PromptProgress, PromptReady, Vocabulary
from glyphscope.models.prompt_cache import PromptCache
from glyphscope.models.templates import ModelTemplates
from glyphscope.processes.pipe import SentError


class _Frame(msgspec.Struct, frozen=True, tag=True, array_like=True):
    pass


class Load(_Frame, frozen=True):
    """Load the file. `info` has the facts of its header."""

    path: str
    info: ModelInfo
    options: LoadOptions


class Tokenize(_Frame, frozen=True):
    """Answered by `Tokens`, also while a generation runs. `begin`: with the tokens before every prompt, such as BOS;
    `plain` as in `Model.tokenize`.
    """

    text: str
    begin: bool = False
    plain: Spans = ()


class ListVocabulary(_Frame, frozen=True):
    """Answered by the `Vocabulary`, also while a generation runs."""


class Generate(_Frame, frozen=True):
    """Evaluate the prompt in that sequence: `PromptProgress`, then `PromptReady`. `sha256` is the model file's hash,
    empty if it is not known.
    """

    request: GenerateRequest
    prompts: PromptCache | None = None
    sha256: str = ""
    sequence: int = 0


class Step(_Frame, frozen=True):
    """Decode one step of each of the generations with these numbers, together. Each is answered by `Steps`."""

    numbers: list[int]


class TimeBatches(_Frame, frozen=True):
    """Time batches of prompts. Answered by `BatchesTimed` after each, the last with `times` or `ended`. Ended by any
    other request, and continued by the next `TimeBatches`.
    """


class Cancel(_Frame, frozen=True):
    """End the work of the request with this frame's number; not answered."""


class Loading(_Frame, frozen=True):
    """The share of the file that is loaded, from 0 to 1."""

    share: float


class Loaded(_Frame, frozen=True):
    info: ModelInfo
    templates: ModelTemplates


class Tokens(_Frame, frozen=True):
    ids: list[int]


class Steps(_Frame, frozen=True):
    """`ended`: there is no further step."""

    steps: tuple[TokenStep, ...]
    ended: bool


class BatchesTimed(_Frame, frozen=True):
    """`times` once all are known. `ended` without them: another request came, or, if `busy`, they differ too much."""

    times: BatchTimes | None = None
    ended: bool = False
    busy: bool = False


Request: TypeAlias = Load | Tokenize | ListVocabulary | Generate | Step | TimeBatches | Cancel
Reply: TypeAlias = (
    Loading | Loaded | Tokens | Vocabulary | PromptProgress | PromptReady | Steps | BatchesTimed | SentError
)


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """A request with its number."""

    number: int
    body: Request


class NumberedAnswer(msgspec.Struct, frozen=True, array_like=True):
    """A reply, with the number of the request it answers."""

    number: int
    body: Reply
