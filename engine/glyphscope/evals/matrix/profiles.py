"""Recommended presets of the tool loop for models by name, and the sampling profiles of an evaluation.

The presets are applied by an evaluation's `production` arms only, never by a run: there, nothing is chosen by a model's
name.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from functools import lru_cache
from typing import Any

import msgspec

from glyphscope.base import resources
from glyphscope.base.errors import find_named
from glyphscope.base.structs import ready
from glyphscope.events import ModelInfo, Sampling

CATALOGUE, PROFILES = "evals/catalogue.json", "evals/profiles.json"


class _ForModels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recommendation for models whose names match one of the patterns (case is ignored), or of one of the
    architectures, and its source.
    """

    models: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    source: str

    def fits(self, model: ModelInfo) -> bool:
        named = any(fnmatch(model.name.lower(), pattern.lower()) for pattern in self.models)
        return named or model.architecture in self.architectures


class Recommendation(_ForModels, frozen=True, kw_only=True):
    """Presets of the loop."""

    presets: tuple[str, ...]


@lru_cache(maxsize=1)
def catalogue() -> tuple[Recommendation, ...]:
    """All entries; the first that matches a model counts."""
    return tuple(msgspec.json.decode(resources.read_bytes(CATALOGUE), type=ready(list[Recommendation])))


def recommended_presets(model: ModelInfo) -> tuple[str, ...]:
    """The loop's presets for a model; empty if there is no recommendation."""
    return next((each.presets for each in catalogue() if each.fits(model)), ())


class Family(_ForModels, frozen=True, kw_only=True):
    """Sampling settings."""

    sampling: dict[str, Any] = {}


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tokens are sampled. `sampling` has members of `Sampling`; missing ones have `Sampling`'s defaults.

    With `from_file`, those that the model's file states replace them, and those of the first of the families
    `for_models` that fits replace these. With `from_suite`, all are the suite's, where it has those of a project. The
    seed comes from the sample, never from a profile.
    """

    name: str
    about: str
    sampling: dict[str, Any] = {}
    from_file: bool = False
    from_suite: bool = False
    for_models: tuple[Family, ...] = ()

    def of(self, model: ModelInfo, seed: int, of_suite: Sampling | None = None) -> Sampling:
        """The sampling for a model, on a suite with that sampling."""
        if self.from_suite and of_suite is not None:
            return msgspec.structs.replace(of_suite, seed=seed)
        family = self.family_of(model)
        members = {**self.sampling, **(model.sampling if self.from_file else {})}
        return msgspec.convert(
            members | (family.sampling if family else {}) | {"seed": seed}, ready(Sampling)
        )

    def family_of(self, model: ModelInfo) -> Family | None:
        """The first family that the model belongs to; None if there is none."""
        return next((each for each in self.for_models if each.fits(model)), None)

    def source_of(self, model: ModelInfo) -> str:
        """Where its settings for that model are published; empty if nowhere."""
        if family := self.family_of(model):
            return family.source
        return "the model's file (general.sampling)" if self.from_file and model.sampling else ""


@lru_cache(maxsize=1)
def profiles() -> tuple[Profile, ...]:
    """All profiles, in the order in which they are offered: last the one that only an evaluation has."""
    return tuple(msgspec.json.decode(resources.read_bytes(PROFILES), type=ready(list[Profile])))


def run_profiles() -> tuple[Profile, ...]:
    """The profiles of single runs, which have no suite."""
    return tuple(each for each in profiles() if not each.from_suite)


def profile(name: str, among: Iterable[Profile] = ()) -> Profile:
    """The profile of that name among those, by default all. Raises GlyphscopeError if there is none."""
    known = {each.name: each for each in among or profiles()}
    return find_named(known, name, f'sampling profile "{name}"', where="profile")
