"""The form of a model's turns, derived from its chat template, which is rendered as for every prompt.

The template belongs to an open model or is read from a file: a GGUF or a template file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from glyphscope.base.errors import ModelError, PromptError
from glyphscope.base.figures import duration
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.events import ChatOptions
from glyphscope.models.chat import ChatTemplate
from glyphscope.models.gguf import read_header, read_special_texts
from glyphscope.models.template_environment import Noted, copied
from glyphscope.models.templates import ModelTemplates, TemplateSource, compiled_chat, limited_work, placed
from glyphscope.models.tokenizer_config import TOKENIZER_CONFIG, template_of_config
from glyphscope.processes.limited import SECONDS, ProcessLimitReached
from glyphscope.turns import TurnForm, form_of

_TEMPLATE_KEY = "tokenizer.chat_template"
_MAX_BYTES = 4_000_000
"""Bytes of a template file; the largest known templates have about a hundred thousand."""
_MAX_RENDERED = 1 << 18
"""Characters of a rendering from which a form is derived; real ones have up to some ten thousand."""
ASSUMED_END = "</s>"
"""The `eos_token` assumed for a template file, which does not name one."""


class TemplateRenderer:
    """Implements `Renders`: unchanged messages in OpenAI's form, in the environment of every chat template.

    It runs downloaded code: only in a process with limits. Deriving a form takes about a hundred renderings; after one
    reaches a limit, or after so many `seconds` in all, nothing more is rendered.
    """

    def __init__(
        self,
        source: str,
        *,
        bos: str = "",
        eos: str = ASSUMED_END,
        ends: Iterable[str] = (),
        seconds: float = SECONDS / 2,
        chat: ChatTemplate | None = None,
    ) -> None:
        """`chat` is the compiled template, if it was compiled. Raises PromptError for a template that is not Jinja."""
        self.source = source
        self.eos = eos
        self.ends = tuple(ends)
        self._chat = chat or ChatTemplate(source, bos=bos, eos=eos)
        self._seconds, self._spent = seconds, 0.0
        self._stopped: ProcessLimitReached | None = None

    @property
    def stopped(self) -> bool:
        """Whether a limit was reached, so that nothing more is rendered."""
        return self._stopped is not None

    @property
    def noted(self) -> set[Noted]:
        """Operations of the renderings so far that llama-server does otherwise; may be cleared."""
        return self._chat.noted

    @property
    def reads(self) -> frozenset[str]:
        """The variables that the template uses."""
        return self._chat.reads

    def render(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        *,
        thinking: bool | None,
        add_generation_prompt: bool,
    ) -> str:
        """The text. Raises PromptError if the template raises an error, and always after reaching a limit."""
        prompted = {"add_generation_prompt": add_generation_prompt}
        variables = self._chat.variables(tools, thinking=thinking, variables=prompted)
        if "tools" in self.reads:
            variables.setdefault("tools", [] if "is none" not in self.source else None)
        start = time.process_time()
        try:
            if self._stopped is not None:
                raise self._stopped
            text = self._chat.write({**copied(variables), "messages": copied(messages)})
            if len(text) > _MAX_RENDERED:
                raise ProcessLimitReached(
                    f"it writes more than {_MAX_RENDERED:,} characters for a short conversation"
                )
            return text
        except Exception as error:  # a template raises any exception of its filters
            if isinstance(error, ProcessLimitReached):
                self._stopped = error
            raise PromptError(f"The template raises: {str(error) or type(error).__name__}") from error
        finally:
            self._spent += time.process_time() - start
            if self._spent > self._seconds and self._stopped is None:
                self._stopped = ProcessLimitReached(
                    f"its renderings take longer than {duration(self._seconds)}"
                )


@lru_cache(maxsize=64)
def template_turn_form(template: TemplateSource) -> TurnForm | None:
    """The form of a template's turns; None for a template that is not Jinja, reaches a limit, or has no form.

    Cached, as deriving takes up to half a second. Raises Stopped.
    """
    try:
        return derived_form(template)
    except PromptError:
        return None  # the next prompt reports the error


def derived_form(template: TemplateSource) -> TurnForm:
    """The form of a template's turns. Raises PromptError, also for a template that reaches a limit, and Stopped."""
    return limited_work(_derived, template)


def _derived(template: TemplateSource) -> TurnForm:
    renderer = renderer_of(template)
    form, _ = form_of(renderer, renderer.ends)
    if renderer.stopped:
        raise PromptError("The template was stopped.", where=template.where)
    return form


def renderer_of(template: TemplateSource, seconds: float = SECONDS / 2) -> TemplateRenderer:
    """The renderer, in a process with limits. Raises PromptError for a template that is not Jinja, with its place."""
    with placed(template.where):
        chat = compiled_chat(template)
        return TemplateRenderer(
            template.source, eos=template.eos, ends=template.ends, seconds=seconds, chat=chat
        )


def open_template(path: Path, name: str = "") -> TemplateSource:
    """The template of a model's folder, or in a file, read as its extension says: a GGUF, a `tokenizer_config.json` or
    a text. It is not compiled. `name` is that of one of several in a GGUF. Raises ModelError and PromptError.
    """
    if path.is_dir():
        path /= TOKENIZER_CONFIG
    match path.suffix.lower():
        case ".gguf":
            return template_of_model(path, name)
        case _ if name:
            raise PromptError("Only a GGUF has chat templates with names.", where=str(path))
        case ".json":
            return template_of_config(path)
    return template_of_text(_text(path), str(path))


def template_of_model(path: Path, name: str = "") -> TemplateSource:
    """The template of a GGUF of that name, by default the one for tools or the only one.

    Raises ModelError for a file that is not a model or has no template, and PromptError for an unknown name.
    """
    found = templates_of_model(path).chosen(ChatOptions(chat_template=name), tools=True)
    if found is None:
        raise ModelError(
            "This model has no chat template.", where=str(path), hint="Give a template as a file."
        )
    return found


def templates_of_model(path: Path) -> ModelTemplates:
    """All chat templates of a GGUF, with the texts of its special tokens. Raises ModelError for another file."""
    header, special = read_header(path), read_special_texts(path)
    sources = {
        key.removeprefix(_TEMPLATE_KEY).removeprefix("."): header.text(key)
        for key in header.values
        if key == _TEMPLATE_KEY or key.startswith(f"{_TEMPLATE_KEY}.")
    }
    sources = {name: text for name, text in sources.items() if text}
    return ModelTemplates(sources, special.bos, special.eos, tuple(special.ends), str(path))


def template_of_text(source: str, where: str) -> TemplateSource:
    """The template with that source; `where` is its place in errors. Raises PromptError for an empty one."""
    if not source.strip():
        raise PromptError("The template is empty.", where=where)
    return TemplateSource(source, eos=ASSUMED_END, where=where)


def _text(path: Path) -> str:
    hint = "Choose a .jinja file or a GGUF."
    data = read_file(path, _MAX_BYTES, "a chat template", hint=hint, pipes=True, error=PromptError)
    return utf8_text(data, str(path), hint=hint, error=PromptError)
