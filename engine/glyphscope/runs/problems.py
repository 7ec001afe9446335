"""The problems of a request: everything that can reject it, as rules over its fields, its tools and the model's facts.

Each rule yields all problems that it finds, in the order in which they are shown. `settle` calls all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec.structs import replace as with_fields

from glyphscope.base.errors import GlyphscopeError, GrammarError, PromptError, RegistryError, RequestProblem
from glyphscope.base.shorten import listed, shorten
from glyphscope.events import TOOL_CHOICES, ModelInfo, RunRequest, TemplateForm, wrong_values
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.models.chat import NO_PLACE, NO_PLACE_HINT
from glyphscope.models.template_uses import GIVEN
from glyphscope.models.templates import template_form
from glyphscope.registry import ToolRegistry
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.relaxation import enforced_answer
from glyphscope.runs.transforming import transforms
from glyphscope.turns import TurnForm
from glyphscope.turns.expected import Expected
from glyphscope.turns.form import read_form
from glyphscope.turns.own import ENDPOINTS_OWN, answer_form, named_call

Problems: TypeAlias = Iterator[RequestProblem]

STRATEGIES = ("direct", "two-stage")
"""The strategies that can use a known native notation: their prompts are the request's own."""
TEMPLATE_STRATEGIES = ("direct", "loop")
"""The strategies that generate whole turns, as a template's form requires. Others begin the answer or split it."""
_IN_PARTS = ("two-stage", "route-execute")
"""The strategies that generate a call in parts, under grammars of these parts."""
_SHOWN = 20
"""The maximum number of tools that an error names."""
_MAX_NAME = 60
"""Characters of a variable's name in an error."""
MAX_ID = 2**31 - 1
"""llama.cpp's ids are 32 bits."""


def request_problems(request: RunRequest, info: ModelInfo | None) -> Problems:
    """The problems of the request without its tools; with the model's `info`, also with this model."""
    yield from setting_problems(request)
    yield from _answer_problems(request)
    yield from _template_problems(request, info)
    yield from _notation_problems(request, info)
    yield from _prompt_problems(request, info)
    yield from _prefix_problems(request)
    yield from relaxation_problems(request)
    yield from _strategy_problems(request)


def setting_problems(request: RunRequest) -> Problems:
    """Settings outside of their bounds, and impossible lists of texts."""
    nested = {name: getattr(request, name) for name in ("sampling", "repair", "router", "loop")}
    for name, settings in {"": request, **nested}.items():
        for field, problem in wrong_values(settings):
            message, hint = f"{field.setting.title} is {problem}.", f"Give a number {field.setting.bounds}."
            if field.setting.check is not None:
                message, hint = f"{problem}.", f"Change the setting {field.setting.title}."
            yield _wrong(f"{name}.{field.name}".lstrip("."), message, hint, where=field.name)


def _prompt_problems(request: RunRequest, info: ModelInfo | None) -> Problems:
    """Control tokens as plain text, at an endpoint, which encodes the prompt itself; fields of a body, without one."""
    if request.extra_body and info is not None and info.kind == "llama.cpp":
        yield _wrong(
            "extra_body",
            "Extra fields are for the request of an endpoint, and a model file has none.",
            "Leave them out: sampling and template variables have their own settings.",
        )
    if request.control_texts == "plain" and info is not None and info.kind == "remote":
        yield _wrong(
            "control_texts",
            "An endpoint encodes the prompt itself: texts that read like control tokens cannot be plain text.",
            "Leave them as control tokens, or run a model file.",
        )


def relaxation_problems(request: RunRequest) -> Problems:
    """Constraints that are relaxed although the request's constraint does not use them."""
    if not request.relaxed:
        return
    if request.strategy != "direct":
        yield _wrong(
            "relaxed",
            f"A constraint can be relaxed in runs of the strategy direct, not of {request.strategy}.",
            "Use the strategy direct.",
        )
    if request.constraint == "off":
        return
    if request.grammar is not None:
        yield _wrong(
            "relaxed",
            "The run uses a custom grammar in place of that of the tools, in which nothing can be relaxed.",
            "Use the grammar as the answer, whose rules can be relaxed, or turn the constraint off for the branch.",
        )
    if request.native == ENDPOINTS_OWN:
        yield _wrong(
            "relaxed",
            "The endpoint constrains calls to the tools in the request: nothing can be relaxed without changing these.",
            "Turn the constraint off for the branch.",
        )


