"""Files outlive programs: the version that each carries, and the steps that bring an older one up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from glyphscope.errors import RecordError

Migrations: TypeAlias = Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]
"""By version: what makes a document of that version one of the next."""


def migrate(document: Any, key: str, newest: int, steps: Migrations, where: str) -> dict[str, Any]:
    """The document in version `newest`. Raises RecordError when it carries no version under `key`, or a newer one."""
    version = document.get(key) if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        kind = key.replace("_", " ")
        raise RecordError(
            f"Not a {kind}: it carries no version.", where=where, hint=f'Expected "{key}": {newest}.'
        )
    if version > newest:
        raise RecordError(
            f"This file is of version {version}; this program reads up to version {newest}.",
            where=where,
            hint="Open it with a newer Glyphscope.",
        )
    migrated: dict[str, Any] = document
    for step in range(version, newest):
        migrated = {**steps[step](migrated), key: step + 1}
    return migrated
