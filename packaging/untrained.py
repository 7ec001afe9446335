"""Make untrained models: random weights with a real vocabulary and a real chat template.

`python packaging/untrained.py VOCABULARY [TEMPLATE]` makes one from llama.cpp's vocabularies and templates, which the
setup keeps (`llama_data`), and prints its path; for example, `gemma-4 google-gemma-4-31B-it`. It is cached beside them.

Such a model is the hardest test of a constraint, because it has no preferences, and the cheapest model to run: a step
of its one layer takes a millisecond, while everything that depends on the vocabulary costs the same as with the real
model. It is for tests and the bench, and needs only numpy, not Glyphscope.

For recorded runs, which users read, `with_template` puts another model's template into a trained model.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, _U32: 4, _I32: 4, _F32: 4, _BOOL: 1, 10: 8, 11: 8, 12: 8}
"""The bytes of a value, by its type in a GGUF file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md."""

_CONTROL = 3
_TOKENS, _SCORES, _TYPES = (f"tokenizer.ggml.{name}" for name in ("tokens", "scores", "token_type"))

F32, Q8_0 = 0, 8
_BLOCK = 32
"""The number of weights in a Q8_0 block: a scale of 16 bits, then 8 bits each."""
_HEADS, _CONTEXT = 2, 16_384
_LOGITS = 3.0
"""The standard deviation of the logits: at temperature 1, about a hundred tokens share most of the probability."""


@dataclass(frozen=True)
class Tensor:
    """A tensor: its sizes in GGUF's order, beginning with the row's length; `data` None means only zeros."""

    shape: tuple[int, ...]
    kind: int = F32
    data: bytes | None = None

    @property
    def size(self) -> int:
        """The size in bytes."""
        count = math.prod(self.shape)
        return count * 4 if self.kind == F32 else count // _BLOCK * (_BLOCK + 2)


@dataclass(frozen=True)
class Pair:
    """A vocabulary and a template by their file names; `specials` are the template's markers, separated by blanks."""

    vocabulary: str
    template: str = ""
    specials: str = ""


# The first five have their model's vocabulary, the others a vocabulary of the same kind (byte pairs, or pieces).
PAIRS = (
    Pair("qwen35", "Qwen3.5-4B"),
    Pair("gemma-4", "google-gemma-4-31B-it"),
    Pair("llama-bpe", "meta-llama-Llama-3.1-8B-Instruct", "<|python_tag|> <|eom_id|>"),
    Pair(
        "command-r",
        "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
        "<|START_ACTION|> <|END_ACTION|> <|START_THINKING|> <|END_THINKING|> <|START_RESPONSE|> <|END_RESPONSE|> "
        "<|START_TOOL_RESULT|> <|END_TOOL_RESULT|>",
    ),
    Pair("qwen2", "Qwen3-Coder", "<tool_call> </tool_call>"),
    Pair(
        "refact",
        "NousResearch-Hermes-3-Llama-3.1-8B-tool_use",
        "<|im_start|> <|im_end|> <tool_call> </tool_call>",
    ),
    Pair("llama-bpe", "meetkai-functionary-medium-v3.1", "<|python_tag|> <|eom_id|>"),
    Pair(
        "llama-spm",
        "mistralai-Mistral-Nemo-Instruct-2407",
        "[INST] [/INST] [TOOL_CALLS] [TOOL_RESULTS] [/TOOL_RESULTS]",
    ),
    Pair(
        "deepseek-llm",
        "llama-cpp-deepseek-r1",
        "<｜User｜> <｜Assistant｜> <think> </think> <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> "
        "<｜tool▁call▁end｜> <｜tool▁sep｜> <｜tool▁outputs▁begin｜> <｜tool▁outputs▁end｜> <｜tool▁output▁begin｜> "
        "<｜tool▁output▁end｜>",
    ),
    Pair(
        "deepseek-coder", "deepseek-ai-DeepSeek-V3.2", "<｜User｜> <｜Assistant｜> <think> </think> ｜DSML｜"
    ),
    Pair(
        "gpt-2",
        "openai-gpt-oss-120b",
        "<|start|> <|end|> <|message|> <|channel|> <|constrain|> <|call|> <|return|>",
    ),
    Pair(
        "gpt-neox",
        "LFM2.5-8B-A1B",
        "<|im_start|> <|im_end|> <|tool_call_start|> <|tool_call_end|> <think> </think>",
    ),
    Pair(
        "falcon",
        "moonshotai-Kimi-K2",
        "<|im_system|> <|im_user|> <|im_assistant|> <|im_middle|> <|im_end|> <|tool_calls_section_begin|> "
        "<|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_argument_begin|> <|tool_call_end|>",
    ),
    Pair(
        "phi-3",
        "GLM-4.6",
        "[gMASK] <sop> <|system|> <|user|> <|assistant|> <|observation|> <think> </think> <tool_call> </tool_call> "
        "<arg_key> </arg_key> <arg_value> </arg_value>",
    ),
    Pair(
        "starcoder",
        "ibm-granite-granite-4.0",
        "<|start_of_role|> <|end_of_role|> <|end_of_text|> <tool_call> </tool_call>",
    ),
    Pair("mpt", "MiniMax-M2", "]~!b[ ]~b] [e~[ <minimax:tool_call> </minimax:tool_call> <think> </think>"),
)


