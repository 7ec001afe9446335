"""Read the chat templates of files, for `models inspect` and `check --template`; and stated forms, for the latter."""

from __future__ import annotations

from pathlib import Path

from glyphscope.cli.inputs import STDIN, read_text
from glyphscope.models.templates import TemplateSource
from glyphscope.models.turn_forms import derived_form, open_template, template_of_text
from glyphscope.turns import TurnForm, load_form


def read_template(path: str) -> TemplateSource:
    """The template of a GGUF file, a `tokenizer_config.json` or the folder with it, or a text file (`-` for standard
    input), for which `eos_token` is assumed.

    Raises InputError, ModelError and PromptError.
    """
    if path == STDIN:
        return template_of_text(read_text(path), path)
    return open_template(Path(path))


def read_turn_form(path: str) -> TurnForm:
    """The form of turns that a JSON file states, or that is derived from the chat template of any other file.

    Raises InputError, ModelError and PromptError.
    """
    return load_form(Path(path)) if path.lower().endswith(".json") else derived_form(read_template(path))