def tool_problems(prepared: PreparedRequest) -> Problems:
    """Names of tools and transforms that do not exist, relaxed keywords that cannot be removed, and calls that are
    required but cannot be written.
    """
    request, loop = prepared.request, prepared.request.loop
    if not request.answer.is_call:
        return
    unknown = False
    if request.strategy == "loop":
        for name in dict.fromkeys((*(loop.allow or ()), *loop.deny)):
            if prepared.registry.get(name) is None:
                where = "allow" if name in (loop.allow or ()) else "deny"
                yield _wrong(
                    f"loop.{where}",
                    f"The run's {where} list has '{name}', but there is no such tool.",
                    f"There are {', '.join(tool.name for tool in list(prepared.registry)[:_SHOWN])}.",
                    where=where,
                )
        for name in dict.fromkeys(loop.transforms):
            try:
                transforms((name,))
            except GlyphscopeError as error:
                unknown = True
                yield RequestProblem("loop.transforms", error)
    try:
        found = prepared.uncallable
    except RegistryError as error:
        yield RequestProblem("relaxed", error)
        return
    if unknown:
        return  # the available tools are not known
    enforced = request.strategy == "loop" and loop.tool_use == "enforced"
    needed = request.tool_choice not in ("auto", "none") and (request.strategy != "loop" or enforced)
    chosen = [each for each in found if each.tool == request.tool_choice]
    if chosen or (needed and found and not prepared.described.allowed):
        tool, pointer, why = (chosen or found)[0]
        yield _wrong(
            "registry",
            f"No call of this tool can be written: {why}.",
            "Correct the schema, or take the tool off the allow list.",
            GrammarError,
            where=f"{tool}: {pointer or 'parameters'}",
        )
    elif enforced and not prepared.described.allowed:
        yield _wrong(
            "loop.tool_use",
            "A call is required, but no tool may be called.",
            "Allow a tool, or use the tool use mode relaxed.",
            where="loop",
        )
    allowed = [tool.name for tool in prepared.registry.allowed]
    if request.tool_choice not in TOOL_CHOICES and request.tool_choice not in allowed:
        yield _wrong(
            "tool_choice",
            f"The tool that is to be called, {request.tool_choice!r}, is not one of the registry's.",
            f"Use {', '.join(TOOL_CHOICES)}"
            + (f", or one of: {listed(allowed, _SHOWN)}." if allowed else "."),
            PromptError,
            where="tool_choice",
        )


def writes_calls(form: TurnForm) -> bool:
    """Whether the form itself has calls, not only calls in other forms that are read leniently."""
    return any(call.strict for call in form.calls)


def _answer_problems(request: RunRequest) -> Problems:
    """An answer other than a call and that no text can be, that cannot be read, or that the strategy excludes."""
    answer = request.answer
    if answer.is_call:
        return
    if request.strategy != "direct":
        yield _wrong(
            "answer",
            f"The strategy {request.strategy} makes calls, and the answer is another one ({answer}).",
            "Use the strategy direct.",
        )
    if request.grammar is not None and request.constraint != "off":
        yield _wrong(
            "grammar",
            "A custom grammar replaces that of the tools, and the answer has its own.",
            "Leave the grammar out, or use it as the answer.",
        )
    try:
        Expected(answer_form(enforced_answer(request), request.notation)).grammar(ToolRegistry())
    except RegistryError as error:
        yield RequestProblem("relaxed", error)
    except GrammarError as error:
        yield RequestProblem("answer", error)


def tool_calls_of(request: RunRequest, info: ModelInfo) -> TemplateForm:
    """The form of calls in the request's chat template, or else in the model's, by its text."""
    return template_form(request.chat_template) if request.chat_template else info.tool_calls


def _template_problems(request: RunRequest, info: ModelInfo | None) -> Problems:
    """Variables that a user cannot set, and a chat template for an endpoint."""
    for name in request.template_vars:
        if not name.isidentifier() or name in GIVEN:
            why = "is set by the prompt itself" if name in GIVEN else "is not the name of a variable"
            yield _wrong(
                "template_vars",
                f"{shorten(name, _MAX_NAME)!r} {why}.",
                "Leave it out: `glyphscope models inspect` lists the variables of a chat template.",
                PromptError,
                where="template_vars",
            )
    if request.chat_template and info is not None and info.kind == "remote":
        yield _wrong(
            "chat_template",
            "An endpoint applies its own chat template, which a request cannot replace.",
            "Use the model's own template, or start the server with this one.",
            PromptError,
            where="Chat template",
        )


def _notation_problems(request: RunRequest, info: ModelInfo | None) -> Problems:
    """A native notation, or a constraint, that the model, the strategy or another setting excludes."""
    local = info is not None and info.kind == "llama.cpp"
    if local and request.constraint == "endpoint":
        yield _wrong(
            "constraint",
            "The constraint of an endpoint is for models of an address.",
            "Use mask or gbnf with this model.",
        )
    try:
        form = read_form(request.form)
    except PromptError as error:
        yield RequestProblem("form", error)
        return
    if not request.native:
        return
    known = named_call(request.native) is not None
    if request.free_text and request.constraint != "off" and known:
        yield _wrong(
            "free_text",
            "Free text before a call in the native notation is not possible under a constraint: "
            "the answer begins with the prefix of the call.",
            "Turn off free text or the constraint.",
            PromptError,
        )
    if request.native == ENDPOINTS_OWN:
        yield from _endpoint_problems(request, local=local)
    elif request.native == "template" and form is not None:
        if request.strategy not in TEMPLATE_STRATEGIES:
            yield _in_parts(request)
        if not writes_calls(form) and request.tool_choice != "none":
            yield _wrong(
                "form",
                "The request's form of turns has no notation for calls.",
                "Use GLYPH or JSON, or add the calls to the form.",
                PromptError,
                where="form",
            )
    elif request.strategy not in (STRATEGIES if known else (*STRATEGIES, *TEMPLATE_STRATEGIES)):
        yield _wrong(
            "strategy",
            f"The native notation cannot be used with the strategy {request.strategy}, which has its own prompts.",
            f"Use {' or '.join(STRATEGIES)}.",
        )
    elif info is not None and not known:
        yield _no_form(request, info)


