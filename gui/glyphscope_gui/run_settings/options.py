"""The options of a run beside model, notation and constraint: their groups, which ones have an effect, and their words.

An option is named by its place in the request, such as `max_tokens`, `sampling.top_k` or `loop.max_turns`. A setting
that no group names is in the last one of its struct.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.shorten import capitalised
from glyphscope.events import (
    ANSWER_CHOICES,
    Choice,
    Field,
    LoopSettings,
    ModelInfo,
    RepairSettings,
    RouterSettings,
    RunRequest,
    Sampling,
    Setting,
    default_order,
    is_needed,
    settings_of,
)
from glyphscope.prompting.strategies import strategy_preset
from glyphscope.runs.problems import notation_obstacle
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.run_words import value_words
from glyphscope_gui.shared.settings_grid import shown_words

DEFAULTS = RunRequest(prompt="", registry={})
_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "": RunRequest, "sampling.": Sampling, "loop.": LoopSettings, "router.": RouterSettings, "repair.": RepairSettings,
}  # fmt: skip
_ELSEWHERE = ("notation", "constraint", "answer")
"""Settings of a request that are chosen beside the options, or in parts."""


def value_of(options: RunRequest, name: str) -> Any:
    """The value of that option."""
    value: Any = options
    for part in name.split("."):
        value = getattr(value, part)
    return value


def changed(options: RunRequest, name: str, value: Any) -> dict[str, Any]:
    """The members of a request that change if that option becomes `value`."""
    part, _, inner = name.rpartition(".")
    return (
        {part: msgspec.structs.replace(getattr(options, part), **{inner: value})} if part else {name: value}
    )


def _listed(name: str, title: str, about: str, usual: str) -> tuple[str, Field]:
    """An option that the engine does not state as a setting; `usual` are the words for its default."""
    default = value_of(DEFAULTS, name)
    return name, Field(name, object, default, Setting(title, about, choices=(Choice(default, usual),)))


def _template(name: str) -> str:
    return tr("A custom template that replaces the preset:\n\n{template}", template=strategy_preset(name))


LISTED: dict[str, Field] = dict(
    (
        ("answer.kind", Field("kind", str, "call", Setting(
            tr("Answer"), in_language(settings_of(RunRequest)["answer"].setting.about), choices=ANSWER_CHOICES,
        ))),
        _listed("answer.text", tr("Text of the answer"),
                tr("The schema, the pattern, the texts (one per line) or the grammar"), tr("none")),
        _listed("approvals", tr("Approval rules"), tr(
            "search=allow, demo/*=deny: the first matching rule decides; a call that matches no rule needs approval"
        ), tr("every call needs approval")),
        _listed("loop.presets", tr("Presets"), tr("Named settings of the loop, which can be combined"), tr("none")),
        _listed("loop.allow", tr("Only these"),
                tr("Tool names separated by commas: only these are offered and executed"), tr("all tools")),
        _listed("loop.deny", tr("Never these"),
                tr("Tool names separated by commas: these are neither offered nor executed"), tr("none")),
        _listed("loop.transforms", tr("Transforms"),
                tr("Compatibility fixes for models with unusual calls; each use is reported"), tr("none")),
        _listed("router.rules", tr("Rules"), tr("Rules for the router, one per line"), tr("none")),
        _listed("router.synonyms", tr("Synonyms"),
                tr("Phrases for each tool, one tool per line: `tool: phrase, phrase`"), tr("none")),
        _listed("router.names", tr("Known names"),
                tr("Names to find in the prompt before routing: `kind: name, name`"), tr("none")),
        _listed("router.answers", tr("Answers"),
                tr("Answers to the router’s questions, in order, one per line"), tr("none")),
        _listed("router.router_system", tr("Router prompt"), _template("router"), tr("the preset")),
        _listed("router.executor_system", tr("Executor prompt"), _template("executor"), tr("the preset")),
    )
)  # fmt: skip
"""The options that the engine does not state as settings."""
OPTIONS: dict[str, Field] = LISTED | {
    prefix + name: field
    for prefix, kind in _STRUCTS.items()
    for name, field in settings_of(kind).items()
    if prefix + name not in _ELSEWHERE
}
"""All options by name."""


class Group(NamedTuple):
    """Options under one heading; those without a title are always shown. `is_open`: at first not folded."""

    title: str
    names: tuple[str, ...]
    is_open: bool = False


FIRST = (
    "strategy",
    "answer.kind",
    "answer.text",
    "sampling.temperature",
    "sampling.seed",
    "max_tokens",
    "stop_on",
)
SAMPLING, SAMPLERS, TEMPLATE = tr("Sampling"), tr("More samplers"), tr("Reasoning and chat template")
FEW = ("top_k", "top_p", "min_p", "repeat_penalty", "repeat_last_n")
"""The settings of sampling that are usual."""


def _rest(prefix: str, groups: Iterable[Group] = ()) -> tuple[str, ...]:
    """The options of a struct that are in none of the groups."""
    taken = {name for group in groups for name in group.names}
    return tuple(name for name in OPTIONS if name[: name.find(".") + 1] == prefix and name not in taken)


def _groups() -> tuple[Group, ...]:
    first = Group("", FIRST)
    calls = Group(tr("Execution"), ("dispatch", "loop.tool_use", "loop.max_turns", "approvals"), True)
    turns = Group(tr("Calls and retries"), (
        "loop.presets", "loop.failure_policy", "loop.parallel_tool_calls", "loop.max_tool_calls_per_turn",
        "loop.fix_empty_final", "loop.fix_empty_final_disable_tools", "loop.allow", "loop.deny", "loop.transforms",
    ))  # fmt: skip
    limits = Group(tr("Limits"), _rest("loop.", (calls, turns)))
    routing = Group(tr("Prompts of the router"), (
        "router.router_system", "router.executor_system", "router.multi_intent",
    ))  # fmt: skip
    router = Group(tr("Router and executor"), _rest("router.", (routing,)), True)
    sampling = Group(SAMPLING, tuple(f"sampling.{name}" for name in FEW))
    samplers = Group(SAMPLERS, _rest("sampling.", (first, sampling)))
    answer = Group(tr("Calls and text"), (
        "shape", "tool_choice", "most_calls", "constrain_from", "order", "free_text", "examples", "stop",
    ))  # fmt: skip
    template = Group(TEMPLATE, (
        "thinking", "reasoning_effort", "reasoning_budget", "control_texts", "template_vars",
    ))  # fmt: skip
    endpoint = Group(tr("Endpoint"), ("strict", "extra_body"))
    repair = Group(tr("Invalid answer"), _rest("repair."))
    known = (
        first,
        calls,
        turns,
        limits,
        router,
        routing,
        sampling,
        samplers,
        answer,
        template,
        endpoint,
        repair,
    )
    return (*known, Group(tr("Recorded figures"), _rest("", known)))


GROUPS = _groups()


def relevant(options: RunRequest) -> frozenset[str]:
    """The options that matter for the strategy and the answer."""
    strategy, is_call = options.strategy, options.answer.is_call
    left_out = {
        "answer.text": not is_call,
        "dispatch": strategy != "loop",
        "tool_choice": strategy == "direct" and is_call,
        "most_calls": strategy == "direct" and is_call,
        "shape": is_call,
        "constrain_from": strategy in ("direct", "loop"),
        "reasoning_budget": strategy in ("direct", "loop"),
        "approvals": strategy == "loop" or options.dispatch,
    }
    of_strategy = {"loop.": strategy == "loop", "router.": strategy == "route-execute"}
    return frozenset(
        name
        for name in OPTIONS
        if left_out.get(name, True) and of_strategy.get(name[: name.find(".") + 1], True)
    )


def obstacle(options: RunRequest, model: ModelInfo | None, name: str) -> str:
    """Why an option has no effect with the others, or with the open model; empty if it has one."""
    part = options.loop if name.startswith("loop.") else options.sampling
    if "." in name and name in OPTIONS and not is_needed(part, field := OPTIONS[name]):
        titles = (in_language(settings_of(type(part))[each].setting.title) for each in field.setting.needs)
        return tr("It needs: {settings}.", settings=", ".join(titles))
    without = options.constraint == "off"
    match name:
        case "notation":
            why_not = notation_obstacle(options, model, native=False)
            return "" if why_not is None else why_not.words
        case "loop.max_tool_calls_per_turn" if not options.loop.parallel_tool_calls:
            return tr("Without parallel calls, it is 1.")
        case "loop.fix_empty_final_disable_tools" if not options.loop.fix_empty_final:
            return tr("An empty answer is not retried.")
        case "shape" if options.native:
            return tr("The native notation defines it.")
        case "tool_choice" | "most_calls" | "dispatch" | "approvals" | "shape" if not options.answer.is_call:
            return tr("Only for tool calls, and the answer is another one.")
        case "tool_choice" | "most_calls" if options.strategy != "direct":
            return tr("Only for the strategy Direct.")
        case "most_calls" if options.tool_choice == "none":
            return tr("Tool choice allows none.")
        case "order" | "repair.extract" if not options.answer.has_schema:
            return tr("Only for answers with a schema.")
        case "constrain_from" | "order" if without:
            return tr("Only under a constraint.")
        case "constrain_from" if options.strategy not in ("direct", "loop"):
            return tr("This strategy splits a call into stages.")
        case "reasoning_budget" if options.constraint != "mask" or options.thinking == "off":
            return tr("It needs a mask, and a model that reasons.")
        case "reasoning_budget" if options.strategy not in ("direct", "loop"):
            return tr("This strategy splits a call into stages.")
        case "approvals" if options.strategy != "loop" and not options.dispatch:
            return tr("No call is executed.")
        case "strict" | "extra_body" if model is not None and model.kind != "remote":
            return tr("Only endpoints receive it.")
        case "strict" if not options.native:
            return tr("Tools are only sent with the native notation.")
        case "thinking" | "reasoning_effort":
            reads = (
                None if model is None else model.reads_thinking if name == "thinking" else model.reads_effort
            )
            return _no_switch(model, reads, chosen=bool(options.chat_template))
    return ""


def _no_switch(model: ModelInfo | None, reads: bool | None, *, chosen: bool) -> str:
    """Why the open model's template has no such setting, by what it `reads`; empty if it has, or if only an endpoint or
    another template, which was `chosen`, decides.
    """
    if model is None:
        return tr("No model is loaded yet.")
    if model.kind == "recorded":
        return tr("A recorded model only replays its output.")
    if reads or (chosen and model.kind != "remote") or (reads is None and model.kind == "remote"):
        return ""
    if model.kind == "remote":
        return tr("This endpoint has no such parameter.")
    if not model.has_chat_template:
        return tr("This model has no chat template.")
    if reads is None:
        return tr("This model’s chat template cannot be read.")
    return tr("This model’s chat template has no such switch.")


def usual(options: RunRequest, name: str) -> Any:
    """The default of an option, which may depend on others."""
    return default_order(options.constraint) if name == "order" else value_of(DEFAULTS, name)


def defaults(options: RunRequest) -> dict[str, Any]:
    """The members of a request with which every option has its default."""
    names = ("strategy", "answer", "sampling", "loop", "router", "repair", "approvals")
    members = {name: getattr(DEFAULTS, name) for name in names}
    return members | {name: usual(options, name) for name in OPTIONS if "." not in name}


def differences(options: RunRequest) -> Iterator[tuple[str, str]]:
    """The options that matter and differ from their defaults, with their words: `max_tokens`, `at most 99 tokens`."""
    shown = relevant(options) - {"answer.text"}  # its kind is named with it
    for name in (name for group in GROUPS for name in group.names):
        if name in shown and value_of(options, name) != usual(options, name):
            yield name, _words(options, name)


def option_words(options: RunRequest, *, brief: bool = False) -> list[str]:
    """`Tool loop`, `seed 1` and `temp 0`, which are always named, and the options that differ from their defaults.
    `brief`: of an answer's text, only its kind is named.
    """
    always = ("strategy", "sampling.seed", "sampling.temperature")
    others = [
        words.partition(" ")[0] if brief and name == "answer.kind" else words
        for name, words in differences(options)
        if name not in always
    ]
    return [capitalised(_words(options, always[0])), *(_words(options, name) for name in always[1:]), *others]


def shorter_words(words: Sequence[str]) -> Iterator[str]:
    """Fewer and fewer of the words of options, with the number of the others: `Direct · seed 1 +2`."""
    for kept in range(len(words) - 1, 0, -1):
        yield tr("{options} +{count}", options=" · ".join(words[:kept]), count=len(words) - kept)


def _words(options: RunRequest, name: str) -> str:
    """An option within a line of others: `top-k 7`, `turns 5`, `no parallel calls`."""
    field, value = OPTIONS[name], value_of(options, name)
    title = in_language(field.setting.title)
    title = title if title[:2].isupper() else title[:1].lower() + title[1:]
    if name == "sampling.temperature":
        return tr("temp {value:g}", value=value)
    if name == "answer.kind":
        return value_words("answer", options.answer)
    if name in LISTED:
        return title
    if field.kind is bool:
        return title if value else tr("no {setting}", setting=title)
    choice = next((each for each in field.setting.choices if each.value == value), None)
    if field.setting.words if choice is None else choice.words:
        return value_words(field.name, value)
    return f"{title} {shown_words(field, value)}"
