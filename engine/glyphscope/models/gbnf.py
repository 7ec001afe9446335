"""llama.cpp's own grammar sampler as a constraint, from the first token or from a trigger on, for comparison with the
mask. Only in the model's process.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from glyphscope.base.errors import GrammarError
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.match.earley import MatchLimit
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.models.decoding.rows import Allowed
from glyphscope.models.llama_engine import LlamaEngine

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class GbnfConstraint:
    """A constraint in GBNF. It reports no forced tokens, and checks the whole vocabulary at each step.

    It has no token budget: an answer may be cut off.

    A grammar that llama.cpp's parser rejects is a GrammarError; an invalid one that it accepts can crash the process
    (measured: left recursion), which is why this runs in a separate process.
    """

    def __init__(self, engine: LlamaEngine, grammar: str, patterns: Sequence[bytes] = ()) -> None:
        """With `patterns` (ECMAScript, matching the whole text), the grammar is enforced from the first match on.

        Raises GrammarError with llama.cpp's reason.
        """
        self._sampler: Any = None
        self._sampler, said = _listening(lambda: _sampler(engine, grammar, patterns))
        if not self._sampler:
            raise GrammarError(
                f"llama.cpp rejects the grammar: {said or 'no reason was given'}.",
                where="grammar",
                hint="Check that every rule is defined, that one is called root, and that quotes and brackets close.",
            )
        self._engine = engine
        self._ids = np.arange(engine.vocabulary, dtype=np.int32)
        self._candidates = np.zeros(engine.vocabulary, dtype=_CANDIDATE)
        self._allowed: Allowed | None = None
        self._ended = False

    def __del__(self) -> None:
        if self._sampler:
            llama.llama_sampler_free(self._sampler)

    @property
    def stopped(self) -> bool:
        return self._ended

    def forced(self) -> list[int]:
        return []

    def allowed(self) -> Allowed:
        if self._allowed is None:
            self._allowed = Allowed.of(self._walk())
        return self._allowed

    def takes(self, token: int) -> bool:
        return token in self.allowed()

    def commit(self, token: int) -> None:
        # accepting a token that the grammar does not allow aborts the process, so check first
        if token not in self.allowed():
            raise GrammarError(f"The constraint does not allow the token {token}.", where="grammar")
        if self._engine.is_end(token):
            self._ended = True
            return
        self.accept([token])

    def accept(self, tokens: Sequence[int]) -> None:
        """Accept tokens that are known to be allowed."""
        for token in tokens:
            llama.llama_sampler_accept(self._sampler, token)
        self._allowed = None

    def _walk(self) -> NDArray[np.bool_]:
        """The allowed tokens: the sampler sets the logits of the others to -inf, and keeps the order of tokens."""
        self._candidates["id"] = self._ids
        self._candidates["logit"] = 0.0
        data = self._candidates.ctypes.data_as(llama.llama_token_data_p)
        array = llama.llama_token_data_array(data, self._candidates.size, -1, False)
        llama.llama_sampler_apply(self._sampler, ctypes.byref(array))
        return self._candidates["logit"] > -np.inf


def _sampler(engine: LlamaEngine, grammar: str, patterns: Sequence[bytes]) -> Any:
    if not patterns:
        return llama.llama_sampler_init_grammar(engine.vocab, grammar.encode(), b"root")
    given, none = (ctypes.c_char_p * len(patterns))(*patterns), (llama.llama_token * 0)()
    return llama.llama_sampler_init_grammar_lazy_patterns(
        engine.vocab, grammar.encode(), b"root", given, len(patterns), none, 0
    )


def _listening(call: Callable[[], Any]) -> tuple[Any, str]:
    """The result of `call`, and the first line that C code in it wrote to stderr.

    llama.cpp's parser reports its reason nowhere else.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            result = call()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        said = file.read().decode("utf-8", errors="replace")
    sys.stderr.write(said)
    # the lines after the first one repeat the grammar
    reason = said.strip().partition("\n")[0]
    return result, reason.removeprefix("parse: error parsing grammar: ")


_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|]")


