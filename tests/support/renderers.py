"""Templates rendered in this process, which a test trusts: the program does so only in a process with limits."""

from __future__ import annotations

from pathlib import Path

from glyphscope.models.turn_forms import TemplateRenderer, open_template, renderer_of


def renderer_at(path: Path | str) -> TemplateRenderer:
    """Return the renderer of the template in a file."""
    return renderer_of(open_template(Path(path)))