def untrained_model(
    vocabulary: bytes,
    *,
    name: str,
    template: str = "",
    specials: Sequence[str] = (),
    seed: int = 0,
    width: int = 32,
) -> bytes:
    """A model file: `vocabulary` is any GGUF file's bytes, from which the tokenizer's metadata is copied unchanged.

    Missing `specials` become control tokens at its end. `width`, a multiple of 32, is the number of embedding values
    per token. The weights depend only on the seed, the width and the number of tokens.
    """
    values = {key: value for key, value in metadata(vocabulary) if key.startswith("tokenizer.ggml.")}
    values |= _with_specials(values, specials)
    own: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": name,
        "general.file_type": 7,  # Q8_0
        "llama.context_length": _CONTEXT,
        "llama.embedding_length": width,
        "llama.feed_forward_length": 2 * width,
        "llama.block_count": 1,
        "llama.attention.head_count": _HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
    }
    if template:
        own["tokenizer.chat_template"] = template
    return gguf({**own, **values}, dict(_weights(_count(values[_TOKENS]), width, seed)))


def retemplated(
    model: bytes, *, name: str, template: str, named: Mapping[str, str] = MappingProxyType({})
) -> bytes:
    """The model file with another name and chat template, and others by name; tokens and weights are unchanged.

    The template's markers are text, unless the vocabulary already has them as tokens.
    """
    values = dict(metadata(model))
    start = 24 + sum(8 + len(key.encode()) + len(value) for key, value in values.items())
    end = _after_tensors(model, start)
    new = {**values, "general.name": name, "tokenizer.chat_template": template}
    new |= {f"tokenizer.chat_template.{each}": source for each, source in named.items()}
    parts = [b"GGUF", struct.pack("<IQQ", 3, _count(model), len(new))]
    parts += [_string(key) + _value(value) for key, value in new.items()]
    head = b"".join((*parts, model[start:end]))
    return head + bytes(_aligned(len(head)) - len(head)) + model[_aligned(end) :]


def _after_tensors(file: bytes, at: int) -> int:
    """The end of the tensors' names, sizes and places, which begin `at`; the weights follow."""
    for _ in range(_count(file)):
        at = _after_string(file, at)
        (dimensions,) = struct.unpack_from("<I", file, at)
        at += 4 + 8 * dimensions + 12
    return at


def metadata(file: bytes) -> Iterator[tuple[str, bytes]]:
    """The keys of a GGUF file's header, each with its raw value, which begins with the type's number."""
    (pairs,) = struct.unpack_from("<Q", file, 16)
    at = 24
    for _ in range(pairs):
        start = _after_string(file, at)
        key = file[at + 8 : start].decode()
        (kind,) = struct.unpack_from("<I", file, start)
        at = _after(file, start + 4, kind)
        yield key, file[start:at]


def _after(file: bytes, at: int, kind: int) -> int:
    """The end of a value of that type."""
    if kind == _STRING:
        return _after_string(file, at)
    if kind != _ARRAY:
        return at + _WIDTHS[kind]
    kind, count = struct.unpack_from("<IQ", file, at)
    at += 12
    if kind in _WIDTHS:
        return at + count * _WIDTHS[kind]
    for _ in range(count):
        at = _after(file, at, kind)
    return at


def _after_string(file: bytes, at: int) -> int:
    return at + 8 + int.from_bytes(file[at : at + 8], "little")


def _count(array: bytes) -> int:
    """The number of items of an array, or of tensors of a whole file, which is in the same place."""
    return int.from_bytes(array[8:16], "little")


def _with_specials(values: Mapping[str, bytes], specials: Sequence[str]) -> dict[str, bytes]:
    """The arrays of the tokenizer with one entry per token, extended by an entry for each missing special token."""
    if not specials:
        return {}
    known = set(_strings(values[_TOKENS]))
    new = [text.encode() for text in specials if text.encode() not in known]
    each = {
        _TOKENS: b"".join(struct.pack("<Q", len(text)) + text for text in new),
        _SCORES: struct.pack("<f", 0.0) * len(new),
        _TYPES: struct.pack("<i", _CONTROL) * len(new),
    }
    return {
        key: values[key][:8] + struct.pack("<Q", _count(values[key]) + len(new)) + values[key][16:] + more
        for key, more in each.items()
        if key in values
    }


def _strings(array: bytes) -> Iterator[bytes]:
    at = 16
    for _ in range(_count(array)):
        end = _after_string(array, at)
        yield array[at + 8 : end]
        at = end


