"""Prompts and imports that tests share (tests/support/every_process) change nothing but the time."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from glyphscope.events import AnyEvent, PromptRendered, RunRequest, Sampling
from glyphscope.models import EMBEDDED, open_model
from glyphscope.runs.strategies import run
from glyphscope.store import strip_times
from prompt_folder import prompt_folder, what_decides
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
    assert saved, "the model's process saves its prompts"
    assert reported() == writing
    assert sorted(folder.iterdir()) == saved, "the whole prompt was cached"
    assert next(reported for reported in writing if isinstance(reported, int)) == 0, (
        "a new process has an empty cache"
    )


@pytest.fixture
def saved_prompts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that only the model's process imports otherwise."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "support" / "every_process"))
    return importlib.import_module("saved_prompts")


def test_a_file_of_another_prompt_or_with_other_settings_is_not_used(
    tmp_path: Path, saved_prompts: ModuleType
) -> None:
    saved = saved_prompts.SavedPrompts(tmp_path, "settings", 2)
    one, other = (saved_prompts.Batches() + tokens for tokens in ([1, 2, 3], [4, 5, 6]))
    saved.write(one, b"one")
    (file,) = tmp_path.iterdir()
    assert bytes(saved.read(one)[0]) == bytes(one) and saved.read(one)[1] == b"one"
    assert saved.read(other) is None
    assert saved_prompts.SavedPrompts(tmp_path, "others", 2).read(one) is None
    saved.write(other, b"other")
    (second,) = set(tmp_path.iterdir()) - {file}
    second.replace(file)
    assert saved.read(one) is None


def test_a_damaged_file_is_not_used_and_written_again(tmp_path: Path, saved_prompts: ModuleType) -> None:
    saved = saved_prompts.SavedPrompts(tmp_path, "settings", 2)
    prompt = saved_prompts.Batches() + list(range(saved_prompts.WORTH))
    saved.write(prompt, b"state")
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 20)]
    for data in (*damaged, whole[:-1], whole[:20], b""):
        file.write_bytes(data)
        assert saved.read(prompt) is None and saved.is_new(prompt)
        saved.write(prompt, b"state")
        assert file.read_bytes() == whole


def test_prompts_stay_for_the_same_llama_cpp_and_engine_up_to_a_size(
    tmp_path: Path,
) -> None:
    old = tmp_path / "of-other-code"
    old.mkdir()
    folder = prompt_folder(tmp_path)
    assert list(tmp_path.iterdir()) == [folder]
    for age, name in enumerate(("new", "used", "old")):
        (folder / name).write_bytes(bytes(1000))
        os.utime(folder / name, (1_000_000 - age, 1_000_000 - age))
        os.link(folder / name, folder / f"{name}-2")
    assert prompt_folder(tmp_path, 3000) == folder and len(list(folder.iterdir())) == 6
    prompt_folder(tmp_path, 2999)
    assert sorted(path.name for path in folder.iterdir()) == ["new", "new-2", "used", "used-2"]


def test_another_llama_cpp_or_engine_has_no_prompts_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, library = tmp_path / "engine" / "glyphscope" / "models", tmp_path / "llama_cpp" / "lib"
    support = tmp_path / "tests" / "support" / "every_process"
    for each in (code, library, support):
        each.mkdir(parents=True)
    files = [code / "llama_engine.py", library / "libllama.so", support / "saved_prompts.py"]
    for file in files:
        file.touch()
    monkeypatch.setattr("prompt_folder.REPOSITORY", tmp_path)
    package = SimpleNamespace(submodule_search_locations=[str(library.parent)])
    monkeypatch.setattr("prompt_folder.find_spec", lambda name: package)
    seen = {what_decides()}
    for file in files:
        file.write_text("changed")
        seen.add(what_decides())
    monkeypatch.setattr("prompt_folder._processor", lambda: "another")
    assert len({*seen, what_decides()}) == 5


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
