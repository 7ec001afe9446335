"""A model's `tokenizer_config.json`, in which transformers keeps its chat template and special tokens.

Newer versions write the template beside it, as `chat_template.jinja`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.structs import ready
from glyphscope.models.templates import TemplateSource

TOKENIZER_CONFIG = "tokenizer_config.json"
_BESIDE = "chat_template.jinja"
_MAX_BYTES = 32_000_000
"""Bytes of a config; some list every special token."""
_MEMBER = "response_template"
_TOOL_USE, _DEFAULT = "tool_use", "default"
_HINT = "Choose the tokenizer_config.json of a model."


def read_tokenizer_config(path: Path) -> dict[str, Any]:
    """The members of a config. Raises PromptError for a file that is not a JSON object."""
    data = read_file(path, _MAX_BYTES, "a tokenizer_config.json", hint=_HINT, error=PromptError)
    try:
        return msgspec.json.decode(data, type=ready(dict[str, Any]))
    except msgspec.DecodeError as error:
        raise PromptError(
            f"This is not a tokenizer_config.json: {error}.", where=str(path), hint=_HINT
        ) from None


def template_of_config(path: Path) -> TemplateSource:
    """The chat template of a config, or beside it; the one for tools if it has several. Raises PromptError."""
    config = read_tokenizer_config(path)
    beside = path.with_name(_BESIDE)
    source = _named(config.get("chat_template"))
    if not source and beside.is_file():
        data = read_file(beside, _MAX_BYTES, "a chat template", error=PromptError)
        source = utf8_text(data, str(beside), hint="Choose a .jinja file.", error=PromptError)
    if not source.strip():
        raise PromptError(
            "This model has no chat template.",
            where=str(path),
            hint=f"Put it beside this file, as {_BESIDE}, or give a template as a file.",
        )
    bos, eos = _token(config.get("bos_token")), _token(config.get("eos_token"))
    return TemplateSource(source, bos, eos, (eos,) if eos else (), str(path))


def response_template_of(path: Path) -> Any:
    """The `response_template` of a config, of the one beside a model or a template, or in a folder; None without one.

    Raises PromptError for a damaged config.
    """
    config = path / TOKENIZER_CONFIG if path.is_dir() else path
    if config.suffix.lower() != ".json":
        config = path.with_name(TOKENIZER_CONFIG)
    return read_tokenizer_config(config).get(_MEMBER) if config.is_file() else None


def _named(template: Any) -> str:
    """The template's text, which may be one of a list of templates with names."""
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, dict)}
        template = named.get(_TOOL_USE) or named.get(_DEFAULT)
    return template if isinstance(template, str) else ""


def _token(token: Any) -> str:
    """The text of a special token, which may be an object with its properties."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""
