"""What the program remembers of the user's ways: small, versioned, and never a reason not to start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from glyphscope.errors import StorageError
from glyphscope.sessions.files import atomic_write, move_aside, read_bytes

VERSION = 1
RECENT = 12
"""How many recent models and projects are remembered."""

_KEY = "glyphscope_settings"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`geometry` and `state` are the window's, as text; `context` is in tokens; `other` keeps other versions' keys."""

    recent_models: tuple[str, ...] = ()
    recent_projects: tuple[str, ...] = ()
    model: str = ""
    model_folders: tuple[str, ...] = ()
    context: int = 4096
    theme: Literal["system", "light", "dark"] = "system"
    font_size: int = 0
    geometry: str = ""
    state: str = ""
    history_limit: int = 2000
    other: dict[str, Any] = {}

    def with_recent_model(self, name: str) -> Settings:
        return msgspec.structs.replace(self, recent_models=_first(name, self.recent_models))

    def with_recent_project(self, path: str) -> Settings:
        return msgspec.structs.replace(self, recent_projects=_first(path, self.recent_projects))


class LoadedSettings(NamedTuple):
    """`notice` tells what could not be read; it is empty when all is well."""

    settings: Settings
    notice: str


def load_settings(path: Path) -> LoadedSettings:
    """The settings of a file; defaults for what is missing or wrong. A damaged file is moved aside. Never raises."""
    try:
        if not path.exists():
            return LoadedSettings(Settings(), "")
        document = json.loads(read_bytes(path))
        if not isinstance(document, dict):
            raise ValueError("not an object")
    except (OSError, StorageError) as error:
        return LoadedSettings(Settings(), f"The settings could not be read: {error}")
    except (ValueError, RecursionError) as error:
        aside = move_aside(path)
        kept = f" They were kept as {aside.name}." if aside else ""
        return LoadedSettings(Settings(), f"The settings were damaged ({error}).{kept}")
    return _converted(document)


def save_settings(path: Path, settings: Settings) -> None:
    """Raises StorageError. Keys and the version of a newer program are kept."""
    own = msgspec.to_builtins(settings)
    other = own.pop("other")
    document = {_KEY: VERSION, **own, **other}
    atomic_write(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _converted(document: dict[str, Any]) -> LoadedSettings:
    """Each setting by itself: one wrong value costs only itself."""
    values: dict[str, Any] = {}
    wrong = []
    for field in msgspec.structs.fields(Settings):
        if field.name == "other" or field.name not in document:
            continue
        try:
            values[field.name] = msgspec.convert(document.pop(field.name), field.type)
        except msgspec.ValidationError:
            wrong.append(field.name)
    if document.get(_KEY) == VERSION:
        del document[_KEY]
    notice = f"These settings were wrong and have their defaults again: {', '.join(wrong)}." if wrong else ""
    return LoadedSettings(Settings(**values, other=document), notice)


def _first(item: str, items: tuple[str, ...]) -> tuple[str, ...]:
    return (item, *(other for other in items if other != item))[:RECENT]
