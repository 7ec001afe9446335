"""Proofs of enforcement: examples just beyond each constraint, read by the real engines."""

from glyphscope.proof.boundary import Boundaries, boundary_examples
from glyphscope.proof.engines import ENGINES, OURS, EngineName, call_schema
from glyphscope.proof.prove import Proof, Report, iterate_proofs, prove

__all__ = [
    "ENGINES",
    "OURS",
    "Boundaries",
    "EngineName",
    "Proof",
    "Report",
    "boundary_examples",
    "call_schema",
    "iterate_proofs",
    "prove",
]
