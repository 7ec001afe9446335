"""A model: a file, an endpoint or a script, opened once for any number of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypedDict, Unpack

import msgspec

from glyphscope.api.runs import Run
from glyphscope.api.tools import SOURCE, PythonFunctions, ToolLike, Tools
from glyphscope.errors import GlyphscopeError
from glyphscope.events import (
    DEFAULT_LOAD,
    ApprovalRule,
    ArgumentOrder,
    ConstrainFrom,
    ConstraintKind,
    EvidenceKind,
    LoadOptions,
    LoopSettings,
    Message,
    ModelInfo,
    Notation,
    RepairSettings,
    RouterSettings,
    RunRequest,
    Sampling,
    Shape,
    StopOn,
    Strategy,
    Thinking,
    default_order,
)
from glyphscope.models.interface import Model as OpenModel
from glyphscope.runs import NonInteractive
from glyphscope.sessions.named_models import open_named
from glyphscope.sessions.settings import users_prompt_cache
from glyphscope.strategies import cancellable
from glyphscope.strategies import run as run_request
from glyphscope.structs import ready


class RunSettings(TypedDict, total=False):
    """The settings of a run that have a default, as `glyphscope.events.RunRequest` describes them. They are listed for
    type checkers; a test compares their names and types.

    `notation` can also be `native` (from the model's chat template). `order` orders the arguments under a constraint.
    """

    preset: str
    system: str | None
    system_prompt: str
    history: Sequence[Message]
    notation: Notation | Literal["native"]
    shape: Shape
    constraint: ConstraintKind
    grammar: str | None
    constrain_from: ConstrainFrom
    reasoning_budget: int | None
    order: ArgumentOrder
    free_text: bool
    thinking: Thinking
    tool_choice: str
    most_calls: int | None
    strategy: Strategy
    stop_on: StopOn
    sampling: Sampling
    max_tokens: int
    stop: Sequence[str]
    repeatable: bool
    evidence: EvidenceKind
    alternatives: int
    repair: RepairSettings
    router: RouterSettings
    loop: LoopSettings
    dispatch: bool
    approvals: Sequence[ApprovalRule]


class Model:
    """An open model, for one run at a time. Close it, or use it in a `with` statement."""

    def __init__(self, model: OpenModel) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        """Its name, file, context and vocabulary, and the options in use."""
        return self._model.info

    def run(
        self, prompt: str, tools: ToolLike | Iterable[ToolLike] = "default", **settings: Unpack[RunSettings]
    ) -> Run:
        """A run with this prompt and these tools. It begins when it is iterated, or its result is read.

        Calls are written in JSON with `name` and `arguments` unless `notation` and `shape` say otherwise. With
        `dispatch`, or with the strategy `loop`, functions are called with their arguments; calls that no function
        executes fail. Raises RegistryError, TypeError for an unknown setting, and GlyphscopeError for an invalid value.
        """
        registered = Tools(tools)
        request = _request(prompt, registered, self._model.info, settings)
        functions = PythonFunctions(registered)
        interaction = NonInteractive({SOURCE: functions})

        def cancel() -> None:
            interaction.cancelled.set()
            self._model.cancel()

        events = run_request(request, self._model, interaction)
        return Run(cancellable(events, self._model, interaction), cancel)

    def close(self) -> None:
        """End its process. May be called again."""
        self._model.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Model {self.info.name}>"


def open_model(name: str = "embedded", *, options: LoadOptions = DEFAULT_LOAD) -> Model:
    """Open a GGUF file, a downloaded model by its name at the Hub, the `embedded` one, an endpoint
    (`http://host:port/v1#name`), a script (`scripted:TEXT`), or a record (`recorded:RUN.jsonl`).

    Evaluated prompts of a file are stored according to the user's settings. Raises ModelError, and for a record
    StorageError and RecordError.
    """
    return Model(open_named(name, options=options, prompts=users_prompt_cache))


def _request(prompt: str, tools: Tools, info: ModelInfo, settings: RunSettings) -> RunRequest:
    given: dict[str, Any] = {**settings}
    notation = given.pop("notation", "json")
    own = tuple(ApprovalRule(tool=name, source=SOURCE, action="allow") for name in tools.functions)
    members = {"shape": "name-arguments", "order": default_order(given.get("constraint", "mask")), **given}
    members |= {name: tuple(given[name]) for name in ("history", "stop") if name in given}
    members["approvals"] = (*given.get("approvals", ()), *own)
    request = RunRequest(
        prompt=prompt,
        registry=tools.registry.to_document(),
        model=info.path or info.name,
        notation="json" if notation == "native" else notation,
        native="auto" if notation == "native" else "",
        sources=dict.fromkeys(tools.functions, SOURCE),
        **members,
    )
    try:
        return msgspec.convert(msgspec.to_builtins(request), ready(RunRequest))
    except msgspec.ValidationError as error:
        raise GlyphscopeError(f"Invalid setting of a run: {error}.") from None
