"""Branches of a run: from a masked or typed token, and their tree."""
