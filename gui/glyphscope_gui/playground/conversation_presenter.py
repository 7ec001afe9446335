"""Continuing the conversation of the shown run, and the earlier messages that the next run sends."""

from __future__ import annotations

from PySide6.QtCore import QObject

from glyphscope.runs import RunState, answer_messages, history_after
from glyphscope_gui.context import AppContext
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.runs.run_controller import Applied
from glyphscope_gui.shared.language import tr


class ConversationPresenter(QObject):
    """A reply replaces the project's messages with the run's; Undo restores them."""

    def __init__(self, context: AppContext, view: RunPage) -> None:
        super().__init__(view)
        self._context = context
        self._view = view
        self._prompt = context.project.prompt
        self._state = RunState()
        self._is_own = True
        view.reply.sendRequested.connect(self._send)
        view.reply.edit_button.clicked.connect(self._edit)
        view.history_link.clicked.connect(context.panels.reveal_messages)
        view.new_link.clicked.connect(self._start_new)
        self._prompt.changed.connect(self._show_history)
        context.record.changed.connect(self._show_history)
        context.actions.run.changed.connect(self._show_run)
        self._show_history()
        self._show_run()

    def begin(self, state: RunState) -> None:
        self._state = state
        self._view.show_reply(False)

    def finish(self, applied: Applied) -> None:
        """Offer a reply, unless the run has no answer."""
        self._is_own = applied.kind == "run"
        started = self._state.started
        self._view.show_reply(started is not None and bool(answer_messages(self._state, started.request)))

    def _take_over(self, text: str) -> None:
        """Copy the messages of the shown run into the project; for a record, its system prompt too."""
        started = self._state.started
        if started is not None:
            request = started.request
            system_prompt = None if self._is_own else request.system_prompt
            self._prompt.set_conversation(history_after(self._state, request), text, system_prompt)

    def _send(self, text: str) -> None:
        self._take_over(text)
        self._view.reply.edit.clear()
        self._context.actions.run.trigger()

    def _edit(self) -> None:
        self._take_over(self._view.reply.edit.toPlainText().strip())
        self._view.reply.edit.clear()
        self._context.panels.reveal_messages()

    def _start_new(self) -> None:
        self._prompt.set_conversation(())

    def _show_history(self, _change: object = None) -> None:
        """Show the project's earlier messages, which do not belong to a record's prompt."""
        count = len(self._prompt.state.history) if self._context.record.started is None else 0
        self._view.history_link.set_words(tr("After %n message(s)", "", count))
        self._view.history_link.setVisible(bool(count))
        self._view.new_link.setVisible(bool(count))

    def _show_run(self) -> None:
        self._view.reply.set_can_send(self._context.actions.run.isEnabled())
