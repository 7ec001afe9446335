"""Lessons: Markdown with recorded runs, questions with computed answers, and experiments."""
