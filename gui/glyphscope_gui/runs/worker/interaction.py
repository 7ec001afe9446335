"""The user's replies to a run's questions: the run's thread posts a question to the window and waits for the reply.

There is one for each run. Its `end` (Stop, a newer run, the closing window) also ends the wait: a call is then denied,
and a question remains unanswered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

from glyphscope.events import ApprovalNeeded
from glyphscope.runs.interaction import DENIED, Decision
from glyphscope.tools import ToolSource
from glyphscope_gui.runs.worker.jobs import Asked

Sources: TypeAlias = Callable[[], Mapping[str, ToolSource]]
"""The sources that run calls, by name, at the time of the call: servers come and go."""


class WindowInteraction:
    """A `runs.Interaction`. `post` sends an Asked to the window and returns at once; the window calls `reply`."""

    def __init__(self, job: int, sources: Sources, post: Callable[[Asked], None]) -> None:
        self.job = job
        self._sources = sources
        self._post = post
        self.cancelled = threading.Event()
        self._condition = threading.Condition()
        self._number = 0  # of the last question
        self._reply: Decision | str | None = None
        self._replied_to = 0  # the number of the question that `_reply` answers

    # -- from the run's thread ---------------------------------------------------------------------------------

    def source(self, name: str) -> ToolSource | None:
        return self._sources().get(name)

    def decide(self, needed: ApprovalNeeded) -> Decision:
        reply = self._ask(needed)
        return reply if isinstance(reply, Decision) else DENIED

    def answer(self, question: str) -> str | None:
        reply = self._ask(question)
        return reply if isinstance(reply, str) else None

    # -- from the window's thread ------------------------------------------------------------------------------

    def reply(self, number: int, reply: Decision | str | None) -> None:
        """Take the reply to the Asked of that number; one to an older question, or a second one, is dropped."""
        with self._condition:
            if number == self._number and self._replied_to != number:
                self._reply, self._replied_to = reply, number
                self._condition.notify_all()

    def end(self) -> None:
        """End all waiting, now and later."""
        self.cancelled.set()
        with self._condition:
            self._condition.notify_all()

    def _ask(self, about: ApprovalNeeded | str) -> Decision | str | None:
        with self._condition:
            self._number += 1
            number, self._reply = self._number, None
        if self.cancelled.is_set():
            return None
        self._post(Asked(self.job, number, about))
        with self._condition:
            self._condition.wait_for(lambda: self._replied_to == number or self.cancelled.is_set())
            return self._reply if self._replied_to == number else None
