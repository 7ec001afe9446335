"""Prompts and imports that tests share (tests/support/every_process) change nothing but the time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from glyphscope.events import AnyEvent, PromptRendered, RunRequest, Sampling
from glyphscope.models import EMBEDDED, open_model
from glyphscope.runs.strategies import run
from glyphscope.store.records import strip_times
from toolbox import default_tools

pytestmark = [pytest.mark.model, pytest.mark.slow]

DRAWN = Sampling(temperature=1.0, seed=3)
REQUESTS = (
    {},
    {"sampling": DRAWN, "constraint": "off", "stop_on": "never", "max_tokens": 20},
    {"notation": "json"},
    {"notation": "json", "prompt": "Read notes.txt and tell what is in it", "strategy": "two-stage"},
    {"prompt": "Read notes.txt", "sampling": DRAWN, "repeatable": True},
)
"""In this order each begins with another part of the context that the one before it left."""


def reported() -> list[AnyEvent | int | None]:
    """Return all events of these requests in a new process, without times, and the cached tokens of each prompt."""
    events: list[AnyEvent | int | None] = []
    with closing(open_model(EMBEDDED)) as model:
        for changes in REQUESTS:
            fields = {"prompt": "Search for AI news", "max_tokens": 40, **changes}
            request = RunRequest(registry=default_tools("search", "read_file").to_document(), **fields)
            events += [
                event.cached if isinstance(event, PromptRendered) else strip_times(event)
                for event in run(request, model)
            ]
    return events


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of saved prompts."""
    monkeypatch.setenv("GLYPHSCOPE_SAVED_PROMPTS", str(tmp_path))
    return tmp_path


def test_a_cached_prompt_gives_the_same_figures_as_a_new_one(folder: Path) -> None:
    writing = reported()
    saved = sorted(folder.iterdir())
    assert any(not path.name.startswith("which-") for path in saved), "the model's process saves its prompts"
    assert reported() == writing
    assert sorted(folder.iterdir()) == saved, "the whole prompt was cached"
    assert next(reported for reported in writing if isinstance(reported, int)) == 0, (
        "a new process has an empty cache"
    )


def test_a_model_of_a_package_has_its_prompts_in_every_environment(tmp_path: Path) -> None:
    from every_process.saved_prompts import which_file

    def which(place: str, content: bytes) -> tuple[object, ...]:
        path = tmp_path / place / "model.gguf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(time.time_ns(), time.time_ns()))
        return which_file(str(path), tmp_path)

    first = which("a/site-packages", b"GGUF 1")
    assert which("b/site-packages", b"GGUF 1") == first == which("a/site-packages", b"GGUF 1")
    assert which("a/site-packages", b"GGUF 2") != first
    assert which("a/models", b"GGUF 1") != which("b/models", b"GGUF 1"), "a test may change a file of its own"


COMMAND = [sys.executable, "-P", "-m", "glyphscope"]
PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
needs_forks = pytest.mark.skipif("GLYPHSCOPE_FORKS" not in os.environ, reason="processes are not forked here")


@needs_forks
def test_a_forked_command_has_the_result_of_one_that_imports_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "call.txt").write_text('{action="search" query="Größe"}')

    def results() -> list[tuple[int, bytes, bytes]]:
        found = []
        for arguments, given in (
            (["check", "--json", "call.txt"], b""),
            (["check", "-"], '{action="find" query="Größe"}'.encode()),
            (["check", "missing.txt"], b""),
            (["grammar"], b""),
        ):
            done = subprocess.run(
                [*COMMAND, *arguments], input=given, cwd=tmp_path, capture_output=True, check=False
            )
            found.append((done.returncode, done.stdout, done.stderr))
        return found

    forked = results()
    assert any(Path(os.environ["GLYPHSCOPE_FORKS"].rsplit(":", 2)[0]).iterdir()), "there is a server"
    monkeypatch.delenv("GLYPHSCOPE_FORKS")
    assert forked == results()
    assert {code for code, _, _ in forked} == {0, 1, 2}


@needs_forks
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_fork_and_the_process_that_represents_it(number: signal.Signals) -> None:
    with subprocess.Popen(
        [*COMMAND, "mcp", "serve-verbs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(PING)
        assert b'"id":1' in process.stdout.readline()
        process.send_signal(number)
        assert process.stdout.read() == b"", "the fork has closed it too"
        assert process.wait() == -number
