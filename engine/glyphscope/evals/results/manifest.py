"""The settings of a result: everything needed to interpret its figures."""

from __future__ import annotations

import os
import platform

import msgspec
from msgspec import UNSET, UnsetType

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.suites.suite import SuiteUsed
from glyphscope.events import ModelInfo, Sampling
from glyphscope.models.cores import processor_name

VERSION, IN_SEGMENTS = 2, 2
"""The newest version of results, and the first one with records in segments: earlier ones have a file for each."""
MAX_FILES = 1_000
"""Planned samples of a new result that has a file for each record."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of the evaluation, as far as times depend on it."""

    system: str = ""
    processor: str = ""
    cores: int = 0
    memory: int = 0
    python: str = ""


class WorkerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A process elsewhere that made samples: its machine, if it is known, and the models that it opened, by the name
    that the arms give them.
    """

    machine: Machine = Machine()
    models: dict[str, ModelInfo] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`. `digest` covers all settings of the samples: a result is continued only under the same one.

    `models` are the models that could be opened, by their name in the arms; `missing` has the reason for each of the
    others. `planned` counts the samples of the whole matrix. `finished` is empty until each of them is made or cannot
    be made. `profiles` are the sampling settings as applied, by arm. `savings` is the share of aborted runs that are
    continued to measure what the abort saved. `judge` is the judge model that the evaluation named, `judges` are all
    that were opened, by name. `machine` is the evaluation's, `workers` are other processes that made samples for it,
    and replicas of models, by address. `servers` are the names and identities of the MCP servers that executed
    calls, `keep_servers` whether samples shared them. Each model decoded `sequences` samples in one batch; one if it is
    left out. `notes` are the plan's, about arms that coincide and tools that are not offered. A small result
    has version 1, which every Glyphscope can read.
    """

    glyphscope_eval: int = 1
    digest: str = ""
    started: str = ""
    finished: str = ""
    suites: tuple[SuiteUsed, ...] = ()
    arms: tuple[Arm, ...] = ()
    profiles: dict[str, Sampling] = {}
    trials: int = 1
    seed: int = 1
    jobs: int = 1
    savings: float = 0.0
    planned: int = 0
    models: dict[str, ModelInfo] = {}
    missing: dict[str, str] = {}
    judge: str = ""
    judges: dict[str, ModelInfo] = {}
    versions: dict[str, str] = {}
    machine: Machine = Machine()
    workers: dict[str, WorkerFacts] = {}
    sequences: int | UnsetType = UNSET
    servers: tuple[str, ...] | UnsetType = UNSET
    keep_servers: bool | UnsetType = UNSET
    notes: tuple[str, ...] | UnsetType = UNSET

    @property
    def sequence_count(self) -> int:
        """`sequences`, and 1 where it is left out."""
        return 1 if isinstance(self.sequences, UnsetType) else self.sequences


def this_machine() -> Machine:
    """The facts about this machine; members that the system does not report are empty."""
    return Machine(
        system=system_name(),
        processor=processor_name(),
        cores=os.cpu_count() or 0,
        memory=_memory(),
        python=platform.python_version(),
    )


def system_name() -> str:
    """The kernel with its release, and the kind of processor."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0
