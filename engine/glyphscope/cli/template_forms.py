"""Chat templates of files, as `models inspect` and `check --template` take them, and the forms derived from them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from glyphscope.cli.inputs import InputError, read_text
from glyphscope.errors import PromptError
from glyphscope.models.chat import ChatTemplate
from glyphscope.models.gguf import read_header
from glyphscope.models.template_environment import TemplateEnvironment

ASSUMED_END = "</s>"
"""`eos_token` of a template in a file of its own, which says nothing of it."""

_TEMPLATE_KEYS = ("tokenizer.chat_template.tool_use", "tokenizer.chat_template")


class TemplateRenderer:
    """Renders messages in OpenAI's form as they are, in the environment of every chat template."""

    def __init__(self, source: str, *, bos: str = "", eos: str = ASSUMED_END) -> None:
        """Raises PromptError for a template that is not Jinja."""
        self.source = source
        self._chat = ChatTemplate(source, bos=bos, eos=eos)
        self._template = TemplateEnvironment().read(source)

    @property
    def reads(self) -> frozenset[str]:
        """The variables that the template looks at."""
        return self._chat.reads

    def render(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        *,
        thinking: bool | None,
        add_generation_prompt: bool,
    ) -> str:
        """The text. Raises PromptError for what the template refuses."""
        wanted = {"add_generation_prompt": add_generation_prompt}
        variables = self._chat.variables(tools, thinking=thinking, variables=wanted)
        if "tools" in self.reads:
            variables.setdefault("tools", [] if "is none" not in self.source else None)
        try:
            return str(self._template({**deepcopy(variables), "messages": deepcopy(messages)}))
        except Exception as error:  # a template raises what its filters raise
            raise PromptError(f"The template refuses: {str(error) or type(error).__name__}") from error


def read_template(path: str) -> TemplateRenderer:
    """The template of a GGUF, or of a text file. Raises InputError and PromptError."""
    if path.lower().endswith(".gguf"):
        header = read_header(Path(path))
        source = next((text for key in _TEMPLATE_KEYS if (text := header.text(key))), "")
        if not source:
            raise InputError(
                "This model has no chat template.", where=path, hint="Give a template as a file."
            )
    else:
        source = read_text(path)
        if not source.strip():
            raise InputError("The template is empty.", where=path)
    try:
        return TemplateRenderer(source)
    except PromptError as error:
        raise PromptError(error.message, where=f"{path}, {error.where}" if error.where else path) from None
