"""The prompts that come with the program; each is one template for both notations and all shapes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from glyphscope import resources
from glyphscope.errors import PromptError

_FOLDER, _SUFFIX = "prompts", ".jinja"


class PromptPreset(NamedTuple):
    """`system_template` is what a user's own template replaces. The user's message is the prompt as it is."""

    name: str
    system_template: str


@lru_cache(maxsize=1)
def presets() -> tuple[PromptPreset, ...]:
    """All presets, the default first."""
    names = [name.removesuffix(_SUFFIX) for name in resources.names(_FOLDER, _SUFFIX)]
    names.sort(key=lambda name: (name != "default", name))
    return tuple(PromptPreset(name, resources.read_text(f"{_FOLDER}/{name}{_SUFFIX}")) for name in names)


def preset(name: str) -> PromptPreset:
    """Raises PromptError when there is none of that name."""
    for item in presets():
        if item.name == name:
            return item
    raise PromptError(
        f'There is no prompt preset "{name}".',
        hint=f"There are {', '.join(item.name for item in presets())}.",
    )
