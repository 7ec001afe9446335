"""A GGUF model in llama.cpp, in a separate process that is restarted when it dies."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from glyphscope.base.errors import ModelDied, ModelError, PromptError, Stopped
from glyphscope.base.figures import duration
from glyphscope.events import DEFAULT_CHAT, DEFAULT_LOAD, ChatOptions, LoadOptions, Message, ModelInfo, Spans
from glyphscope.events.load_options import WHOLE_KV, read_adapter
from glyphscope.models import wire
from glyphscope.models.adapters import require_adapters, whole_paths
from glyphscope.models.batch_sizes import BatchFile, BatchTimes, with_measured_batch
from glyphscope.models.chat import NO_TEMPLATE
from glyphscope.models.files import FileHash, inspect_file
from glyphscope.models.interface import (
    GenerateRequest,
    OneAtATime,
    Opening,
    Output,
    RenderedPrompt,
    Vocabulary,
)
from glyphscope.models.process import Interrupt, ModelProcess, next_process
from glyphscope.models.prompt_cache import PromptCaches
from glyphscope.models.sequence_group import SequenceGroup
from glyphscope.models.templates import ModelTemplates, reads_switches, render_template
from glyphscope.models.turn_forms import template_turn_form
from glyphscope.processes import limited
from glyphscope.turns import TurnForm

R = TypeVar("R")

LOADING_SECONDS = 30.0
LOADING_SPEED = 10e6
"""Loading a file ends after so many seconds without progress, and the time of reading it at so many bytes a second."""

_HASH_WAIT = 1.0
"""Seconds that opening a model waits for its file's hash: enough for a small one."""


