"""llama.cpp: a model and its context, through llama-cpp-python's low-level functions. Only in the model's process."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import llama_cpp as llama
import msgspec
import numpy as np
from msgspec import UNSET

from glyphscope.decoding.sampler import Logits
from glyphscope.errors import ModelError
from glyphscope.events import LoadOptions
from glyphscope.events.load_options import USUAL_BATCH, WHOLE_KV, FlashAttention
from glyphscope.models.cores import physical_cores
from glyphscope.models.memory import KV_TYPES
from glyphscope.models.tokens import read_ends, read_pieces
from glyphscope.text.lines import common_length

LEAST = 8
"""The fewest tokens in a batch that ends before a control token, where a batch has at most 64 tokens: another batch
costs as much as two tokens there. In larger batches, which are for machines where it costs more, it is an eighth.
"""
_SPREAD = 7919
"""The distance of the ids of a timed batch's tokens: the experts of some models are chosen by the tokens."""
_ENCODERS_HINT = "Open a model that generates text, not one for embeddings or re-ranking."


class Interrupted(Exception):
    """An evaluation was ended by `LlamaEngine.interrupt`; its tokens are not in the context."""


class LlamaEngine:
    """A loaded model with one sequence in its context. It evaluates and tokenizes, but does not sample.

    `tokens` are the tokens in the context (its KV cache), `batch` is the most that are evaluated at once. Another
    thread may tokenize during an evaluation.
    """

    def __init__(
        self, path: str, options: LoadOptions, *, progress: Callable[[float], None], log: Iterable[str]
    ) -> None:
        """Raises ModelError, with the last lines of llama.cpp's `log`, for a file that it cannot load."""
        llama.llama_backend_init()
        parameters = model_parameters()
        gpu_layers = _usable_gpu_layers(options.gpu_layers, path)
        parameters.n_gpu_layers = gpu_layers

        @llama.llama_progress_callback  # type: ignore[untyped-decorator]
        def loading(share: float, _: object) -> bool:
            progress(share)
            return True

        parameters.progress_callback = loading
        self._model = llama.llama_model_load_from_file(os.fsencode(path), parameters)
        if not self._model:
            raise ModelError(
                f"llama.cpp cannot load the file: {last_words(log) or 'no reason was given'}",
                where=path,
                hint="It may be damaged, or of a kind that this version does not know. Download it again.",
            )
        self.vocab = llama.llama_model_get_vocab(self._model)
        self.vocabulary: int = llama.llama_vocab_n_tokens(self.vocab)
        if not self.vocabulary or not llama.llama_model_has_decoder(self._model):
            raise ModelError("The model generates no text.", where=path, hint=_ENCODERS_HINT)
        self.options = self._open_context(path, options, log)
        """The options in use."""
        self.pieces = read_pieces(self.vocab, self.vocabulary)
        self.ends = read_ends(self.vocab, self.vocabulary)
        self._is_end = frozenset(self.ends)
        self.tokens: list[int] = []
        self._ends: list[int] = []  # ends of the first batches of `tokens`, none of which gave logits

    def _open_context(self, path: str, options: LoadOptions, log: Iterable[str]) -> LoadOptions:
        trained = llama.llama_model_n_ctx_train(self._model)
        tokens = min(options.context, trained) if trained > 0 else options.context
        self.batch = options.batch_size
        self._flag, self._flag_reader = ctypes.create_string_buffer(2), _flag_reader()
        parameters = self._parameters(options, tokens, self.batch)
        self._context = llama.llama_init_from_model(self._model, parameters)
        if not self._context:
            raise ModelError(
                f"llama.cpp cannot make a context of {parameters.n_ctx:,} tokens: {last_words(log)}",
                where=path,
                hint="Use a smaller context."
                if options.kv_type in WHOLE_KV
                else "Use a smaller context, or the KV type f16.",
            )
        self._memory = llama.llama_get_memory(self._context)
        if not self._memory:
            raise ModelError("The model generates no text.", where=path, hint=_ENCODERS_HINT)
        # llama.cpp rounds the size up; the requested size is the limit
        self.context: int = parameters.n_ctx
        self._batch = llama.llama_batch_init(self.batch, 0, 1)
        return msgspec.structs.replace(
            options,
            context=self.context,
            threads=parameters.n_threads,
            gpu_layers=options.gpu_layers if llama.llama_supports_gpu_offload() else 0,
            flash_attention=attention_of(options),
            batch=UNSET if self.batch == USUAL_BATCH else self.batch,
        )

    def _parameters(self, options: LoadOptions, tokens: int, batch: int) -> Any:
        """The parameters of a context for so many tokens (a `llama_context_params`)."""
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = tokens
        parameters.n_batch = parameters.n_ubatch = batch
        parameters.n_threads = parameters.n_threads_batch = options.threads or physical_cores()
        parameters.type_k = parameters.type_v = KV_TYPES[options.kv_type]
        parameters.flash_attn_type = ATTENTION[attention_of(options)]
        if self.has_cells:  # a second sequence for `copy_state`, in the same cells
            parameters.n_seq_max, parameters.kv_unified = 2, True
        if self._flag_reader:
            parameters.abort_callback = self._flag_reader
            parameters.abort_callback_data = ctypes.addressof(self._flag)
        return parameters

    @property
    def parameters(self) -> int:
        return int(llama.llama_model_n_params(self._model))

    @property
    def chat_template(self) -> str | None:
        """The source of the model's chat template."""
        return self._template(None)

    @property
    def tool_template(self) -> str | None:
        """The source of the template for prompts with tools: some files have a separate one."""
        return self._template(b"tool_use") or self.chat_template

    def _template(self, name: bytes | None) -> str | None:
        template = llama.llama_model_chat_template(self._model, name)
        return template.decode("utf-8", errors="replace") if template else None

    @property
    def room(self) -> int:
        """The number of tokens for which there is still room in the context."""
        return self.context - len(self.tokens)

    @property
    def tokenize_address(self) -> int:
        """The address of `llama_tokenize`, for a tokenizer that calls it directly."""
        return ctypes.cast(llama.llama_cpp._lib.llama_tokenize, ctypes.c_void_p).value or 0

    def special(self, which: str) -> str:
        """The text of the token `bos` or `eos`; empty if the model has none."""
        token = getattr(llama, f"llama_vocab_{which}")(self.vocab)
        return "" if token < 0 else self.pieces[token].decode("utf-8", errors="replace")

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        return token in self._is_end

    def tokenize(self, text: str, *, begin: bool = False, special: bool = True) -> list[int]:
        """The token ids. With `special`, texts of special tokens become these tokens; otherwise they are plain text.

        With `begin`, the token that begins a sequence is put first if the model needs one and the text has none.
        """
        if begin:
            bos = self.special("bos")
            begin = bool(llama.llama_vocab_get_add_bos(self.vocab)) and not (bos and text.startswith(bos))
        data = text.encode("utf-8", errors="replace")
        size = len(data) + 2
        ids = (llama.llama_token * size)()
        count = llama.llama_tokenize(self.vocab, data, len(data), ids, size, False, special)
        if count < 0:
            raise ModelError("The text cannot be tokenized.", hint="It may be too long.")
        found = list(ids[:count])
        return [llama.llama_vocab_bos(self.vocab), *found] if begin else found

    def batch_ends(self, prompt: Sequence[int]) -> list[int]:
        """The ends of the batches of a prompt that is evaluated from its start: after each `batch` tokens, before
        control tokens, with which messages begin and end, and at some ends of lines, so that prompts with a common
        beginning have the same first batches. The ends before a token depend only on the tokens up to it.
        """
        control = {token for token in set(prompt) if llama.llama_vocab_is_control(self.vocab, token)}
        size, least, least_lines = self.batch, max(LEAST, self.batch // 8), self.batch // 2
        ends = [0]
        for place, token in enumerate(prompt):
            over, length = place % size, place - ends[-1]
            is_line = length >= least_lines and self.pieces[prompt[place - 1]].endswith(b"\n")
            if (place and not over) or (min(length, size - over) >= least and (is_line or token in control)):
                ends.append(place)
        return [*ends[1:], len(prompt)] if prompt else []

    def keep(self, prompt: Sequence[int], *, repeatable: bool = False) -> int:
        """Keep the longest prefix that the context shares with all but the last token of `prompt`. Returns its length.

        The last token is always evaluated, for its logits. A model whose memory cannot be cut in the middle (a
        recurrent one) starts over.

        Batches of other sizes change the last digits of a token's logits. With `repeatable`, only batches are kept that
        are the same when the prompt is evaluated from its start.
        """
        same = common_length(self.tokens, prompt[:-1])
        if repeatable:
            count = common_length(self._ends, self.batch_ends(prompt[:-1]))
            same = max((end for end in self._ends[:count] if end <= same), default=0)
        self._cut(same)
        return len(self.tokens)

    @property
    def has_cells(self) -> bool:
        """Whether the memory has a cell for each token, so that the state of a prompt's beginning can be copied."""
        return not (llama.llama_model_is_recurrent(self._model) or llama.llama_model_is_hybrid(self._model))

    @property
    def tokens_in_chunks(self) -> list[int]:
        """The whole chunks of `tokens` that were evaluated in the batches of any prompt that begins with them."""
        length = self._ends[-1] if self._ends else 0
        return self.tokens[: length - length % self.batch]

    def copy_state(self, length: int, most: int) -> memoryview | None:
        """A copy of the KV state of the first `length` tokens in the context; for models that have cells.

        None if it has more than `most` bytes.
        """
        llama.llama_memory_seq_cp(self._memory, 0, 1, 0, length)
        try:
            size = llama.llama_state_seq_get_size(self._context, 1)
            if size > most:
                return None
            buffer = (ctypes.c_uint8 * size)()
            return memoryview(buffer)[: llama.llama_state_seq_get_data(self._context, buffer, size, 1)]
        finally:
            llama.llama_memory_seq_rm(self._memory, 1, 0, -1)

    def restore(self, tokens: Sequence[int], state: bytes, length: int) -> bool:
        """Put the state of `tokens`, evaluated in whole chunks, into the context, and keep `length` of them.

        Returns False, with an empty context, if llama.cpp rejects it.
        """
        self._cut(0)
        data = ctypes.cast(ctypes.c_char_p(state), ctypes.POINTER(ctypes.c_uint8))
        if llama.llama_state_seq_set_data(self._context, data, len(state), 0) != len(state):
            self._cut(0)
            return False
        self.tokens[:] = tokens
        self._ends = self.batch_ends(tokens)
        self._cut(length)
        return True

    def evaluate(self, tokens: Sequence[int]) -> None:
        """Evaluate at most `batch` tokens without logits. Raises Interrupted and ModelError."""
        self._decode(tokens, outputs=0)
        llama.llama_synchronize(self._context)  # a GPU computes after `llama_decode` has returned

    def decode(self, tokens: Sequence[int], outputs: int) -> list[Logits]:
        """Evaluate the tokens. Returns the logits after the last `outputs`; the next evaluation overwrites them.

        Raises Interrupted and ModelError.
        """
        rows: list[Logits] = []
        for start in range(0, len(tokens), self.batch):
            part = tokens[start : start + self.batch]
            behind = len(tokens) - start - len(part)
            if rows:
                rows = [row.copy() for row in rows]
            rows += self._decode(part, outputs=min(len(part), max(0, outputs - behind)))
        return rows

    @property
    def interruptible(self) -> bool:
        """Whether a running evaluation can be ended: llama.cpp looks at the flag on the processor only."""
        return bool(self._flag_reader) and not self.options.gpu_layers

    def time_batch(self, size: int, tokens: int) -> float:
        """The milliseconds of a batch of `size` tokens, on average over as many as fill a separate context of `tokens`.

        Raises Interrupted, and ModelError where there is no memory for the context.
        """
        self.raise_if_interrupted()
        context = llama.llama_init_from_model(self._model, self._parameters(self.options, tokens, size))
        if not context:
            raise ModelError(f"llama.cpp cannot make a context for batches of {size} tokens.")
        batch = llama.llama_batch_init(size, 0, 1)
        try:
            ids = [at * _SPREAD % self.vocabulary for at in range(tokens)]
            for places in ([0], range(0, tokens, size)):  # the first one makes llama.cpp reserve its memory
                llama.llama_memory_clear(llama.llama_get_memory(context), True)
                begin = time.perf_counter()
                for start in places:
                    _fill(batch, ids[start : start + size], start, outputs=0)
                    status = llama.llama_decode(context, batch)
                    if status == 2:
                        raise Interrupted
                    if status:
                        raise ModelError(f"llama.cpp cannot evaluate {size} tokens (status {status}).")
                    llama.llama_synchronize(context)
            return (time.perf_counter() - begin) * 1000 / len(places)
        finally:
            llama.llama_batch_free(batch)
            llama.llama_free(context)

    def interrupt(self, on: bool) -> None:
        """End a running evaluation and any later one until called with False. From any thread."""
        self._flag[0] = b"\1" if on else b"\0"

    def raise_if_interrupted(self) -> None:
        """Raise Interrupted after `interrupt`; for long work without an evaluation."""
        if self._flag[0] != b"\0":
            raise Interrupted

    def _decode(self, tokens: Sequence[int], outputs: int) -> list[Logits]:
        self.raise_if_interrupted()
        start, count = len(self.tokens), len(tokens)
        _fill(self._batch, tokens, start, outputs)
        status = llama.llama_decode(self._context, self._batch)
        if status != 0:
            self._cut(start)
            if status == 2:
                raise Interrupted
            raise ModelError(
                f"llama.cpp could not evaluate {count:,} tokens (status {status}).",
                hint="Load the model with a smaller context, or use another one.",
            )
        self._add(tokens, outputs)
        return [self._row(i) for i in range(count - outputs, count)]

    def _add(self, tokens: Sequence[int], outputs: int) -> None:
        """Record an evaluated batch."""
        if not outputs and len(self.tokens) == (self._ends[-1] if self._ends else 0):
            self._ends.append(len(self.tokens) + len(tokens))
        self.tokens += tokens

    def _row(self, place: int) -> Logits:
        """A view of llama.cpp's memory, not a copy."""
        pointer = llama.llama_get_logits_ith(self._context, place)
        address = ctypes.cast(pointer, ctypes.c_void_p).value
        if address is None:
            raise ModelError("llama.cpp gave no logits.")
        return np.frombuffer(memoryview((ctypes.c_float * self.vocabulary).from_address(address)), np.float32)

    def _cut(self, length: int) -> None:
        if llama.llama_memory_seq_rm(self._memory, 0, length, -1):
            del self.tokens[length:]
        else:
            llama.llama_memory_clear(self._memory, True)
            self.tokens.clear()
        while self._ends and self._ends[-1] > len(self.tokens):
            self._ends.pop()


def _fill(batch: Any, tokens: Sequence[int], start: int, outputs: int) -> None:
    """Put the tokens into the batch, from the place `start` of sequence 0 on; the last `outputs` give logits."""
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i] = token
        batch.pos[i] = start + i
        batch.n_seq_id[i] = 1
        batch.seq_id[i][0] = 0
        batch.logits[i] = i >= len(tokens) - outputs


