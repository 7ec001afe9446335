"""Evaluations: many prompts with expected answers, the runs, and the figures over them, each with its n."""
