"""What decides a run: the request, and the settings of every strategy. Frozen, and part of every record."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

Notation: TypeAlias = Literal["glyph", "json"]
Shape: TypeAlias = Literal["flat", "tool-args", "name-arguments", "name-parameters"]
"""The last one is that of Llama 3's own calls; `SHAPES` are the ones to choose from."""
NativeForm: TypeAlias = Literal["hermes", "llama", "mistral", "openai", "template"]
"""`openai` is an endpoint's own `tool_calls`, whatever its model writes; `template` the form of turns that was derived
from the model's chat template, which is `RunRequest.form`.
"""
ConstraintKind: TypeAlias = Literal["off", "mask", "gbnf", "endpoint"]
"""`endpoint`: held by the server of a remote model, which `mask` and `gbnf` become there."""
ArgumentOrder: TypeAlias = Literal["schema", "any"]
"""In which order the grammar lets the arguments of a call come, and the members of objects in them."""
Thinking: TypeAlias = Literal["auto", "on", "off"]
"""The switch for reasoning in a model's chat template; `auto` leaves it undefined, and to the template."""
ConstrainFrom: TypeAlias = Literal["start", "reasoning", "call"]
"""Where the constraint begins: at the first token, after the reasoning, or where the model begins a call."""
EvidenceKind: TypeAlias = Literal["all", "chosen", "none"]
"""Of which tokens the model's own figures are told: `chosen` leaves the forced ones out, which costs least of all."""
StopOn: TypeAlias = Literal["error", "unknown-tool", "never"]
Strategy: TypeAlias = Literal["direct", "two-stage", "route-execute", "loop"]
ToolUse: TypeAlias = Literal["enforced", "relaxed", "disabled"]
FailurePolicy: TypeAlias = Literal["fatal", "tolerated"]
Approval: TypeAlias = Literal["ask", "allow", "deny"]

NOTATIONS: tuple[Notation, ...] = ("glyph", "json")
SHAPES: tuple[Shape, ...] = ("flat", "tool-args", "name-arguments")
TOOL_CHOICES: tuple[str, ...] = ("auto", "required", "none")
"""Of `RunRequest.tool_choice`; any other is a tool's name. A tool with one of these names cannot be chosen by it."""
STRATEGIES: tuple[Strategy, ...] = ("direct", "two-stage", "route-execute", "loop")


def default_order(constraint: ConstraintKind) -> ArgumentOrder:
    """The order of arguments where nobody asks for one.

    A mask takes any, as it costs a mask little and pushes no model off its own order. GBNF has no sets of what was
    written: beyond a few properties any order would be too many rules, so there, and at endpoints, which get GBNF or a
    schema, it is only by request. Without a constraint it has no effect.
    """
    return "any" if constraint == "mask" else "schema"


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call in an assistant's message. Without an `id`, a template gets one of nine letters and digits."""

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One chat message; `role` is system, user, assistant or tool.

    `tool_calls` and `reasoning` are an assistant's, beside its text. `tool_call_id` and `name` say whose result a
    tool's message is; without them it is that of the next call in order.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    tool_call_id: str = ""
    name: str = ""


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How a token is drawn. `temperature` 0 is greedy; `top_k` 0, `top_p` 1, `min_p` 0, `repeat_penalty` 1 are off."""

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    seed: int = 1


SAMPLING_OFF: dict[str, float] = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0}
"""The values of `Sampling` that change nothing."""


class RouterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How route-execute chooses a tool: by names only, never by schemas.

    `router` and `executor` name prompt presets; a template of the request's own replaces one. `rules` are sentences
    that the router must keep; `synonyms` are phrases by tool; `names` are known names by kind, which are looked for in
    the prompt before it is routed. `answers` are given beforehand to the questions that the router may ask, in order.
    `temperature` is the router's own, whatever the executor's: it classifies, and does so the same way each time.
    """

    router: str = "router"
    executor: str = "executor"
    router_system: str | None = None
    executor_system: str | None = None
    rules: tuple[str, ...] = ()
    synonyms: dict[str, tuple[str, ...]] = {}
    names: dict[str, tuple[str, ...]] = {}
    answers: tuple[str, ...] = ()
    max_questions: int = 1
    temperature: float = 0.0


class RepairSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is done about a text that is no valid call: `extract` takes out of it what can be taken, and says what it
    changed; then the model is asked again, at most `attempts` times. `preset` names the words in which it is, and a
    `template` of the request's own replaces them.
    """

    attempts: int = 0
    extract: bool = True
    preset: str = "repair"
    template: str | None = None


class LoopSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The guardrails of the tool loop. Sizes are bytes of UTF-8, times seconds; `presets` only tells what the settings
    were composed of.

    `max_tool_calls_per_turn` None means 1 where `parallel_tool_calls` is off, and no limit where it is on.
    `max_total_tokens` counts what the model writes in all turns. `max_tool_seconds` is one call's time; the sizes, it,
    `allow` and `deny` hold for every strategy that carries out calls. `max_identical_calls` is how often the same call
    may be carried out in one run. `allow` None allows every tool of the registry; both hold for what is sent and for
    what may run. `transforms` are applied in order. `max_invalid_turns` is how many turns in a row may come to nothing
    before the run gives up; what is wrong with one is told to the model. `prompt` names the preset of the system
    message, which the request's own replaces.
    """

    presets: tuple[str, ...] = ()
    tool_use: ToolUse = "relaxed"
    failure_policy: FailurePolicy = "fatal"
    max_tool_args_bytes: int = 200_000
    max_tool_output_bytes: int = 200_000
    parallel_tool_calls: bool = False
    max_tool_calls_per_turn: int | None = None
    max_turns: int = 8
    max_total_tokens: int = 16_384
    max_seconds: float = 600.0
    max_tool_seconds: float = 60.0
    max_identical_calls: int = 3
    max_invalid_turns: int = 3
    fix_empty_final: bool = True
    fix_empty_final_disable_tools: bool = True
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    transforms: tuple[str, ...] = ()
    prompt: str = "loop"


