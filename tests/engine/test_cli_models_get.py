"""`glyphscope models get`, against a Hub of the tests."""

from __future__ import annotations

import json

import pytest

from cli_command import command as glyphscope

pytest.importorskip("huggingface_hub")


from fake_hub import REPO, fake_hub, gguf, hub_in_thread
from glyphscope.base.errors import ModelError
from glyphscope.store import downloaded_file

FILE = "tiny-Q4_K_M.gguf"


def command(*arguments: str):
    return glyphscope("models", *arguments)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    with fake_hub() as hub:
        hub_in_thread(monkeypatch, hub.address)
        hub.repos[REPO]["tiny-Q8_0.gguf"] = gguf(8000)
        yield hub


@pytest.mark.slow
def test_a_downloaded_model_is_reported_and_found(hub, own_home):
    result = command("get", REPO)
    place = own_home / "models" / REPO / FILE
    assert result.exit_code == 0 and str(place) in result.stdout and place.is_file()
    assert "Q4_K_M: a common balance" in result.stderr and "tiny-Q8_0.gguf" in result.stderr
    found = json.loads(command("--json").stdout)["models"]
    assert str(place) in [model["path"] for model in found]
    assert "Already downloaded" in command("get", REPO).stdout


def test_a_downloaded_model_can_be_named_as_it_was_downloaded(hub, own_home, tmp_path, monkeypatch):
    folder = own_home / "models" / REPO
    for name in (f"{REPO}:q8_0", REPO):
        assert command("get", name).exit_code == 0
    assert downloaded_file(REPO) == str(folder / FILE) and downloaded_file(f"{REPO}:q8_0") == str(
        folder / "tiny-Q8_0.gguf"
    )
    for name in ("embedded", "scripted:a/b", "a/b.gguf", "/a/b", "http://h/v1", "recorded:a/b"):
        assert downloaded_file(name) == name
    with pytest.raises(ModelError) as caught:
        downloaded_file("maker/none")
    assert "glyphscope models get maker/none" in caught.value.hint
    monkeypatch.chdir(tmp_path)
    (tmp_path / REPO).parent.mkdir()
    (tmp_path / REPO).write_text("a file goes before a name")
    assert downloaded_file(REPO) == REPO


def test_only_json_is_printed_with_json(hub, own_home, tmp_path):
    result = command("get", f"{REPO}:q8_0", "--json", "--to", str(tmp_path / "here"))
    reported = json.loads(result.stdout)
    assert (reported["file"], reported["how"], reported["hashed"]) == ("tiny-Q8_0.gguf", "downloaded", True)
    assert reported["path"] == str(tmp_path / "here" / REPO / "tiny-Q8_0.gguf")
    listed = json.loads(command("get", REPO, "--list", "--json").stdout)
    assert [model["quantisation"] for model in listed["models"]] == ["Q4_K_M", "Q8_0"]


def test_an_interrupted_download_says_that_it_resumes(hub, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("glyphscope.cli.models_hub._download", interrupted)
    result = command("get", REPO)
    assert result.exit_code == 130 and "resumes" in result.stderr
