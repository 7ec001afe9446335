"""Named settings of the loop, which the user combines: none is chosen by a model's name.

A preset has only the settings that it changes. The result is plain settings, which are shown, recorded and edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from glyphscope.base import resources
from glyphscope.base.errors import find_named
from glyphscope.base.structs import ready
from glyphscope.events import LoopSettings

_FOLDER, _SUFFIX = "loop_presets", ".json"


class LoopPreset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`settings` are fields of `LoopSettings`, after those of the presets `of`; `about` is their purpose in words."""

    about: str
    settings: dict[str, Any] = {}
    of: tuple[str, ...] = ()
    name: str = ""


@lru_cache(maxsize=1)
def loop_presets() -> tuple[LoopPreset, ...]:
    """All presets, the default first."""
    names = [name.removesuffix(_SUFFIX) for name in resources.names(_FOLDER, _SUFFIX)]
    names.sort(key=lambda name: (name != "default", name))
    return tuple(
        msgspec.structs.replace(
            msgspec.json.decode(resources.read_bytes(f"{_FOLDER}/{name}{_SUFFIX}"), type=ready(LoopPreset)),
            name=name,
        )
        for name in names
    )


def loop_preset(name: str) -> LoopPreset:
    """The preset of that name. Raises GlyphscopeError if there is none."""
    known = {preset.name: preset for preset in loop_presets()}
    return find_named(known, name, f'preset "{name}" of the loop', where="presets")


def compose(names: Sequence[str]) -> LoopSettings:
    """The settings of those presets; later ones take precedence, but transforms and denied tools add up, in order.

    Raises GlyphscopeError for an unknown name.
    """
    return msgspec.convert({**_composed(names), "presets": list(names)}, ready(LoopSettings))


def _composed(names: Sequence[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name in names:
        preset = loop_preset(name)
        for field, value in (*_composed(preset.of).items(), *preset.settings.items()):
            if field in ("transforms", "deny"):
                value = list(dict.fromkeys((*settings.get(field, ()), *value)))
            settings[field] = value
    return settings