class LazyGbnfConstraint:
    """Everything is allowed up to a trigger; from there on, the grammar decides.

    At each token, llama.cpp searches the whole answer for its triggers with regular expressions, which exhausts the C++
    stack after long reasoning. Here, triggers are searched for in bytes, and the sampler is made when one is found; it
    receives only the last tokens. A token that completes the trigger and continues against the grammar would abort the
    process when llama.cpp accepts it, so such tokens are rejected before.
    """

    def __init__(self, engine: LlamaEngine, grammar: str, triggers: Sequence[str]) -> None:
        """Raises GrammarError, also for a trigger with which the grammar does not begin."""
        self._engine, self._grammar = engine, grammar
        self._triggers = tuple(dict.fromkeys(trigger.encode() for trigger in triggers))
        self._matcher = compile_grammar(load_gbnf(grammar, where="grammar"))
        for trigger in self._triggers:
            if not trigger or not self._fits(trigger):
                raise GrammarError(
                    f"The grammar does not begin with its trigger {trigger.decode()!r}.",
                    where="triggers",
                    hint="A lazy grammar begins with the text that activates it.",
                )
        GbnfConstraint(engine, grammar)  # rejected by llama.cpp: an error now, not during the run
        self._begun: GbnfConstraint | None = None
        self._last: list[int] = []  # the last tokens, in which a trigger may have begun
        self._tail = b""  # their bytes
        self._ended = False

    @property
    def stopped(self) -> bool:
        return self._ended if self._begun is None else self._begun.stopped

    def forced(self) -> list[int]:
        return []

    def allowed(self) -> Allowed:
        if self._begun is not None:
            return self._begun.allowed()
        allowed = self._allowed_anywhere.copy()
        if halves := list(self._halves()):
            for token in (*self._containing, *(token for rest in halves for token in self._beginning(rest))):
                allowed[token] = self.takes(token)
        return Allowed.of(allowed)

    def takes(self, token: int) -> bool:
        if self._begun is not None:
            return self._begun.takes(token)
        return self._takes_after(self._tail, token)

    def commit(self, token: int) -> None:
        if self._begun is not None:
            self._begun.commit(token)
            return
        if not self.takes(token):
            raise GrammarError(f"The constraint does not allow the token {token}.", where="grammar")
        if self._engine.is_end(token):
            self._ended = True
            return
        begins = self._starts(self._tail, token) is not None
        self._last.append(token)
        self._tail += self._engine.pieces[token]
        if begins:
            patterns = [_pattern(trigger) for trigger in self._triggers]
            self._begun = GbnfConstraint(self._engine, self._grammar, patterns)
            self._begun.accept(self._last)
            return
        longest = max(map(len, self._triggers))
        while self._last and len(self._tail) - len(self._engine.pieces[self._last[0]]) >= longest - 1:
            self._tail = self._tail[len(self._engine.pieces[self._last.pop(0)]) :]

    def _takes_after(self, tail: bytes, token: int) -> bool:
        begun = self._starts(tail, token)
        return begun is None or self._fits(begun)

    def _starts(self, tail: bytes, token: int) -> bytes | None:
        """The text from the first trigger on, if the token is added; None if it completes no trigger."""
        if self._engine.is_end(token):
            return None
        written = tail + self._engine.pieces[token]
        found = [place for trigger in self._triggers if (place := written.find(trigger)) >= 0]
        return written[min(found) :] if found else None

    def _fits(self, begun: bytes) -> bool:
        """Whether the grammar allows that beginning, without the bytes of an incomplete character."""
        text = begun.decode("utf-8", errors="ignore")
        try:
            return self._matcher.start().feed(text).failed_at is None
        except MatchLimit:
            return False

    def _halves(self) -> Iterator[bytes]:
        """The rests of the triggers with whose first bytes the text ends."""
        for trigger in self._triggers:
            for length in range(1, len(trigger)):
                if self._tail.endswith(trigger[:length]):
                    yield trigger[length:]

    @cached_property
    def _allowed_anywhere(self) -> NDArray[np.bool_]:
        """The allowed tokens after a text that does not end within a trigger."""
        allowed = np.ones(self._engine.vocabulary, np.bool_)
        for token in self._containing:
            allowed[token] = self._takes_after(b"", token)
        return allowed

    @cached_property
    def _containing(self) -> list[int]:
        """The tokens that contain a trigger and write more: only these, and the tokens that begin with the rest of a
        trigger and write more, can continue against the grammar."""
        return [
            token
            for token, piece in enumerate(self._engine.pieces)
            if any(-1 < piece.find(trigger) < len(piece) - len(trigger) for trigger in self._triggers)
        ]

    @cached_property
    def _sorted(self) -> list[tuple[bytes, int]]:
        return sorted((piece, token) for token, piece in enumerate(self._engine.pieces))

    def _beginning(self, rest: bytes) -> Iterator[int]:
        place = bisect_left(self._sorted, (rest, -1))
        while place < len(self._sorted) and self._sorted[place][0].startswith(rest):
            piece, token = self._sorted[place]
            if piece != rest:
                yield token
            place += 1


def _pattern(trigger: bytes) -> bytes:
    """The trigger in llama.cpp's form: it matches the whole text; the grammar is enforced from the first group on."""
    escaped = _SPECIAL.sub(r"\\\g<0>", trigger.decode("utf-8")).encode()
    return rb"[\s\S]*?(" + escaped + rb"[\s\S]*)"
