"""Proofs of enforcement: examples just beyond each constraint, read by the real engines."""
