"""Explanations of a run: what the mask changed and why, what a relaxed constraint costs, and token boundaries."""
