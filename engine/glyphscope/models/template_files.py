"""Chat templates in files: of a GGUF, or a text of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glyphscope.errors import ModelError, PromptError
from glyphscope.inputs import read_file, utf8_text
from glyphscope.models.gguf import read_header, read_special_texts
from glyphscope.models.turn_forms import TemplateRenderer

_TEMPLATE_KEYS = ("tokenizer.chat_template.tool_use", "tokenizer.chat_template")
_LARGEST = 4_000_000
"""Bytes of a template in a file of its own; the largest that are known have a hundred thousand."""


def open_template(path: Path) -> TemplateRenderer:
    """The template of a file, by its ending. Raises ModelError and PromptError."""
    return (
        template_of_model(path)
        if path.suffix.lower() == ".gguf"
        else template_of_text(_text(path), str(path))
    )


def template_of_model(path: Path) -> TemplateRenderer:
    """The template of a GGUF, the one for tools where there are two, with the texts of its special tokens.

    Raises ModelError for a file that is no model or has no template, and PromptError for a damaged template.
    """
    header = read_header(path)
    source = next((text for key in _TEMPLATE_KEYS if (text := header.text(key))), "")
    if not source:
        raise ModelError(
            "This model has no chat template.", where=str(path), hint="Give a template as a file."
        )
    special = read_special_texts(path)
    with _placed(str(path)):
        return TemplateRenderer(source, bos=special.bos, eos=special.eos, ends=special.ends)


def template_of_text(source: str, where: str) -> TemplateRenderer:
    """A template by itself; `where` is its place in errors. Raises PromptError."""
    if not source.strip():
        raise PromptError("The template is empty.", where=where)
    with _placed(where):
        return TemplateRenderer(source)


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Puts the file before the place of an error in its template."""
    try:
        yield
    except PromptError as error:
        place = f"{where}, {error.where}" if error.where else where
        raise PromptError(error.message, where=place) from None


def _text(path: Path) -> str:
    hint = "Choose a .jinja file or a GGUF."
    data = read_file(path, _LARGEST, "a chat template", hint=hint, pipes=True, error=PromptError)
    return utf8_text(data, str(path), hint=hint, error=PromptError)
