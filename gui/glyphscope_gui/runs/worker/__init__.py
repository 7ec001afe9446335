"""The run's worker thread, and the delivery of its events to the window."""
