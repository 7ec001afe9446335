"""The smallest model files that llama.cpp loads and that generate no text: encoders, with all weights zero."""

from __future__ import annotations

from typing import Any

from untrained_models import maker

_WIDTH, _TOKENS = 8, ["<unk>", "<s>", "</s>", "<0x0A>"]


def encoder(architecture: str) -> bytes:
    """Return a `bert`, as models for embeddings are, or a `t5encoder`, one half of a translator."""
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
    shapes = _bert() if architecture == "bert" else _t5_encoder()
    data: bytes = maker.gguf(values, {name: maker.Tensor(shape) for name, shape in shapes.items()})
    return data


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
