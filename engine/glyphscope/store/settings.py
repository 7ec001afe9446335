"""The user's settings: small, versioned, and never a reason not to start.

Each setting is read separately: an invalid value affects only that setting, and is reported with the allowed values.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from glyphscope import events
from glyphscope.base.errors import RecordError, StorageError
from glyphscope.base.inputs import read_file
from glyphscope.base.json_values import json_file
from glyphscope.base.shorten import json_excerpt
from glyphscope.base.structs import ready
from glyphscope.events.choices import CONSTRAINT_CHOICES, NOTATION_CHOICES, SHAPE_CHOICES
from glyphscope.events.setting import literals
from glyphscope.models.prompt_cache import PromptCache
from glyphscope.store.files import Migrations, atomic_write, migrate, move_aside
from glyphscope.store.folders import Places, places

VERSION = 2
RECENT = 12
"""The number of recent models and projects that are stored."""

MAX_MODELS = 50
"""The number of models whose load options are stored."""
LIMIT_VARIABLE = "GLYPHSCOPE_PROMPT_CACHE_MB"
"""The number of MB for evaluated prompts, which overrides the setting."""

OwnShape = Literal["flat", "tool-args", "name-arguments"]
OwnConstraint = Literal["off", "mask", "gbnf"]

_THEMES = (events.Choice("system", "System"), events.Choice("light", "Light"), events.Choice("dark", "Dark"))
_KEY = "glyphscope_settings"
_USUAL = events.RunRequest(prompt="", registry={})
_MAX_SHOWN = 60
"""The maximum characters of an invalid value in the notice."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`geometry` and `state` are the window's, as text; `other` keeps other versions' keys. `transcript_share` is the
    transcript's share of the playground's height with the panel below it, 0 for the usual one; `run_detail` is the tab
    of that panel, and `open_sections` says which folding sections are open, by name.

    `context` is in tokens, for models without `load_options`, which are by model name. `font_size` is in points, 0 for
    the system's; `code_font` is a family, empty for the program's.
    `last_project` was open when the program ended. `welcomed`: the tour was shown once.
    `read_ahead`: the window evaluates a prompt before its run.
    `evaluate_on` is the last place of an evaluation's samples, as `--on` names it; empty for this computer.
    `evaluation` has the members of the last Matrix that were set, with an empty name for the open model.
    `prompt_cache_mb` is the maximum size of the folder of evaluated prompts, 0 to disable it.
    The members from `notation` to `result_bytes` are the defaults of a new project. `history_limit` counts runs.
    """

    recent_models: tuple[str, ...] = ()
    recent_projects: tuple[str, ...] = ()
    last_project: str = ""
    model: str = ""
    model_folders: tuple[str, ...] = ()
    context: Annotated[int, Meta(ge=512, le=131_072), events.Setting(
        "Context", "Maximum tokens of prompt and answer; more needs more memory. A change reloads the model",
        step=512, unit="tokens",
    )] = 4096  # fmt: skip
    load_options: dict[str, events.LoadOptions] = {}
    theme: Annotated[Literal["system", "light", "dark"], events.Setting(
        "Theme", "", choices=_THEMES,
    )] = "system"  # fmt: skip
    font_size: Annotated[int, Meta(ge=0, le=32), events.Setting(
        "Text size", "Text size of the whole window", special=0, special_words="as in the system", unit="pt",
    )] = 0  # fmt: skip
    code_font: str = ""
    geometry: str = ""
    state: str = ""
    transcript_share: Annotated[float, Meta(ge=0, le=1)] = 0.0
    run_detail: str = ""
    open_sections: dict[str, bool] = {}
    history_limit: Annotated[int, Meta(ge=1, le=100_000), events.Setting(
        "Runs kept in the history", "Older runs are deleted first; pinned runs are kept", step=100, unit="runs",
    )] = 2000  # fmt: skip
    prompt_cache_mb: Annotated[int, Meta(ge=0, le=1_000_000), events.Setting(
        "Evaluated prompts on disk",
        "The next start does not evaluate them again. Those not used for longest are deleted first; 0 stores "
        "none", step=100, unit="MB",
    )] = 500  # fmt: skip
    welcomed: bool = False
    evaluate_on: str = ""
    evaluation: dict[str, Any] = {}
    read_ahead: Annotated[bool, events.Setting(
        "Read ahead while the model is idle",
        "Evaluate the next prompt before Run is pressed, so that the run begins at once, and measure a "
        "model’s prompt batches once; not on battery",
    )] = True  # fmt: skip
    notation: Annotated[events.Notation, events.Setting(
        "Notation", "Notation of calls in new projects", choices=NOTATION_CHOICES[:2],
    )] = _USUAL.notation  # fmt: skip
    shape: Annotated[OwnShape, events.Setting(
        "Shape of a call", "", choices=SHAPE_CHOICES,
    )] = "flat"  # fmt: skip
    constraint: Annotated[OwnConstraint, events.Setting(
        "Constraint", "Constraint of new projects", choices=CONSTRAINT_CHOICES,
    )] = "mask"  # fmt: skip
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1), events.Setting(
        "Seed", "The same seed samples the same tokens",
    )] = _USUAL.sampling.seed  # fmt: skip
    temperature: Annotated[float, Meta(ge=0, le=5), events.Setting(
        "Temperature", "0 always takes the most likely token", step=0.1,
    )] = _USUAL.sampling.temperature  # fmt: skip
    max_tokens: Annotated[int, Meta(ge=1, le=100_000), events.Setting(
        "Maximum tokens", "In new projects; a run ends there", step=64, unit="tokens",
    )] = _USUAL.max_tokens  # fmt: skip
    alternatives: Annotated[int, Meta(ge=1, le=100), events.Setting(
        "Alternatives per token", "In new projects; more alternatives make records larger",
    )] = _USUAL.alternatives  # fmt: skip
    call_bytes: Annotated[int, Meta(ge=1_000, le=100_000_000), events.Setting(
        "Maximum size of arguments", "In new projects; a call with larger arguments is not executed",
        step=10_000, unit="bytes",
    )] = _USUAL.loop.max_tool_args_bytes  # fmt: skip
    result_bytes: Annotated[int, Meta(ge=1_000, le=100_000_000), events.Setting(
        "Maximum size of a result", "In new projects; a larger result is sent to the model as an error",
        step=10_000, unit="bytes",
    )] = _USUAL.loop.max_tool_output_bytes  # fmt: skip
    other: dict[str, Any] = {}

    def load_options_of(self, model: str) -> events.LoadOptions:
        """The load options of the model with that name."""
        return self.load_options.get(model) or events.LoadOptions(context=self.context)

    def with_load_options(self, model: str, options: events.LoadOptions) -> Settings:
        """The settings with the options of that model, which are not stored if they are the default ones."""
        others = {name: value for name, value in self.load_options.items() if name != model}
        if options != events.LoadOptions(context=self.context):
            others = {**dict(list(others.items())[1 - MAX_MODELS :]), model: options}
        return msgspec.structs.replace(self, load_options=others)

    def with_recent_model(self, name: str) -> Settings:
        return msgspec.structs.replace(self, recent_models=_first(name, self.recent_models))

    def with_recent_project(self, path: str) -> Settings:
        return msgspec.structs.replace(self, recent_projects=_first(path, self.recent_projects))

    def first_options(self) -> dict[str, Any]:
        """The initial options of a new project's request, by the names of its fields."""
        return {
            "notation": self.notation,
            "shape": self.shape,
            "constraint": self.constraint,
            "order": events.default_order(self.constraint),
            "sampling": events.Sampling(seed=self.seed, temperature=self.temperature),
            "max_tokens": self.max_tokens,
            "alternatives": self.alternatives,
            "loop": events.LoopSettings(
                max_tool_args_bytes=self.call_bytes, max_tool_output_bytes=self.result_bytes
            ),
        }


