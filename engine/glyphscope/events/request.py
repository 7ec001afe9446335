"""The request of a run, with the settings of every strategy. Frozen, and part of every record."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import msgspec

Notation: TypeAlias = Literal["glyph", "json"]
Shape: TypeAlias = Literal["flat", "tool-args", "name-arguments", "name-parameters"]
"""The last one is the shape of Llama 3's own calls; `SHAPES` are the ones to choose from."""
NativeForm: TypeAlias = Literal["hermes", "llama", "mistral", "openai", "template"]
"""`openai` is an endpoint's own `tool_calls`, whatever its model writes; `template` is the form of turns that was
derived from the model's chat template (`RunRequest.form`).
"""
ConstraintKind: TypeAlias = Literal["off", "mask", "gbnf", "endpoint"]
"""`endpoint`: enforced by the server of a remote model; `mask` and `gbnf` become this there."""
ArgumentOrder: TypeAlias = Literal["schema", "any"]
"""The order in which the grammar allows the arguments of a call, and the members of objects in them."""
Thinking: TypeAlias = Literal["auto", "on", "off"]
"""The switch for reasoning in a model's chat template; `auto` leaves it undefined: the template decides."""
ConstrainFrom: TypeAlias = Literal["start", "reasoning", "call"]
"""Where the constraint begins: at the first token, after the reasoning, or where the model begins a call."""
EvidenceKind: TypeAlias = Literal["all", "chosen", "none"]
"""The tokens whose raw figures are reported: `chosen` omits the forced ones, whose logits are then not computed."""
StopOn: TypeAlias = Literal["error", "unknown-tool", "never"]
Strategy: TypeAlias = Literal["direct", "two-stage", "route-execute", "loop"]
ToolUse: TypeAlias = Literal["enforced", "relaxed", "disabled"]
FailurePolicy: TypeAlias = Literal["fatal", "tolerated"]
Approval: TypeAlias = Literal["ask", "allow", "deny"]

NOTATIONS: tuple[Notation, ...] = get_args(Notation)
SHAPES: tuple[Shape, ...] = ("flat", "tool-args", "name-arguments")
TOOL_CHOICES: tuple[str, ...] = ("auto", "required", "none")
"""Values of `RunRequest.tool_choice`; any other is a tool's name. A tool with one of these names cannot be chosen."""
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def default_order(constraint: ConstraintKind) -> ArgumentOrder:
    """The default order of arguments.

    Masks allow any order: it costs them little and leaves the model its own order. GBNF cannot record which properties
    were written: beyond a few, any order would need too many rules, so there, and for endpoints, which get GBNF or a
    schema, it must be requested. Without a constraint it has no effect.
    """
    return "any" if constraint == "mask" else "schema"


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call in an assistant message. Without an `id`, the template gets one of nine letters and digits."""

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One chat message; `role` is system, user, assistant or tool.

    `tool_calls` and `reasoning` belong to an assistant message, in addition to its text. `tool_call_id` and `name`
    refer to the call of a tool message; without them, the message is the result of the next call in order.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    tool_call_id: str = ""
    name: str = ""


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How a token is sampled. `temperature` 0 is greedy; `top_k` 0, `top_p` 1, `min_p` 0, `repeat_penalty` 1 are
    off.
    """

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    seed: int = 1


SAMPLING_OFF: dict[str, float] = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0}
"""The values of `Sampling` that have no effect."""


class RouterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How route-execute chooses a tool: by names only, never by schemas.

    `router` and `executor` name prompt presets; a template in the request replaces one. `rules` are sentences
    for the router; `synonyms` are phrases by tool; `names` are known names by kind, which are searched for in
    the prompt first. `answers` are prepared answers to the router's questions, in order.
    `temperature` applies to the router only: it classifies, and should do so consistently.
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
    """How an invalid call is repaired: `extract` extracts a call from the text and reports the changes; then the model
    gets the error, at most `attempts` times. `preset` names the prompt for this, and a `template` in the request
    replaces it.
    """

    attempts: int = 0
    extract: bool = True
    preset: str = "repair"
    template: str | None = None


class LoopSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The guardrails of the tool loop. Sizes are bytes of UTF-8, times seconds; `presets` only lists the presets that
    the settings were composed of.

    `max_tool_calls_per_turn` None means 1 if `parallel_tool_calls` is off, and no limit if it is on.
    `max_total_tokens` counts the model's tokens of all turns. `max_tool_seconds` limits one call; this limit, the
    sizes, `allow` and `deny` apply to every strategy that executes calls. `max_identical_calls` is how often the same
    call can run. `allow` None allows every tool of the registry; `allow` and `deny` apply to the tools that are
    offered and to those that are executed. `transforms` are applied in order. `max_invalid_turns` is the number of
    consecutive invalid turns before the run stops; the model gets the error of each. `prompt` names the preset of the
    system message, which a template in the request replaces.
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
    """A decision on calls without a person. `tool` and `source` are names, or `*` for any.

    `identity` binds the rule to one command line or URL of the source; if empty, it applies to any. The first matching
    rule applies; a call without a matching rule needs a person's approval.
    """

    tool: str = "*"
    source: str = "*"
    identity: str = ""
    action: Approval = "ask"


class PrefixPart(msgspec.Struct, frozen=True):
    """A piece of the beginning of an answer that is not sampled: a token by its id, or typed text.

    `data` is its bytes, for a token possibly an incomplete character. `id` is -1 for text, which the model tokenises.
    `kept`: it comes from the run that this one branches from.
    """

    data: bytes
    id: int = -1
    kept: bool = False


class BranchPoint(msgspec.Struct, frozen=True):
    """Where a run branches from another one: the index of the first token, from 0, that differs."""

    run: str
    token: int


class Relaxed(msgspec.Struct, frozen=True):
    """A keyword that is removed from the constraint of a run: the one at JSON Pointer `pointer` of the `parameters`
    of `tool`.
    """

    tool: str
    pointer: str


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of everything that determines a run. Nothing outside it may change the run.

    `registry` is the registry's document in Glyphscope's format. `history` has the messages of earlier turns, between
    the system message and this `prompt`: every strategy continues from them. `system_prompt` is plain text that
    begins the system message; the template, `system` or that of `preset`, writes the rest of it. `model` is a file
    path, or the name of a scripted or recorded model. `grammar` is GBNF that replaces the registry's grammar under
    either constraint. `free_text` allows any text before the call. Under the registry's grammar, the call's arguments
    are in that `order`. With `native`, the model's chat template renders the tools and requests the call, in the
    format of its training: `auto` is the template's form, any other name is used as it is. Notation and shape are
    then those of the form. `thinking` is passed to the model's chat template in every notation; a template without
    such a switch gives a note. `form` is the form of the model's turns (`glyphscope.turns.TurnForm` as JSON), which a
    run fills in: all of it with the native notation `template`, otherwise only the reasoning. `tool_choice` is `auto`
    (text or calls), `required`, `none` or the name of the one tool to call. An answer has at most `most_calls` calls;
    None: unlimited. `reasoning_budget` is the number of tokens after which reasoning must end; None: no separate
    limit. `repeatable` uses the model's cache only where it cannot change any figure: the same request then gives the
    same tokens whatever ran before, with up to 63 more prompt tokens to evaluate. The model's text ends before the
    first of the `stop` strings, with any strategy and in every stage. With `dispatch`, the call of a strategy other
    than the loop is executed too. `sources` maps each tool to its executor: "demo", the default, or an MCP server;
    `approvals` are the rules for permissions. With `written`, the answer begins with these pieces, and `max_tokens`
    counts the tokens after them; only with the strategy direct. `branch_of` is only the origin. `relaxed` keywords
    are removed from the registry for the constraint and the verdict, in this order, but not for the prompt; only with
    the strategy direct.
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
    written: tuple[PrefixPart, ...] = ()
    branch_of: BranchPoint | None = None
    relaxed: tuple[Relaxed, ...] = ()


def under_constraint(request: RunRequest, constraint: ConstraintKind) -> RunRequest:
    """The request under another constraint; the order of arguments becomes the default there if it was the default."""
    order = request.order
    if order == default_order(request.constraint):
        order = default_order(constraint)
    return msgspec.structs.replace(request, constraint=constraint, order=order)
