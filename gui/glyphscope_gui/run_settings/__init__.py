"""The header: the settings of the next run, and the buttons that start and stop it."""
