"""The part of an answer whose probability is explained: all of it, the name of a tool, a field, or a token."""

from __future__ import annotations

from itertools import islice

from glyphscope.base.errors import PromptError
from glyphscope.base.figures import pluralize
from glyphscope.base.pointer import readable
from glyphscope.explain.ablation.types import ChoiceKind, WrittenChoice
from glyphscope.runs.state import RunState, StageState

STRATEGIES = ("direct", "loop")
"""The strategies with a prompt that can be explained: the only one, or that of a loop's first turn."""
_SHOWN = 12
"""Fields that an error lists."""


def written_choice(
    state: RunState, kind: ChoiceKind | None = None, *, token: int = 0, path: str = "", call: int = 0
) -> WrittenChoice:
    """The choice in the answer of a run, or in the first turn of a loop: its `token` of that index, or the field at
    `path` (a JSON Pointer, or its last name) or the tool of its `call`. By default the tool if the answer names one,
    else all.

    Tokens are whole: a choice that begins or ends within one has all of it. The end token of an answer belongs to none.
    Raises PromptError if there is no such choice, or if the strategy makes another prompt for each part of the answer.
    """
    return _choice(state, _scored(state), kind, token, path, call)


def written_choices(state: RunState, most: int) -> list[WrittenChoice]:
    """The choices of an answer: of its first `most` fields with their tools, all of it, and of its first `most` tokens.

    Raises PromptError as `written_choice` does.
    """
    count, stage = _scored(state), state.stages[0]
    found = []
    for call, known in stage.written.items():
        if known.tool is not None:
            found.append(_choice(state, count, "tool", call=call))
        fields = (
            path for path, each in known.fields.items() if each.start is not None and each.end > each.start
        )
        found += [
            _choice(state, count, "field", path=path, call=call)
            for path in islice(fields, max(0, most - len(found)))
        ]
    found.append(_choice(state, count, "answer"))
    return found + [_choice(state, count, "token", token=index) for index in range(min(count, most))]


def _scored(state: RunState) -> int:
    """The number of tokens of the answer that can be scored. Raises PromptError for an answer of which none can."""
    started, tokens = state.begun, state.stages[0].tokens
    where = f"run {started.run}"
    if started.request.strategy not in STRATEGIES:
        raise PromptError(
            f"The strategy {started.request.strategy} makes another prompt for each part of the answer: none of them "
            "decided the whole.",
            where=where,
            hint="Run it with the strategy direct, or with loop, of which the first turn is explained.",
        )
    count = sum(1 for one in tokens if not one.step.end)
    if not count:
        raise PromptError("The run has no tokens, so nothing was chosen.", where=where, hint="Run it again.")
    if any(one.step.id < 0 for one in tokens[:count]):
        raise PromptError(
            "The tokens of this answer have no ids, so they cannot be scored.",
            where=where,
            hint="Run the prompt with a model in a GGUF file.",
        )
    return count


def _choice(
    state: RunState, count: int, kind: ChoiceKind | None, token: int = 0, path: str = "", call: int = 0
) -> WrittenChoice:
    stage, where = state.stages[0], f"run {state.begun.run}"
    known = stage.written.get(call)
    tool = known.tool if known is not None else None
    match kind or ("tool" if tool is not None else "answer"):
        case "token":
            if not 0 <= token < count:
                raise PromptError(
                    f"There is no token {token}: the answer has {pluralize(count, 'token')}.",
                    where=where,
                    hint=f"Give a number from 0 to {count - 1}.",
                )
            return WrittenChoice("token", token, token + 1, stage.tokens[token].step.text)
        case "tool":
            if tool is None:
                raise PromptError(
                    "The answer names no tool."
                    if not call
                    else f"The answer has no call {call} with a tool.",
                    where=where,
                    hint="Explain the whole answer, a field or a token.",
                )
            start = stage.text.rfind(tool.name, 0, tool.char + 1)
            found = max(start, 0), min(start + len(tool.name) + 1, len(stage.text))
            return _between(stage, "tool", *found, text=tool.name, name=tool.name)
        case "field":
            return _field(stage, path, call, where)
        case _:
            return WrittenChoice("answer", 0, count, stage.text)


def _field(stage: StageState, path: str, call: int, where: str) -> WrittenChoice:
    known = stage.written.get(call)
    fields = {} if known is None else known.fields
    found, named = fields.get(path), [path]
    if found is None:
        named = [each for each in fields if path in (readable(each), each.rpartition("/")[2])]
        found = fields[named[0]] if len(named) == 1 else None
    if found is None or found.start is None or found.end <= found.start:
        listed = ", ".join(list(fields)[:_SHOWN])
        raise PromptError(
            f"The answer has no field {path}." if len(named) < 2 else f"Several fields are named {path}.",
            where=where,
            hint=f"It has {listed}." if listed else "Explain the whole answer, or a token.",
        )
    return _between(stage, "field", found.start, found.end, stage.text[found.start : found.end], found.path)


def _between(
    stage: StageState, kind: ChoiceKind, start: int, end: int, text: str, path: str = "", name: str = ""
) -> WrittenChoice:
    """The tokens that wrote these characters, without the end token."""
    tokens = stage.tokens_between(start, end)
    last = tokens.stop - (bool(tokens) and stage.tokens[tokens.stop - 1].step.end)
    return WrittenChoice(kind, tokens.start, last, text, path, name)
