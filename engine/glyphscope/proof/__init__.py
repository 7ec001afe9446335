"""Proofs of enforcement: examples just outside each constraint, read by the real engines."""

from glyphscope.proof.boundary import Boundaries, boundary_examples
from glyphscope.proof.engines import ENGINES, OURS, BatchedReader, EngineName
from glyphscope.proof.proofs import Proof, Report, iterate_proofs, prove
from glyphscope.proof.renderings import as_written, spellings, texts
