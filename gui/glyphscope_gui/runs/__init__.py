"""Runs: the controller, the recorder, and the views of a run that several pages show."""
