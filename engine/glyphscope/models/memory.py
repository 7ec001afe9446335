"""The facts in a model's file, and the memory that loading it takes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import home_path
from glyphscope.base.structs import ready
from glyphscope.events import KvType, LoadOptions
from glyphscope.events.load_options import read_adapter
from glyphscope.models.files import available_memory, model_info
from glyphscope.models.gguf import TENSOR_TYPES, Header, read_with_heads

KV_TYPES: dict[KvType, int] = {
    "f32": 0, "f16": 1, "bf16": 30, "q8_0": 8, "q5_1": 7, "q5_0": 6, "q4_1": 3, "q4_0": 2, "iq4_nl": 20,
}  # fmt: skip
"""ggml's numbers for the KV types."""
_CELLS = 256
"""llama.cpp rounds the tokens of a cache up to a multiple of this."""


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """`context` is the trained context in tokens, `bytes` the file's size. 0 or empty: not in the file.

    `kv_values` is the number of values in the KV cache for one token in all layers together; None if the file does not
    describe the attention.
    """

    name: str
    path: str
    architecture: str = ""
    quantisation: str = ""
    parameters: int = 0
    vocabulary: int = 0
    context: int = 0
    layers: int = 0
    has_chat_template: bool = False
    bytes: int = 0
    kv_values: int | None = None


class Memory(NamedTuple):
    """Sizes in bytes. `cache` is for the whole context of all sequences, None if unknown; `free` is None if the system
    does not report it. Models with sliding-window attention need a smaller cache. `adapters` are the LoRA adapters'
    files, as far as they exist.
    """

    weights: int
    cache: int | None
    free: int | None
    adapters: int = 0

    @property
    def total(self) -> int:
        return self.weights + (self.cache or 0) + self.adapters

    @property
    def fits(self) -> bool | None:
        """Whether the total is within the free memory; None if the free memory is not known."""
        return None if self.free is None else self.total <= self.free


def read_facts(path: Path) -> ModelFacts:
    """The facts in the file's header. Raises ModelError for a file that is not a GGUF model or is damaged."""
    header = read_with_heads(path)
    facts = msgspec.convert(model_info(path, header), ready(ModelFacts), from_attributes=True)
    layers = max(header.number(f"{header.architecture}.block_count"), 0)
    return msgspec.structs.replace(facts, layers=layers, kv_values=_kv_values(header))


def memory_needed(facts: ModelFacts, options: LoadOptions, free: int | None = None) -> Memory:
    """The memory for the model with these options, of which adapters are looked up. The default for `free` is the
    memory that is free now.
    """
    cache = None
    if facts.kv_values is not None:
        per_block, width = TENSOR_TYPES[KV_TYPES[options.kv_type]]
        tokens = min(options.context, facts.context or options.context)
        cells = -(-tokens * options.sequence_count // _CELLS) * _CELLS
        cache = cells * facts.kv_values * width // per_block
    files = [home_path(read_adapter(text)[0]) for text in options.lora]
    adapters = sum(path.stat().st_size for path in files if path.is_file())
    return Memory(facts.bytes, cache, available_memory() if free is None else free, adapters)


def require_memory(path: str, options: LoadOptions) -> None:
    """Raises ModelError if the KV cache is larger than the free memory, as far as both are known."""
    needed = memory_needed(read_facts(Path(path)), options)
    if needed.cache is not None and needed.free is not None and needed.cache > needed.free:
        raise ModelError(
            f"The KV cache of {options.sequence_count} sequences of {options.context:,} tokens needs "
            f"{byte_size(needed.cache)} of memory, and {byte_size(needed.free)} are free.",
            where=path,
            hint="Use fewer sequences or a smaller context.",
        )


def _kv_values(header: Header) -> int | None:
    """The number of keys and values of all layers for one token; layers without attention have no heads."""

    def number(key: str) -> int:
        return header.number(f"{header.architecture}.{key}")

    layers, heads, width = number("block_count"), number("attention.head_count"), number("embedding_length")
    per_layer = header.values.get(f"{header.architecture}.attention.head_count_kv", heads)
    if isinstance(per_layer, tuple):
        kv_heads = sum(count for count in per_layer if isinstance(count, int) and count > 0)
    else:
        kv_heads = layers * per_layer if isinstance(per_layer, int) and per_layer > 0 else 0
    usual = width // heads if heads > 0 else 0
    key, value = number("attention.key_length") or usual, number("attention.value_length") or usual
    return kv_heads * (key + value) if kv_heads > 0 and key > 0 and value > 0 else None