class LlamaModel:
    """Implements `Model`. One generation at a time: another thread's generation waits until the running one ends."""

    def __init__(
        self,
        path: Path,
        options: LoadOptions = DEFAULT_LOAD,
        *,
        progress: Callable[[float], None] | None = None,
        prompts: PromptCaches = lambda: None,
        batches: Path | None = None,
    ) -> None:
        """Loads the file; `progress` receives the loaded share, from 0 to 1. Raises ModelError.

        An `Opening` as `progress` can end the loading. A model that is larger than the free memory is rejected.
        `batches` is the folder of measured batch sizes: None, and none is used.
        """
        if options.problem:
            raise ModelError(
                options.problem,
                where=str(path),
                hint="Turn flash attention on, or choose the KV type f16."
                if options.kv_type not in WHOLE_KV
                else "Change the load options.",
            )
        self._header = inspect_file(path)
        require_adapters(options.lora, path)
        options = msgspec.structs.replace(options, lora=whole_paths(options.lora))
        self._path, self._prompts = path, prompts
        self._options = with_measured_batch(options, path, batches)
        self.batches = None if batches is None else BatchFile(batches, path, options)
        """The file of the model's measured batch size."""
        self._info = self._header
        self._process: ModelProcess | None = None
        self._starting = threading.Lock()
        self._alone = OneAtATime()
        self._running: tuple[ModelProcess, int] | None = None
        self._vocabulary: Vocabulary | None = None
        self._templates = ModelTemplates()
        self._hash = FileHash(path)
        self._adapters = {each: FileHash(Path(each)) for each, _ in map(read_adapter, options.lora)}
        try:
            self._started(progress)
        except BaseException as error:
            self._stop_hashing()
            if (
                isinstance(error, ModelError | Stopped)
                and isinstance(progress, Opening)
                and progress.cancelled
            ):
                raise ModelError(
                    "Loading the model was stopped.", where=str(path), hint="The next run loads it."
                ) from error
            raise
        self._hash.value(wait=_HASH_WAIT)

    @property
    def info(self) -> ModelInfo:
        """The model as loaded. A hash is empty while that of a large file is still being computed."""
        adapters = {path: hash.value(wait=_HASH_WAIT) for path, hash in self._adapters.items()}
        return msgspec.structs.replace(self._info, sha256=self._hash.value(), adapters=adapters)

    @property
    def is_unmeasured(self) -> bool:
        """Whether it was opened without a batch size, and none has been measured since."""
        return self.batches is not None and self._options.batch is UNSET and self.batches.read() is None

    @property
    def pid(self) -> int | None:
        """The process's id; None if no process is alive."""
        return self._process.pid if self._process is not None and self._process.alive else None

    def count_tokens(self, text: str) -> int:
        return len(self.tokenize(text))

    def tokenize(self, text: str, plain: Spans = ()) -> list[int]:
        return self._ask(wire.Tokenize(text, plain=plain), wire.Tokens).ids

    def vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            self._vocabulary = self._ask(wire.ListVocabulary(), Vocabulary)
        return self._vocabulary

    def render_chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: ChatOptions = DEFAULT_CHAT,
    ) -> RenderedPrompt:
        template = self._templates.chosen(chat, tools=bool(tools))
        text, note, added = render_template(template, messages, tools, chat.thinking, no_template=NO_TEMPLATE)
        tokens = self._ask(wire.Tokenize(text, begin=True), wire.Tokens).ids
        return RenderedPrompt(text, len(tokens), note, added)

    def turn_form(self, chat: ChatOptions = DEFAULT_CHAT) -> TurnForm | None:
        template = self._templates.chosen(chat, tools=True)
        return None if template is None else template_turn_form(template)

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        with self._alone.exclusive():
            process = self._started()
            with self._cancellable(process, self._frame(request, 0)) as number:
                yield from process.outputs(number, lambda: process.send(number, wire.Step([number])))

    @contextmanager
    def together(self, count: int) -> Iterator[SequenceGroup]:
        """So many models that generate at the same time, each in another sequence of the context; at most as many as it
        was opened with. Raises ModelError.
        """
        most = self._options.sequence_count
        if count > most:
            raise ModelError(
                f"The model was opened with {most} sequences, and {count} are needed.",
                where=str(self._path),
            )
        with self._alone.exclusive():
            group = SequenceGroup(self, self._started(), count, self._frame)
            try:
                yield group
            finally:
                for member in group.members:
                    member.close()

    def _frame(self, request: GenerateRequest, sequence: int) -> wire.Generate:
        prompts = None if request.beside else self._prompts()
        return wire.Generate(request, prompts, self._hash.value(), sequence)

    def measure_batches(self, progress: Callable[[], object] = lambda: None) -> BatchTimes | None:
        """Time batches of prompts, which takes 10 s and more, and store the result for the next time that this model is
        opened; None if `cancel` ended it: the next call continues. `progress` is called first, and after each batch.

        Raises ModelError, if the machine is busy or another process measures too, and StorageError.
        """
        if self.batches is None:
            return None
        with self._alone.exclusive(), self.batches.alone():
            process = self._started()
            with self._cancellable(process, wire.TimeBatches()) as number:
                timed = _timed(process, number, progress)
            if timed.busy:
                raise ModelError(
                    "The times of prompt batches cannot be measured: other programs use the machine.",
                    where=str(self._path),
                    hint="Measure when the machine is idle.",
                )
            if timed.times is not None:
                self.batches.write(timed.times)
            return timed.times

    def cancel(self) -> None:
        running = self._running
        if running is not None:
            process, number = running
            process.interrupt(number)

    def close(self) -> None:
        """Ends the process; a later call starts it again."""
        self._stop_hashing()
        with self._starting:
            if self._process is not None:
                self._process.close()
                self._process = None

    def _stop_hashing(self) -> None:
        for each in (self._hash, *self._adapters.values()):
            each.stop()

    def _ask(self, body: wire.Request, kind: type[R]) -> R:
        process = self._started()
        with process.request(body) as number:
            reply = process.receive(number)
        assert isinstance(reply, kind), reply
        return reply

    @contextmanager
    def _cancellable(self, process: ModelProcess, body: wire.Request) -> Iterator[int]:
        """The number of a request that `cancel` interrupts. At the end, the process may be evaluating ahead for a step
        that is no longer needed, and stops.
        """
        number = process.open()
        self._running = (process, number)  # before it is sent, so that no cancel is lost
        try:
            process.send(number, body)
            yield number
        finally:
            self._running = None
            process.forget(number)
            process.cancel(number)

    def _started(self, progress: Callable[[float], None] | None = None) -> ModelProcess:
        """The process with the model loaded; a new one if there is none or the old one died."""
        with self._starting:
            if self._process is not None and self._process.alive:
                return self._process
            if self._process is not None:
                self._process.close()
                self._process = None
            limited.start()  # a chat template is read at once
            process = next_process()
            cancellable = progress.ended_by(process.kill) if isinstance(progress, Opening) else nullcontext()
            try:
                with cancellable:
                    self._info = self._load(process, progress)
            except BaseException:
                process.kill()
                process.close()
                raise
            self._process = process
            return process

    def _load(self, process: ModelProcess, progress: Callable[[float], None] | None) -> ModelInfo:
        patience = LOADING_SECONDS + self._header.bytes / LOADING_SPEED
        try:
            with process.request(wire.Load(str(self._path), self._header, self._options)) as number:
                while True:
                    match process.receive(number, patience):
                        case wire.Loaded(info=info, templates=templates):
                            self._templates = templates
                            thinking, effort = _reads_switches(templates)
                            return msgspec.structs.replace(info, reads_thinking=thinking, reads_effort=effort)
                        case wire.Loading(share=share) if progress is not None:
                            progress(share)
        except TimeoutError:
            process.kill()
            raise ModelError(
                f"The model cannot be loaded: llama.cpp made no progress for {duration(patience)}.",
                where=str(self._path),
                hint="Try again when the computer is less busy. If that fails, download it again: it may be damaged.",
            ) from None
        except ModelDied as death:
            raise ModelError(
                f"The model cannot be loaded: {death.message}",
                where=str(self._path),
                hint=f"The file may be damaged: download it again. {_last_line(death.stderr)}".strip(),
            ) from death


def _reads_switches(templates: ModelTemplates) -> tuple[bool | None, bool | None]:
    """Whether one of those that it uses has a switch for thinking, and a variable for the reasoning effort; None for a
    damaged template: the next prompt raises the error.
    """
    used = {templates.chosen(tools=tools) for tools in (False, True)} - {None}
    try:
        found = [reads_switches(template) for template in used if template is not None]
    except PromptError:
        return None, None
    return any(thinking for thinking, _ in found), any(effort for _, effort in found)


def _last_line(stderr: str) -> str:
    """The last line that llama.cpp printed, without the path of its build folder."""
    line = stderr.splitlines()[-1] if stderr else ""
    return re.sub(r"^/\S*/(?=[^/\s]+:\d+: )", "", line)


def _timed(process: ModelProcess, number: int, progress: Callable[[], object]) -> wire.BatchesTimed:
    """The last reply to `TimeBatches`; `progress` is called first, and after each batch."""
    while True:
        progress()
        match process.receive(number):
            case wire.BatchesTimed(ended=True) as timed:
                return timed
            case Interrupt():
                return wire.BatchesTimed(ended=True)
