"""Searching the Hub by words, against a local Hub."""

from __future__ import annotations

import json

import pytest

from cli_command import command

pytest.importorskip("huggingface_hub")


from fake_hub import REPO, fake_hub, gguf, hub_in_thread
from glyphscope.base.errors import ModelError
from glyphscope.models.hub.jobs import DownloadStopped, Search


@pytest.fixture
def hub(monkeypatch):
    with fake_hub() as hub:
        hub_in_thread(monkeypatch, hub.address)
        hub.repos = {
            REPO: {
                "tiny-Q4_K_M.gguf": gguf(9000),
                "tiny-Q2_K.gguf": gguf(4000),
                "tiny-Q8_0.gguf": gguf(20_000),
            },
            "other/tiny-large-GGUF": {"large-Q4_K_M.gguf": gguf(30_000)},
            "maker/tiny-pair": {"a-Q4_K_M.gguf": gguf(), "b-Q4_K_M.gguf": gguf()},
        }
        hub.downloads = {"other/tiny-large-GGUF": 50, REPO: 7}
        yield hub


def search(words="tiny", memory=None, limit=10):
    return Search(words, memory, limit).hits()


@pytest.mark.slow
def test_hits_come_with_the_file_that_fits_the_free_memory(hub):
    large, tiny, pair = search(memory=10_000)
    assert (large.repo, large.downloads, large.fits) == ("other/tiny-large-GGUF", 50, False)
    assert (tiny.repo, tiny.fits, tiny.pick.choice.quantisation) == (REPO, True, "Q4_K_M")
    assert len(tiny.listing.choices) == 3
    assert pair.pick is None and len(pair.listing.choices) == 2 and "Q4_K_M" in pair.problem.message
    (least,) = search("maker gguf", memory=5000)
    assert least.pick.choice.quantisation == "Q2_K" and least.fits
    assert search("maker gguf")[0].fits is None, "the free memory is unknown"
    assert [hit.repo for hit in search(limit=1)] == ["other/tiny-large-GGUF"]


def test_a_repository_that_cannot_be_listed_is_a_hit_with_its_problem(hub):
    hub.statuses = []
    hub.moved[REPO] = "gone/away"
    hit = next(hit for hit in search() if hit.repo == REPO)
    assert hit.listing is None and hit.pick is None and "no such repository" in hit.problem.message.lower()


def test_a_failed_search_is_tried_again_and_then_an_error(hub):
    hub.statuses = [(503, {}), (503, {})]
    assert len(search()) == 3
    hub.statuses = [(503, {})] * 3
    with pytest.raises(ModelError, match="failed"):
        search()


@pytest.mark.parametrize("body", [b"{}", b"<html>", b'[{"downloads": 1}]', b'[{"id": 5}]'])
def test_an_answer_that_is_not_the_hubs_is_an_error(hub, body):
    hub.body = body
    with pytest.raises(ModelError, match="not the Hub's"):
        search()


def test_names_that_could_leave_the_folder_of_models_are_dropped(hub):
    hub.body = json.dumps(
        [{"id": name} for name in ("../../etc", "a/../b", "x", "a/b/c", "a\x1b[31m/b")]
    ).encode()
    assert search() == []


@pytest.mark.parametrize("words", ["", " ", "x", "x" * 201])
def test_words_that_cannot_be_searched_are_an_error(words):
    with pytest.raises(ModelError, match="characters"):
        Search(words, None)


def test_a_search_can_be_cancelled(hub):
    search = Search("tiny", None)
    search.cancel()
    with pytest.raises(DownloadStopped):
        search.hits()


def test_the_command_shows_hits_sizes_and_what_fits(hub, monkeypatch):
    monkeypatch.setattr("glyphscope.cli.models_hub.available_memory", lambda: 10_000)
    found = command("models", "search", "tiny", "--json")
    document = json.loads(found.output)
    assert found.exit_code == 0 and document["free"] == 10_000
    first, second, third = document["repositories"]
    assert first["fits"] is False and second["suggested"] == "tiny-Q4_K_M.gguf" and third["problem"]
    assert [each["quantisation"] for each in second["files"]] == ["Q2_K", "Q4_K_M", "Q8_0"]
    table = command("models", "search", "tiny").output
    assert "too large" in table and "fits" in table and REPO in table
    nothing = command("models", "search", "nothing", "here")
    assert nothing.exit_code == 1 and "No repository" in nothing.output
