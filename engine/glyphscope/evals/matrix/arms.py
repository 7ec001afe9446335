"""An arm: one combination of all settings that an evaluation varies. Its id is its name in every file.

An axis is stated once, as a field of `Arm` annotated with `Axis`. Made from it are the member of `Matrix` with its
values, its option of `glyphscope eval run`, its values on the Evaluate page, its member of a run's request, its part of
an arm's id, its columns in tables, and its words in reports and in the window.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias, cast

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.shorten import excerpt
from glyphscope.evals.matrix.profiles import profiles
from glyphscope.events import (
    AUTO,
    Answer,
    ArgumentOrder,
    Choice,
    ConstrainFrom,
    ConstraintKind,
    ControlTexts,
    Field,
    LoopSettings,
    RunRequest,
    Setting,
    Shape,
    Strategy,
    Thinking,
    ToolSearch,
    default_order,
    pairs_line,
    read_pairs_line,
    settings_of,
)
from glyphscope.models.remote import is_address, replicas_of

MAX_SHOWN = 24
"""Characters of a long text in a label, and in an id."""
ArmNotation: TypeAlias = Literal["glyph", "json", "native"]
Workarounds: TypeAlias = Literal["production", "baseline"]
"""`production` applies the catalogue's recommendations for a model; `baseline` applies none."""


class Axis(Setting, frozen=True):
    """A setting that an evaluation varies. One without `choices` is not offered among the axes.

    `values` is the member of `Matrix` with its values, by default its name with an s. `part` is its part of an arm's
    id: in every id if it `names` the arm, otherwise only for another value than the default. `baseline` are its values
    in the order that decides which of two arms is compared with the other; numbers are in their own order. `subjects`
    are the words of single values at the beginning of a sentence. `typed` is an example of a value that is not among
    the choices, for an axis that has such values; those of a `long` axis are texts of any length, which an id and a
    label shorten, which people also give as a file, and which replace those that suites and scenarios state.
    """

    values: str = ""
    part: str = ""
    names: bool = False
    baseline: tuple[Any, ...] = ()
    subjects: Mapping[Any, str] = MappingProxyType({})
    typed: str = ""
    long: bool = False


def request_axis(name: str, *before: Choice, usual: str = "", **facts: Any) -> Axis:
    """The axis of a setting of a request, with choices that only an evaluation has `before` its own."""
    stated = settings_of(RunRequest)[name].setting
    facts = {"choices": (*before, *stated.choices), "words": stated.words, **facts}
    return Axis(stated.title, stated.about, usual=usual, **facts)


def _text_axis(title: str, about: str, words: str, **facts: Any) -> Axis:
    """The axis of a text of the prompt that each suite states, unless a value replaces it."""
    stated = Choice(None, "As in the suite", "The one that each suite defines", f"usual {words}", "suite")
    facts |= {"words": words + " “{value}”", "usual": "each suite’s own", "baseline": (None, "")}
    return Axis(title, about, long=True, **{**facts, "choices": (stated, *facts["choices"])})


