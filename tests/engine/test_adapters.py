"""LoRA adapters: what a file of one must be, and what it does to the model."""

import hashlib
import struct
from contextlib import closing

import numpy as np
import pytest

from cli_command import command
from gguf_values import pair, string
from glyphscope.base.errors import ModelError
from glyphscope.cli.branch import options_of
from glyphscope.events import LoadOptions, RunStarted, decode_event
from glyphscope.models import embedded_path, open_model
from glyphscope.models.interface import GenerateRequest

pytestmark = [pytest.mark.model, pytest.mark.slow]

HEAD = {
    "general.type": "adapter", "general.architecture": "llama", "adapter.type": "lora", "adapter.lora.alpha": 4.0,
}  # fmt: skip
WEIGHT = "blk.0.ffn_down.weight"
SHAPE = (1536, 576)
RANK = 2


@pytest.fixture
def adapter(tmp_path):
    """Write an adapter of one weight, with changes of its header and of its tensors."""

    def write(name="a.gguf", *, tensors=None, scale=1.0, **head):
        random = np.random.default_rng(1)
        values = {key: value for key, value in (HEAD | head).items() if value is not None}
        if tensors is None:
            tensors = {f"{WEIGHT}.lora_a": (SHAPE[0], RANK), f"{WEIGHT}.lora_b": (RANK, SHAPE[1])}
        parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))]
        parts += [pair(key, value) for key, value in values.items()]
        data = b""
        for tensor, shape in tensors.items():
            parts.append(string(tensor) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
            parts.append(struct.pack("<IQ", 0, len(data)))
            data += (random.normal(0, scale, int(np.prod(shape)))).astype("<f4").tobytes()
            data += b"\0" * (-len(data) % 32)
        head_bytes = b"".join(parts)
        path = tmp_path / name
        path.write_bytes(head_bytes + b"\0" * (-len(head_bytes) % 32) + data)
        return path

    return write


def first_logprobs(*lora):
    with closing(open_model("embedded", options=LoadOptions(context=64, lora=lora))) as model:
        request = GenerateRequest(prompt="The capital of France is", max_tokens=1)
        step = next(each[0] for each in model.generate(request) if isinstance(each, tuple) and each)
        return {one.id: one.raw for one in step.alternatives}, model.info


def test_an_adapter_changes_the_model_by_its_scale_and_is_recorded_with_its_digest(adapter):
    path = adapter(scale=0.2)
    plain, _ = first_logprobs()
    none, info = first_logprobs(f"{path}:0")
    assert none == pytest.approx(plain, rel=1e-3)
    assert info.load.lora == (f"{path}:0",)
    assert info.adapters == {str(path): hashlib.sha256(path.read_bytes()).hexdigest()}
    assert options_of(info).lora == info.load.lora, "a branch keeps it"
    changed, _ = first_logprobs(str(path))
    assert changed != pytest.approx(plain, rel=1e-2)
    both, _ = first_logprobs(f"{path}:0.5", f"{adapter('b.gguf', scale=0.2)}:0.5")
    likely = [*changed][:5]
    assert [both[each] for each in likely] == pytest.approx([changed[each] for each in likely], rel=0.2), (
        "two halves are one whole"
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general.architecture": "qwen3"}, "its general.architecture is qwen3, not llama"),
        ({"general.architecture": 7}, "its general.architecture is missing"),
        ({"general.type": "model"}, "not an adapter"),
        ({"general.type": None}, "its general.type is missing"),
        ({"adapter.type": "other"}, "not a LoRA adapter"),
        ({"adapter.lora.alpha": 4}, "adapter.lora.alpha"),
        ({"adapter.alora.invocation_tokens": ["a"]}, "activated LoRA"),
        ({"tensors": {}}, "no weights"),
        ({"tensors": {f"{WEIGHT}.lora_a": (SHAPE[0], 2)}}, "only one of its two parts"),
        (
            {"tensors": {"blk.99.x.weight.lora_a": (8, 2), "blk.99.x.weight.lora_b": (2, 8)}},
            "no tensor blk.99",
        ),
        ({"tensors": {f"{WEIGHT}.lora_a": (8, 2), f"{WEIGHT}.lora_b": (2, SHAPE[1])}}, "has the shape"),
        (
            {"tensors": {f"{WEIGHT}.lora_a": (SHAPE[0], 3), f"{WEIGHT}.lora_b": (2, SHAPE[1])}},
            "has the shape",
        ),
        (
            {"tensors": {f"{WEIGHT}.lora_a": (SHAPE[0],), f"{WEIGHT}.lora_b": (2, SHAPE[1])}},
            "does not belong",
        ),
        ({"tensors": {"other": (4, 4)}}, "does not belong"),
    ],
)
def test_a_file_that_is_no_adapter_for_the_model_is_a_clear_error(adapter, changes, said):
    path = adapter(**changes)
    with pytest.raises(ModelError, match=said) as error:
        open_model("embedded", options=LoadOptions(lora=(str(path),)))
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("lora", "said"),
    [
        (("none.gguf",), "no such file"),
        ((str(embedded_path()),), "not an adapter"),
        (("",), "PATH or PATH:SCALE"),
        (("a.gguf:1000",), "PATH or PATH:SCALE"),
        (("a.gguf:nan",), "PATH or PATH:SCALE"),
        (("a.gguf", "a.gguf:2"), "given twice"),
        (tuple(f"{n}.gguf" for n in range(17)), "At most 16"),
    ],
)
def test_impossible_adapters_are_errors_before_loading(lora, said):
    with pytest.raises(ModelError, match=said):
        open_model("embedded", options=LoadOptions(lora=lora))


def test_the_command_line_takes_adapters_and_the_record_has_them(adapter, tmp_path):
    record = tmp_path / "run.jsonl"
    options = ["--lora", f"{adapter(scale=0.001)}:0.5", "--max-tokens", "1", "--context", "1024"]
    command("run", "-m", "embedded", *options, "--record", str(record), "Hi")
    started = next(
        event for line in record.read_bytes().splitlines()[1:]
        if isinstance(event := decode_event(line), RunStarted)
    )  # fmt: skip
    assert len(started.model.adapters) == 1 and started.model.load.lora[0].endswith("a.gguf:0.5")
    result = command("run", "-m", "embedded", "--lora", str(tmp_path / "none.gguf"), "Hi")
    assert result.exit_code != 0 and "no such file of a LoRA adapter" in result.output
    result = command("run", "-m", "http://localhost:1/v1", "--lora", "a.gguf", "Hi")
    assert result.exit_code == 2 and "--lora" in result.output
