"""Templates rendered in this process, which a test trusts: the program does so only in a process with limits."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from glyphscope.models.turn_forms import TemplateRenderer, open_template, renderer_of
from glyphscope.turns import Derived, TurnForm, form_of


def renderer_at(path: Path | str) -> TemplateRenderer:
    """Return the renderer of the template in a file."""
    return renderer_of(open_template(Path(path)))


@cache
def derived_at(path: Path) -> tuple[TemplateRenderer, TurnForm, Derived]:
    """Return the renderer of the template in a file and the form derived from it: once for all tests of a process."""
    renderer = renderer_at(path)
    return renderer, *form_of(renderer)