class ApprovalRule(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a call without anybody being asked. `tool` and `source` are names, or `*` for any.

    `identity` binds the rule to one command line or address of the source; empty, it holds for any. The first rule
    that fits counts; a call that none fits is asked about.
    """

    tool: str = "*"
    source: str = "*"
    identity: str = ""
    action: Approval = "ask"


class Written(msgspec.Struct, frozen=True):
    """A piece of what an answer begins with and no model draws: a token by its id, or text that somebody typed.

    `data` is what it spells, for a token possibly half a character. `id` is -1 for text: the model cuts it into tokens.
    `kept`: the run that this one branches off wrote it.
    """

    data: bytes
    id: int = -1
    kept: bool = False


class BranchPoint(msgspec.Struct, frozen=True):
    """Where a run leaves another one: the first token, from 0, that is not that run's any more."""

    run: str
    token: int


class Relaxed(msgspec.Struct, frozen=True):
    """A constraint that does not hold a run: the keyword at JSON Pointer `pointer` of the `parameters` of `tool`."""

    tool: str
    pointer: str


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of everything that decides a run. Nothing outside it may change what the run does.

    `registry` is the registry's document in our form. `history` are the messages of earlier turns, between the system
    message and this `prompt`: every strategy continues from them. `system_prompt` is plain text that begins the system
    message; the template, `system` or that of `preset`, writes the rest of it.
    `model` is a file path, or the name of a scripted or recorded model. `grammar` is GBNF that holds in place of the
    registry's own, under either constraint. With `free_text`, any text may stand before the call. Under the registry's
    grammar the call's arguments come in that `order`.
    With `native`, the model's own chat template asks for the call and its tools, in the form that it was trained on:
    `auto` is the template's, another name is meant in any case. Notation and shape are then that form's.
    `thinking` is given to the model's chat template, whatever the notation; one without a switch for it says so in a
    note.
    `form` is the form of the model's turns (`glyphscope.turns.TurnForm` as JSON), which a run fills in: with the native
    notation `template` all of it counts, otherwise the reasoning only. `tool_choice` is `auto` (text or calls),
    `required`, `none` or the name of the one tool to call. An answer has at most `most_calls` calls; None is no limit.
    `reasoning_budget` is the number of tokens after which reasoning has to end; None is no limit of its own.
    With `repeatable`, only what cannot change any figure is taken from the model's cache: the same request then gives
    the same tokens whatever ran before it, at the price of up to 63 more tokens of prompt to evaluate.
    The model's text ends before the first of the `stop` strings that it writes, under any strategy and in every stage.
    With `dispatch`, the call of a strategy other than the loop is carried out too. `sources` names by tool who carries
    it out: "demo", the default, or an MCP server; `approvals` are the rules for what may be.
    With `written` the answer begins with that, and `max_tokens` counts what comes after it; that goes with the strategy
    direct. `branch_of` only tells where it comes from.
    What is `relaxed` is taken out of the registry for the constraint and the verdict, in this order; the prompt tells
    the registry as it is. That goes with the strategy direct too.
    """

    prompt: str
    registry: dict[str, Any]
    history: tuple[Message, ...] = ()
    model: str = ""
    preset: str = "default"
    system: str | None = None
    system_prompt: str = ""
    notation: Notation = "glyph"
    shape: Shape = "flat"
    native: NativeForm | Literal["", "auto"] = ""
    thinking: Thinking = "auto"
    form: dict[str, Any] = {}
    tool_choice: str = "required"
    most_calls: int | None = 1
    constrain_from: ConstrainFrom = "reasoning"
    reasoning_budget: int | None = None
    constraint: ConstraintKind = "mask"
    grammar: str | None = None
    free_text: bool = False
    order: ArgumentOrder = "schema"
    strategy: Strategy = "direct"
    stop_on: StopOn = "error"
    sampling: Sampling = Sampling()
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    alternatives: int = 10
    evidence: EvidenceKind = "all"
    repeatable: bool = False
    router: RouterSettings = RouterSettings()
    repair: RepairSettings = RepairSettings()
    loop: LoopSettings = LoopSettings()
    dispatch: bool = False
    sources: dict[str, str] = {}
    approvals: tuple[ApprovalRule, ...] = ()
    written: tuple[Written, ...] = ()
    branch_of: BranchPoint | None = None
    relaxed: tuple[Relaxed, ...] = ()


def under_constraint(request: RunRequest, constraint: ConstraintKind) -> RunRequest:
    """The request under another constraint, with the order that is usual there unless its own was a choice."""
    order = request.order
    if order == default_order(request.constraint):
        order = default_order(constraint)
    return msgspec.structs.replace(request, constraint=constraint, order=order)
