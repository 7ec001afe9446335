"""How a GGUF file is loaded: one value for the model's process, the settings, the command line and records."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from glyphscope.events.setting import Choice, Setting

KvType: TypeAlias = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
"""ggml's types in which llama.cpp can store a KV cache."""
FlashAttention: TypeAlias = Literal["auto", "on", "off"]
Batch: TypeAlias = Literal[16, 32, 64, 128, 256, 512]
"""The most tokens of a prompt that are evaluated at once."""
USUAL_BATCH: Batch = 64

WHOLE_KV: frozenset[KvType] = frozenset({"f32", "f16", "bf16"})
"""The types that are not quantised. llama.cpp needs flash attention for a quantised V cache."""
MAX_CONTEXT = 1 << 20
MAX_THREADS = 512
MAX_LAYERS = 1000
MAX_SEQUENCES = 64
MAX_ADAPTERS, MAX_SCALE = 16, 100.0


_KV_TYPES = tuple(Choice(kind, kind) for kind in get_args(KvType))
_FLASH = tuple(Choice(each, each) for each in get_args(FlashAttention))
_BATCHES = (Choice(UNSET, "as measured"), *(Choice(size, f"{size} tokens") for size in get_args(Batch)))


def read_adapter(text: str) -> tuple[str, float]:
    """The path and the scale of `PATH[:SCALE]`, 1 if left out. Raises ValueError, with the reason as a sentence."""
    path, colon, number = text.rpartition(":")
    try:
        scale = float(number)
    except ValueError:
        path, scale = text, 1.0
    if not colon:
        path, scale = text, 1.0
    if not path or not abs(scale) <= MAX_SCALE:
        raise ValueError(
            f"A LoRA adapter is PATH or PATH:SCALE, with a scale from -100 to 100; this is {text!r}"
        )
    return path, scale


def adapter_problem(texts: tuple[str, ...]) -> str:
    """The problem with these adapters, without a full stop; empty if there is none."""
    try:
        paths = [read_adapter(text)[0] for text in texts]
    except ValueError as error:
        return str(error)
    if len(set(paths)) < len(paths):
        return "A LoRA adapter is given twice"
    return f"At most {MAX_ADAPTERS} LoRA adapters are possible" if len(texts) > MAX_ADAPTERS else ""


class LoadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """In a record, these are the values in use; `flash_attention` auto remains only if llama.cpp decides.

    If `batch` is left out, the size that was measured for the model on this machine is used, and 64 until then; a
    record without it was made with 64. `sequences` of so many tokens share the context, so that several generations are
    decoded in one batch; one if it is left out.
    """

    context: Annotated[int, Meta(ge=16, le=MAX_CONTEXT), Setting(
        "Context", "Maximum tokens of prompt and answer together, at most the model’s own; the KV cache grows with it",
        step=1024, unit="tokens",
    )] = 4096  # fmt: skip
    threads: Annotated[int, Meta(ge=0, le=MAX_THREADS), Setting(
        "Threads", "Number of threads; more than physical cores are usually slower",
        special=0, special_words="one per core",
    )] = 0  # fmt: skip
    gpu_layers: Annotated[int, Meta(ge=-1, le=MAX_LAYERS), Setting(
        "GPU layers", "Layers offloaded to the GPU, if llama.cpp was built with GPU support",
        special=-1, special_words="all",
    )] = -1  # fmt: skip
    kv_type: Annotated[KvType, Setting(
        "KV cache type", "Type of the KV cache; q8_0 needs half the memory of f16, with little loss of accuracy",
        choices=_KV_TYPES,
    )] = "f16"  # fmt: skip
    flash_attention: Annotated[FlashAttention, Setting(
        "Flash attention", "Attention in one pass; required by a quantised KV cache", choices=_FLASH,
    )] = "auto"  # fmt: skip
    batch: Annotated[Batch | UnsetType, Setting(
        "Prompt batches", "Maximum number of prompt tokens evaluated at once; progress is shown after each batch",
        choices=_BATCHES,
    )] = UNSET  # fmt: skip
    lora: Annotated[tuple[str, ...], Setting(
        "LoRA adapters", "GGUF files of adapters for the model, as PATH or PATH:SCALE", check=adapter_problem,
    )] = ()  # fmt: skip
    sequences: Annotated[int, Meta(ge=2, le=MAX_SEQUENCES)] | UnsetType = UNSET

    @property
    def batch_size(self) -> Batch:
        """`batch`, and 64 where it is left out."""
        return USUAL_BATCH if self.batch is UNSET else self.batch

    @property
    def sequence_count(self) -> int:
        """`sequences`, and 1 where it is left out."""
        return 1 if isinstance(self.sequences, UnsetType) else self.sequences

    def with_sequences(self, count: int) -> LoadOptions:
        """These options with so many sequences."""
        return msgspec.structs.replace(self, sequences=count if count > 1 else UNSET)

    @property
    def problem(self) -> str:
        """The reason why llama.cpp cannot use these options together; empty if it can."""
        if self.flash_attention == "off" and self.kv_type not in WHOLE_KV:
            return f"A KV cache of type {self.kv_type} needs flash attention, which is off."
        if problem := adapter_problem(self.lora):
            return f"{problem}."
        return ""


DEFAULT_LOAD = LoadOptions()
