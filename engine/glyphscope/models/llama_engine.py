"""llama.cpp: a model and its context, through llama-cpp-python's low-level functions. Only in the model's process."""

from __future__ import annotations

import ctypes
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import llama_cpp as llama
import msgspec
import numpy as np
from msgspec import UNSET

from glyphscope.base.errors import ModelError
from glyphscope.events import LoadOptions, Spans
from glyphscope.events.load_options import USUAL_BATCH, WHOLE_KV, FlashAttention, read_adapter
from glyphscope.models.cores import physical_cores
from glyphscope.models.decoding.rows import Logits
from glyphscope.models.llama_sequence import LlamaSequence, PromptPiece, batches_of
from glyphscope.models.memory import KV_TYPES, require_memory
from glyphscope.models.tokens import read_attributes, read_ends, read_pieces

# A text in pieces, between which the model's control tokens are: so that some of their texts are encoded as text.


class ControlTokens:
    """The control tokens of a vocabulary, whose address is `vocab`, with the bytes of all tokens."""

    def __init__(self, vocab: int, pieces: Sequence[bytes]) -> None:
        kinds = read_attributes(vocab, len(pieces))
        found = np.flatnonzero(
            kinds & (llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_UNKNOWN)
        ).tolist()
        texts = {pieces[token].decode("utf-8", errors="replace"): int(kinds[token]) for token in found}
        self._kinds = {text: kind for text, kind in texts.items() if text}
        longest = sorted(self._kinds, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, longest)) or r"(?!)")

    @property
    def texts(self) -> list[str]:
        return list(self._kinds)

    def pieces(self, text: str, plain: Spans) -> Iterator[tuple[str, bool]]:
        """The text's control tokens, and the stretches between them, which have none; each with whether it is a control
        token. One that has some of the characters of `plain` belongs to its stretch.
        """
        at = kind = 0
        for found in self._any.finditer(text):
            if any(start < found.end() and found.start() < end for start, end in plain):
                continue
            yield _trimmed(text[at : found.start()], kind, self._kinds[found[0]]), False
            yield found[0], True
            at, kind = found.end(), self._kinds[found[0]]
        yield _trimmed(text[at:], kind, 0), False


def _trimmed(stretch: str, before: int, after: int) -> str:
    """A stretch without the white space that the tokens around it swallow."""
    if before & llama.LLAMA_TOKEN_ATTR_RSTRIP:
        stretch = stretch.lstrip()
    return stretch.rstrip() if after & llama.LLAMA_TOKEN_ATTR_LSTRIP else stretch


LEAST = 8
"""The fewest tokens in a batch that ends before a control token, where a batch has at most 64 tokens: another batch
costs as much as two tokens there. In larger batches, which are for machines where it costs more, it is an eighth.
"""
_SPREAD = 7919
"""The distance of the ids of a timed batch's tokens: the experts of some models are chosen by the tokens."""
_NAMED_TEMPLATE = b"tokenizer.chat_template."
_MAX_KEY = 256
"""Bytes of a key of the metadata; of a longer one, the beginning is read."""
_ENCODERS_HINT = "Open a model that generates text, not one for embeddings or re-ranking."


class Interrupted(Exception):
    """An evaluation was ended by `LlamaEngine.interrupt`; its tokens are not in the context."""


