"""Whether what came of a scenario is right, and why not."""
