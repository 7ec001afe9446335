"""Read the chat templates of files, for `models inspect` and `check --template`."""

from __future__ import annotations

from pathlib import Path

from glyphscope.cli.inputs import read_text
from glyphscope.models.templates import TemplateSource
from glyphscope.models.turn_forms import template_of_model, template_of_text


def read_template(path: str) -> TemplateSource:
    """The template of a GGUF file, or of a text file (`-` for standard input), for which `eos_token` is assumed.

    Raises InputError, ModelError and PromptError.
    """
    if path.lower().endswith(".gguf"):
        return template_of_model(Path(path))
    return template_of_text(read_text(path), path)
