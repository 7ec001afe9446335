"""Model files: the values of the header, every way to be unusable, and where they are found."""

import json
import struct
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_command import command
from gguf_values import pair, string
from glyphscope.base.errors import ModelError
from glyphscope.models import FileHash, find_models, inspect_file, open_model, read_header

VALUES = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "general.file_type": 15,
    "llama.context_length": 2048,
    "tokenizer.ggml.tokens": ["a", "b", "c"],
    "tokenizer.chat_template": "{{ messages }}",
}


def gguf(values=VALUES, tensors=1, data=b"\0" * 64, version=3, dimensions=2):
    parts = [b"GGUF", struct.pack("<IQQ", version, tensors, len(values))]
    parts += [pair(key, value) for key, value in values.items()]
    shape = struct.pack(f"<I{dimensions}Q", dimensions, *[4] * dimensions)
    parts += [string("t") + shape + struct.pack("<IQ", 0, 0)] * tensors
    head = b"".join(parts)
    return head + b"\0" * (-len(head) % 32) + data


@pytest.fixture
def write(tmp_path):
    def write_file(data, name="m.gguf"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write_file


def test_a_complete_header_is_read(write):
    info = inspect_file(write(gguf()))
    assert (info.name, info.architecture, info.quantisation) == ("Tiny", "llama", "Q4_K_M")
    assert (info.context, info.vocabulary, info.parameters) == (2048, 3, 16)
    assert info.has_chat_template


def test_the_header_of_a_file_is_read_once_until_the_file_changes(write, monkeypatch):
    path = write(gguf())
    assert read_header(path) is not read_header(path)  # it may be changed again without another time
    later = time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert read_header(path) is read_header(path)
    write(gguf(VALUES | {"general.name": "Other"}))
    assert read_header(path).name == "Other"


def test_the_sampling_that_a_file_states_is_read_without_impossible_values(write):
    stated = {
        "temp": 0.95,
        "top_k": 20,
        "min_p": 7.0,
        "penalty_repeat": 1.05,
        "penalty_last_n": 2**31,
        "mirostat": 2,
    }
    values = VALUES | {f"general.sampling.{name}": value for name, value in stated.items()}
    info = inspect_file(write(gguf(values=values | {"general.sampling.top_p": "0.9"})))
    assert info.sampling == {"temperature": 0.95, "top_k": 20, "repeat_penalty": 1.05}
    assert inspect_file(write(gguf())).sampling == {}


@pytest.mark.parametrize(("kind", "name"), [(39, "NVFP4"), (40, "Q1_0"), (41, "Q2_0"), (99, "")])
def test_the_type_of_a_file_has_llama_cpps_name(write, kind, name):
    assert inspect_file(write(gguf(values=VALUES | {"general.file_type": kind}))).quantisation == name


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"GG", "not a GGUF"),
        (b"PK\3\4" + b"\0" * 100, "not a GGUF"),
        (b"GGUF", "damaged"),
        (gguf()[:100], "damaged"),
        (gguf()[:-1], "cut off"),
        (gguf(version=1), "version 1"),
        (gguf(version=3 << 24), "big-endian"),
        (gguf(values={"general.architecture": "clip"}), "not a language model"),
        (gguf(values={}), "not a language model"),
        (gguf(values={"general.alignment": 3}), "alignment"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 1), "no room"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62) + b"x" * 50, "no room"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + struct.pack("<I", 99) + b"x" * 50,
            "unknown type",
        ),
        (gguf(dimensions=5), "5 dimensions"),
        (gguf(dimensions=0), "0 dimensions"),
    ],
)
def test_a_file_that_is_not_a_complete_model_is_reported(write, data, said):
    path = write(data)
    with pytest.raises(ModelError, match=said) as caught:
        inspect_file(path)
    assert caught.value.where == str(path) and caught.value.hint


def test_deeply_nested_arrays_are_a_damaged_file(write):
    nested = struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000
    with pytest.raises(ModelError, match="damaged"):
        read_header(write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + nested))


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data())
def test_flipped_bytes_are_a_model_error_at_most(tmp_path_factory, data):
    whole = bytearray(gguf())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.gguf"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        inspect_file(path)
    except ModelError as error:
        assert error.hint


def test_a_missing_file_and_a_folder_are_reported_as_such(tmp_path):
    with pytest.raises(ModelError, match="no such file"):
        inspect_file(tmp_path / "none.gguf")
    with pytest.raises(ModelError, match="folder"):
        inspect_file(tmp_path)
    with pytest.raises(ModelError, match="no such file"):
        open_model(str(tmp_path / "none.gguf"))
    with pytest.raises(ModelError, match="no such file"):
        open_model("~no-such-user/none.gguf")
    with pytest.raises(ModelError, match="too long"):
        inspect_file(tmp_path / ("x" * 5000))


def test_a_model_larger_than_the_memory_is_rejected(write, monkeypatch):
    path = write(gguf())
    monkeypatch.setattr("glyphscope.models.files.available_memory", lambda: 10)
    with pytest.raises(ModelError, match="of memory"):
        inspect_file(path)
    assert inspect_file(path, fits=False).bytes == path.stat().st_size


def test_the_hash_is_that_of_the_file(write):
    path = write(b"abc")
    assert FileHash(path).value(wait=5) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    path.write_bytes(b"abcd")
    assert FileHash(path).value(wait=5) != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_every_place_of_models_is_searched(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    blob = tmp_path / ".cache/huggingface/hub/models--x/blobs/abc"
    snapshot = tmp_path / ".cache/huggingface/hub/models--x/snapshots/1/hf.gguf"
    for file in (
        blob,
        tmp_path / ".lmstudio/models/maker/lm.gguf",
        tmp_path / ".lmstudio/models/maker/mmproj-lm.gguf",
        tmp_path / ".ollama/models/blobs/sha256-12ab",
        tmp_path / ".cache/llama.cpp/big-00001-of-00002.gguf",
        tmp_path / ".cache/llama.cpp/big-00002-of-00002.gguf",
        tmp_path / "mine/own.GGUF",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gguf())
    (tmp_path / "mine/bad.gguf").write_bytes(b"no")
    (tmp_path / "mine/again").symlink_to(tmp_path / "mine")
    (tmp_path / "mine/gone.gguf").symlink_to(tmp_path / "nowhere")
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(blob)
    manifest = tmp_path / ".ollama/models/manifests/registry.ollama.ai/library/qwen/0.5b"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:12ab"}
    manifest.write_text(json.dumps({"layers": [{"mediaType": "x", "digest": "y"}, layer]}))
    (manifest.parent / "broken").write_text("[")

    found = [
        (m.source, m.name, bool(m.problem))
        for m in find_models([tmp_path / "mine"])
        if m.source != "embedded"
    ]
    assert found == [
        ("Hugging Face", "hf", False),
        ("LM Studio", "lm", False),
        ("Ollama", "qwen:0.5b", False),
        ("llama.cpp", "big-00001-of-00002", False),
        ("folder", "bad", True),
        ("folder", "own", False),
    ]


def test_models_show_says_that_an_adapter_is_not_a_language_model(write):
    values = {key: value for key, value in VALUES.items() if "tokens" not in key}
    shown = command("models", "show", write(gguf(values), "lora.gguf"))
    assert shown.exit_code == 2 and "not a language model" in shown.output
