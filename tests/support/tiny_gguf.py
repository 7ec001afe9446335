"""The smallest model files that llama.cpp loads and that write no text: encoders, with nothing but zeros in them."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

_WIDTH, _TOKENS = 8, ["<unk>", "<s>", "</s>", "<0x0A>"]
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


def encoder(architecture: str) -> bytes:
    """A `bert`, as models for embeddings are, or a `t5encoder`, one half of a translator."""
    values: dict[str, Any] = {
        "general.architecture": architecture,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": _TOKENS,
        "tokenizer.ggml.scores": [0.0] * len(_TOKENS),
        "tokenizer.ggml.token_type": [2, 3, 3, 6],
        "tokenizer.ggml.token_type_count": 2,
    }
    sizes = {
        "context_length": 64,
        "embedding_length": _WIDTH,
        "feed_forward_length": _WIDTH,
        "block_count": 1,
        "attention.head_count": 1,
        "attention.causal": False,
        "attention.layer_norm_epsilon": 1e-5,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.relative_buckets_count": 4,
    }
    values |= {f"{architecture}.{key}": size for key, size in sizes.items()}
    return _gguf(values, _bert() if architecture == "bert" else _t5_encoder())


def _bert() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (_WIDTH, len(_TOKENS)),
        "token_types.weight": (_WIDTH, 2),
        "position_embd.weight": (_WIDTH, 64),
    }
    norms = ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm")
    shapes |= {f"{name}.{part}": (_WIDTH,) for name in norms for part in ("weight", "bias")}
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"):
        shapes |= {f"blk.0.{name}.weight": (_WIDTH, _WIDTH), f"blk.0.{name}.bias": (_WIDTH,)}
    return shapes


def _t5_encoder() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (_WIDTH, len(_TOKENS)),
        "enc.output_norm.weight": (_WIDTH,),
        "enc.blk.0.attn_rel_b.weight": (1, 4),
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_o", "ffn_up", "ffn_down"):
        shapes[f"enc.blk.0.{name}.weight"] = (_WIDTH, _WIDTH)
    return shapes | {f"enc.blk.0.{name}.weight": (_WIDTH,) for name in ("attn_norm", "ffn_norm")}


def _gguf(values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(shapes), len(values))]
    parts += [_string(key) + _value(value) for key, value in values.items()]
    end = 0
    for name, shape in shapes.items():
        parts.append(_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        parts.append(struct.pack("<IQ", 0, end))  # 32 bits each
        end += -(-4 * math.prod(shape) // 32) * 32
    head = b"".join(parts)
    return head + bytes(-len(head) % 32 + end)


def _value(value: Any) -> bytes:
    if isinstance(value, list):
        items = [_value(item) for item in value]
        kind = struct.pack("<I", _I32) if isinstance(value[0], int) else items[0][:4]
        return (
            struct.pack("<I", _ARRAY) + kind + struct.pack("<Q", len(items)) + b"".join(i[4:] for i in items)
        )
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    return struct.pack("<If", _F32, value) if isinstance(value, float) else struct.pack("<II", _U32, value)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
