"""The project that a new window shows."""

from __future__ import annotations

from glyphscope.events import RunRequest
from glyphscope.registry import default_registry
from glyphscope.sessions import Project, Settings

FIRST_PROMPT = "Search for AI news, 10 results"


def first_project(settings: Settings) -> Project:
    """Seven tools, a prompt that one of them answers, and the options of the user's settings."""
    registry = default_registry().to_document()
    return Project(request=RunRequest(prompt=FIRST_PROMPT, registry=registry, **settings.first_options()))
