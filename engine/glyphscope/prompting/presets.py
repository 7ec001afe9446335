"""The bundled prompt templates; each is one template for both notations and all shapes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from glyphscope import resources
from glyphscope.errors import PromptError, find_named

FOLDER, STRATEGIES = "prompts", "prompts/strategies"
_SUFFIX = ".jinja"


@lru_cache(maxsize=2)
def presets(folder: str = FOLDER) -> Mapping[str, str]:
    """The templates of the system message in a folder of the assets by name, the default first."""
    names = [name.removesuffix(_SUFFIX) for name in resources.names(folder, _SUFFIX)]
    names.sort(key=lambda name: (name != "default", name))
    return MappingProxyType({name: resources.read_text(f"{folder}/{name}{_SUFFIX}") for name in names})


def preset(name: str) -> str:
    """The template of that name, which a user's own replaces. Raises PromptError if there is none."""
    return find_named(presets(), name, f'prompt preset "{name}"', error=PromptError)


@lru_cache(maxsize=1)
def _bundled() -> frozenset[str]:
    return frozenset({*presets(FOLDER).values(), *presets(STRATEGIES).values()})


def is_bundled(template: str) -> bool:
    """Whether a template is one of Glyphscope's own, also as a copy in a project: these need no limits."""
    return template in _bundled()