def _weights(tokens: int, width: int, seed: int) -> Iterator[tuple[str, Tensor]]:
    """Llama's tensors of one layer. The values of a normalised vector are about 1, so a row's scale is a sum's."""
    chance, sum_of = np.random.default_rng(seed), 1 / math.sqrt(width)
    ones = np.ones(width, np.float32).tobytes()
    for norm in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        yield f"{norm}.weight", Tensor((width,), F32, ones)
    shapes = {f"attn_{part}": (width, width) for part in ("q", "k", "v", "output")}
    shapes |= {"ffn_gate": (width, 2 * width), "ffn_up": (width, 2 * width), "ffn_down": (2 * width, width)}
    for name, shape in shapes.items():
        # more than a sum's scale, so that the text before a token affects the text after it
        yield f"blk.0.{name}.weight", _random(chance, shape, 2 * sum_of)
    yield "token_embd.weight", _random(chance, (width, tokens), 1.0)
    yield "output.weight", _random(chance, (width, tokens), _LOGITS * sum_of)


def _random(chance: np.random.Generator, shape: tuple[int, ...], deviation: float) -> Tensor:
    """Uniformly distributed numbers with that standard deviation."""
    blocks = np.empty(math.prod(shape) // _BLOCK, dtype=[("scale", np.float16), ("weights", np.int8, _BLOCK)])
    blocks["scale"] = deviation * math.sqrt(3) / 127
    numbers = np.frombuffer(chance.bytes(blocks.size * _BLOCK), np.int8).reshape(-1, _BLOCK)
    blocks["weights"] = np.maximum(numbers, -127)
    return Tensor(shape, Q8_0, blocks.tobytes())


def gguf(values: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bytes:
    """A GGUF file. A value given as bytes, beginning with its type's number, is written unchanged."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))]
    parts += [_string(key) + _value(value) for key, value in values.items()]
    end = 0
    for name, tensor in tensors.items():
        parts.append(_string(name) + struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape))
        parts.append(struct.pack("<IQ", tensor.kind, end))
        end += _aligned(tensor.size)
    head = b"".join(parts)
    data = [tensor.data or bytes(tensor.size) for tensor in tensors.values()]
    return b"".join(part + bytes(_aligned(len(part)) - len(part)) for part in (head, *data))


def _aligned(size: int) -> int:
    return -(-size // 32) * 32


def _value(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
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


def model_file(data: Path, pair: Pair, *, seed: int = 0, width: int = 32) -> Path:
    """The model file of the pair, made unless it is cached; `data` is `llama_data`. A pair may have no template.

    Raises OSError if one of the two files is missing.
    """
    vocabulary = data / f"ggml-vocab-{pair.vocabulary}.gguf"
    template = data / "templates" / f"{pair.template}.jinja"
    text = template.read_text(encoding="utf-8") if pair.template else ""
    size = vocabulary.stat().st_size  # the files of a version of llama.cpp do not change
    name = "-".join(part for part in (pair.vocabulary, pair.template) if part)

    def make() -> bytes:
        return untrained_model(
            vocabulary.read_bytes(),
            name=f"{name}, untrained",
            template=text,
            specials=pair.specials.split(),
            seed=seed,
            width=width,
        )

    kind = f"{name}.{_digest(pair.specials, seed, width)}"
    return _cached_file(data.parent / "untrained", kind, (data.name, size, text), make)


def with_template(folder: Path, model: Path, template: str, name: str) -> Path:
    """A copy of the trained `model` with that name and chat template below `folder`, made unless it is cached."""

    def make() -> bytes:
        return retemplated(model.read_bytes(), name=name, template=template)

    kind = re.sub("[^A-Za-z0-9.]+", "-", name)
    return _cached_file(folder, kind, (model.stat().st_size, template), make)


def _cached_file(folder: Path, kind: str, decides: tuple[object, ...], make: Callable[[], bytes]) -> Path:
    """The file of that kind; remade if this script or an input has changed."""
    path = folder / f"{kind}.{_digest(Path(__file__).read_bytes(), *decides)}.gguf"
    if path.is_file():
        return path
    folder.mkdir(exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(make())
    for old in folder.glob(f"{kind}.*.gguf"):
        old.unlink(missing_ok=True)
    return unfinished.replace(path)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def main() -> None:
    from setup_env import llama_data, stop

    if len(sys.argv) not in (2, 3):
        stop("usage: untrained.py VOCABULARY [TEMPLATE]")
    plain = Pair(*sys.argv[1:])
    pair = next((p for p in PAIRS if (p.vocabulary, p.template) == (plain.vocabulary, plain.template)), plain)
    try:
        print(model_file(llama_data(), pair))
    except OSError as error:
        stop(f"{error.filename} is not there: `make setup` keeps llama.cpp's vocabularies and templates.")


if __name__ == "__main__":
    main()
