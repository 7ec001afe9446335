"""Assertions on a run that need more than a comparison: JSONPath, Python functions, and a judge model."""
