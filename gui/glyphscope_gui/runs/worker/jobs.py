"""The jobs of a worker and its messages: frozen snapshots, each with the id of its job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from glyphscope.events import AnyEvent, ApprovalNeeded, ModelInfo, Notation, PromptRendered, RunRequest
from glyphscope.models.remote import is_address
from glyphscope.notation.write import Sizes
from glyphscope.runs import PreparedRequest

ModelPhase: TypeAlias = Literal["none", "opening", "ready", "unloading", "failed"]


@dataclass(frozen=True)
class TokenPlace:
    """A token of a run: the index of its stage among the run's stages, and its index in that stage."""

    stage: int
    token: int


@dataclass(frozen=True)
class RunJob:
    """Run `request`; `stepping` waits for a press of Step before each decoding step.

    A `background` run is not shown: its sizes are not measured, and its questions are not answered.
    """

    id: int
    request: RunRequest | PreparedRequest
    stepping: bool = False
    background: bool = False


@dataclass(frozen=True)
class ContinueJob:
    """Continue the aborted run of `events`."""

    id: int
    request: RunRequest | PreparedRequest
    events: tuple[AnyEvent, ...]
    stepping: bool = False


@dataclass(frozen=True)
class ReplayJob:
    """Replay a recorded run with `rate` tokens a second; 0: all at once, None: at its original speed.

    `at` is the token to select once all of it is shown.
    """

    id: int
    events: tuple[AnyEvent, ...]
    rate: float | None = None
    at: TokenPlace | None = None


Job: TypeAlias = RunJob | ContinueJob | ReplayJob


def is_stepping(job: Job) -> bool:
    """Whether the job waits for a press of Step before each decoding step."""
    return not isinstance(job, ReplayJob) and job.stepping


@dataclass(frozen=True)
class JobEnded:
    """The job's last message. `error` is a bug: an error that a user can cause is a RunFailed event."""

    job: int
    error: BaseException | None = None


@dataclass(frozen=True)
class ModelStatus:
    """The model's process, or the connection to its endpoint, as the window shows it.

    `progress` of opening is 0 to 1, None where it is unknown.
    """

    phase: ModelPhase
    name: str = ""
    message: str = ""
    progress: float | None = None
    info: ModelInfo | None = None

    @property
    def is_endpoint(self) -> bool:
        """Whether the model is connected rather than loaded."""
        return is_address(self.name)


@dataclass(frozen=True)
class Measured:
    """The sizes of a run's answer, which has `calls` calls (0: it is a value), in every style; `instructions` are the
    tokens of the system message by notation.
    """

    job: int
    sizes: tuple[Sizes, ...]
    instructions: dict[Notation, int] = field(default_factory=dict)
    calls: int = 1


@dataclass(frozen=True)
class Asked:
    """A question of the run to the user: about a call, or in words. The reply refers to its `number`."""

    job: int
    number: int
    about: ApprovalNeeded | str


@dataclass(frozen=True)
class PricedPrompt:
    """The prompt of the next run, with its costs in tokens of the open model; None where `problem` says why."""

    prompt: PromptRendered | None
    problem: str = ""


Post: TypeAlias = AnyEvent | JobEnded | Measured | Asked


@dataclass(frozen=True)
class Batch:
    """The next messages of one job, in order: events, or a single other message."""

    job: int
    posts: tuple[Post, ...]
