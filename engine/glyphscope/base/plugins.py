"""Plug-ins: parts of the program that are found by entry points, of this distribution and of any other.

Nothing is looked up before it is needed, and a plug-in is imported when it is asked for by its name, or with all of its
group. One that cannot be loaded is named in the error, and never ends what works without it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from glyphscope.base.errors import GlyphscopeError

if TYPE_CHECKING:  # these imports take half as long as a short command: they are made where they are needed
    from importlib.metadata import EntryPoint

OWN = "glyphscope"
"""The distribution whose plug-ins come before others with the same name."""

GROUPS = tuple(
    f"glyphscope.{kind}"
    for kind in (
        "apps", "importers", "sample_exporters", "run_exporters", "workers", "tools", "servers", "commands",
        "documents",
    )
)  # fmt: skip

T = TypeVar("T")


class PluginError(GlyphscopeError):
    """A plug-in that cannot be used."""


class PluginGroup(NamedTuple, Generic[T]):
    """The plug-ins with the entry points of one group, by name. Each is a `kind`."""

    name: str
    kind: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the plug-ins, the program's own first. None is imported."""
        return tuple(self._entries)

    def get(self, name: str) -> T | None:
        """The plug-in with that name; None if there is none. Raises PluginError if it cannot be loaded."""
        entry = self._entries.get(name)
        return None if entry is None else self._loaded(entry)

    def all(self) -> Iterator[tuple[str, T]]:
        """Every plug-in with its name. One that cannot be loaded is left out, and logged."""
        for name, entry in self._entries.items():
            try:
                yield name, self._loaded(entry)
            except PluginError as error:
                import logging

                logging.getLogger(__name__).warning("%s", error)

    @property
    def _entries(self) -> dict[str, EntryPoint]:
        return _entries(tuple(sys.path))[self.name]

    def _loaded(self, entry: EntryPoint) -> T:
        try:
            plugin: T = entry.load()
        except (Exception, SystemExit) as error:
            raise _broken(entry, f"{type(error).__name__}: {error}") from error
        if not isinstance(plugin, self.kind):
            raise _broken(entry, f"its object is not of the kind {self.kind.__name__}")
        return plugin


def others() -> list[EntryPoint]:
    """The plug-ins of other distributions."""
    groups = _entries(tuple(sys.path)).values()
    return [entry for group in groups for entry in group.values() if _distribution(entry) != OWN]


def _broken(entry: EntryPoint, why: str) -> PluginError:
    return PluginError(
        f"The plug-in {entry.name} of {_distribution(entry)} cannot be loaded: {why}.",
        where=entry.value,
        hint="Update or uninstall that package.",
    )


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"


@cache
def _entries(_path: tuple[str, ...]) -> dict[str, dict[str, EntryPoint]]:
    """The entry points by group and name, read once for a path on which packages are searched for."""
    from importlib.metadata import PackageNotFoundError, distribution, entry_points

    try:
        own = frozenset(distribution(OWN).entry_points)
    except PackageNotFoundError:
        own = frozenset()
    found, groups = entry_points(), {}
    for group in GROUPS:
        entries: dict[str, EntryPoint] = {}
        for entry in sorted(found.select(group=group), key=lambda entry: entry not in own):
            entries.setdefault(entry.name, entry)
        groups[group] = entries
    return groups
