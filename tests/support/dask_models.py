"""Models for the workers of a Dask cluster: they answer, fail, wait or end their process, by the question."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from eval_suite import AnsweringModel
from glyphscope.base.errors import ModelError
from glyphscope.models.interface import Cancelled, GenerateRequest, Output


@dataclass(frozen=True)
class Answering:
    """Opens models that answer as AnsweringModel does, except `deadly` questions, and any by one of `bad_workers`.

    `killing` questions end the worker's process, the first `kills` times; at `endless` ones the model waits until it is
    cancelled. The workers leave files about that in `folder`.
    """

    folder: str
    deadly: tuple[str, ...] = ()
    killing: tuple[str, ...] = ()
    kills: int = 1
    endless: tuple[str, ...] = ()
    bad_workers: tuple[str, ...] = ()
    full_disks: tuple[str, ...] = ()
    """The workers whose disk is full, which the model finds out."""

    def __call__(self, name: str, models: int = 1, *, file: str = "", sequences: int = 1) -> AnsweringModel:
        worker = os.environ.get("WORKER", "")
        with open(Path(self.folder) / "opened", "a", encoding="utf-8") as opened:
            print(worker, models, file=opened)
        with open(Path(self.folder) / "names", "a", encoding="utf-8") as names:
            print(name, file, file=names)
        if name == "missing":
            raise ModelError("There is no such model.", where=name)
        return _Model(self, worker)


class _Model(AnsweringModel):
    def __init__(self, of: Answering, worker: str) -> None:
        super().__init__("answering", ("*",) if worker in of.bad_workers else of.deadly)
        self._of = of
        self._folder = Path(of.folder)
        self._cancelled = threading.Event()

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        if os.environ.get("WORKER", "") in self._of.full_disks:
            raise OSError(errno.ENOSPC, "No space left on device")
        asked = {key for key in ("news", "sum", "site", "file") if f"QUESTION {key}" in request.prompt}
        if asked & {*self._of.killing}:
            for number in range(self._of.kills):
                try:
                    (self._folder / f"killed-{number}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        if asked & {*self._of.endless}:
            self._cancelled.clear()
            (self._folder / "waiting").touch()
            assert self._cancelled.wait(60)
            (self._folder / "cancelled").touch()
            yield Cancelled()
            return
        yield from super().generate(request)

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        (self._folder / f"closed-{os.getpid()}").touch()
