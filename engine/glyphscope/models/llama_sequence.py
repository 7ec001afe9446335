"""A sequence of tokens in a model's context, in whose cells (the KV cache) there may be others. In the model's process.

llama.cpp's last digits depend on the cells in which the tokens are, and on the other tokens of a batch. It takes the
first free cells, so both follow from the order of the evaluations since the last time that there was one prompt in the
context, in the first cells; no other prompt is reused when a generation begins alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import llama_cpp as llama

from glyphscope.base.lines import common_length
from glyphscope.models.decoding.rows import Logits


class LlamaContext(Protocol):
    """The context of sequences, with the handles of llama.cpp: `LlamaEngine`."""

    handle: Any
    memory: Any
    context: int
    pieces: list[bytes]
    sequences: list[LlamaSequence]

    @property
    def batch(self) -> int: ...

    def is_end(self, token: int) -> bool: ...

    def batch_ends(self, prompt: Sequence[int]) -> list[int]: ...

    def decode(self, parts: Sequence[PromptPiece]) -> list[list[Logits]]: ...


class LlamaSequence:
    """The tokens of one generation in the context, and of the one before it: a `Backend` of decoding.

    `tokens` are the evaluated ones. Their number is limited by the size of the context, for each sequence.
    """

    def __init__(self, context: LlamaContext, number: int) -> None:
        self._context, self.number = context, number
        self.pieces = context.pieces
        self.tokens: list[int] = []
        self._ends: list[int] = []  # ends of the first batches of `tokens`, none of which gave logits
        self._placed = 0  # how many of the first tokens are in the cells of their positions

    @property
    def room(self) -> int:
        """The number of tokens for which there is still room in the context."""
        return self._context.context - len(self.tokens)

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        return self._context.is_end(token)

    def keep(self, prompt: Sequence[int], *, repeatable: bool = False, alone: bool = True) -> int:
        """Keep the longest prefix that the context shares with all but the last token of `prompt`. Returns its length.

        The last token is always evaluated, for its logits. A model whose memory cannot be cut in the middle (a
        recurrent one) starts over.

        Batches of other sizes change the last digits of a token's logits. With `repeatable`, only batches are kept that
        are the same when the prompt is evaluated from its start; another sequence's are then shared, too. `alone`: no
        other sequence is in use; all others are emptied, so that nothing depends on earlier generations.
        """
        ends = self._context.batch_ends(prompt[:-1]) if repeatable else []

        def reusable(sequence: LlamaSequence) -> int:
            same = common_length(sequence.tokens, prompt[:-1])
            if alone:
                same = min(same, sequence._placed)
            if repeatable:
                count = common_length(sequence._ends, ends)
                same = max((end for end in sequence._ends[:count] if end <= same), default=0)
            return same

        others = [each for each in self._context.sequences if each is not self]
        same, found = reusable(self), self
        for other in others if repeatable else ():
            if (shared := reusable(other)) > same:
                same, found = shared, other
        if found is not self:
            self.share(found, same)
        self.cut(same)
        for other in others if alone else ():
            other.cut(0)
        return len(self.tokens)

    def share(self, other: LlamaSequence, length: int, hidden: Sequence[tuple[int, int]] = ()) -> None:
        """Begin with the first tokens of another sequence, in the same cells. The tokens that follow do not see those
        in the `hidden` ranges, in order and before the last one; the others have seen them.
        """
        self.cut(0)
        start = 0
        for end, after in (*hidden, (length, length)):
            if end > start:
                llama.llama_memory_seq_cp(self._context.memory, other.number, self.number, start, end)
            start = after
        self.tokens[:] = other.tokens[:length]
        self._ends = [end for end in other._ends if end <= length]
        self._placed = min(other._placed, length)

    @property
    def tokens_in_batches(self) -> list[int]:
        """The first of `tokens`, which were evaluated in the batches of a prompt that begins with them."""
        return self.tokens[: self._ends[-1]] if self._ends else []

    def copy_state(self, length: int, most: int) -> memoryview | None:
        """A copy of the KV state of the first `length` tokens in the context; for models that have cells.

        None if it has more than `most` bytes.
        """
        context, memory, spare = self._context.handle, self._context.memory, len(self._context.sequences)
        llama.llama_memory_seq_cp(memory, self.number, spare, 0, length)
        try:
            size = llama.llama_state_seq_get_size(context, spare)
            if size > most:
                return None
            buffer = (ctypes.c_uint8 * size)()
            return memoryview(buffer)[: llama.llama_state_seq_get_data(context, buffer, size, spare)]
        finally:
            llama.llama_memory_seq_rm(memory, spare, 0, -1)

    def restore(self, tokens: Sequence[int], state: bytes, length: int) -> bool:
        """Put the state of `tokens`, evaluated in the batches of a prompt, into the context, and keep `length` of them.

        Returns False, with an empty sequence, if llama.cpp rejects it.
        """
        self.cut(0)
        data = ctypes.cast(ctypes.c_char_p(state), ctypes.POINTER(ctypes.c_uint8))
        if llama.llama_state_seq_set_data(self._context.handle, data, len(state), self.number) != len(state):
            self.cut(0)
            return False
        self._placed = len(tokens) if self._is_alone else 0
        self.tokens[:] = tokens
        self._ends = self._context.batch_ends(tokens)
        self.cut(length)
        return True

    def evaluate(self, tokens: Sequence[int]) -> None:
        """Evaluate at most a batch of tokens without logits. Raises Interrupted and ModelError."""
        self._context.decode([PromptPiece(self, tokens, 0)])
        llama.llama_synchronize(self._context.handle)  # a GPU computes after `llama_decode` has returned

    def decode(self, tokens: Sequence[int], outputs: int) -> list[Logits]:
        """Evaluate the tokens. Returns the logits after the last `outputs`; the next evaluation overwrites them.

        Raises Interrupted and ModelError.
        """
        return self._context.decode([PromptPiece(self, tokens, outputs)])[0]

    def add(self, tokens: Sequence[int], outputs: int) -> None:
        """Record evaluated tokens, all of a batch's that belong to this sequence."""
        if not outputs and len(self.tokens) == (self._ends[-1] if self._ends else 0):
            self._ends.append(len(self.tokens) + len(tokens))
        if self._placed == len(self.tokens) and self._is_alone:
            self._placed += len(tokens)
        self.tokens += tokens

    def cut(self, length: int) -> None:
        """Remove the tokens after the first `length`."""
        if llama.llama_memory_seq_rm(self._context.memory, self.number, length, -1):
            del self.tokens[length:]
        else:  # a model without cells, which has one sequence
            llama.llama_memory_clear(self._context.memory, True)
            self.tokens.clear()
        self._placed = min(self._placed, len(self.tokens))
        while self._ends and self._ends[-1] > len(self.tokens):
            self._ends.pop()

    @property
    def _is_alone(self) -> bool:
        """Whether no other sequence has cells."""
        return not any(each.tokens for each in self._context.sequences if each is not self)


class PromptPiece(NamedTuple):
    """Tokens of a sequence to be evaluated, and of how many of the last of them the logits are needed."""

    sequence: LlamaSequence
    tokens: Sequence[int]
    outputs: int


def batches_of(parts: Sequence[PromptPiece], size: int) -> Iterator[list[PromptPiece]]:
    """The parts in batches of at most `size` tokens. A batch has consecutive tokens of a sequence in one part."""
    batch: list[PromptPiece] = []
    room = size
    for sequence, tokens, outputs in parts:
        rest = len(tokens)
        while rest:
            if not room:
                yield batch
                batch, room = [], size
            piece = tokens[len(tokens) - rest :][:room]
            rest -= len(piece)
            room -= len(piece)
            batch.append(PromptPiece(sequence, piece, min(len(piece), max(0, outputs - rest))))
    if batch:
        yield batch
