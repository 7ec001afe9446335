"""The run's worker thread, and how its events reach the window."""
