"""The request of a run, with the settings of every strategy. Frozen, and part of every record."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from glyphscope.events import choices
from glyphscope.events.answer import CALL, Answer
from glyphscope.events.expected import ExpectedAnswer
from glyphscope.events.sampling import Sampling, stop_problem
from glyphscope.events.setting import Setting

MAX_AMOUNT = 2**31 - 1
"""The largest amount of tokens or bytes: a field of the window holds no more."""


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
    max_questions: Annotated[int, Setting(
        "Questions", "Maximum number of questions from the router", least=0, most=100,
    )] = 1  # fmt: skip
    multi_intent: Annotated[bool, Setting(
        "Several requests", "The router may find several requests in one prompt; then no tool is called",
    )] = False  # fmt: skip
    temperature: float = 0.0


class RepairSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How an invalid call is repaired: `extract` extracts a call from the text and reports the changes; then the model
    gets the error, at most `attempts` times. `preset` names the prompt for this, and a `template` in the request
    replaces it.
    """

    attempts: Annotated[int, Setting(
        "Repairs", "Repair attempts after an invalid call, with the error in the prompt",
        least=0, most=100, special=0, unit="times", key="repair",
    )] = 0  # fmt: skip
    extract: Annotated[bool, Setting(
        "Extract a call from surrounding text",
        "Removes code fences, surrounding text and trailing commas; each change is reported",
    )] = True  # fmt: skip
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
    consecutive invalid turns before the run stops; the model gets the error of each. If the tools would take more than
    the share `defer_tools` of the context, they are deferred: a search tool finds them by `tool_search`, at most
    `max_found_tools` at a time. `prompt` names the preset of the system message, which a template in the request
    replaces.
    """

    presets: tuple[str, ...] = ()
    tool_use: Annotated[choices.ToolUse, Setting(
        "Tool choice", "Whether a run may, must or must not call tools", choices=choices.TOOL_USE_CHOICES,
    )] = "relaxed"  # fmt: skip
    failure_policy: Annotated[choices.FailurePolicy, Setting(
        "Failed calls", "Effect of a failed call on the run", choices=choices.FAILURE_CHOICES,
    )] = "fatal"  # fmt: skip
    max_tool_args_bytes: Annotated[int, Setting(
        "Arguments", "Calls with larger arguments are not executed; the model is informed",
        least=1, most=MAX_AMOUNT, unit="bytes",
    )] = 200_000  # fmt: skip
    max_tool_output_bytes: Annotated[int, Setting(
        "Results", "For a larger result, the model receives only its size", least=1, most=MAX_AMOUNT, unit="bytes",
    )] = 200_000  # fmt: skip
    parallel_tool_calls: Annotated[bool, Setting(
        "Parallel calls", "Off: only the first call of a turn is executed; the others are counted",
    )] = False  # fmt: skip
    max_tool_calls_per_turn: Annotated[int | None, Setting(
        "Calls per turn", "Maximum executed calls per turn, with parallel calls",
        least=1, most=1000, special=None, special_words="no limit",
    )] = None  # fmt: skip
    max_turns: Annotated[int, Setting(
        "Turns", "Maximum number of turns", least=1, most=10_000, words="turns {value}",
    )] = 8  # fmt: skip
    max_total_tokens: Annotated[int, Setting(
        "Total tokens", "Maximum number of tokens in all turns", least=1, most=MAX_AMOUNT,
    )] = 16_384  # fmt: skip
    max_seconds: Annotated[float, Setting(
        "Time", "Maximum duration of the run", least=0, most=86_400, step=1, unit="s",
    )] = 600.0  # fmt: skip
    max_tool_seconds: Annotated[float, Setting(
        "Time per call", "Maximum duration of a call; then it is cancelled",
        least=0, most=86_400, step=1, unit="s",
    )] = 60.0  # fmt: skip
    max_identical_calls: Annotated[int, Setting(
        "Same call", "Maximum executions of an identical call", least=1, most=1000, unit="times",
    )] = 3  # fmt: skip
    max_invalid_turns: Annotated[int, Setting(
        "Turns without progress", "Consecutive turns without progress before the run stops", least=1, most=1000,
    )] = 3  # fmt: skip
    fix_empty_final: Annotated[bool, Setting(
        "Retry an empty answer", "Once, with a request for an answer in text",
    )] = True  # fmt: skip
    fix_empty_final_disable_tools: Annotated[bool, Setting(
        "Retry without tools", "Offer no tools when an empty answer is retried",
    )] = True  # fmt: skip
    tool_search: Annotated[choices.ToolSearch, Setting(
        "Tool search", "How the model finds tools that are not in the prompt",
        choices=choices.TOOL_SEARCH_CHOICES, special="off",
    )] = "bm25"  # fmt: skip
    defer_tools: Annotated[float, Setting(
        "Tools in the prompt",
        "The largest share of the context that tools may take; if they would take more, the model searches for them",
        least=0, most=1, unit="%", needs=("tool_search",), words="tools in the prompt {value}",
    )] = 0.5  # fmt: skip
    max_found_tools: Annotated[int, Setting(
        "Found tools", "Maximum number of tools that one search adds to the prompt",
        least=1, most=100, needs=("tool_search",), words="found tools {value}",
    )] = 5  # fmt: skip
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
    action: choices.Approval = "ask"


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


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a chat template is rendered, besides its messages and tools; the members of a request of these names.

    `chat_template` is Jinja, or the name of one of the model's own templates; empty: the one that the model chooses.
    """

    thinking: choices.Thinking = "auto"
    reasoning_effort: str = choices.AUTO
    template_vars: dict[str, Any] = {}
    chat_template: str = ""


