"""The values that a run's options choose from, each with its title, a hint, and its words within a name."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from glyphscope.events.setting import Choice

Notation: TypeAlias = Literal["glyph", "json"]
AnyNotation: TypeAlias = Literal["glyph", "json", "native"]
"""`native` is the form of the model's own chat template: a request has it in its member of that name."""
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
Strict: TypeAlias = Literal["auto", "on", "off"]
"""Whether an endpoint is asked to enforce the tools' schemas; `auto` is what each tool says."""
ControlTexts: TypeAlias = Literal["tokens", "plain"]
"""The tokens of a text of a user, a tool or a result that reads like a control token."""
ConstrainFrom: TypeAlias = Literal["start", "reasoning", "call"]
"""Where the constraint begins: at the first token, after the reasoning, or where the model begins a call."""
EvidenceKind: TypeAlias = Literal["all", "chosen", "none"]
"""The tokens whose raw figures are reported: `chosen` omits the forced ones, whose logits are then not computed."""
StopOn: TypeAlias = Literal["error", "unknown-tool", "never"]
Strategy: TypeAlias = Literal["direct", "two-stage", "route-execute", "loop"]
ToolUse: TypeAlias = Literal["enforced", "relaxed", "disabled"]
FailurePolicy: TypeAlias = Literal["fatal", "tolerated"]
Approval: TypeAlias = Literal["ask", "allow", "deny"]
ToolSearch: TypeAlias = Literal["off", "bm25", "names", "regex", "router"]
"""How tools are found that are not in the prompt; `off`: all of them are."""

NOTATIONS: tuple[Notation, ...] = get_args(Notation)
SHAPES: tuple[Shape, ...] = ("flat", "tool-args", "name-arguments")
TOOL_CHOICES: tuple[str, ...] = ("auto", "required", "none")
"""Values of `RunRequest.tool_choice`; any other is a tool's name. A tool with one of these names cannot be chosen."""
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

