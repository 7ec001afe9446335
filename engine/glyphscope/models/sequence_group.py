"""Several generations at once: each in a sequence of one model's context, and their steps evaluated in one batch.

llama.cpp's last digits depend on a batch, so nothing here depends on time: prompts and steps are sent once each open
member has requested one, in the order of the members. The batches then follow from the requests and the tokens alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import TypeAlias

from glyphscope.base.errors import ModelDied
from glyphscope.models import wire
from glyphscope.models.interface import ForwardingModel, GenerateRequest, Model, Output
from glyphscope.models.process import ModelProcess

FrameOf: TypeAlias = Callable[[GenerateRequest, int], wire.Generate]
"""Makes the frame of a request in a sequence."""


class SequenceGroup:
    """Members that generate together with one process. All are open at first; each leaves when it is closed."""

    def __init__(self, model: Model, process: ModelProcess, count: int, frame: FrameOf) -> None:
        self._process, self._frame = process, frame
        self._lock = threading.Lock()
        self._open = set(range(count))
        self._waiting: dict[int, tuple[int, wire.Generate | None]] = {}
        """By member, the number of its generation and the prompt to evaluate, None for a step."""
        self.died = False
        """Whether a generation ended with the process; no member can generate again."""
        self.members = [GroupMember(model, self, place) for place in range(count)]

    def submit(self, place: int, number: int, prompt: wire.Generate | None = None) -> None:
        """Request the evaluation of a prompt, or a step, for a member."""
        with self._lock:
            self._waiting[place] = number, prompt
            self._send()

    def withdraw(self, place: int, *, leave: bool = False) -> None:
        """Drop the request of a member. With `leave`, the others no longer wait for it."""
        with self._lock:
            self._waiting.pop(place, None)
            if leave:
                self._open.discard(place)
                self._send()

    def generate(self, place: int, request: GenerateRequest) -> Generator[Output, None, None]:
        """The outputs of a member's generation."""
        process = self._process
        number = process.open()
        self.members[place].number = number
        try:
            self.submit(place, number, self._frame(request, place))
            yield from process.outputs(number, lambda: self.submit(place, number))
        except ModelDied:
            self.died = True
            raise
        finally:
            self.members[place].number = None
            self.withdraw(place)
            process.forget(number)
            process.cancel(number)

    def cancel(self, number: int) -> None:
        """End the generation of that number, from any thread."""
        self._process.interrupt(number)

    def _send(self) -> None:
        """Send the prompts that each member waits for, or without any the steps."""
        if not self._open or self._waiting.keys() != self._open:
            return
        places = sorted(self._waiting)
        prompts = [place for place in places if self._waiting[place][1] is not None]
        with suppress(ModelDied):  # which each member receives
            for place in prompts:
                number, prompt = self._waiting.pop(place)
                assert prompt is not None, "only prompts are selected"
                self._process.send(number, prompt)
            if not prompts:
                numbers = [self._waiting.pop(place)[0] for place in places]
                self._process.send(numbers[0], wire.Step(numbers))


class GroupMember(ForwardingModel):
    """A model whose generations share batches with those of the others. One generation at a time."""

    def __init__(self, model: Model, group: SequenceGroup, place: int) -> None:
        super().__init__(model)
        self._group, self._place = group, place
        self.number: int | None = None

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        return self._group.generate(self._place, request)

    def cancel(self) -> None:
        if (number := self.number) is not None:
            self._group.cancel(number)

    def close(self) -> None:
        """Leave the group: the others no longer wait for this one."""
        self._group.withdraw(self._place, leave=True)
