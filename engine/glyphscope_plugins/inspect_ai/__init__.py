"""Inspect (inspect_ai): its datasets as suites, and evaluations as its logs."""
