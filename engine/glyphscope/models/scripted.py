"""A model that repeats a script, for lessons and tests without a model file."""

from __future__ import annotations

import codecs
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from glyphscope.events import DEFAULT_CHAT, ChatOptions, Message, ModelInfo, PrefixPart, Spans, TokenStep
from glyphscope.events.encoding import whole_text
from glyphscope.models.decoding.text import text_decoder
from glyphscope.models.interface import (
    Cancelled,
    GenerateRequest,
    Output,
    PromptReady,
    RenderedPrompt,
    Vocabulary,
)
from glyphscope.models.templates import ModelTemplates, reads_switches, render_template, template_form
from glyphscope.models.turn_forms import template_turn_form
from glyphscope.turns import TurnForm

_TURNS = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_PIECES = re.compile(r"\s?\w{1,8}|\s?[^\w\s]{1,2}|\s", re.DOTALL)
"""Cuts a script into tokens much as BPE does: short words with the space before them, punctuation in pairs."""


def cut(text: str) -> list[str]:
    """The text in token-sized pieces; joined, they are the text again."""
    return _PIECES.findall(text)


def split_turns(text: str) -> list[str]:
    """The answers in a script of several turns, separated by lines `---`, which belong to no answer."""
    pieces = _TURNS.split(text)
    return [piece.removesuffix("\n").removesuffix("\r") for piece in pieces[:-1]] + pieces[-1:]


Script: TypeAlias = str | Iterable[str | bytes]
"""A text, or its tokens (characters or bytes, which may cut a character)."""


class TextModel:
    """The base of models without a vocabulary: tokens are pieces of a text, numbered from 0."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()

    def count_tokens(self, text: str) -> int:
        """The number of pieces the text is cut into."""
        return len(cut(text))

    def tokenize(self, text: str, plain: Spans = ()) -> list[int]:
        return list(range(self.count_tokens(text)))

    def vocabulary(self) -> Vocabulary:
        return Vocabulary()

    def cancel(self) -> None:
        """Ends the running generation before its next step."""
        self._cancelled.set()

    def close(self) -> None:
        """There is nothing to close."""


class ScriptedModel(TextModel):
    """Answers every prompt with `script`, one token per step.

    With `turns`, the answers of a conversation, the n-th generation yields the n-th; after the last, the first again.
    No probability is made up: the evidence that a real model would give is None, and a constraint is not applied.
    After a prefix, the rest of the script follows if it begins with the prefix; otherwise as many tokens are skipped.
    `template` is its chat template, if any.
    """

    def __init__(
        self,
        script: Script = "",
        *,
        turns: Sequence[Script] = (),
        name: str = "scripted",
        template: str | None = None,
    ) -> None:
        """Raises PromptError for a template that is not Jinja."""
        self._turns = [_pieces(turn) for turn in turns or (script,)]
        self._turn = 0
        super().__init__()
        self._templates = ModelTemplates({} if template is None else {"": template})
        own = self._templates.chosen(tools=True)
        thinking, effort = (False, False) if own is None else reads_switches(own)
        self.info = ModelInfo(
            name=name,
            kind="scripted",
            context=1 << 20,
            has_chat_template=template is not None,
            tool_calls=template_form(template or ""),
            reads_thinking=thinking,
            reads_effort=effort,
        )

    def render_chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: ChatOptions = DEFAULT_CHAT,
    ) -> RenderedPrompt:
        """The messages in its template, or in the plain form without one."""
        template = self._templates.chosen(chat, tools=bool(tools))
        text, note, added = render_template(template, messages, tools, chat.thinking)
        return RenderedPrompt(text, self.count_tokens(text), note, added)

    def turn_form(self, chat: ChatOptions = DEFAULT_CHAT) -> TurnForm | None:
        """The form of its template, with an empty `eos_token` as in its prompts; None without a template."""
        template = self._templates.chosen(chat, tools=True)
        return None if template is None else template_turn_form(template)

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        """Yield the prefix; then the next turn's tokens and an `end` token, at most `max_tokens` of them."""
        self._cancelled.clear()
        tokens = self._turns[self._turn % len(self._turns)]
        self._turn += 1
        yield PromptReady(self.count_tokens(request.prompt), 0, 0.0)
        text = text_decoder()
        written = tuple(_written(request.written, text))
        if written:
            yield written
        first = len(written)
        tokens = _rest(tokens, b"".join(step.data for step in written), first)
        for index, data in enumerate(tokens[: request.max_tokens], first):
            if self._cancelled.is_set():
                yield Cancelled()
                return
            yield (TokenStep(index=index, id=index, data=data, text=text.decode(data)),)
        if len(tokens) < request.max_tokens:
            index = first + len(tokens)
            yield (TokenStep(index=index, id=index, data=b"", text=text.decode(b"", final=True), end=True),)


def _written(written: Sequence[PrefixPart], text: codecs.IncrementalDecoder) -> Iterator[TokenStep]:
    """Kept tokens unchanged; typed text in token-sized pieces."""
    index = 0
    for one in written:
        pieces = [one.data] if one.id >= 0 else _pieces(one.data.decode("utf-8", errors="replace"))
        for data in pieces:
            yield TokenStep(
                index=index,
                id=one.id if one.id >= 0 else index,
                data=data,
                text=text.decode(data),
                probability=None,
                origin="kept" if one.kept else "written",
            )
            index += 1


def _rest(tokens: list[bytes], written: bytes, count: int) -> list[bytes]:
    """The tokens after the prefix; a token in which the prefix ends is cut."""
    if not b"".join(tokens).startswith(written):
        return tokens[count:]
    left, rest = len(written), []
    for data in tokens:
        if left < len(data):
            rest.append(data[left:])
        left = max(0, left - len(data))
    return rest


def _pieces(script: Script) -> list[bytes]:
    pieces = cut(script) if isinstance(script, str) else script
    return [whole_text(piece).encode() if isinstance(piece, str) else bytes(piece) for piece in pieces]
