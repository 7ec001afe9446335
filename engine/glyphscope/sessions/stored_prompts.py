"""The folder of evaluated prompts, and its largest size: by an option, the environment or the settings."""

from __future__ import annotations

import os

from glyphscope.models.prompt_cache import PromptCache
from glyphscope.sessions.places import Places
from glyphscope.sessions.settings import Settings

LIMIT_VARIABLE = "GLYPHSCOPE_PROMPT_CACHE_MB"
"""Its number of MB is used in place of the settings'."""


def prompt_cache(settings: Settings, places: Places, limit_mb: int | None = None) -> PromptCache | None:
    """The cache of `limit_mb`; by default as the environment or the settings say. None where it is disabled."""
    variable = os.environ.get(LIMIT_VARIABLE, "")
    if limit_mb is None:
        limit_mb = int(variable) if variable.isdecimal() else settings.prompt_cache_mb
    return PromptCache(str(places.prompts), limit_mb * 1_000_000) if limit_mb else None
