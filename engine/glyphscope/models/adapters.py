"""LoRA adapters before they are loaded: whether a file is one, and for this model.

llama.cpp ends its process for a value of the wrong type in an adapter's header, so all of it is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glyphscope.base.errors import ModelError
from glyphscope.base.inputs import home_path
from glyphscope.events.load_options import read_adapter
from glyphscope.models.gguf import Header, read_header

_TEXT, _FLOAT = 8, 6
"""GGUF's types of a text and of a number of 32 bits."""
_WEIGHTS = (0, 1, 8, 30)
"""ggml's types that llama.cpp's converter writes: F32, F16, Q8_0, BF16."""
_HINT = "Give a LoRA adapter for this model: convert_lora_to_gguf.py of llama.cpp makes one."


def whole_paths(lora: Sequence[str]) -> tuple[str, ...]:
    """The adapters with absolute paths and their scales, as a record has them."""
    read = map(read_adapter, lora)
    return tuple(f"{home_path(path).absolute()}:{scale:g}" for path, scale in read)


def require_adapters(lora: Sequence[str], model: Path) -> None:
    """Raises ModelError for a file that is missing, damaged, no LoRA adapter, or one for another model."""
    if not lora:
        return
    base = read_header(model)
    for text in lora:
        path = home_path(read_adapter(text)[0])
        if not path.is_file():
            raise ModelError(
                "There is no such file of a LoRA adapter.", where=str(path), hint="Check its path."
            )
        if problem := _problem(read_header(path), base):
            raise ModelError(problem, where=str(path), hint=_HINT)


def _problem(adapter: Header, base: Header) -> str:
    for key, value, what in (
        ("general.type", "adapter", "an adapter"),
        ("adapter.type", "lora", "a LoRA adapter"),
        ("general.architecture", base.architecture, "an adapter for this model"),
    ):
        found = adapter.text(key) if adapter.kinds.get(key) == _TEXT else ""
        if found != value:
            return f"The file is not {what}: its {key} is {found or 'missing'}, not {value}."
    if adapter.kinds.get("adapter.lora.alpha", _FLOAT) != _FLOAT:
        return "The adapter is damaged: its adapter.lora.alpha is not a number of 32 bits."
    if "adapter.alora.invocation_tokens" in adapter.kinds:
        return "The adapter is an activated LoRA, which begins at certain tokens: it cannot be used here."
    if not adapter.tensors:
        return "The adapter has no weights."
    for name, (shape, kind) in adapter.tensors.items():
        weight, _, part = name.rpartition(".")
        if name.endswith("_norm.weight"):
            continue  # llama.cpp ignores it
        if part not in ("lora_a", "lora_b") or kind not in _WEIGHTS or len(shape) != 2 or not all(shape):
            return f"The adapter is damaged: its tensor {name} does not belong to a LoRA adapter."
        if base.number("split.count") > 1:
            continue  # the model's tensors are in several files
        if weight not in base.tensors:
            return f"The adapter is for another model: this one has no tensor {weight}."
        if f"{weight}.{'lora_b' if part == 'lora_a' else 'lora_a'}" not in adapter.tensors:
            return f"The adapter is damaged: {weight} has only one of its two parts."
        rank, sizes = adapter.tensors[f"{weight}.lora_b"][0][0], base.tensors[weight][0]
        # the embedding of tokens is a table of rows, so its two parts change places in llama.cpp
        is_table = weight.endswith("token_embd.weight")
        fits = (
            shape[1 if is_table else 0] == sizes[1 if is_table else 0]
            if part == "lora_a"
            else shape[1] == (sizes[0] if is_table else sizes[1])
        )
        if not fits or (part == "lora_a" and not is_table and shape[1] != rank):
            return (
                f"The adapter is for another model: its {name} has the shape {shape}, and {weight} {sizes}."
            )
    return ""
