"""The batch size of prompts that suits a model on this machine: measured once, and stored in a file.

Progress is reported after each batch of a prompt, and a GPU cannot be stopped within one. Larger batches need less time
for each token: hardly less on a processor, several times less on a GPU.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import UNSET

from glyphscope.base.errors import ModelError
from glyphscope.base.inputs import storage_error
from glyphscope.base.locks import folder_alone
from glyphscope.base.structs import ready
from glyphscope.events import LoadOptions
from glyphscope.events.load_options import USUAL_BATCH, Batch
from glyphscope.models.cores import physical_cores, processor_name
from glyphscope.models.files import identity_of, libraries_in

TOKENS = 512
"""The tokens of the prompt that is evaluated in batches of each size."""
SIZES: tuple[Batch, ...] = get_args(Batch)
MAX_MS = 100
"""Milliseconds of a batch after which progress is late, and Stop where a batch cannot be interrupted."""
_MAX_DOUBLED_MS = 500
"""Milliseconds of a batch from which one of twice the size is not timed: it would show no progress for a second."""
_WORTH = 0.85
"""The share of the highest speed that is enough if progress comes more often."""
_AGREED = 1.1
"""A size's two shortest times differ by at most this factor: other programs only make a time longer."""
_MAX_TRIES = 6
MAX_OTHERS = 0.25
"""The share of all processors that other programs may use."""


class BatchTimes(msgspec.Struct, frozen=True):
    """`ms`: the milliseconds of a batch, by its number of tokens. `interruptible`: an evaluation can be stopped within
    a batch.
    """

    ms: dict[Batch, float]
    interruptible: bool

    @property
    def best(self) -> Batch:
        """The size to use: the fastest one whose batches take at most 100 ms.

        If that is more than 15% slower than the fastest of all and each can be interrupted, so that only progress is
        late, the smallest one that is not. If each takes longer and none can be interrupted, the smallest one.
        """
        rates = {size: size / ms for size, ms in self.ms.items()}
        prompt = [size for size, ms in self.ms.items() if ms <= MAX_MS]
        quickest = max(prompt, key=rates.__getitem__, default=min(rates))
        enough = _WORTH * max(rates.values())
        if not self.interruptible or (prompt and rates[quickest] >= enough):
            return quickest
        return min(size for size, rate in rates.items() if rate >= enough)


class BatchTimer:
    """Which size is timed next, and the times so far: some of them may be those of a disturbed machine."""

    def __init__(self) -> None:
        self._tries: dict[Batch, list[float]] = {}
        self._disturbed = 0

    @property
    def next_size(self) -> Batch | None:
        """The size that is timed next; None at the end."""
        for size in self._sizes():
            if size not in self.ms:
                tries = self._disturbed + len(self._tries.get(size, ()))
                return size if tries < _MAX_TRIES else None
        return None

    @property
    def known(self) -> dict[Batch, float]:
        """The times for which there was memory."""
        return {size: ms for size, ms in self.ms.items() if ms < math.inf}

    @property
    def ms(self) -> dict[Batch, float]:
        """The shortest time of each size that is known."""
        found = {size: sorted(tries)[:2] for size, tries in self._tries.items()}
        return {size: low[0] for size, low in found.items() if low[-1] <= low[0] * _AGREED and len(low) > 1}

    @property
    def complete(self) -> bool:
        """Whether every size that matters is known. If it is not and there is no next one, the machine was busy."""
        return bool(self.known) and all(size in self.ms for size in self._sizes())

    def add(self, size: Batch, ms: float, others: float = 0.0) -> None:
        """Note a time; `math.inf` for a size for which there is no memory. `others`: the share of all processors that
        other programs used meanwhile; from a quarter on, the time is dropped.
        """
        if others > MAX_OTHERS:
            self._disturbed += 1
            return
        self._tries.setdefault(size, []).append(ms)
        if ms == math.inf:
            self._tries[size].append(ms)

    def _sizes(self) -> Iterator[Batch]:
        """64 tokens, then smaller ones until a batch is quick enough, then larger ones until it takes too long."""
        usual = SIZES.index(USUAL_BATCH)
        yield USUAL_BATCH
        for size, smaller in pairwise(SIZES[usual::-1]):
            if self.ms.get(size, math.inf) <= MAX_MS:
                break
            yield smaller
        for size, larger in pairwise(SIZES[usual:]):
            if self.ms.get(size, 0.0) > _MAX_DOUBLED_MS:
                break
            yield larger


class OtherPrograms:
    """The processor time of other programs from now on."""

    def __init__(self) -> None:
        self._begin = _times()

    @property
    def share(self) -> float:
        """Their share of all processors' time; 0 if the system does not report it."""
        busy, total, own = (now - before for now, before in zip(_times(), self._begin, strict=True))
        return max(0.0, busy - own) / total if total > 0 else 0.0


def _times() -> tuple[float, float, float]:
    """Seconds of all processors since the system's start, busy and in total, and of this process."""
    own = time.process_time()
    try:
        with open("/proc/stat", encoding="ascii") as file:
            spent = [int(field) / os.sysconf("SC_CLK_TCK") for field in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return 0.0, 0.0, own
    return sum(spent) - spent[3] - spent[4], sum(spent), own  # without idle, and waiting for a disk


class BatchFile:
    """The file with the times of a model with its load options on this machine, in `folder`."""

    def __init__(self, folder: Path, model: Path, options: LoadOptions) -> None:
        spec = find_spec("llama_cpp")
        build = libraries_in(Path(spec.origin).parent / "lib") if spec is not None and spec.origin else ()
        machine = (platform.machine(), processor_name(), options.threads or physical_cores())
        loading = (options.gpu_layers, options.kv_type, options.flash_attention, *options.lora)
        how = repr((identity_of(str(model)), loading, machine, build))
        self.path = folder / f"{hashlib.sha256(how.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"

    def read(self) -> BatchTimes | None:
        """The times; None without a usable file."""
        try:
            times = msgspec.json.decode(self.path.read_bytes(), type=ready(BatchTimes))
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None
        return times if times.ms and all(0 < ms < math.inf for ms in times.ms.values()) else None

    def write(self, times: BatchTimes) -> None:
        """Raises StorageError."""
        temporary = ""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(times))
            os.replace(temporary, self.path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)
            raise storage_error(error, self.path, "written") from error

    def delete(self) -> None:
        """Forget the times. Raises StorageError."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(error, self.path, "deleted") from error

    def alone(self) -> AbstractContextManager[None]:
        """Let no other process measure meanwhile. Raises ModelError while one does, and StorageError."""
        busy = ModelError(
            "Another window or command is measuring batches.", hint="Measure when it has finished."
        )
        return folder_alone(self.path.parent, busy)


def with_measured_batch(options: LoadOptions, model: Path, folder: Path | None) -> LoadOptions:
    """The options with the size that was measured for them, if there is one and they name none."""
    if folder is None or options.batch is not UNSET:
        return options
    times = BatchFile(folder, model, options).read()
    return options if times is None else msgspec.structs.replace(options, batch=times.best)