def _endpoint_problems(request: RunRequest, *, local: bool) -> Problems:
    if local:
        yield _wrong(
            "native",
            "The notation openai is for endpoints, but this model is local.",
            "Use glyph, json or native.",
            PromptError,
        )
    if request.strategy != "direct":
        yield _wrong(
            "strategy",
            f"An endpoint returns its own calls as a whole, but the strategy {request.strategy} needs them in parts.",
            "Use the strategy direct, or the notation json.",
        )
    if request.grammar is not None and request.constraint != "off":
        yield _wrong(
            "grammar",
            "An endpoint's own calls are constrained by the tools' schemas; a custom grammar cannot be used.",
            "Leave the grammar out, or use the notation json.",
        )


def notation_obstacle(request: RunRequest, info: ModelInfo | None, *, native: bool) -> GlyphscopeError | None:
    """Why the request's answer has no notation, or, if `native` is the one, not that of the model's chat template."""
    answer = request.answer
    if not answer.has_schema:
        return GlyphscopeError(
            f"The answer is a text ({answer}), which has no notation.",
            hint="Only calls and values of a schema are written in one.",
        )
    if not native:
        return None
    if not answer.is_call:
        return GlyphscopeError(
            "It is the notation of calls, and the answer is a schema's value.", hint="Use JSON or GLYPH."
        )
    if info is None or info.kind == "remote" or tool_calls_of(request, info):
        return None
    return _no_form(with_fields(request, native="auto"), info).error


def _no_form(request: RunRequest, info: ModelInfo) -> RequestProblem:
    """Why the model has no form for its native notation, which the request needs."""
    if request.native == "template" and info.kind == "recorded":
        return _wrong(
            "native",
            "The request needs the form of its model's template, which the record does not contain.",
            "Run it with the model itself, so that its form can be derived.",
            PromptError,
            where="form",
        )
    tool_calls = tool_calls_of(request, info)
    if tool_calls and request.strategy not in TEMPLATE_STRATEGIES:
        return _in_parts(request)
    if not tool_calls:
        return _wrong("native", NO_PLACE, NO_PLACE_HINT, PromptError, where="Chat template")
    return _wrong(
        "native",
        "This model's template has a place for tools, and no form of calls can be derived from it.",
        "Use GLYPH or JSON; glyphscope models inspect shows what the template writes.",
        PromptError,
        where="Chat template",
    )


def _prefix_problems(request: RunRequest) -> Problems:
    """A prefix that the request's strategy cannot continue, and an id that no model has."""
    if request.written and request.strategy != "direct":
        yield _wrong(
            "written",
            f"A branch needs the strategy direct, not {request.strategy}.",
            "Use the strategy direct.",
        )
    if (most := max((one.id for one in request.written), default=0)) > MAX_ID:
        words = f"No model has a token of so large an id ({shorten(str(most), 12)})."
        yield _wrong("written", words, "The record may be damaged.")


def _strategy_problems(request: RunRequest) -> Problems:
    """Settings that exclude a call in parts, and a custom grammar with errors."""
    if request.free_text and request.strategy == "two-stage":
        yield _wrong(
            "free_text",
            "Free text before a call and a call in two stages exclude each other: the answer is begun with the call.",
            "Turn free text off, or use the strategy direct.",
        )
    if request.grammar is None or request.constraint == "off":
        return
    if request.strategy in _IN_PARTS:
        yield _wrong(
            "grammar",
            "A custom grammar describes whole calls, and this strategy generates a call in parts.",
            "Use the strategy direct, or leave the grammar out.",
            GrammarError,
        )
    # where the model may write words only, or instead, the grammar is not used
    elif request.loop.tool_use == "enforced" if request.strategy == "loop" else request.tool_choice != "none":
        try:
            load_gbnf(request.grammar)
        except GrammarError as error:
            yield RequestProblem("grammar", error)


def _in_parts(request: RunRequest) -> RequestProblem:
    return _wrong(
        "strategy",
        f"The strategy {request.strategy} takes calls in parts, and the form of a template has whole turns.",
        f"Use the strategy {' or '.join(TEMPLATE_STRATEGIES)}, or the notation json.",
    )


def _wrong(
    field: str, message: str, hint: str, kind: type[GlyphscopeError] = GlyphscopeError, *, where: str = ""
) -> RequestProblem:
    return RequestProblem(field, kind(message, where=where, hint=hint))