class LoadedSettings(NamedTuple):
    """The settings that were read; `notice` reports unreadable parts, and is empty if there are none."""

    settings: Settings
    notice: str


def load_settings(path: Path) -> LoadedSettings:
    """The settings of a file, with defaults for missing or invalid ones. A damaged file is renamed. Never raises."""
    try:
        if not path.exists():
            return LoadedSettings(Settings(), "")
        document = json.loads(read_file(path))
        if not isinstance(document, dict):
            raise ValueError("not an object")
    except (OSError, StorageError) as error:
        return LoadedSettings(Settings(), f"The settings could not be read: {error}")
    except (ValueError, RecursionError) as error:
        aside = move_aside(path)
        kept = f" They were kept as {aside.name}." if aside else ""
        return LoadedSettings(Settings(), f"The settings were damaged ({error}).{kept}")
    with suppress(RecordError):  # a newer version, or a file without one, is read unchanged
        document = migrate(document, _KEY, VERSION, _MIGRATIONS, str(path))
    return _converted(document)


def save_settings(path: Path, settings: Settings) -> None:
    """Save the settings. Raises StorageError. Keys and the version of a newer program are kept."""
    own = msgspec.to_builtins(settings)
    other = own.pop("other")
    atomic_write(path, json_file({_KEY: VERSION, **own, **other}))


