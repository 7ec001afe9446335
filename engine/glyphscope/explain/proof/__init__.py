"""Proofs of enforcement: examples just outside each constraint, read by the real engines."""

from glyphscope.explain.proof.boundary import Boundaries, boundary_examples
from glyphscope.explain.proof.engines import ENGINES, OURS, BatchedReader, EngineName
from glyphscope.explain.proof.proofs import Proof, Report, iterate_proofs, prove
from glyphscope.explain.proof.renderings import as_written, spellings, texts
