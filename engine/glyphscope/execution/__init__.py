"""From a valid call to its result: whether it may run, its execution, and the message to the model."""
