"""Lessons: Markdown with recorded runs, questions whose answers are worked out, and experiments."""
