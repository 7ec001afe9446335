"""Tool calls that the user approves or edits."""
