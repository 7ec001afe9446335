"""Proofs of enforcement: examples just outside each constraint, read by the real engines."""
