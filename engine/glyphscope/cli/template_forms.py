"""Read the chat templates of files, for runs, `models inspect` and `check --template`; and stated forms for that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from glyphscope.cli.inputs import STDIN, InputError, read_text, shown_source
from glyphscope.cli.option_groups import pairs
from glyphscope.cli.output import print_note
from glyphscope.events import ChatOptions
from glyphscope.models.opening import EMBEDDED, installed_model
from glyphscope.models.templates import TemplateSource, checked_template, template_notes
from glyphscope.models.turn_forms import derived_form, open_template, template_of_text
from glyphscope.turns import TurnForm, load_form

_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""A name of a template in a model's file; any other text is a path."""


def read_template(path: str, name: str = "", variables: Sequence[str] | None = None) -> TemplateSource:
    """The template of the embedded model, a GGUF file (that of this `name`, if it has several), a
    `tokenizer_config.json` or the folder of one, or a text file (`-` for standard input), for which `eos_token` is
    assumed; with variables as `--template-var` has them, of which those without an effect are noted.

    Raises InputError, ModelError and PromptError.
    """
    if path == STDIN:
        template = template_of_text(read_text(path), path)
    elif path == EMBEDDED and not Path(path).exists():
        template = open_template(installed_model(), name)
    else:
        template = open_template(Path(path), name)
    if not variables:
        return template
    template = template.under(ChatOptions(template_vars=pairs(variables, "template_var")))
    if notes := template_notes(template):
        print_note(f"{shown_source(path)}: {notes}")
    return template


def read_chat_template(given: str | None) -> str:
    """The chat template of a request: the Jinja in a file, or the name of one of the model's; empty without any.

    Raises InputError, ModelError and PromptError.
    """
    if not given or (_NAME.fullmatch(given) and not Path(given).exists()):
        return given or ""
    source = read_text(given) if given == STDIN else open_template(Path(given)).source
    return checked_template(source, shown_source(given))


def read_turn_form(path: str, variables: Sequence[str] | None = None) -> TurnForm:
    """The form of turns that a JSON file states, or that is derived from the chat template of any other file, with
    these variables. Raises InputError, ModelError and PromptError.
    """
    if not path.lower().endswith(".json"):
        return derived_form(read_template(path, variables=variables))
    if variables:
        raise InputError("A form has no variables, which only a chat template reads.", where="--template-var")
    return load_form(Path(path))
