"""Repair of a text that is not a call: the call is extracted from it, or requested again."""
