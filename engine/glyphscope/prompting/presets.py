"""The bundled prompts; each is one template for both notations and all shapes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from glyphscope import resources
from glyphscope.errors import PromptError, find_named

_SUFFIX = ".jinja"


class PromptPreset(NamedTuple):
    """`system_template` is what a user's own template replaces. The user's message is the prompt as it is."""

    name: str
    system_template: str


@lru_cache(maxsize=2)
def presets(folder: str = "prompts") -> tuple[PromptPreset, ...]:
    """All presets of a folder of the assets, the default first."""
    names = [name.removesuffix(_SUFFIX) for name in resources.names(folder, _SUFFIX)]
    names.sort(key=lambda name: (name != "default", name))
    return tuple(PromptPreset(name, resources.read_text(f"{folder}/{name}{_SUFFIX}")) for name in names)


def preset(name: str) -> PromptPreset:
    """Raises PromptError when there is none of that name."""
    known = {item.name: item for item in presets()}
    return find_named(known, name, f'prompt preset "{name}"', error=PromptError)
