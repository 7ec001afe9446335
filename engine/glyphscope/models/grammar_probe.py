"""llama.cpp's grammar engine as a judge: in a process of its own, with a vocabulary and no model.

What it does with a grammar cannot be found out in this process: a wrong one may end it (left recursion through a
group, a token accepted past the end). Here that is a verdict like any other, and the next question starts anew.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from glyphscope.errors import GrammarError, ModelDied, ModelError
from glyphscope.models import probe_wire, wire
from glyphscope.models.opening import embedded_path
from glyphscope.models.process import ENVIRONMENT
from glyphscope.processes import module_command

TIMEOUT = "timeout"
SECONDS = 10.0
_START_SECONDS = 60.0
_GRACE = 1.0


class Verdict(msgspec.Struct, frozen=True):
    """Whether llama.cpp takes a grammar, and why not.

    `crashed` is the signal that ended its process (`SIGSEGV`, `SIGABRT`), or `timeout`.
    """

    ok: bool
    reason: str = ""
    crashed: str = ""


class GrammarMatch(msgspec.Struct, frozen=True):
    """Whether the text is of the grammar, and how many of its characters (code points) begin one that is."""

    accepted: bool
    viable: int


class GrammarProbe:
    """A running probe; one question at a time, from any thread. `close` it, or use it in a `with`."""

    def __init__(self, model: Path | str | None = None, *, seconds: float = SECONDS) -> None:
        """`model` is a GGUF whose tokens a grammar may name (default: the embedded one, if it is installed).

        A question that takes longer than `seconds` ends the process. Raises ModelError without llama.cpp.
        """
        if importlib.util.find_spec("llama_cpp") is None:
            raise ModelError(
                "llama.cpp is not installed.", hint="Install it: pip install 'glyphscope[local]'."
            )
        self._model = str(model or embedded_path() or "")
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self.starts = 0

    def check(self, gbnf: str) -> Verdict:
        """Whether llama.cpp takes the grammar; its root is the rule `root`."""
        try:
            data = _grammar_bytes(gbnf)
            answer = self._ask(probe_wire.CheckGrammar(data))
        except GrammarError as error:
            return Verdict(False, error.message)
        except ModelDied as error:
            return Verdict(False, error.message, error.signal)
        return Verdict(not answer.refused, answer.refused)

    def match(self, gbnf: str, text: str) -> GrammarMatch:
        """Reads one text. Raises GrammarError for a grammar that is refused, ModelDied where llama.cpp crashed."""
        return self.match_all(gbnf, (text,))[0]

    def match_all(self, gbnf: str, texts: Sequence[str]) -> list[GrammarMatch]:
        """Reads each of the texts, by a grammar that is parsed once. Raises as `match` does.

        A lone surrogate has no bytes, and U+0000 no token that llama.cpp would read: no grammar goes past them.
        """
        data = _grammar_bytes(gbnf)
        answer = self._ask(probe_wire.ReadTexts(data, [_text_bytes(text) for text in texts]))
        if answer.refused:
            raise GrammarError(f"llama.cpp refuses the grammar: {answer.refused}", where="grammar")
        return [_in_characters(text, *found) for text, found in zip(texts, answer.matches, strict=True)]

    def convert(self, schema: str) -> str:
        """The GBNF that llama-cpp-python's own converter makes of a JSON Schema. Raises GrammarError, ModelDied."""
        answer = self._ask(probe_wire.ConvertSchema(schema))
        if answer.refused:
            raise GrammarError(f"llama-cpp-python cannot convert the schema: {answer.refused}")
        return answer.gbnf

    def tokens(self, texts: Sequence[str]) -> probe_wire.Answer:
        """The model's tokens of each text, and those that end a generation. Raises ModelError, ModelDied."""
        answer = self._ask(probe_wire.FindTokens([_text_bytes(text) for text in texts]))
        if answer.refused:
            raise ModelError(f"llama.cpp cannot read the vocabulary: {answer.refused}", where=self._model)
        return answer

    def close(self) -> None:
        """Ends the process. A later question would start it again."""
        with self._lock:
            self._drop()

    def __enter__(self) -> GrammarProbe:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: probe_wire.Request) -> probe_wire.Answer:
        with self._lock:
            if self._process is None:
                self._process = _Process(self._model)
                self.starts += 1
            try:
                return self._process.ask(request, self._seconds)
            except ModelDied:
                self._drop()
                raise
            except BaseException:  # an answer that was not waited for would be the next question's
                self._drop()
                raise

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