DEFAULT_CHAT = ChatOptions()

_BY_THE_RUN = {
    "model": "it is named in the address (…/v1#NAME)",
    "messages": "they are the run's prompt and history",
    "input": "it is the run's prompt and history",
    "tools": "they are the run's tools",
    "tool_choice": "it is the run's tool choice",
    "response_format": "it is the run's constraint or answer",
}
"""The members of a body that only the run sets, with the reason."""


def extra_body_problem(names: tuple[str, ...]) -> str:
    """The problem with the names of `extra_body`, without a full stop; empty if there is none."""
    name = next((name for name in names if name in _BY_THE_RUN), None)
    return "" if name is None else f"Extra fields cannot set {name}: {_BY_THE_RUN[name]}"


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of everything that determines a run. Nothing outside it may change the run.

    `registry` is the registry's document in Glyphscope's format. `history` has the messages of earlier turns, between
    the system message and this `prompt`: every strategy continues from them. `system_prompt` is plain text that
    begins the system message; the template, `system` or that of `preset`, writes the rest of it. `model` is a file
    path, or the name of a scripted or recorded model. An `answer` other than a call needs no tools: they are neither
    offered nor enforced. `grammar` is GBNF that replaces the registry's grammar under
    either constraint. `free_text` allows any text before the call. Under the registry's grammar, the call's arguments
    are in that `order`. With `native`, the model's chat template renders the tools and requests the call, in the
    format of its training: `auto` is the template's form, any other name is used as it is. Notation and shape are
    then those of the form. `thinking` is passed to the model's chat template in every notation; a template without
    such a switch gives a note. So are `reasoning_effort`, as the variable by which the template sets it, and the
    variables `template_vars`, by name; an endpoint gets them in the fields that its server has for them.
    `strict` and `extra_body` are for endpoints: the members of `extra_body` are merged into the body of each request.
    `chat_template`, Jinja or the name of one of the model's own, replaces the template. `control_texts`: how texts
    of users, tools and results that read like control tokens are encoded. `form` is the form of the
    model's turns (`glyphscope.turns.TurnForm` as JSON), which a run fills in: all of it with the native notation
    `template`, otherwise only the reasoning. `tool_choice` is `auto` (text or calls), `required`, `none` or the
    name of the one tool to call. An answer has at most `most_calls` calls; None: unlimited. `reasoning_budget` is
    the number of tokens after which reasoning must end; None: no separate limit. `repeatable` uses the model's
    cache only where it cannot change any figure: the same request then gives the same tokens whatever ran before,
    with up to 63 more prompt tokens to evaluate. The model's text ends before the first of the `stop` strings, with
    any strategy and in every stage. With `dispatch`, the call of a strategy other than the loop is executed too.
    `sources` maps each tool to its executor: "demo", the default, or an MCP server; `approvals` are the rules for
    permissions. With `written`, the answer begins with these pieces, and `max_tokens` counts the tokens after them;
    only with the strategy direct. `branch_of` is only the origin. `relaxed` keywords are removed from the registry
    for the constraint and the verdict, in this order, but not for the prompt; only with the strategy direct.
    `expected` is the right answer to this prompt, by which the run's answer is judged.
    """

    prompt: str
    registry: dict[str, Any]
    history: tuple[Message, ...] = ()
    model: str = ""
    preset: str = "default"
    system: str | None = None
    system_prompt: str = ""
    notation: Annotated[choices.Notation, Setting(
        "Notation", "Notation of the call; native is that of the model’s chat template",
        choices=choices.NOTATION_CHOICES,
    )] = "glyph"  # fmt: skip
    answer: Annotated[Answer, Setting(
        "Answer",
        "Kind of answer: a tool call, a value of a JSON Schema, a text that a regular expression matches, one of "
        "several texts, or a text of a grammar; strategy direct only",
        words="{value}", usual="call",
    )] = CALL  # fmt: skip
    shape: Annotated[choices.Shape, Setting(
        "Shape of a call", "Arrangement of the tool’s name and its arguments", choices=choices.SHAPE_CHOICES,
    )] = "flat"  # fmt: skip
    native: choices.NativeForm | Literal["", "auto"] = ""
    thinking: Annotated[choices.Thinking, Setting(
        "Thinking", "Whether the model reasons first, for chat templates with such a switch; auto is their default",
        choices=choices.THINKING_CHOICES,
    )] = "auto"  # fmt: skip
    reasoning_effort: Annotated[str, Setting(
        "Reasoning effort", "How much the model reasons, for chat templates and servers with such a setting",
        choices=choices.EFFORT_CHOICES,
    )] = choices.AUTO  # fmt: skip
    template_vars: Annotated[dict[str, Any], Setting(
        "Template variables", "Variables of the chat template, each as NAME=VALUE with JSON or text as value",
        key="template_var",
    )] = {}  # fmt: skip
    chat_template: str = ""
    strict: Annotated[choices.Strict, Setting(
        "Strict tools", "Whether an endpoint is asked to enforce the tools’ schemas; only with the native notation",
        choices=choices.STRICT_CHOICES,
    )] = "auto"  # fmt: skip
    extra_body: Annotated[dict[str, Any], Setting(
        "Extra fields", "Fields added to an endpoint’s request, each as NAME=VALUE with JSON or text as value",
        check=extra_body_problem,
    )] = {}  # fmt: skip
    control_texts: Annotated[choices.ControlTexts, Setting(
        "Control tokens in texts",
        "How texts of users, tools and results that read like control tokens are encoded",
        choices=choices.CONTROL_TEXT_CHOICES,
    )] = "tokens"  # fmt: skip
    form: dict[str, Any] = {}
    examples: Annotated[bool, Setting(
        "Example calls", "An example call of each tool in the prompt; small models copy their values",
    )] = True  # fmt: skip
    tool_choice: Annotated[str, Setting(
        "Tool choice",
        "Whether the answer must, may or must not call a tool, or calls one by name; strategy direct only",
        choices=choices.TOOL_CHOICE_CHOICES,
    )] = "required"  # fmt: skip
    most_calls: Annotated[int | None, Setting(
        "Calls per answer", "Maximum number of calls in one answer; strategy direct only",
        least=1, most=1000, special=None, special_words="no limit", key="calls",
    )] = 1  # fmt: skip
    constrain_from: Annotated[choices.ConstrainFrom, Setting(
        "Constrain from",
        "Where the constraint begins: at the first token, after the reasoning, or where a call begins",
        choices=choices.START_CHOICES,
    )] = "reasoning"  # fmt: skip
    reasoning_budget: Annotated[int | None, Setting(
        "Reasoning budget", "Maximum number of reasoning tokens under a mask, which then ends the reasoning",
        least=0, most=100_000, special=None, special_words="no limit", unit="tokens",
    )] = None  # fmt: skip
    constraint: Annotated[choices.ConstraintKind, Setting(
        "Constraint", "Method that constrains the model to the registry", choices=choices.CONSTRAINT_CHOICES,
    )] = "mask"  # fmt: skip
    grammar: str | None = None
    free_text: Annotated[bool, Setting(
        "Free text", "Allow free text before the call",
    )] = False  # fmt: skip
    order: Annotated[choices.ArgumentOrder, Setting(
        "Order of arguments",
        "The order of arguments that the constraint allows; GBNF has to list every order, so with more than "
        "four properties it uses the schema’s",
        usual="any under a mask, otherwise the schema’s", choices=choices.ORDER_CHOICES,
    )] = "schema"  # fmt: skip
    strategy: Annotated[choices.Strategy, Setting(
        "Strategy", "How the prompt becomes a call", choices=choices.STRATEGY_CHOICES,
    )] = "direct"  # fmt: skip
    stop_on: Annotated[choices.StopOn, Setting(
        "Early stop", "When a run stops before the model ends its answer", choices=choices.STOP_CHOICES,
    )] = "error"  # fmt: skip
    sampling: Sampling = Sampling()
    max_tokens: Annotated[int, Setting(
        "Max tokens", "Maximum number of tokens in one answer",
        least=1, most=1_000_000, words="at most {value} tokens",
    )] = 512  # fmt: skip
    stop: Annotated[tuple[str, ...], Setting(
        "Stop strings", "The answer ends before the first of these texts; \\n is a line feed, \\t a tab",
        special=(), words="stop at {value}", check=stop_problem,
    )] = ()  # fmt: skip
    alternatives: Annotated[int, Setting(
        "Alternatives per token",
        "Most likely other tokens that are reported for each token; more make records larger", least=0, most=100,
    )] = 10  # fmt: skip
    evidence: Annotated[choices.EvidenceKind, Setting(
        "Evidence", "Tokens for which the model’s own figures are recorded; fewer tokens decode faster",
        choices=choices.EVIDENCE_CHOICES,
    )] = "all"  # fmt: skip
    repeatable: bool = False
    router: RouterSettings = RouterSettings()
    repair: RepairSettings = RepairSettings()
    loop: LoopSettings = LoopSettings()
    dispatch: Annotated[bool, Setting(
        "Execute the call", "Off: the run ends with the call; the tool loop always executes",
    )] = False  # fmt: skip
    sources: dict[str, str] = {}
    approvals: tuple[ApprovalRule, ...] = ()
    written: tuple[PrefixPart, ...] = ()
    branch_of: BranchPoint | None = None
    relaxed: tuple[Relaxed, ...] = ()
    expected: ExpectedAnswer | None = None

    @property
    def chat(self) -> ChatOptions:
        """How the chat template is rendered."""
        return ChatOptions(**{name: getattr(self, name) for name in ChatOptions.__struct_fields__})


def under_constraint(request: RunRequest, constraint: choices.ConstraintKind) -> RunRequest:
    """The request under another constraint; the order of arguments becomes the default there if it was the default."""
    order = request.order
    if order == choices.default_order(request.constraint):
        order = choices.default_order(constraint)
    return msgspec.structs.replace(request, constraint=constraint, order=order)
