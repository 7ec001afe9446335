"""From a valid call to its result: whether it may run, that it runs, and what the model is told."""
