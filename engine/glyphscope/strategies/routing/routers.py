"""Routers' settings as files: those that come with the program, by name, and a user's own."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from glyphscope import resources
from glyphscope.errors import PromptError
from glyphscope.events import RouterSettings

_FOLDER, _SUFFIX = "routers", ".json"


@lru_cache(maxsize=1)
def router_presets() -> tuple[str, ...]:
    """The names of the settings that come with the program. Each goes with the registry of its name."""
    return tuple(name.removesuffix(_SUFFIX) for name in resources.names(_FOLDER, _SUFFIX))


def router_preset(name: str) -> RouterSettings:
    """Raises PromptError when there are none of that name."""
    if name not in router_presets():
        raise PromptError(
            f'There are no router settings "{name}".', hint=f"There are {', '.join(router_presets())}."
        )
    return read_router(resources.read_bytes(f"{_FOLDER}/{name}{_SUFFIX}"), name)


def read_router(data: str | bytes, where: str = "") -> RouterSettings:
    """The settings of a JSON text: an object with any of their fields. Raises PromptError with the place."""
    try:
        fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        known = RouterSettings.__struct_fields__
        for name in fields:
            if name not in known:
                raise PromptError(
                    f'Router settings have no "{name}".', where=where, hint=f"They have {', '.join(known)}."
                )
        return msgspec.json.decode(data, type=RouterSettings)
    except msgspec.DecodeError as error:
        raise PromptError(
            f"Invalid router settings: {error}.",
            where=where,
            hint="They are a JSON object; `rules` is a list of texts, `synonyms` and `names` are lists by name.",
        ) from None
