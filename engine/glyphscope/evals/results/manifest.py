"""What a result was made with: everything that a figure needs beside it to mean something."""

from __future__ import annotations

import msgspec

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.suites.suite import SuiteUsed
from glyphscope.events import ModelInfo, Sampling

VERSION = 1


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it ran, as far as times depend on it."""

    system: str = ""
    processor: str = ""
    cores: int = 0
    memory: int = 0
    python: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`. `digest` is that of all that decides the samples: a result goes on only under the same one.

    `models` are those that could be opened, by the name that the arms give them; `missing` tells of the others why
    not. `planned` counts the samples of the whole matrix. `finished` is empty until all of them are there or can
    never be. `profiles` are the sampling profiles of the arms, as they were applied, by arm. `savings` is the share of
    aborted runs that are continued to measure what the abort saved. `judge` is the judge model that the evaluation
    named, `judges` are all that were opened, by name.
    """

    glyphscope_eval: int = VERSION
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