class LlamaEngine:
    """A loaded model with the sequences in its context. It evaluates and tokenizes, but does not sample.

    `context` is the size of the context for each sequence, `batch` the most tokens that are evaluated at once. Another
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
        count = options.sequence_count
        self.sequences = [LlamaSequence(self, number) for number in range(count)]
        self.spare = LlamaSequence(self, count) if self.has_cells else None
        """The sequence of a prompt that is evaluated beside another one."""

    def _open_context(self, path: str, options: LoadOptions, log: Iterable[str]) -> LoadOptions:
        trained = llama.llama_model_n_ctx_train(self._model)
        # llama.cpp rounds the size up; the requested size is the limit
        self.context: int = min(options.context, trained) if trained > 0 else options.context
        self.batch = options.batch_size
        self._flag, self._flag_reader = ctypes.create_string_buffer(2), _flag_reader()
        count = options.sequence_count
        if count > 1:
            self._require_sequences(path, count, msgspec.structs.replace(options, context=self.context))
        parameters = self._parameters(options, self.context * count, self.batch)
        self.handle = llama.llama_init_from_model(self._model, parameters)
        if not self.handle:
            raise ModelError(
                f"llama.cpp cannot make a context of {parameters.n_ctx:,} tokens: {last_words(log)}",
                where=path,
                hint="Use a smaller context."
                if options.kv_type in WHOLE_KV
                else "Use a smaller context, or the KV type f16.",
            )
        self._set_adapters(options.lora, log)
        self.memory = llama.llama_get_memory(self.handle)
        if not self.memory:
            raise ModelError("The model generates no text.", where=path, hint=_ENCODERS_HINT)
        self._batch = llama.llama_batch_init(self.batch, 0, 1)
        return msgspec.structs.replace(
            options,
            context=self.context,
            threads=parameters.n_threads,
            gpu_layers=options.gpu_layers if llama.llama_supports_gpu_offload() else 0,
            flash_attention=attention_of(options),
            batch=UNSET if self.batch == USUAL_BATCH else self.batch,
        )

    def _set_adapters(self, lora: Sequence[str], log: Iterable[str]) -> None:
        """Load the LoRA adapters, which the model owns, and use them in the context."""
        loaded, scales = [], []
        for path, scale in map(read_adapter, lora):
            adapter = llama.llama_adapter_lora_init(self._model, os.fsencode(path))
            if not adapter:
                raise ModelError(
                    f"llama.cpp cannot load the LoRA adapter: {last_words(log) or 'no reason was given'}",
                    where=path,
                    hint="It may be for another model, or damaged.",
                )
            loaded.append(adapter)
            scales.append(scale)
        if loaded:
            count = len(loaded)
            handles = (llama.llama_adapter_lora_p_ctypes * count)(*loaded)
            llama.llama_set_adapters_lora(self.handle, handles, count, (ctypes.c_float * count)(*scales))

    def _parameters(self, options: LoadOptions, tokens: int, batch: int) -> Any:
        """The parameters of a context for so many tokens (a `llama_context_params`)."""
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = tokens
        count = options.sequence_count
        parameters.n_batch = parameters.n_ubatch = max(batch, count + 1)  # llama.cpp's least
        parameters.n_threads = parameters.n_threads_batch = options.threads or physical_cores()
        parameters.type_k = parameters.type_v = KV_TYPES[options.kv_type]
        parameters.flash_attn_type = ATTENTION[attention_of(options)]
        if self.has_cells:  # one more sequence for `copy_state`, in the same cells
            parameters.n_seq_max, parameters.kv_unified = count + 1, True
        if self._flag_reader:
            parameters.abort_callback = self._flag_reader
            parameters.abort_callback_data = ctypes.addressof(self._flag)
        return parameters

    def _require_sequences(self, path: str, count: int, options: LoadOptions) -> None:
        """Raises ModelError for a model that cannot be opened with several sequences."""
        if not self.has_cells:
            raise ModelError(
                "The model is recurrent: its memory has no cells that several sequences could share.",
                where=path,
                hint="Use one sequence.",
            )
        short = self._number("rope.scaling.original_context_length")
        if options.context <= short < options.context * count:
            raise ModelError(
                f"The model encodes positions in another way in a context of more than {short:,} tokens, and {count} "
                f"sequences of {options.context:,} tokens are one of {options.context * count:,}.",
                where=path,
                hint="Use a smaller context, fewer sequences, or one.",
            )
        if not (llama.llama_supports_gpu_offload() and options.gpu_layers):
            require_memory(path, options)

    def _number(self, key: str) -> int:
        """The number of that key of the architecture in the model's file; 0 without it."""
        buffer = ctypes.create_string_buffer(64)
        llama.llama_model_meta_val_str(self._model, b"general.architecture", buffer, len(buffer))
        name = buffer.value + b"." + key.encode()
        found = llama.llama_model_meta_val_str(self._model, name, buffer, len(buffer))
        return int(buffer.value) if found > 0 and buffer.value.isdigit() else 0

    @property
    def parameters(self) -> int:
        return int(llama.llama_model_n_params(self._model))

    @property
    def chat_templates(self) -> dict[str, str]:
        """The sources of the model's chat templates by name; under "" that without a name."""
        names = [key.removeprefix(_NAMED_TEMPLATE) for key in self._keys() if key.startswith(_NAMED_TEMPLATE)]
        found = {b"": llama.llama_model_chat_template(self._model, None)}
        found |= {name: llama.llama_model_chat_template(self._model, name) for name in names}
        return {
            name.decode("utf-8", errors="replace"): source.decode("utf-8", errors="replace")
            for name, source in found.items()
            if source
        }

    def _keys(self) -> Iterator[bytes]:
        """The keys of the metadata in the model's file."""
        buffer = ctypes.create_string_buffer(_MAX_KEY)
        for index in range(llama.llama_model_meta_count(self._model)):
            llama.llama_model_meta_key_by_index(self._model, index, buffer, len(buffer))
            yield buffer.value

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

    def tokenize(
        self, text: str, *, begin: bool = False, special: bool = True, plain: Spans = ()
    ) -> list[int]:
        """The token ids. With `special`, texts of special tokens become these tokens; otherwise they are plain text, as
        they always are in the characters of `plain`.

        With `begin`, the token that begins a sequence is put first if the model needs one and the text has none.
        """
        if begin:
            bos = self.special("bos")
            begin = bool(llama.llama_vocab_get_add_bos(self.vocab)) and not (bos and text.startswith(bos))
        if plain and special:
            pieces = self.control_tokens.pieces(text, plain)
            found = [id for piece, special in pieces if piece for id in self._tokenize(piece, special)]
        else:
            found = self._tokenize(text, special)
        return [llama.llama_vocab_bos(self.vocab), *found] if begin else found

    @cached_property
    def control_tokens(self) -> ControlTokens:
        """The control tokens, by which a text is cut where some of them are plain text."""
        return ControlTokens(self.vocab, self.pieces)

    def _tokenize(self, text: str, special: bool) -> list[int]:
        data = text.encode("utf-8", errors="replace")
        size = len(data) + 2
        ids = (llama.llama_token * size)()
        count = llama.llama_tokenize(self.vocab, data, len(data), ids, size, False, special)
        if count < 0:
            raise ModelError("The text cannot be tokenized.", hint="It may be too long.")
        return list(ids[:count])

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

    @property
    def has_cells(self) -> bool:
        """Whether the memory has a cell for each token, so that the state of a prompt's beginning can be copied."""
        return not (llama.llama_model_is_recurrent(self._model) or llama.llama_model_is_hybrid(self._model))

    def decode(self, parts: Sequence[PromptPiece]) -> list[list[Logits]]:
        """Evaluate the tokens of all parts together. Returns the logits of each; with one sequence, the next evaluation
        overwrites them.

        Raises Interrupted and ModelError; none of the tokens is then in the context.
        """
        starts = [len(part.sequence.tokens) for part in parts]
        rows: dict[LlamaSequence, list[Logits]] = {part.sequence: [] for part in parts}
        batches = list(batches_of(parts, self.batch))
        stays = len(batches) == len(self.sequences) == 1  # the logits, until they are read
        try:
            for batch in batches:
                for sequence, row in self._decode(batch):
                    rows[sequence].append(row if stays else row.copy())
        except (Interrupted, ModelError):
            for part, start in zip(parts, starts):
                part.sequence.cut(start)
            raise
        return [rows[part.sequence] for part in parts]

    @property
    def interruptible(self) -> bool:
        """Whether a running evaluation can be ended: llama.cpp looks at the flag on the processor only."""
        return bool(self._flag_reader) and not self.options.gpu_layers

    def time_batch(self, size: int, tokens: int) -> float:
        """The milliseconds of a batch of `size` tokens, on average over as many as fill a separate context of `tokens`;
        infinite where there is no memory for that. Raises Interrupted.
        """
        self.raise_if_interrupted()
        context = llama.llama_init_from_model(self._model, self._parameters(self.options, tokens, size))
        if not context:
            return math.inf
        batch = llama.llama_batch_init(size, 0, 1)
        try:
            ids = [at * _SPREAD % self.vocabulary for at in range(tokens)]
            for places in ([0], range(0, tokens, size)):  # the first one makes llama.cpp reserve its memory
                llama.llama_memory_clear(llama.llama_get_memory(context), True)
                begin = time.perf_counter()
                for start in places:
                    _fill(batch, [(0, start, ids[start : start + size], 0)])
                    status = llama.llama_decode(context, batch)
                    if status == 2:
                        raise Interrupted
                    if status:
                        return math.inf
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

    def _decode(self, parts: Sequence[PromptPiece]) -> list[tuple[LlamaSequence, Logits]]:
        """Evaluate the tokens in one batch. Returns the logits, each with its sequence."""
        self.raise_if_interrupted()
        places = _fill(
            self._batch, [(one.number, len(one.tokens), tokens, last) for one, tokens, last in parts]
        )
        status = llama.llama_decode(self.handle, self._batch)
        if status == 2:
            raise Interrupted
        if status != 0:
            raise ModelError(
                f"llama.cpp could not evaluate {self._batch.n_tokens:,} tokens (status {status}).",
                hint="Load the model with a smaller context, or use another one.",
            )
        for sequence, tokens, outputs in parts:
            sequence.add(tokens, outputs)
        rows = map(self._row, places)
        return [(sequence, next(rows)) for sequence, _, outputs in parts for _ in range(outputs)]

    def _row(self, place: int) -> Logits:
        """A view of llama.cpp's memory, not a copy."""
        pointer = llama.llama_get_logits_ith(self.handle, place)
        address = ctypes.cast(pointer, ctypes.c_void_p).value
        if address is None:
            raise ModelError("llama.cpp gave no logits.")
        return np.frombuffer(memoryview((ctypes.c_float * self.vocabulary).from_address(address)), np.float32)


def _fill(batch: Any, parts: Sequence[tuple[int, int, Sequence[int], int]]) -> list[int]:
    """Put tokens into the batch. A part has a sequence's number, the place there, the tokens, and of how many of the
    last of them the logits are required. Returns the places in the batch of those tokens.
    """
    required: list[int] = []
    size = 0
    for number, start, tokens, outputs in parts:
        for i, token in enumerate(tokens):
            batch.token[size] = token
            batch.pos[size] = start + i
            batch.n_seq_id[size] = 1
            batch.seq_id[size][0] = number
            batch.logits[size] = i >= len(tokens) - outputs
            if i >= len(tokens) - outputs:
                required.append(size)
            size += 1
    batch.n_tokens = size
    return required


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
