"""Read the chat templates of files, for `models inspect` and `check --template`; and stated forms, for the latter."""

from __future__ import annotations

from pathlib import Path

from glyphscope.cli.inputs import read_text
from glyphscope.models.templates import TemplateSource
from glyphscope.models.turn_forms import derived_form, template_of_model, template_of_text
from glyphscope.turns import TurnForm, load_form


def read_template(path: str) -> TemplateSource:
    """The template of a GGUF file, or of a text file (`-` for standard input), for which `eos_token` is assumed.

    Raises InputError, ModelError and PromptError.
    """
    if path.lower().endswith(".gguf"):
        return template_of_model(Path(path))
    return template_of_text(read_text(path), path)


def read_turn_form(path: str) -> TurnForm:
    """The form of turns that a JSON file states, or that is derived from the chat template of any other file.

    Raises InputError, ModelError and PromptError.
    """
    return load_form(Path(path)) if path.lower().endswith(".json") else derived_form(read_template(path))