_SEARCH = settings_of(LoopSettings)["tool_search"].setting
_PROFILES = tuple(
    Choice(each.name, each.name.replace("_", " "), each.about, each.name) for each in profiles()
)


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the matrix. `strategy` None is each suite's own; `repair` is the number of repair attempts.

    `preset` names the prompt; `model` is the name that the user gave, as in `--model`. `order` is the schema's if a
    result does not contain it: early results have no other. `answer` None is each suite's own; a scenario's own
    replaces the arm's. A field that is also one of `RunRequest` becomes that member of a run's request.
    """

    model: Annotated[str, Axis("Model", "The evaluated model", names=True)]
    notation: Annotated[ArmNotation, request_axis(
        "notation", names=True, baseline=("json", "native", "glyph"),
        subjects={"glyph": "GLYPH", "json": "JSON", "native": "the model's own notation"},
    )] = "glyph"  # fmt: skip
    answer: Annotated[Answer | None, request_axis(
        "answer", Choice(None, "As in the suite", "The answer that each suite defines", "the suite’s answer", "suite"),
        usual="each suite’s own", part="{value}", baseline=(None,), subjects={None: "each suite's own answer"},
        typed="choice:yes|no",
    )] = None  # fmt: skip
    shape: Annotated[Shape, request_axis("shape", names=True)] = "flat"
    constraint: Annotated[ConstraintKind, request_axis(
        "constraint", names=True, usual="mask; of the starter suite alone: off mask", baseline=("off", "gbnf", "mask"),
        subjects={"off": "no constraint", "mask": "the mask", "gbnf": "the GBNF sampler"},
    )] = "mask"  # fmt: skip
    strategy: Annotated[Strategy | None, request_axis(
        "strategy",
        Choice(None, "As in the suite", "The strategy that each suite defines", "each suite’s strategy", "suite"),
        names=True, usual="each suite’s own", values="strategies", baseline=(None, "direct"),
        subjects={None: "each suite's own strategy"},
    )] = None  # fmt: skip
    repair: Annotated[int, Axis(
        "Repair", "Maximum number of repairs", part="+repair{value}", words="{value} repairs", choices=(
            Choice(0, "None", "", "no repair"),
            Choice(1, "Once", "An invalid call is sent back once, with the error", "1 repair"),
            Choice(2, "Twice", "", "2 repairs"),
        ),
    )] = 0  # fmt: skip
    profile: Annotated[str, Axis(
        "Sampling", "Sampling settings by name, which may depend on the model", names=True, choices=_PROFILES,
        usual="default; `glyphscope eval profiles` lists them", baseline=("deterministic", "default"),
    )] = "default"  # fmt: skip
    workarounds: Annotated[Workarounds, Axis(
        "Compatibility fixes", "The presets of the tool loop that are recommended for a model, by its name", choices=(
            Choice("production", "Recommended", "Apply the presets recommended for the model", "production"),
            Choice("baseline", "None", "", "baseline"),
        ),
        values="workarounds", part="{value}", baseline=("baseline", "production"),
        subjects={"production": "recommended compatibility fixes", "baseline": "no compatibility fixes"},
    )] = "production"  # fmt: skip
    preset: Annotated[str, Axis(
        "Preset", "The prompt’s preset", words="preset {value}", part="{value}", baseline=("default",),
    )] = "default"  # fmt: skip
    tool_search: Annotated[ToolSearch | None, Axis(
        _SEARCH.title, _SEARCH.about + "; strategy loop only", choices=(
            Choice(None, "As in the suite", "The tool search that each suite defines", "usual tool search", "suite"),
            *_SEARCH.choices,
        ),
        usual="each suite’s own", values="tool_searches", part="search-{value}",
        baseline=(None, "off", "bm25", "names", "regex", "router"),
        subjects={None: "each suite's own tool search", "off": "all tools in the prompt"},
    )] = None  # fmt: skip
    system_prompt: Annotated[str | None, _text_axis(
        "System prompt", "Plain text that begins the system message; a text, or a file of it", "system prompt",
        choices=(Choice("", "None", "No system prompt", "no system prompt", "none"),),
        part="system-{value}", typed="text or FILE.txt",
    )] = None  # fmt: skip
    chat_template: Annotated[str | None, _text_axis(
        "Chat template", "Jinja, the name of one of the model’s templates, or a file of either", "chat template",
        choices=(Choice("", "The model’s", "The one that the model chooses", "the model’s chat template", "model"),),
        part="template-{value}", typed="name or FILE.jinja",
    )] = None  # fmt: skip
    thinking: Annotated[Thinking, request_axis(
        "thinking", values="thinking", baseline=("off", "auto", "on"),
    )] = "auto"  # fmt: skip
    reasoning_effort: Annotated[str, request_axis(
        "reasoning_effort", part="effort-{value}",
        baseline=("none", "minimal", "low", "medium", "high", "xhigh", "max", AUTO),
    )] = AUTO  # fmt: skip
    template_vars: Annotated[str, Axis(
        "Template variables", "Variables of the chat template as NAME=VALUE, several with ; between them",
        key="template_var", choices=(Choice("", "None", "No variable is set", "no variables", "none"),),
        values="template_vars", part="vars-{value}", words="{value}", typed="NAME=VALUE; NAME=VALUE",
    )] = ""  # fmt: skip
    control_texts: Annotated[ControlTexts, request_axis(
        "control_texts", values="control_texts", part="control-{value}", baseline=("tokens", "plain"),
    )] = "tokens"  # fmt: skip
    constrain_from: Annotated[ConstrainFrom, request_axis(
        "constrain_from", values="constrain_from", part="from-{value}", baseline=("start", "reasoning", "call"),
        subjects={
            "start": "the constraint from the first token",
            "reasoning": "the constraint after the reasoning",
            "call": "the constraint from the call",
        },
    )] = "reasoning"  # fmt: skip
    order: Annotated[ArgumentOrder, request_axis(
        "order", Choice(None, "Default", "Any order with Mask, the schema’s order with GBNF", "", "usual"),
        usual="usual: any under a mask, otherwise the schema’s", part="{value}-order", baseline=("schema", "any"),
        subjects={"schema": "the arguments in the schema's order", "any": "the arguments in any order"},
    )] = "schema"  # fmt: skip

    @property
    def id(self) -> str:
        """A short id in characters that every file system accepts; the same for the same arm."""
        return _id(self)

    @property
    def strategy_id(self) -> str:
        """The strategy with its repairs, as in the id: `suite` for each suite's own, `+repair2` for two repairs."""
        return (self.strategy or "suite") + (f"+repair{self.repair}" if self.repair else "")


