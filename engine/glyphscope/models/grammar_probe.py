"""llama.cpp's grammar engine as a judge: in a separate process, with a vocabulary and no model.

Its behaviour cannot be tested in this process, which an invalid grammar may crash (left recursion through a group, a
token accepted past the end). Here, a crash is a verdict, and the next request starts a new process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from glyphscope.base.errors import GrammarError, ModelDied, ModelError
from glyphscope.models import probe_calls
from glyphscope.models.opening import embedded_path, require_llama_cpp
from glyphscope.models.process import ENVIRONMENT
from glyphscope.processes.calls import CallFailed, Child, ProcessDied

SECONDS = 10.0
_MEMORY = 3 << 30  # bytes of addresses: a grammar whose states explode ends the process, not the machine
P = ParamSpec("P")
T = TypeVar("T")


class GrammarMatch(msgspec.Struct, frozen=True):
    """Whether the grammar accepts the text, and the length of its longest viable prefix, in code points."""

    accepted: bool
    viable: int


class GrammarProbe:
    """A running probe; one request at a time, from any thread. `close` it, or use it in a `with` statement."""

    def __init__(self, model: Path | str | None = None, *, seconds: float = SECONDS) -> None:
        """`model` is a GGUF whose tokens a grammar may name (default: the embedded one, if it is installed).

        A request that takes longer than `seconds` ends the process. Raises ModelError if llama.cpp is not installed.
        """
        require_llama_cpp()
        self._model = str(model or embedded_path() or "")
        self._seconds = seconds
        self._child = Child("llama.cpp", probe_calls.ENGINE, memory=_MEMORY, environment=ENVIRONMENT)

    def match(self, gbnf: str, text: str) -> GrammarMatch:
        """Reads one text. Raises GrammarError for a rejected grammar, and ModelDied if llama.cpp crashes."""
        return self.match_all(gbnf, (text,))[0]

    def match_all(self, gbnf: str, texts: Sequence[str]) -> list[GrammarMatch]:
        """Reads each of the texts with a grammar that is parsed once. Raises the same errors as `match`.

        No grammar accepts a lone surrogate, which has no bytes, or U+0000, for which llama.cpp reads no token.
        """
        data = _grammar_bytes(gbnf)
        try:
            matches = self._ask(
                probe_calls.read_texts, self._model, data, [_text_bytes(text) for text in texts]
            )
        except CallFailed as failed:
            reason = _reason(failed)
            raise GrammarError(f"llama.cpp rejects the grammar: {reason}", where="grammar") from None
        return [_in_characters(text, *found) for text, found in zip(texts, matches, strict=True)]

    def convert(self, schema: str) -> str:
        """The GBNF that llama-cpp-python's converter makes from a JSON Schema. Raises GrammarError and ModelDied."""
        try:
            return self._ask(probe_calls.convert, schema)
        except CallFailed as failed:
            raise GrammarError(f"llama-cpp-python cannot convert the schema: {_reason(failed)}") from None

    def tokens(self, texts: Sequence[str]) -> probe_calls.FoundTokens:
        """The model's tokens for each text, and the tokens that end a generation. Raises ModelError and ModelDied."""
        try:
            return self._ask(probe_calls.find_tokens, self._model, [_text_bytes(text) for text in texts])
        except CallFailed as failed:
            reason = _reason(failed)
            raise ModelError(f"llama.cpp cannot read the vocabulary: {reason}", where=self._model) from None

    def close(self) -> None:
        """Ends the process. A later request starts it again."""
        self._child.close()

    def __enter__(self) -> GrammarProbe:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, function: Callable[P, T], *arguments: P.args, **none: P.kwargs) -> T:
        try:
            return self._child.call(self._seconds, function, *arguments, **none)
        except ProcessDied as error:
            raise ModelDied(error.message, signal=error.signal, stderr=error.stderr) from None


def _reason(failed: CallFailed) -> str:
    if failed.kind == "ValueError":
        return failed.message or "no reason was given"
    return f"{failed.kind}: {failed.message}"


def _grammar_bytes(gbnf: str) -> bytes:
    """Raises GrammarError for a text that cannot be passed to llama.cpp, which reads UTF-8 in C strings."""
    if not gbnf:
        # measured: llama.cpp makes a sampler that rejects nothing
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
    """The text up to its first lone surrogate, which is replaced by a null byte: no grammar accepts it."""
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
    # a character that was only partly accepted is not viable
    return GrammarMatch(accepted, len(data[:taken].decode("utf-8", "ignore")))
