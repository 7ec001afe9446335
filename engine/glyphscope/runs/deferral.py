"""Deferred tools: those that are not in the prompt of a conversation until the model finds them with a search tool.

The search tool is the program's: no source executes its calls, they need no approval, and they are not among the calls
of the run. Exactly the tools that are loaded are in the prompt, the grammar and the validator of the next turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, count
from typing import Any

import msgspec

from glyphscope.base.figures import percent, pluralize
from glyphscope.base.shorten import and_more
from glyphscope.events import RunRequest, ToolsDeferred, ToolSearch, ToolsSearched
from glyphscope.models.interface import Model
from glyphscope.prompting.messages import render_messages
from glyphscope.prompting.rendered import TOOLS
from glyphscope.prompting.signature import signature
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.registry.making import object_schema
from glyphscope.runs.envelope import compact
from glyphscope.runs.event_rows import deferred_words
from glyphscope.runs.state import RunState, StageState
from glyphscope.runs.tool_search import MAX_QUERY, ToolIndex, words

SEARCH = "search_tools"
"""The name of the search tool; with a number if a tool of the registry has it."""
LEAST_ROOM = 0.25
"""The share of the context that loaded tools may take even if fewer tokens of tools are already deferred."""
FEW = 0.05
"""The share of the context from which MCP's guidance for clients defers tools."""
MAX_ROUTED = 100
"""Names among which the router chooses; of more, the best by words."""
_PARTS = (TOOLS, "examples")
"""The parts of a prompt that tools add to it."""
_BYTES = 4
"""Bytes of a token, for a model that does not count."""
_NAMED = 10
"""Tools that a message names."""
_MAX_EXAMPLE, _LONG = 100, 4
"""Characters of the user's prompt in the example of a search, and of a word in an expression."""
_ABOUT: dict[ToolSearch, str] = {
    "bm25": "Finds tools by words about what they do",
    "names": "Finds tools by words of their names",
    "regex": "Finds tools by a regular expression in their names, descriptions and arguments",
    "router": "Finds the tool for a task",
}


def search_tool(name: str, by: ToolSearch, prompt: str = "") -> Tool:
    """The program's own tool, which finds the others. Its example searches for the words of the user's `prompt`, as
    small models copy examples.
    """
    query = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY}
    about = f"{_ABOUT.get(by, _ABOUT['bm25'])}. Those found can be called in the next turn."
    asked = " ".join(prompt.split())[:_MAX_EXAMPLE]
    if by == "regex":
        asked = "|".join(word for word in dict.fromkeys(words(asked)) if len(word) >= _LONG)
    examples = ({"query": asked},) if asked else ()
    return Tool(name, about, object_schema({"query": query}), input_examples=examples)


def offered(
    registry: ToolRegistry,
    deferred: ToolsDeferred,
    loaded: Iterable[str],
    prompt: str = "",
    *,
    search: bool = True,
) -> ToolRegistry:
    """The registry of a turn: the search tool, if it is offered, and the loaded tools, in the order of loading."""
    tools = tuple(tool for name in loaded if (tool := registry.get(name)) is not None)
    own = (search_tool(deferred.search, deferred.by, prompt),) if search else ()
    return replace(registry, tools=(*own, *tools))


def stage_registry(run: RunState, stage: StageState) -> ToolRegistry | None:
    """The registry of a stage: the run's, of which a turn may offer only the loaded tools."""
    place, registry = stage.earlier, run.registry
    if place.deferred is None or registry is None:
        return registry
    return offered(registry, place.deferred, place.loaded, search=place.search)


def first_offered(registry: ToolRegistry, deferred: ToolsDeferred | None, prompt: str = "") -> ToolRegistry:
    """The registry of the first turn."""
    return registry if deferred is None else offered(registry, deferred, deferred.loaded, prompt)


def tools_text(request: RunRequest, registry: ToolRegistry) -> str:
    """All that the tools add to the prompt. Raises PromptError."""
    rendered = render_messages(request, registry)
    parts = (part.text for part in rendered.parts if part.name in _PARTS)
    return "".join((*parts, *(json.dumps(tool, ensure_ascii=False) for tool in rendered.tools)))


def deferral(request: RunRequest, registry: ToolRegistry, model: Model) -> ToolsDeferred | None:
    """The deferral of tools that a conversation offers; None if all of them are in its prompt.

    Deferred are the tools with `defer_loading`; if all together take more than the request's share of the model's
    context, also those that do not exclude it. `request` has its system template. Raises PromptError.
    """
    settings, tools = request.loop, registry.allowed
    if settings.tool_search == "off" or not tools:
        return None
    context, text = model.info.context, tools_text(request, registry)
    least = settings.defer_tools * context
    flagged = any(tool.defer_loading for tool in tools)
    tokens = 0
    if flagged or (context and len(text.encode()) > least):  # a token has at least a byte
        tokens = counted(text, model)
    over = bool(context) and tokens > least
    loaded = tuple(
        tool.name for tool in tools if not (over if tool.defer_loading is None else tool.defer_loading)
    )
    if len(loaded) == len(tools):
        return None
    names = chain((SEARCH,), (f"{SEARCH}_{number}" for number in count(2)))
    return ToolsDeferred(
        search=next(name for name in names if registry.get(name) is None),
        by=settings.tool_search,
        deferred=len(tools) - len(loaded),
        loaded=loaded,
        tokens=tokens,
        context=context,
    )


