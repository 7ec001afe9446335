"""The panel of recorded runs."""
