"""The prompt that is being edited: the system prompt, its template, the conversation, and the user's message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import CALL, Answer, ExpectedAnswer, Message, Notation, RunRequest, Shape
from glyphscope.prompting.messages import RenderedMessages, render_messages
from glyphscope.prompting.template import STRATEGIES, preset, presets
from glyphscope.registry import ToolRegistry
from glyphscope_gui.shared.background import Background

RENDER_DELAY_MS = 200
"""Delay after the last key press. Seven tools take 5 ms, 2,000 tools 160 ms (measured): a background job."""


@dataclass(frozen=True)
class PromptState:
    """The prompt in a project. `system` is the user's template, None for the preset's; `system_prompt` is plain text.
    `history` are the messages before `user`, the next message. `expected` is the right answer to it.
    """

    preset: str = "default"
    system: str | None = None
    user: str = ""
    system_prompt: str = ""
    history: tuple[Message, ...] = ()
    expected: ExpectedAnswer | None = None


@dataclass(frozen=True)
class PromptContext:
    """The templates' variables besides the prompt: the tools in use and the form of a call."""

    registry: ToolRegistry
    notation: Notation = "glyph"
    shape: Shape = "flat"
    answer: Answer = CALL
    examples: bool = True


class PromptDocument(QObject):
    """`changed` carries the new PromptState, `rendered` the messages, `failed` why there are none ("" on success).

    `messages` are the present state's; None until they are rendered.
    """

    changed = Signal(object)
    rendered = Signal(object)
    failed = Signal(object)

    def __init__(
        self, context: PromptContext, state: PromptState | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.state = self._known(state or PromptState())
        self._before: PromptState | None = None
        self.context = context
        self.messages: RenderedMessages | None = None
        self.problem = ""
        self._background = Background(self)
        self._timer = QTimer(self, singleShot=True, interval=RENDER_DELAY_MS)
        self._timer.timeout.connect(self.render)
        self._timer.start()

    @property
    def user(self) -> str:
        return self.state.user

    @property
    def system_template(self) -> str:
        """The template in use: the user's, or the preset's."""
        own = self.state.system
        return self._usual if own is None else own

    @property
    def _usual(self) -> str:
        """The preset's template, or that of answers other than calls."""
        return preset(self.state.preset) if self.context.answer.is_call else presets(STRATEGIES)["answer"]

    def template_of(self, request: RunRequest) -> str:
        """The template of a request; "" for an unknown preset."""
        return request.system if request.system is not None else presets().get(request.preset, "")

    @property
    def is_edited(self) -> bool:
        """Whether the system template differs from the preset's."""
        return self.state.system is not None

    def request_fields(self) -> dict[str, Any]:
        """The prompt's part of a RunRequest, by its field names."""
        state = self.state
        return {
            "prompt": state.user,
            "preset": state.preset,
            "system": state.system,
            "system_prompt": state.system_prompt,
            "history": state.history,
            "expected": state.expected,
        }

    @property
    def can_undo(self) -> bool:
        """Whether the last change removed or replaced messages, and so can be undone until the next change."""
        return self._before is not None

    # -- edits -------------------------------------------------------------------------------------------------

    def set_user(self, text: str) -> None:
        self.set_state(replace(self.state, user=text))

    def set_expected(self, expected: ExpectedAnswer | None) -> None:
        self.set_state(replace(self.state, expected=expected))

    def set_system(self, template: str) -> None:
        """Set the user's template; one that equals the preset's counts as the preset's."""
        own = None if template == self._usual else template
        self.set_state(replace(self.state, system=own))

    def set_preset(self, name: str) -> None:
        """Set another preset. This discards the user's template, so ask first if it would be lost."""
        self.set_state(replace(self.state, preset=name, system=None))

    def reset_to_preset(self) -> None:
        self.set_state(replace(self.state, system=None))

    def set_system_prompt(self, text: str) -> None:
        self.set_state(replace(self.state, system_prompt=text))

    def set_message(self, index: int, message: Message) -> None:
        """Edit one message of the history."""
        history = self.state.history
        self.set_state(replace(self.state, history=(*history[:index], message, *history[index + 1 :])))

    def set_conversation(
        self, history: Sequence[Message], user: str | None = None, system_prompt: str | None = None
    ) -> None:
        """Replace the messages; None keeps the present value. `undo` restores all. Another message to answer has
        another right answer.
        """
        kept = self.state
        self._change(
            replace(
                kept,
                history=tuple(history),
                user=kept.user if user is None else user,
                system_prompt=kept.system_prompt if system_prompt is None else system_prompt,
                expected=kept.expected if user in (None, kept.user) else None,
            ),
            before=kept,
        )

    def undo(self) -> None:
        """Restore the messages that the last change removed or replaced."""
        if self._before is not None:
            self.set_state(self._before)

    def set_state(self, state: PromptState) -> None:
        self._change(self._known(state), before=None)

    def _change(self, state: PromptState, before: PromptState | None) -> None:
        if state == self.state:
            return
        self.state, self._before, self.messages = state, before, None
        self.changed.emit(state)
        self._timer.start()

    def set_context(self, context: PromptContext) -> None:
        """Update the prompt after a change of the tools or the notation."""
        if context == self.context:
            return
        other = context.answer.is_call != self.context.answer.is_call
        self.context, self.messages = context, None
        if other:
            self.changed.emit(self.state)
        self._timer.start()

    # -- rendering ---------------------------------------------------------------------------------------------

    def render(self) -> None:
        """Render the present state in the background; `failed` is emitted at the end, after `rendered` on success."""
        self._timer.stop()
        context = self.context
        request = RunRequest(
            registry={}, notation=context.notation, shape=context.shape, answer=context.answer,
            examples=context.examples, **self.request_fields(),
        )  # fmt: skip
        self._background.start(
            "render", partial(render_messages, request, context.registry), self._rendered, self._not_rendered
        )

    def _rendered(self, messages: RenderedMessages) -> None:
        self.messages, self.problem = messages, ""
        self.rendered.emit(messages)
        self.failed.emit("")

    def _not_rendered(self, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            raise error
        self.problem = str(error)
        self.failed.emit(self.problem)

    def _known(self, state: PromptState) -> PromptState:
        """Replace a preset of another version of the program with the first one, keeping its template."""
        return state if state.preset in presets() else replace(state, preset=next(iter(presets())))