NOTATION_CHOICES = (
    Choice("glyph", "GLYPH", "Calls are written in GLYPH"),
    Choice("json", "JSON", "Calls are written in JSON"),
    Choice(
        "native",
        "Native",
        "The notation of the model’s chat template, which also defines the shape",
        "native",
    ),
)
SHAPE_CHOICES = (
    Choice("flat", "flat", '{"action": name, …arguments}'),
    Choice("tool-args", "tool/args", '{"tool": name, "args": {…}}'),
    Choice("name-arguments", "name/args", '{"name": name, "arguments": {…}}'),
)
CONSTRAINT_CHOICES = (
    Choice(
        "off",
        "Off",
        "The output is not constrained; the run stops at the deciding character",
        "no constraint",
    ),
    Choice("mask", "Mask", "Only tokens that can still lead to a valid call are allowed", "mask"),
    Choice("gbnf", "GBNF", "The same, by llama.cpp’s grammar sampler"),
)
STRATEGY_CHOICES = (
    Choice("direct", "Direct", "One prompt, one answer, one call.", "direct"),
    Choice(
        "two-stage",
        "Two-stage",
        "First the tool’s name, then its arguments, constrained by that tool’s schema.",
        "two-stage",
    ),
    Choice(
        "route-execute",
        "Route → execute",
        "A router chooses a tool by name; an executor, which sees only that tool, calls it.",
        "route → execute",
    ),
    Choice(
        "loop",
        "Tool loop",
        "Calls are executed and their results sent back to the model, turn by turn, until it answers.",
        "tool loop",
    ),
)
START_CHOICES = (
    Choice(
        "start",
        "From the first token",
        "The call comes first; reasoning that the prompt opened is closed",
        "from the first token",
    ),
    Choice(
        "reasoning",
        "After reasoning",
        "The model reasons freely, then calls under the constraint",
        "after reasoning",
    ),
    Choice("call", "From the call", "Unconstrained until the model begins a call", "from the call"),
)
ORDER_CHOICES = (
    Choice("any", "Any", "The model chooses the order of the arguments", "any order"),
    Choice("schema", "As in the schema", "Arguments have the order of the schema", "the schema’s order"),
)
THINKING_CHOICES = (
    Choice("auto", "Template default", "Not set: the chat template decides", "thinking auto"),
    Choice("on", "On", "The model reasons before it answers", "thinking on"),
    Choice("off", "Off", "The model answers without reasoning", "thinking off"),
)
AUTO = "auto"
EFFORT_CHOICES = (
    Choice(AUTO, "Template default", "Not set: the chat template or the server decides", "default effort"),
    Choice("none", "None", "For templates and servers with this value", "effort none"),
    Choice("minimal", "Minimal", "For templates and servers with this value", "effort minimal"),
    Choice("low", "Low", "The model reasons little", "effort low"),
    Choice("medium", "Medium", "", "effort medium"),
    Choice("high", "High", "The model reasons much", "effort high"),
    Choice("xhigh", "Very high", "For templates and servers with this value", "effort xhigh"),
    Choice("max", "Maximal", "For templates and servers with this value", "effort max"),
)
STRICT_CHOICES = (
    Choice(AUTO, "As each tool says", "Sent for the tools whose definition has it", "strict auto"),
    Choice("on", "On", "Sent for every tool; some servers then accept only a part of JSON Schema", "strict"),
    Choice("off", "Off", "Sent for no tool", "not strict"),
)
CONTROL_TEXT_CHOICES = (
    Choice(
        "tokens",
        "As control tokens",
        "They are control tokens, as in most servers",
        "control texts as tokens",
    ),
    Choice(
        "plain",
        "As plain text",
        "They are text, which cannot end or begin a turn",
        "control texts as plain text",
    ),
)
TOOL_CHOICE_CHOICES = (
    Choice("required", "Required", "The answer must call a tool"),
    Choice("auto", "Auto", "The model decides whether to call a tool or answer in text"),
    Choice("none", "None", "The answer is text without calls"),
)
TOOL_USE_CHOICES = (
    Choice("relaxed", "Auto", "The model may call tools or answer directly"),
    Choice("enforced", "Required", "An answer is rejected until a call has succeeded"),
    Choice("disabled", "None", "No tools are offered or executed"),
)
TOOL_SEARCH_CHOICES = (
    Choice("off", "None", "All tools are in the prompt", "no tool search"),
    Choice(
        "bm25",
        "By words",
        "By words in names, descriptions and arguments; words that few tools have count more (BM25)",
        "tools by words",
    ),
    Choice("names", "By names", "By the words of the tools’ names", "tools by names"),
    Choice(
        "regex",
        "Regular expression",
        "In names, descriptions and arguments",
        "tools by regular expression",
    ),
    Choice(
        "router",
        "Router",
        "The model chooses one tool by name in a separate prompt, as in the strategy route → execute",
        "tools by router",
    ),
)
FAILURE_CHOICES = (
    Choice("fatal", "Must not fail", "The last call of every tool must have succeeded"),
    Choice("tolerated", "May fail", "The run continues after a failed call"),
)


STOP_CHOICES = (
    Choice("error", "At the first error", "At the first character after which no valid call exists"),
    Choice("unknown-tool", "At an unknown tool", "Only at the name of a tool that does not exist"),
    Choice(
        "never",
        "Never",
        "The model writes its whole answer, with verdicts and probabilities",
        "no early stop",
    ),
)
EVIDENCE_CHOICES = (
    Choice("all", "All", "The model’s own figures of every token"),
    Choice("chosen", "Chosen", "Those of the tokens that the model chose, not of forced ones"),
    Choice("none", "None", "No figures"),
)


def default_order(constraint: ConstraintKind) -> ArgumentOrder:
    """The default order of arguments.

    Masks allow any order: it costs them little and leaves the model its own order. GBNF cannot record which properties
    were written: beyond a few, any order would need too many rules, so there, and for endpoints, which get GBNF or a
    schema, it must be requested. Without a constraint it has no effect.
    """
    return "any" if constraint == "mask" else "schema"


def notation_members(notation: AnyNotation) -> dict[str, Any]:
    """The members of a request for the notation of calls: a model's own form is JSON with the form's name."""
    is_native = notation == "native"
    return {"notation": "json" if is_native else notation, "native": "auto" if is_native else ""}