AXES: dict[str, Field] = settings_of(Arm)
"""The axes by the names of an arm's fields."""
OFFERED: dict[str, Field] = {name: field for name, field in AXES.items() if field.setting.choices}
"""The axes whose values a user chooses."""


def axis_of(name: str) -> Axis:
    """The facts of an axis."""
    return cast("Axis", AXES[name].setting)


LONG: frozenset[str] = frozenset(name for name in AXES if axis_of(name).long)
"""The axes whose values are texts of the prompt, None where each suite's own are used."""


def values_of(name: str) -> str:
    """The member of `Matrix` with the values of an axis."""
    return axis_of(name).values or f"{name}s"


def first_value(name: str) -> Any:
    """The value that is offered first: None where it is a choice, the default of other axes."""
    values = [choice.value for choice in axis_of(name).choices]
    return None if None in values else AXES[name].default


def words_of(name: str, value: Any) -> str:
    """A value within the name of an arm."""
    shown = excerpt(value, MAX_SHOWN) if axis_of(name).long and value else value
    return AXES[name].words(value).format(value=shown)


def subject_of(name: str, value: Any) -> str:
    """A value at the beginning of a sentence."""
    words = words_of(name, value)
    return axis_of(name).subjects.get(value) or (words if name in words else f"{name} {words}")


def baseline_place(name: str, value: Any) -> float:
    """The place of a value in the order from the baseline; unknown ones are last."""
    if isinstance(value, int):
        return value
    order = axis_of(name).baseline
    return order.index(value) if value in order else len(order)


def axes_of(request: RunRequest) -> dict[str, tuple[Any, ...]]:
    """The members of a matrix with the settings of a request, for the axes that are its notation, its constraint and
    how its chat template is rendered. The strategy and the answer remain each suite's own.
    """
    settings: dict[str, Any] = {
        **{name: getattr(request, name) for name in _OF_A_PROJECT},
        "notation": "native" if request.native else request.notation,
        "template_vars": pairs_line(request.template_vars),
        "order": None if request.order == default_order(request.constraint) else request.order,
    }
    if settings["constraint"] == "endpoint":
        settings["constraint"] = "mask"
    return {values_of(name): (value,) for name, value in settings.items()}


_OF_A_PROJECT = ("shape", "constraint", "thinking", "reasoning_effort", "control_texts", "constrain_from")


def variables_of(template_vars: str) -> dict[str, Any]:
    """The template variables of an arm. Raises GlyphscopeError."""
    try:
        return read_pairs_line(template_vars)
    except ValueError as error:
        raise GlyphscopeError(f"{error}.", where="template_var", hint="Write NAME=VALUE.") from None


def varied(arms: Sequence[Arm]) -> list[str]:
    """The settings in which the arms differ, without an order of arguments that the constraint alone decides."""
    names = [name for name in Arm.__struct_fields__ if len({getattr(arm, name) for arm in arms}) > 1]
    usual = "constraint" in names and all(arm.order == default_order(arm.constraint) for arm in arms)
    return [name for name in names if not (usual and name == "order")]


@lru_cache(maxsize=4096)
def _id(arm: Arm) -> str:
    parts = ""
    for name, field in AXES.items():
        axis, value = axis_of(name), getattr(arm, name)
        if axis.names or value != field.default:
            part = axis.part or ("{value}" if axis.names else f"{name}-{{value}}")
            part = part.format(value=_slug(_option(field, value)))
            parts += part if not parts or part.startswith("+") else f".{part}"
    return parts


def _option(field: Field, value: Any) -> str:
    """The value as it is written on the command line; of an answer, its kind and its text's SHA-256, cut."""
    if isinstance(value, Answer):
        return value.kind + (f"-{_digest(value.text)}" if value.text else "")
    if isinstance(value, str) and value and axis_of(field.name).long:
        return f"{_slug(value[:MAX_SHOWN])}-{_digest(value)}"
    return next(
        (each.option for each in field.setting.choices if each.value == value and each.option), str(value)
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


@lru_cache(maxsize=1024)
def _slug(text: str) -> str:
    """The last part of a path or an address, of several addresses of the first."""
    text = replicas_of(text)[0] if is_address(text) else text
    name = re.split(r"[/\\]", text.rstrip("/\\"))[-1].removesuffix(".gguf")
    return re.sub(r"[^A-Za-z0-9+_-]+", "-", name).strip("-")[:48] or "model"
