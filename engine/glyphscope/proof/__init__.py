"""What is really enforced, by trying: examples just past each constraint, read by the real engines."""

from glyphscope.proof.boundary import Boundaries, Boundary, Unreached, boundary_examples
from glyphscope.proof.engines import ENGINES, OURS, EngineName, call_schema
from glyphscope.proof.prove import Proof, Report, count, iterate_proofs, prove

__all__ = [
    "ENGINES",
    "OURS",
    "Boundaries",
    "Boundary",
    "EngineName",
    "Proof",
    "Report",
    "Unreached",
    "boundary_examples",
    "call_schema",
    "count",
    "iterate_proofs",
    "prove",
]
