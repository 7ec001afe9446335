"""The proofs behind the enforcement table: each constraint of the tools is tested in every engine."""

from __future__ import annotations

from collections.abc import Callable

from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.proof.engines import EngineName
from glyphscope.proof.prove import Proof, iterate_proofs
from glyphscope.registry import ToolRegistry

OURS: tuple[EngineName, ...] = ("mask", "gbnf")
THEIRS: tuple[EngineName, ...] = ("converter",)
"""llama.cpp's converter supports only JSON, so it is tested on calls in JSON."""


def prove(
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    order: ArgumentOrder,
    report: Callable[[Proof], None],
    cancelled: Callable[[], bool],
) -> None:
    """Report each proof as soon as it is made."""
    for proof in iterate_proofs(registry, notation, shape, OURS, order=order, cancelled=cancelled):
        report(proof)
    for proof in iterate_proofs(registry, "json", shape, THEIRS, cancelled=cancelled):
        report(proof)
