"""Every schema inside a schema, and the target of each `$ref`, which must be in the same document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin

from glyphscope.base.pointer import Path, follow_reference, value_at
from glyphscope.registry.keywords import IN_PLACE, children, draft_of

MAX_SCHEMAS = 100_000
"""The maximum per document, some seconds of work. The largest published documents have 20,000."""

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class SchemaPlace(NamedTuple):
    """One schema, its place, the base URI of its references, and the number of schemas around it."""

    path: Path
    schema: dict[str, Any] | bool
    base: str = ""
    level: int = 0


class TooManySchemas(Exception):
    """A document has more than `MAX_SCHEMAS` schemas."""


class SchemaPlaces:
    """All schemas of a document, found without recursion, including targets of `$ref` under other keywords."""

    def __init__(self, root: dict[str, Any] | bool) -> None:
        """Raises TooManySchemas."""
        self.root = root
        self.draft = draft_of(root)
        self._id = "id" if self.draft in (3, 4) else "$id"
        self._resources: dict[str, Path] = {"": ()}
        self._anchors: dict[tuple[str, str], Path] = {}
        self.all: list[SchemaPlace] = []
        self._by_path: dict[Path, SchemaPlace] = {}
        self._visit(SchemaPlace((), root))
        done = 0
        while done < len(self.all):  # a target under another keyword may contain further references
            place = self.all[done]
            done += 1
            for _, ref in references(place.schema):
                found = self.resolve(place, ref)
                if found is not None and found.path not in self._by_path:
                    self._visit(found)

    def _visit(self, start: SchemaPlace) -> None:
        stack = [start]
        while stack:
            place = stack.pop()
            if place.path in self._by_path:
                continue
            base = self._name(place)
            if base != place.base:
                place = place._replace(base=base)
            self.all.append(place)
            if len(self.all) > MAX_SCHEMAS:
                raise TooManySchemas
            self._by_path[place.path] = place
            below = place.level + 1
            inner = [
                SchemaPlace((*place.path, *step), item, base, below) for step, item in children(place.schema)
            ]
            stack.extend(reversed(inner))

    def _name(self, place: SchemaPlace) -> str:
        """Register the identifiers of a schema; returns the base URI of the schemas in it."""
        base = place.base
        if not isinstance(place.schema, dict):
            return base
        own = place.schema.get(self._id)
        beside = self.draft is not None and isinstance(place.schema.get("$ref"), str)  # then it has no effect
        if isinstance(own, str) and own and not beside:
            if own.startswith("#"):
                self._anchors[base, own[1:]] = place.path
            else:
                base = urldefrag(_join(base, own)).url
                self._resources.setdefault(base, place.path)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := place.schema.get(keyword), str):
                self._anchors[base, anchor] = place.path
        return base

    @property
    def resources(self) -> int:
        """The number of schemas with an identifier, including the document."""
        return len(set(self._resources.values()))

    def resolve(self, place: SchemaPlace, ref: str) -> SchemaPlace | None:
        """The target of a reference in `place`; None if it does not exist or is outside the document."""
        target = urldefrag(place.base + ref if ref.startswith("#") else _join(place.base, ref))
        resource = self._resources.get(target.url)
        if resource is None:
            return None
        if target.fragment and not target.fragment.startswith("/"):
            path = self._anchors.get((target.url, target.fragment))
            return None if path is None else self._by_path.get(path)
        found = follow_reference(value_at(self.root, resource), target.fragment)
        if found is None or not isinstance(found[1], dict | bool):
            return None
        path = (*resource, *found[0])
        return self._by_path.get(path) or SchemaPlace(path, found[1], target.url, len(path))

    def is_remote(self, place: SchemaPlace, ref: str) -> bool:
        """Whether a reference names another document."""
        if ref.startswith("#"):
            return False
        return urldefrag(_join(place.base, ref)).url not in self._resources

    def cycles(self) -> Iterator[Path]:
        """The places of infinite references, which never descend into the value."""
        open_, closed = 1, 2
        state: dict[Path, int] = {}
        for start in self.all:
            stack: list[tuple[SchemaPlace, Iterator[SchemaPlace]]] = []
            entered: SchemaPlace | None = start
            while entered is not None or stack:
                if entered is not None:
                    state[entered.path] = open_
                    stack.append((entered, self._in_place(entered)))
                place, following = stack[-1]
                entered = None
                for target in following:
                    seen = state.get(target.path)
                    if seen == open_:
                        yield place.path
                    elif seen is None:
                        entered = target
                        break
                else:
                    state[place.path] = closed
                    stack.pop()

    def _in_place(self, place: SchemaPlace) -> Iterator[SchemaPlace]:
        for _, ref in references(place.schema):
            if (target := self.resolve(place, ref)) is not None:
                yield self._by_path.get(target.path, target)
        for step, _ in children(place.schema):
            if step[0] in IN_PLACE:
                yield self._by_path[(*place.path, *step)]


def references(schema: Any) -> Iterator[tuple[str, str]]:
    """The references of the schema itself: (keyword, reference)."""
    if isinstance(schema, dict):
        for keyword in REFERENCES:
            if isinstance(ref := schema.get(keyword), str):
                yield keyword, ref


def _join(base: str, ref: str) -> str:
    try:
        return urljoin(base, ref)
    except ValueError:  # such as "http://[": not a URI, so it has no target
        return ref
