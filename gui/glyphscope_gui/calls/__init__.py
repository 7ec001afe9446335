"""Tool calls that a person approves or edits."""
