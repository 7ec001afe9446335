"""The tools of a suite and its scenarios: a bundled registry by its name, a file beside the suite, or a document."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from glyphscope.base.errors import RegistryError, StorageError
from glyphscope.base.inputs import named_file, refuse_special
from glyphscope.registry import (
    ToolRegistry,
    bundled_registries,
    bundled_registry,
    load_registry,
    parse_document,
)
from glyphscope.registry.document import parse_text, read_registry_file
from glyphscope.validation.reasons import in_words
from glyphscope.validation.tools import CallableTool

_bundled = lru_cache(maxsize=16)(bundled_registry)


def registry_document(source: str | dict[str, Any], folder: Path | None) -> str | dict[str, Any]:
    """The form in which a registry is saved: a bundled one's name, or the document, also of a file.

    Raises RegistryError, and StorageError for a file that is unreadable, or outside of the folder.
    """
    if isinstance(source, dict) or source in bundled_registries():
        return source
    if folder is None or not source:
        raise RegistryError(
            f'There is no registry "{source}".',
            hint=f"Name a bundled one ({', '.join(bundled_registries())}), "
            "or a file by its path from the suite's folder.",
        )
    path = named_file(folder, source)
    refuse_special(path)
    document = parse_text(read_registry_file(path), str(path))
    if isinstance(document, dict):
        return document
    return parse_document(document, str(path)).to_document()  # a list of tools, as OpenAI writes them


def open_registry(source: str | dict[str, Any], folder: Path | None = None) -> ToolRegistry:
    """The registry. Raises RegistryError, and StorageError for an unreadable file."""
    kept = registry_document(source, folder)
    return _bundled(kept) if isinstance(kept, str) else load_registry(kept)


def only_allowed(registry: ToolRegistry, tools: tuple[str, ...] | None) -> ToolRegistry:
    """The registry with those tools as its allow list; unchanged without a list."""
    if tools is None:
        return registry
    allowed = frozenset(tools)
    return replace(registry, tools=tuple(replace(tool, enabled=tool.name in allowed) for tool in registry))


class KnownTools:
    """A registry's tools for checking expected calls; `allowed` are the names of those that may be called."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.registry = registry
        self.allowed = frozenset(tool.name for tool in registry.allowed)
        self._callable: dict[str, CallableTool] = {}

    def only(self, names: Iterable[str]) -> KnownTools:
        """The same tools under another allow list; their validators are shared."""
        narrowed = copy(self)
        narrowed.allowed = frozenset(names)
        return narrowed

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.registry)

    def takes(self, tool: str, name: str) -> bool:
        """Whether the tool's schema names the argument, or any argument is allowed."""
        found = self.registry.get(tool)
        named = found.parameters.get("properties", {}) if found is not None else {}
        return name in named or not (found and self.registry.is_closed(found))

    def fault(self, tool: str, arguments: dict[str, Any], *, complete: bool) -> tuple[str, str] | None:
        """Why an allowed tool would reject the arguments: a JSON Pointer into them, and a sentence.

        Arguments that are not `complete` may lack required ones.
        """
        if tool not in self._callable:
            found = self.registry.get(tool)
            assert found is not None
            self._callable[tool] = CallableTool(found, closed=self.registry.is_closed(found))
        judge = self._callable[tool]
        try:
            verdict = judge.fault(arguments) or (judge.final_verdict(arguments) if complete else None)
        except (RecursionError, ValueError, OverflowError):
            return "", "The arguments are nested too deep, or a number in them is too large, to be checked."
        if verdict is None:
            return None
        reason, pointer = verdict
        subject = pointer[1:] or "the call"
        words = in_words(reason, pointer, subject)
        return pointer, f"{words}." if f" {tool}" in words else f"{words} (schema of {tool})."


def why(error: RegistryError | StorageError) -> list[tuple[str, str]]:
    """A registry's errors: pointers into its document, and sentences."""
    if isinstance(error, RegistryError) and error.problems:
        return [(problem.pointer, problem.message) for problem in error.problems]
    where = f" ({error.where})" if error.where else ""
    return [("", f"{error.message}{where} {error.hint}".strip())]
