"""What is recommended for models of a name: presets of the tool loop.

Applied by an evaluation's `production` arms only, never by a run: there, nothing is chosen by a model's name.
"""

from __future__ import annotations

from fnmatch import fnmatch
from functools import lru_cache

import msgspec

from glyphscope import resources

CATALOGUE = "evals/catalogue.json"


class Recommendation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Presets for models whose names fit one of the patterns (case is ignored), and who says so."""

    models: tuple[str, ...]
    presets: tuple[str, ...]
    source: str


@lru_cache(maxsize=1)
def catalogue() -> tuple[Recommendation, ...]:
    """All entries; the first that fits a model counts."""
    return tuple(msgspec.json.decode(resources.read_bytes(CATALOGUE), type=list[Recommendation]))


def recommended_presets(model: str) -> tuple[str, ...]:
    """The loop's presets for a model of that name; none where nothing is known of it."""
    name = model.lower()
    for each in catalogue():
        if any(fnmatch(name, pattern.lower()) for pattern in each.models):
            return each.presets
    return ()
