"""The workspace of state_get and state_patch: a JSON document in memory with fixed types.

A patch is a list of operations similar to RFC 6902: `set` (a new or existing key of an object, or an index of a list),
`delete`, and `append` to a list. Either all of them are applied, or none. A field keeps its type, so that a wrong type
is reported while it can still be fixed; null may become anything.
"""

from __future__ import annotations

import copy
import json
import re
import threading
from collections.abc import Sequence
from typing import Any

from glyphscope.base import resources
from glyphscope.base.errors import ToolError
from glyphscope.base.pointer import steps_of as pointer_steps
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import and_more, capitalised, shorten

MAX_BYTES = 200_000
"""The maximum size of the workspace as JSON text in UTF-8."""

MAX_OPERATIONS = 100
MAX_LEVELS = 32


class Workspace:
    """One workspace, identified by its `id`. Thread-safe."""

    def __init__(self, document: dict[str, Any] | None = None) -> None:
        """`document` must have a string `id`; without a document, this is the bundled workspace."""
        if document is None:
            document = json.loads(resources.read_text("workspace.json"))
        self._document: dict[str, Any] = copy.deepcopy(document)
        self._id = str(self._document["id"])
        self._revision = 0
        self._lock = threading.Lock()

    def data(self) -> dict[str, Any]:
        """A copy of the current document."""
        with self._lock:
            return copy.deepcopy(self._document)

    def get(self, workspace_id: str, path: str = "") -> tuple[Any, int]:
        """A copy of the value at the pointer, and its revision. Raises ToolError."""
        self._check_id(workspace_id)
        steps = steps_of(path)
        with self._lock:
            return copy.deepcopy(follow(self._document, steps)), self._revision

    def patch(self, workspace_id: str, operations: Sequence[dict[str, Any]]) -> int:
        """Apply all operations or none. Returns the new revision. Raises ToolError with the operation's place."""
        self._check_id(workspace_id)
        if not operations:
            raise ToolError("ops is empty.", hint=f"Write one such as {_EXAMPLE}.")
        if len(operations) > MAX_OPERATIONS:
            raise ToolError(
                f"ops has {len(operations):,} operations; at most {MAX_OPERATIONS} are applied at once."
            )
        with self._lock:
            document = copy.deepcopy(self._document)
            for number, operation in enumerate(operations):
                try:
                    _apply(document, operation)
                except ToolError as error:
                    nothing = "" if len(operations) == 1 else " Nothing was changed."
                    raise ToolError(
                        error.message + nothing, where=f"ops[{number}]", hint=error.hint
                    ) from None
            size = len(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
            if size > MAX_BYTES:
                raise ToolError(f"The workspace would have {size:,} bytes; it holds at most {MAX_BYTES:,}.")
            self._document = document
            self._revision += 1
            return self._revision

    def _check_id(self, workspace_id: str) -> None:
        if workspace_id != self._id:
            shown = shorten(workspace_id, 80)
            raise ToolError(f'There is no workspace "{shown}".', hint=f'The workspace is "{self._id}".')


_EXAMPLE = '{"op": "set", "path": "/title", "value": "New title"}'


def _apply(document: dict[str, Any], operation: dict[str, Any]) -> None:
    name = operation.get("op")
    steps = steps_of(operation.get("path", ""))
    if not steps:
        raise ToolError(
            "The whole workspace cannot be replaced.", hint='Write the path of a field, such as "/title".'
        )
    if steps == ("id",):
        raise ToolError("The id of a workspace cannot be changed.")
    if name == "delete":
        if "value" in operation:
            raise ToolError("delete takes no value.", hint="Leave value out, or use set.")
        _delete(document, steps)
        return
    if "value" not in operation:
        raise ToolError(f"{name} needs a value.", hint=f"Write one such as {_EXAMPLE}.")
    value = operation["value"]
    _check_levels(value, MAX_LEVELS - len(steps))
    if name == "append":
        _append(document, steps, copy.deepcopy(value))
    else:
        _set(document, steps, copy.deepcopy(value))


def _set(document: dict[str, Any], steps: tuple[str, ...], value: Any) -> None:
    parent, last = follow(document, steps[:-1]), steps[-1]
    if isinstance(parent, dict) and last not in parent:
        parent[last] = value
        return
    if isinstance(parent, list) and last in ("-", str(len(parent))):
        _check_item(parent, steps[:-1], value)
        parent.append(value)
        return
    old = child(parent, last, steps[:-1])
    if old is not None and kind(old) != kind(value):
        raise ToolError(
            f"{written(steps)} is {kind(old)}, and the value is {kind(value)}.",
            hint=f"Write {kind(old)}, or delete the field first.",
        )
    parent[index(parent, last, steps[:-1]) if isinstance(parent, list) else last] = value


def _append(document: dict[str, Any], steps: tuple[str, ...], value: Any) -> None:
    target = follow(document, steps[:-1] if steps[-1] == "-" else steps)
    if not isinstance(target, list):
        raise ToolError(f"{written(steps)} is {kind(target)}, not a list.", hint="Use set for it.")
    _check_item(target, steps, value)
    target.append(value)


def _check_item(items: list[Any], steps: tuple[str, ...], value: Any) -> None:
    """Check that a list whose items all have the same type keeps it."""
    kinds = {kind(item) for item in items if item is not None}
    if len(kinds) == 1 and value is not None and kind(value) not in kinds:
        raise ToolError(f"Each item of {written(steps)} is {kinds.pop()}, and the value is {kind(value)}.")


def _delete(document: dict[str, Any], steps: tuple[str, ...]) -> None:
    parent, last = follow(document, steps[:-1]), steps[-1]
    child(parent, last, steps[:-1])  # raises if it is missing
    if isinstance(parent, list):
        del parent[index(parent, last, steps[:-1])]
    else:
        del parent[last]


def _check_levels(value: Any, left: int) -> None:
    """Raises ToolError if a value is nested too deeply to be walked; does not recurse."""
    level = [value]
    while level:
        if left < 0:
            raise ToolError(f"The value is nested too deep; a workspace has at most {MAX_LEVELS} levels.")
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        left -= 1


MAX_STEPS = 32
_SHOWN = 12


def steps_of(pointer: str) -> tuple[str, ...]:
    """`/a~1b/0` is `("a/b", "0")`; the empty pointer is the whole document. Raises ToolError for an invalid pointer."""
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        better = "/" + re.sub(
            r"^\$?\.?|\.(?=\w)", lambda m: "/" if m[0] == "." and m.start() else "", pointer
        )
        raise ToolError(
            f'"{shorten(pointer, 80)}" is not a path: a path begins with "/".',
            hint=f'Write "{shorten(better, 80)}".',
        )
    if re.search("~(?![01])", pointer):
        raise ToolError(
            f'The path "{shorten(pointer, 80)}" has a ~ without 0 or 1 after it.',
            hint="Write ~0 for ~ and ~1 for /.",
        )
    steps = pointer_steps(pointer)
    if len(steps) > MAX_STEPS:
        raise ToolError(f"The path has {len(steps)} steps; at most {MAX_STEPS} are followed.")
    return steps


def follow(document: Any, steps: Sequence[str]) -> Any:
    """The value at the end of the steps. Raises ToolError with the existing alternatives."""
    value = document
    for number, step in enumerate(steps):
        value = child(value, step, steps[:number])
    return value


def child(value: Any, step: str, before: Sequence[str]) -> Any:
    """The value one step below `value`, which is at `before`."""
    if isinstance(value, dict):
        if step not in value:
            raise ToolError(
                f"There is no {written((*before, step))}.",
                hint=f"{capitalised(written(before))} has {_keys(value)}.",
            )
        return value[step]
    if isinstance(value, list):
        return value[index(value, step, before)]
    raise ToolError(
        f"{written(before)} is {kind(value)}: nothing is below it, so there is no {written((*before, step))}."
    )


def index(value: list[Any], step: str, before: Sequence[str]) -> int:
    """The index of an existing item of a list. Raises ToolError."""
    if not re.fullmatch("0|[1-9][0-9]{0,8}", step):
        raise ToolError(
            f'{written(before)} is a list: "{shorten(step, 80)}" is not a place in it.',
            hint="Places are counted 0, 1, 2 …",
        )
    if int(step) >= len(value):
        there = f"its places are 0 to {len(value) - 1}" if value else "it is empty"
        raise ToolError(f"There is no {written((*before, step))}: {there}.")
    return int(step)


def written(steps: Sequence[str]) -> str:
    """The pointer for a message; the whole document is given in words."""
    text = to_pointer(steps)
    return shorten(text, 80) if text else "the workspace"


def kind(value: Any) -> str:
    """The type of a JSON value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


def _keys(value: dict[str, Any]) -> str:
    return and_more([shorten(key, 80) for key in value], _SHOWN) or "nothing in it"