def counted(text: str, model: Model) -> int:
    """The tokens of a text, estimated for a model that does not count them."""
    return model.count_tokens(text) or -(-len(text.encode()) // _BYTES)


def tools_note(
    request: RunRequest, registry: ToolRegistry, model: Model, deferred: ToolsDeferred | None
) -> str:
    """The tokens of the tools with and without a search for them, in words; empty for few of a context's, and unknown
    ones. Raises PromptError.
    """
    context = model.info.context
    if deferred is not None:
        rest = counted(tools_text(request, first_offered(registry, deferred, request.prompt)), model)
        return f"{deferred_words(deferred)}; those in the prompt take {rest:,}."
    tokens = counted(tools_text(request, registry), model) if context and registry.allowed else 0
    if request.loop.tool_search == "off" or tokens <= FEW * context:
        return ""
    alone = ToolsDeferred(search=SEARCH, by=request.loop.tool_search, deferred=len(registry.allowed))
    rest = counted(tools_text(request, first_offered(registry, alone, request.prompt)), model)
    share = f"{tokens:,} of the context's {context:,} tokens ({percent(tokens / context, 0)})"
    return f"The tools take {share}; deferred to a search tool (defer_tools), {rest:,}."


class DeferredTools:
    """The tools of a conversation, and which of them are `loaded`. `registry` has all that may be called."""

    def __init__(
        self, request: RunRequest, registry: ToolRegistry, event: ToolsDeferred, model: Model
    ) -> None:
        self.event, self.loaded = event, event.loaded
        self._search = True  # whether the next turn offers the search
        self._request, self._registry, self._model = request, registry, model

    @property
    def name(self) -> str:
        """The name of the search tool."""
        return self.event.search

    def next_turn(self) -> ToolRegistry:
        """The tools of the next turn. The search is not among them after one that found nothing but loaded tools: small
        models would repeat it.
        """
        search, self._search = self._search, True
        return offered(self._registry, self.event, self.loaded, self._request.prompt, search=search)

    @cached_property
    def index(self) -> ToolIndex:
        """The tools that a search finds: also loaded ones, so that a search for them does not find worse ones."""
        by = self.event.by
        return ToolIndex(self._registry.allowed, "bm25" if by == "router" else by)

    def routed(self, query: str) -> ToolRegistry:
        """The tools among whose names the router chooses."""
        tools = self._registry.allowed
        if len(tools) > MAX_ROUTED:
            best = dict.fromkeys((*self.index.ranked(query), *(tool.name for tool in tools)))
            names = frozenset([*best][:MAX_ROUTED])
            tools = tuple(tool for tool in tools if tool.name in names)
        return replace(self._registry, tools=tools)

    def load(
        self, query: str, matches: Sequence[str], problem: str = "", recorded: ToolsSearched | None = None
    ) -> ToolsSearched:
        """Load the best of the tools that match, as many as fit, in place of earlier ones if there is no room for both.

        In a replay, `recorded` says which. `problem` is why nothing was found. Returns the event without a time.
        """
        found = tuple(matches[: self._request.loop.max_found_tools])
        before = self.loaded
        self.loaded = recorded.loaded if recorded is not None else self._fitting(found)
        event = ToolsSearched(
            query=query,
            by=self.event.by,
            found=found,
            matches=len(matches),
            loaded=self.loaded,
            left_off=tuple(name for name in found if name not in self.loaded),
            unloaded=tuple(name for name in before if name not in self.loaded),
            known=bool(found) and self.loaded == before,
            problem=problem,
        )
        self._search = not event.known
        return with_message(event, self._registry)

    def _fitting(self, found: Sequence[str]) -> tuple[str, ...]:
        """The names of the loaded tools after a search: the best one always, the others while there is room."""
        always = self.event.loaded
        earlier = [name for name in self.loaded if name not in always]
        chosen: list[str] = []
        for name in dict.fromkeys((*found, *reversed(earlier))):
            if name not in always and (not chosen or self._fits((*always, *chosen, name))):
                chosen.append(name)
        return (*always, *(name for name in dict.fromkeys((*earlier, *found)) if name in chosen))

    def _fits(self, names: Sequence[str]) -> bool:
        room = max(LEAST_ROOM, self._request.loop.defer_tools) * self._model.info.context
        text = tools_text(self._request, offered(self._registry, self.event, names))
        return not room or counted(text, self._model) <= room


def with_message(event: ToolsSearched, registry: ToolRegistry) -> ToolsSearched:
    """The event with the message to the model: the loaded ones of the found tools with their signatures."""
    if event.problem:
        return _sent(event, {"ok": False, "error": {"code": "TOOL_ERROR", "message": event.problem}})
    tools = (registry.get(name) for name in event.found if name in event.loaded)
    # a JSON text escapes each double quote, which costs a token
    signatures = [signature(tool).replace('"', "'") for tool in tools if tool is not None]
    notes = [] if event.found else ["No tool matches. Search with other words."]
    if rest := event.matches - len(signatures):
        notes.append(f"{pluralize(rest, 'more tool')} matched: to load others, search with more words.")
    if event.known:
        notes.append("All of them were loaded already: call one.")
    if event.unloaded:
        notes.append(f"No longer loaded: {and_more(event.unloaded, _NAMED)}.")
    note = {"note": " ".join(notes)} if notes else {}
    return _sent(event, {"ok": True, "result": {"tools": signatures, **note}})


def _sent(event: ToolsSearched, message: dict[str, Any]) -> ToolsSearched:
    return msgspec.structs.replace(event, sent=compact(message))