def prompt_cache(settings: Settings, places: Places, limit_mb: int | None = None) -> PromptCache | None:
    """The cache of evaluated prompts, with the limit `limit_mb`, by default from the environment or the settings.

    None if it is disabled.
    """
    variable = os.environ.get(LIMIT_VARIABLE, "")
    if limit_mb is None:
        limit_mb = int(variable) if variable.isdecimal() else settings.prompt_cache_mb
    return PromptCache(str(places.prompts), limit_mb * 1_000_000) if limit_mb else None


def users_prompt_cache(limit_mb: int | None = None) -> PromptCache | None:
    """The prompt cache of the user's settings, which are read now."""
    home = places()
    return prompt_cache(load_settings(home.settings).settings, home, limit_mb)


def _from_1(document: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had no bounds: a value outside them had the effect of the nearest bound."""
    for name in ("context", "font_size", "history_limit"):
        value = document.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            stated = events.settings_of(Settings)[name].setting
            document[name] = int(min(max(value, stated.least), stated.most))
    return document


_MIGRATIONS: Migrations = {1: _from_1}


def _converted(document: dict[str, Any]) -> LoadedSettings:
    """Convert each setting separately, so that an invalid value affects only that setting."""
    values: dict[str, Any] = {}
    wrong = []
    for field in msgspec.structs.fields(Settings):
        if field.name == "other" or field.name not in document:
            continue
        value = document.pop(field.name)
        try:
            values[field.name] = msgspec.convert(value, ready(field.type))
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            wrong.append(
                f"{field.name} was {json_excerpt(value, _MAX_SHOWN)} ({_expected(field.name) or error})"
            )
    if document.get(_KEY) == VERSION:
        del document[_KEY]
    notice = ""
    if wrong:
        notice = f"These settings were wrong and have their defaults again: {'; '.join(wrong)}."
    return LoadedSettings(Settings(**values, other=document), notice)


def _expected(name: str) -> str:
    """The allowed values of a setting in words; empty if its own error explains it better."""
    field = events.settings_of(Settings).get(name)
    if field is None:
        return ""
    if values := literals(field.kind):
        return f"it is one of {', '.join(map(str, values))}"
    return f"it is a number {field.setting.bounds}" if field.setting.is_bounded else ""


def _first(item: str, items: tuple[str, ...]) -> tuple[str, ...]:
    return (item, *(other for other in items if other != item))[:RECENT]