def model_parameters() -> Any:
    """llama.cpp's defaults (a `llama_model_params`), except that weights are never laid out for AMX.

    Its code for AMX crashes at the first prompt on many machines: https://github.com/ggml-org/llama.cpp/pull/26954.
    """
    parameters = llama.llama_model_default_params()
    if b"AMX_INT8 = 1" in llama.llama_print_system_info():
        parameters.use_extra_bufts = False
    return parameters


ATTENTION: dict[FlashAttention, int] = {
    "auto": llama.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": llama.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": llama.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}


def attention_of(options: LoadOptions) -> FlashAttention:
    """The setting to use. `auto` is on for a quantised cache, llama.cpp's choice with an accelerator, otherwise off.

    Measured on 2 cores with SmolLM2-135M: after 3,072 tokens, a batch of 4 takes 41 ms with it and 28 without, a batch
    of 64 takes 355 and 259; a single token takes the same time.
    """
    if options.flash_attention != "auto":
        return options.flash_attention
    if options.kv_type not in WHOLE_KV:
        return "on"
    return "auto" if llama.llama_supports_gpu_offload() else "off"


def _usable_gpu_layers(layers: int, path: str) -> int:
    """The number of layers. Raises ModelError if there are any and llama.cpp was built without GPU support."""
    if layers > 0 and not llama.llama_supports_gpu_offload():
        raise ModelError(
            f"llama.cpp was built without GPU support; {layers} layers cannot be put on one.",
            where=path,
            hint="Use 0 or -1 GPU layers, or install llama-cpp-python built for your GPU.",
        )
    return layers


def last_words(log: Iterable[str]) -> str:
    """The last three lines of llama.cpp's log, joined into one."""
    return " ".join(list(log)[-3:])


def _flag_reader() -> Callable[[ctypes.c_void_p], bool] | None:
    """A C function that returns whether the byte at its argument is set: `strlen`, if a zero follows the byte.

    llama.cpp calls it after each of about a thousand operations of an evaluation. A Python function would take the
    interpreter's lock each time; this one costs nothing. None if the C library has no such symbol.
    """
    try:
        address = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
    except (OSError, AttributeError, TypeError):
        return None
    return llama.ggml_abort_callback(address) if address else None