class _Process:
    """The child. It has its own stderr, a file: that is where llama.cpp tells its reasons."""

    def __init__(self, model: str) -> None:
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._child = subprocess.Popen(
            module_command("glyphscope.models.probe_child", model),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            env={**ENVIRONMENT, **os.environ},
        )
        assert self._child.stdin and self._child.stdout, "both are pipes"
        self._pipe = wire.Pipe(self._child.stdout.fileno(), self._child.stdin.fileno(), probe_wire.Answer)
        self._ready = False

    def ask(self, request: probe_wire.Request, seconds: float) -> probe_wire.Answer:
        """Raises ModelDied when it ended, or took too long and was ended."""
        if not self._ready:
            self._read(_START_SECONDS)
            self._ready = True
        try:
            self._pipe.write(probe_wire.Envelope(request))
        except (OSError, ValueError) as error:
            raise self._death() from error
        return self._read(seconds)

    def close(self) -> None:
        """It is always safe to end it by force: it keeps nothing."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout, self._stderr):
            assert pipe, "all are pipes"
            with contextlib.suppress(OSError):
                pipe.close()

    def _read(self, seconds: float) -> probe_wire.Answer:
        assert self._child.stdout, "it is a pipe"
        poll = select.poll()
        poll.register(self._child.stdout, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise ModelDied(f"llama.cpp did not come to an end within {seconds:g} s.", signal=TIMEOUT)
        try:
            answer = self._pipe.read()
        except (OSError, msgspec.DecodeError):
            answer = None
        if answer is None:
            raise self._death()
        return answer

    def _death(self) -> ModelDied:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_GRACE)
        code = self._child.returncode
        name = signal.Signals(-code).name if code is not None and -code in set(signal.Signals) else ""
        how = f"was ended by {name}" if name else f"ended with exit code {code}"
        self._stderr.seek(0)
        words = self._stderr.read(4096).decode("utf-8", errors="replace").strip()
        # a process that ended by itself is a crash too: it never does so while it is asked
        return ModelDied(
            f"llama.cpp's process {how}{f': {_shortened(words)}' if words else ''}.",
            signal=name or f"exit {code}",
            stderr=words,
        )


def _shortened(words: str) -> str:
    line = words.partition("\n")[0].rstrip(".")
    return line if len(line) <= 200 else f"{line[:200]}…"


def _grammar_bytes(gbnf: str) -> bytes:
    """Raises GrammarError for a text that llama.cpp, which reads C strings of UTF-8, cannot be given."""
    if not gbnf:
        # measured: it makes a sampler that refuses nothing
        raise GrammarError("the grammar is empty, and llama.cpp would run without one", where="grammar")
    nul = gbnf.find("\0")
    if nul >= 0:
        raise GrammarError(f"the character U+0000 at {nul} would end the text for llama.cpp", where="grammar")
    try:
        return gbnf.encode()
    except UnicodeEncodeError as error:
        raise GrammarError(
            f"the lone surrogate at {error.start} cannot be written in UTF-8", where="grammar"
        ) from None


def _text_bytes(text: str) -> bytes:
    """The text up to its first lone surrogate. A byte that no UTF-8 has stands for that: no grammar takes it."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        return text[: error.start].encode() + b"\0"


def _in_characters(text: str, accepted: bool, taken: int) -> GrammarMatch:
    if text.isascii():
        return GrammarMatch(accepted, taken)
    data = _text_bytes(text)
    if taken == len(data):
        return GrammarMatch(accepted, len(text))
    # of a character that was taken in part nothing is viable
    return GrammarMatch(accepted, len(data[:taken].decode("utf-8", "ignore")))
