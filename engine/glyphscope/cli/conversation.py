"""The text before the prompt: a system prompt, a list of messages, a recorded run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from glyphscope.cli.inputs import STDIN, InputError, read_json, read_text, shown_source
from glyphscope.cli.output import print_unused
from glyphscope.events import Message, RunRequest, default_order, settings_of
from glyphscope.prompting.message_list import read_messages
from glyphscope.registry.saving import Unused
from glyphscope.runs import RunState, answer_messages, history_after, run_state
from glyphscope.runs.again import again
from glyphscope.store import load_project
from glyphscope.store.bundle import SUFFIX as BUNDLE
from glyphscope.store.bundle import read_run
from glyphscope.store.named_models import RECORDED
from glyphscope.store.project import SUFFIX as PROJECT

OPENED = (PROJECT, ".jsonl", BUNDLE, ".json")
"""The endings of files that have a whole request."""
_NO_BEGINNING = "The record does not contain the beginning of a run."
_WITHOUT_OPTION = ("preset",)


def continue_run(context: typer.Context, file: Path) -> None:
    """Make the settings of that run the defaults of the command's options."""
    started = recorded_state(file).started
    assert started is not None
    name = started.request.model or started.model.path
    context.default_map = {**(context.default_map or {}), **_defaults(started.request, name)}


def open_project(context: typer.Context, file: Path) -> None:
    """Make the settings of that project the defaults of the command's options."""
    request = _request_of(file)[0]
    context.default_map = {**(context.default_map or {}), **_defaults(request, request.model)}


def opened_request(file: Path) -> RunRequest:
    """The request of a project, a recorded run or a body, whose unused parts are listed on stderr."""
    request, found = _request_of(file)
    print_unused(found)
    return request


def _request_of(file: Path) -> tuple[RunRequest, tuple[Unused, ...]]:
    """The request of a project, a recorded run or a body, and its unused parts."""
    if file.suffix in (".jsonl", BUNDLE):
        started = run_state(read_run(file).events).started
        if started is None:
            raise InputError(_NO_BEGINNING, where=str(file))
        return again(started.request), ()
    stored = load_project(file)
    return stored.project.request, () if stored.opened is None else stored.opened.unused


def recorded_state(file: Path) -> RunState:
    """The state of a recorded run. Raises StorageError, RecordError, and InputError for a run without an answer."""
    state = run_state(read_run(file).events)
    if state.started is None:
        raise InputError(_NO_BEGINNING, where=str(file))
    if not answer_messages(state, state.started.request):
        raise InputError(
            "The run has no answer to continue from.",
            where=str(file),
            hint="Take a run that wrote something.",
        )
    return state


def conversation_members(
    prompt: str | None,
    system: str | None,
    messages: str | None,
    before: RunState | None,
    opened: RunRequest | None = None,
) -> dict[str, Any]:
    """The members of a request with its messages. `before` is the continued run, `opened` the request of a project.
    Raises InputError.
    """
    if (messages is not None) + (before is not None) + (opened is not None) > 1:
        raise InputError("--messages, --continue and --project exclude each other.", hint="Give one of them.")
    words = read_text(STDIN) if prompt == STDIN else prompt
    members: dict[str, Any] = {"prompt": words}
    if before is not None and before.started is not None:
        request = before.started.request
        members |= {"history": history_after(before, request), "system_prompt": request.system_prompt}
        members["system"] = request.system
    elif opened is not None:
        members |= {"history": opened.history, "system_prompt": opened.system_prompt, "system": opened.system}
        members["prompt"] = opened.prompt if words is None else words
    elif messages is not None:
        members |= _listed(messages, words)
    members |= system_members(system)
    if members["prompt"] is None:
        raise InputError(
            "No prompt was given.", where="PROMPT", hint='Give it, as in: glyphscope run "Find AI news"'
        )
    return members


def system_members(given: str | None) -> dict[str, Any]:
    """A template if it names a file or standard input, else plain text. Raises InputError for a missing file."""
    if given is None:
        return {}
    if given == STDIN or _is_file(given):
        return {"system": read_text(given)}
    return {"system_prompt": given}


def rest_of(request: RunRequest, given: dict[str, bool]) -> dict[str, Any]:
    """Members of a continued run's or a project's request that have no option of the same form, unless they were
    `given`.

    The tools that it allowed to run are not included, because a record may be from anyone.
    """
    names = (*_WITHOUT_OPTION, *(name for name, is_given in given.items() if not is_given))
    return {name: getattr(request, name) for name in names}


def _listed(source: str, words: str | None) -> dict[str, Any]:
    listed = read_messages(read_json(source), shown_source(source))
    history = listed.history
    if words is not None and listed.prompt:
        history = (*history, Message("user", listed.prompt))
    if words is None and not listed.prompt and history[-1:] and history[-1].role != "tool":
        raise InputError(
            (
                f"The list ends with a message of the role {history[-1].role}: it needs a user "
                "message to answer."
            ),
            where=source,
            hint="Give the next user message as PROMPT.",
        )
    if words is None and not listed.prompt and not history:
        raise InputError("The list has no user message.", where=source, hint="Give it as PROMPT.")
    return {
        "prompt": listed.prompt if words is None else words,
        "history": history,
        "system_prompt": listed.system_prompt,
    }


def _is_file(given: str) -> bool:
    """Whether it names a file. Raises InputError for a text that can only be meant as a missing file."""
    path = Path(given)
    try:
        if path.exists():
            return True
    except (OSError, ValueError):  # too long for a path, or with a null character
        return False
    if not any(map(str.isspace, given)) and (path.suffix or path.parent != Path(".")):
        raise InputError(
            "There is no such file.", where=given, hint="Check the path; a system prompt as text has blanks."
        )
    return False


def _defaults(request: RunRequest, name: str) -> dict[str, Any]:
    """The settings of a request with that model, by the names of the command's parameters."""
    defaults = {
        field.key: field.written(getattr(settings, field.name))
        for settings in (request, request.repair)
        for field in settings_of(type(settings)).values()
        if not field.is_list
    }
    defaults |= {
        "seed": request.sampling.seed,
        "notation": "native" if request.native else request.notation,
        "constraint": "mask" if request.constraint == "endpoint" else request.constraint,
    }
    del defaults["answer"]  # whose option names a file
    if request.order == default_order(request.constraint):
        del defaults["order"]
    if name and not name.startswith(RECORDED):
        defaults["model"] = name
    return {name: value for name, value in defaults.items() if value is not None}
