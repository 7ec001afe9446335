"""Errors of downloads by name, against a local Hub."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import random
import shutil
import stat
import threading
import time
from collections import namedtuple
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")


from huggingface_hub import get_token

from fake_hub import QUICK, REPO, fake_hub, gguf, hub_in_process, hub_in_thread, refused
from glyphscope.base.errors import GlyphscopeError, ModelError, StorageError
from glyphscope.models import find_models
from glyphscope.models.hub.choosing import pick
from glyphscope.models.hub.files import DownloadProgress, FileListing, HubFile
from glyphscope.models.hub.jobs import Download, DownloadStopped, Lookup
from glyphscope.models.hub.names import read_request
from glyphscope.models.hub.part import PartialFile, find_unfinished

FILE = "tiny-Q4_K_M.gguf"


@pytest.fixture
def hub(monkeypatch):
    with fake_hub() as hub:
        hub_in_thread(monkeypatch, hub.address)
        yield hub


@pytest.fixture
def processes(monkeypatch, tmp_path):
    """A Hub for the process that requests its files, as for a user."""
    with fake_hub() as hub:
        hub_in_process(monkeypatch, hub.address, tmp_path / "hf")
        yield hub


def look(text: str = REPO) -> FileListing:
    return Lookup(read_request(text)).listing()


def download(folder: Path, text: str = REPO, report=lambda _progress: None) -> Download:
    request = read_request(text)
    listing = Lookup(request).listing()
    return Download(listing, pick(listing, request.which).choice, folder, report=report)


def once(monkeypatch) -> None:
    monkeypatch.setattr("glyphscope.models.hub.client.FILE", QUICK._replace(attempts=1))


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# -- a download that goes well ---------------------------------------------------------------------


def test_a_download_is_complete_on_a_file_system_that_does_not_sync_folders(hub, tmp_path, monkeypatch):
    sync = os.fsync

    def refuses_folders(file) -> None:
        if stat.S_ISDIR(os.fstat(file if isinstance(file, int) else file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(file)

    monkeypatch.setattr(os, "fsync", refuses_folders)
    assert download(tmp_path).run_to_end() == (tmp_path / REPO / FILE, "downloaded", True)
    assert left(tmp_path) == [FILE]


def test_a_downloaded_model_is_complete_and_found_afterwards(hub, tmp_path):
    reported: list[DownloadProgress] = []
    got = download(tmp_path, report=reported.append).run_to_end()
    data = hub.repos[REPO][FILE]
    assert got == (tmp_path / REPO / FILE, "downloaded", True)
    assert got.path.read_bytes() == data and left(tmp_path) == [FILE]
    assert reported[-1].done == reported[-1].total == len(data)
    assert [model.path for model in find_models([tmp_path]) if model.source == "folder"] == [str(got.path)]
    assert all("Mozilla" not in headers["user-agent"] for _, _, headers in hub.asked)
    assert {headers["user-agent"] for _, _, headers in hub.asked} == {"glyphscope"}  # without versions


def test_a_model_that_exists_is_not_downloaded_again(hub, tmp_path):
    download(tmp_path).run_to_end()
    before = len(hub.asked)
    assert download(tmp_path).run_to_end().how == "kept"
    assert len(hub.asked) == before + 1  # only the description


def test_a_file_of_the_same_name_is_not_overwritten(hub, tmp_path):
    place = tmp_path / REPO / FILE
    place.parent.mkdir(parents=True)
    place.write_bytes(b"the user's own")
    place.chmod(0o400)
    assert "Another file has this name" in refused(download(tmp_path).run_to_end).message
    assert place.read_bytes() == b"the user's own"


def test_a_file_outside_lfs_is_verified_by_gits_hash(hub, tmp_path):
    hub.plain = {FILE}
    assert download(tmp_path).run_to_end() == (tmp_path / REPO / FILE, "downloaded", True)
    hub.repos["maker/other"] = {FILE: gguf()}
    hub.tampered = {FILE: gguf()[:-1] + b"!"}
    assert "differs from the Hub's" in refused(download(tmp_path, "maker/other").run_to_end).message


def test_a_model_in_hugging_faces_cache_is_not_downloaded_again(hub, tmp_path, monkeypatch):
    data = hub.repos[REPO][FILE]
    blob = tmp_path / "blobs" / hashlib.sha256(data).hexdigest()
    blob.parent.mkdir()
    blob.write_bytes(data)
    link = tmp_path / FILE
    link.symlink_to(blob)
    monkeypatch.setattr(
        "glyphscope.models.hub.client.try_to_load_from_cache", lambda repo, path, revision: str(link)
    )
    assert download(tmp_path / "models").run_to_end() == (link, "cached", True)
    assert left(tmp_path / "models") == []


def test_a_split_model_gets_its_first_name_after_its_parts(hub, tmp_path):
    first, second = "m-Q4_0-00001-of-00002.gguf", "m-Q4_0-00002-of-00002.gguf"
    hub.repos[REPO] = {first: gguf(3000), second: gguf(9000)}
    hub.tampered = {second: b"GGUF" + bytes(len(hub.repos[REPO][second]) - 4)}
    refused(download(tmp_path).run_to_end)
    assert not (tmp_path / REPO / first).exists() and not (tmp_path / REPO / second).exists()
    hub.tampered = {}
    assert download(tmp_path).run_to_end().path == tmp_path / REPO / first
    assert left(tmp_path) == [first, second]


def test_a_renamed_repository_is_found(hub, tmp_path):
    hub.moved = {"maker/old": REPO}
    assert look("maker/old").choices == look().choices


# -- interrupted, stopped, resumed ----------------------------------------------------------------


def test_a_cut_connection_resumes_the_download(hub, tmp_path):
    hub.repos[REPO][FILE] = gguf(50_000)
    hub.cuts = [20_000, 10_000]
    assert download(tmp_path).run_to_end().path.read_bytes() == hub.repos[REPO][FILE]
    assert hub.ranges() == ["", "bytes=20000-", "bytes=30000-"]


@pytest.mark.slow
def test_a_stopped_download_has_no_final_name_and_resumes(processes, tmp_path):
    data = processes.repos[REPO][FILE] = gguf(50_000)
    processes.stall_after = 20_000
    job = download(tmp_path)
    came = threading.Event()
    job._notify = lambda progress: came.set() if progress.done == 20_000 else None
    stopped: list[float] = []

    def stop() -> None:
        came.wait(60)
        stopped.append(time.monotonic())
        job.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(DownloadStopped):
        job.run_to_end()
    assert time.monotonic() - stopped[0] < 0.5  # the server is silent meanwhile
    thread.join()
    (saved,) = find_unfinished(tmp_path)
    assert (saved.repo, saved.file, saved.bytes) == (REPO, FILE, 20_000)
    assert not (tmp_path / REPO / FILE).exists()
    assert not [model for model in find_models([tmp_path]) if model.source == "folder"]
    processes.stall_after = -1
    assert download(tmp_path).run_to_end().path.read_bytes() == data
    assert processes.ranges()[-1] == "bytes=20000-" and left(tmp_path) == [FILE]


def test_a_download_cancelled_before_its_start_does_not_start(hub, tmp_path):
    job = download(tmp_path)
    job.cancel()
    with pytest.raises(DownloadStopped):
        job.run_to_end()
    assert left(tmp_path) == [] and hub.ranges() == []


@pytest.mark.slow
def test_a_lookup_at_a_silent_server_can_be_cancelled(processes):
    processes.silent = True
    lookup = Lookup(read_request(REPO))
    timer = threading.Timer(0.1, lookup.cancel)
    timer.start()
    began = time.monotonic()
    with pytest.raises(DownloadStopped):
        lookup.listing()
    assert time.monotonic() - began < 20.0
    timer.join()


def test_a_partial_file_of_other_content_is_not_continued(hub, tmp_path, monkeypatch):
    data = hub.repos[REPO][FILE] = gguf(9000)
    hub.cuts = [4000] * 3
    hub.file_statuses = [(404, {})]  # nothing is downloaded yet
    refused(download(tmp_path).run_to_end)
    hub.cuts = [4000, *[0] * 6]
    once(monkeypatch)
    refused(download(tmp_path).run_to_end)
    (saved,) = find_unfinished(tmp_path)
    saved.path.write_bytes(b"GGUF" + bytes(3996))  # like a disk error
    assert download(tmp_path).run_to_end().path.read_bytes() == data
    assert hub.ranges()[-2:] == ["bytes=4000-", ""]  # the file was found by its hash, and loaded again


@pytest.mark.parametrize("fault", ["no_ranges", "other_range"])
def test_a_server_that_cannot_resume_restarts_the_file(hub, tmp_path, fault):
    data = hub.repos[REPO][FILE] = gguf(9000)
    hub.cuts = [4000]
    setattr(hub, fault, True)
    assert download(tmp_path).run_to_end().path.read_bytes() == data


def test_the_partial_file_of_an_older_version_is_removed(hub, tmp_path, monkeypatch):
    hub.cuts = [1000, *[0] * 6]
    once(monkeypatch)
    refused(download(tmp_path).run_to_end)
    assert len(find_unfinished(tmp_path)) == 1
    hub.repos[REPO][FILE] = gguf(6000)
    download(tmp_path).run_to_end()
    assert find_unfinished(tmp_path) == [] and left(tmp_path) == [FILE]


@pytest.mark.slow
def test_two_downloads_of_one_file_exclude_each_other(processes, tmp_path):
    processes.stall_after = 100
    first = download(tmp_path)
    began = threading.Event()
    first._notify = lambda progress: began.set() if progress.done else None

    def run() -> None:
        with pytest.raises(DownloadStopped):
            first.run_to_end()

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(60)
    assert "being downloaded already" in refused(download(tmp_path).run_to_end).message
    first.cancel()
    thread.join()


def test_a_partial_file_renamed_by_another_download_is_not_continued(hub, tmp_path, monkeypatch):
    """Between opening the part and locking it, the other download finishes."""
    lock, part = fcntl.flock, tmp_path / REPO

    def flock(handle: int, how: int) -> None:
        for path in part.glob(".*.part"):
            path.rename(part / "moved")
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    assert "being downloaded already" in refused(download(tmp_path).run_to_end).message
    assert hub.ranges() == []


def test_a_disk_that_cannot_be_read_is_a_storage_error(hub, tmp_path, monkeypatch):
    def broken(handle: int, count: int, at: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    with pytest.raises(StorageError, match="Input/output error"):
        download(tmp_path).run_to_end()


@pytest.mark.parametrize("seed", range(12))
def test_faults_in_any_order_leave_no_wrong_file(hub, tmp_path, monkeypatch, seed):
    fate = random.Random(seed)
    data = hub.repos[REPO][FILE] = gguf(60_000 + seed)
    place = tmp_path / REPO / FILE
    for _ in range(12):
        hub.cuts = [fate.randrange(30_000) for _ in range(fate.randrange(4))]
        hub.no_ranges, hub.other_range = fate.random() < 0.2, fate.random() < 0.2
        hub.file_statuses = [(fate.choice((404, 416, 429, 500, 503)), {})] * fate.randrange(3)
        hub.tampered = {FILE: data[:20_000] + b"x" + data[20_001:]} if fate.random() < 0.2 else {}
        for part in find_unfinished(tmp_path):
            if fate.random() < 0.2:  # disks may lose or change written data
                part.path.write_bytes(part.path.read_bytes()[: fate.randrange(part.bytes + 1)] + b"?")
        job = download(tmp_path)
        attempts = 1 + fate.randrange(2)
        monkeypatch.setattr("glyphscope.models.hub.client.FILE", QUICK._replace(attempts=attempts))
        try:
            assert job.run_to_end().path == place
        except GlyphscopeError:
            assert not place.exists()
            continue
        assert place.read_bytes() == data and left(tmp_path) == [FILE]
        return
    hub.cuts, hub.file_statuses, hub.tampered, hub.no_ranges, hub.other_range = [], [], {}, False, False
    assert download(tmp_path).run_to_end().path.read_bytes() == data


# -- what servers answer ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers", "message", "hint"),
    [
        (401, {}, "no such repository, or it is private", "HF_TOKEN"),
        (403, {"x-error-code": "GatedRepo"}, "conditions must be accepted", "Accept them at"),
        (403, {"x-error-message": "no"}, "It says: no", "HF_TOKEN"),
        (404, {"x-error-code": "RepoNotFound"}, "no such repository", "spelling"),
        (429, {"retry-after": "900"}, "Rate limited", "pause of 15 min"),
        (429, {"ratelimit": '"api";r=0;t=240'}, "Rate limited", "pause of 4 min"),
        (302, {}, "not the Hub's", "HF_ENDPOINT"),
        (500, {}, "failed (500)", "later"),
    ],
)
def test_a_rejection_has_a_hint(hub, status, headers, message, hint):
    hub.statuses = [(status, headers)] * 5
    error = refused(look)
    assert message in error.message and hint in error.hint and REPO in error.where


def test_an_overloaded_server_is_tried_again(hub, tmp_path):
    hub.statuses = [(429, {"retry-after": "0"}), (503, {})]
    hub.file_statuses = [(429, {"retry-after": "0"}), (502, {})]
    words = []
    assert download(tmp_path, report=lambda p: words.append(p.words)).run_to_end().how == "downloaded"
    assert any("Trying again in" in word for word in words)


def test_a_missing_revision_or_file_is_distinguished_from_a_missing_repository(hub, tmp_path):
    assert "no such revision" in refused(lambda: look(f"{REPO}@v9")).message
    job = download(tmp_path)
    del hub.repos[REPO][FILE]
    assert "no longer exists" in refused(job.run_to_end).message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>Log in</html>", "not the Hub's"),
        (b"[]", "not the Hub's"),
        (b'{"siblings":[{"rfilename":3}]}', "not the Hub's"),
        (b"\xff\xfe", "not the Hub's"),
        (b'{"siblings":[{"rfilename":"../../x.gguf","size":1}]}', "no GGUF model"),
        (b'{"siblings":[{"rfilename":"x.gguf","size":-5,"lfs":{"sha256":"../x"}}]}', ""),
    ],
)
def test_an_invalid_answer_is_rejected(hub, body, words):
    hub.body = body
    if words:
        assert words in refused(lambda: pick(look())).message
    else:
        assert look().choices[0].files[0] == HubFile("x.gguf", 0, "", "")


def test_an_endless_answer_is_an_error(hub, monkeypatch):
    monkeypatch.setattr("glyphscope.models.hub.client.MAX_ANSWER", 100_000)
    hub.body = b" " * 200_000
    assert "far too long" in refused(look).message


def test_an_impossible_size_is_ignored(hub):
    hub.body = b'{"siblings":[{"rfilename":"x.gguf","size":1' + b"0" * 400 + b"}]}"
    assert look().choices[0].bytes == 0


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"<!doctype html><title>Sign in</title>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "only a pointer"),
        (b"PK\x03\x04", "begins with"),
    ],
)
def test_a_file_that_is_not_gguf_is_deleted(hub, tmp_path, sent, words):
    hub.tampered = {FILE: sent + bytes(len(hub.repos[REPO][FILE]) - len(sent))}
    assert words in refused(download(tmp_path).run_to_end).message
    assert left(tmp_path) == []


def test_wrong_content_and_a_damaged_model_are_deleted(hub, tmp_path):
    right = hub.repos[REPO][FILE]
    hub.tampered = {FILE: right[:-1] + b"!"}
    assert "differs from the Hub's" in refused(download(tmp_path).run_to_end).message
    hub.tampered = {}
    hub.repos[REPO][FILE] = b"GGUF" + bytes(500)  # its hash is right
    refused(download(tmp_path).run_to_end)
    hub.repos[REPO][FILE] = right[:40]
    refused(download(tmp_path).run_to_end)
    hub.repos[REPO][FILE] = gguf(words=0)
    assert "not a language model" in refused(download(tmp_path).run_to_end).message
    assert left(tmp_path) == []


def test_a_server_that_sends_too_much_is_stopped(hub, tmp_path):
    job = download(tmp_path)
    hub.tampered = {FILE: gguf(1_000_000)}
    assert "more than the file has" in refused(job.run_to_end).message
    assert left(tmp_path) == []


# -- tokens, offline, disk -------------------------------------------------------------------------


def test_the_token_is_sent_to_the_hub_only(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope.models.hub.client.get_token", get_token)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.required_token = "hf_secret"
    with fake_hub() as cdn:
        cdn.repos = hub.repos
        hub.cdn = cdn.address
        assert download(tmp_path).run_to_end().how == "downloaded"
        assert all("authorization" not in headers for _, _, headers in cdn.asked) and cdn.asked
    hub.statuses = [(403, {"x-error-message": "hf_secret may not"})]
    error = refused(look)
    assert "hf_secret" not in f"{error} {error.hint}"


@pytest.mark.parametrize("token", ["hf_sec\tret\x01", "hf_geh\u00e4im", "hf_secret of mine"])
def test_an_invalid_token_is_reported_without_repeating_it(hub, monkeypatch, token):
    monkeypatch.setattr("glyphscope.models.hub.client.get_token", lambda: token)
    error = refused(look)
    assert "token" in error.message and "HF_TOKEN" in error.hint and token[3:] not in repr(str(error))
    assert hub.asked == []


def test_a_token_in_long_words_is_not_shown_in_part(hub, monkeypatch):
    monkeypatch.setattr("glyphscope.models.hub.client.get_token", lambda: "hf_secret" * 4)
    hub.statuses = [(403, {"x-error-message": "a " * 140 + "hf_secret" * 4})]
    assert "hf_sec" not in str(refused(look))


def test_a_rejected_token_is_reported(hub, monkeypatch):
    monkeypatch.setattr("glyphscope.models.hub.client.get_token", lambda: "hf_wrong")
    hub.required_token = "hf_right"
    assert "the token has no access" in refused(look).message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_settings_are_respected(processes, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert "HF_HUB_OFFLINE" in refused(look).message
    assert processes.asked == []


def test_without_a_network_the_error_has_a_hint(monkeypatch):
    hub_in_thread(monkeypatch, "http://127.0.0.1:9")
    error = refused(look)
    assert "cannot be reached: Connection refused" in error.message, "without the number of the error"
    assert "--folder" in error.hint and "HF_ENDPOINT" in error.hint


@pytest.mark.parametrize("address", ["nonsense", "ftp://x", "http://["])
def test_an_invalid_endpoint_is_a_model_error(monkeypatch, address):
    hub_in_thread(monkeypatch, address)
    refused(look)


def test_a_full_disk_is_reported_before_the_download(hub, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1000))
    assert "on the disk" in refused(download(tmp_path).run_to_end).message
    assert hub.ranges() == [] and left(tmp_path) == []


def test_a_disk_that_fills_up_leaves_a_download_that_resumes(hub, tmp_path, monkeypatch):
    data = hub.repos[REPO][FILE] = gguf(900_000)
    write, room = PartialFile.write, [200_000]

    def until_full(part: PartialFile, block: bytes) -> int:
        if part.size + len(block) > room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(part, block)

    monkeypatch.setattr(PartialFile, "write", until_full)
    job = download(tmp_path)
    with pytest.raises(StorageError, match="disk is full"):
        job.run_to_end()
    (saved,) = find_unfinished(tmp_path)
    assert 0 < saved.bytes <= room[0]
    room[0] = 10**9
    assert download(tmp_path).run_to_end().path.read_bytes() == data


def test_a_place_that_cannot_be_written_is_a_storage_error(hub, tmp_path):
    (tmp_path / "maker").write_text("a file, where a folder has to be")
    with pytest.raises(StorageError, match="cannot be read or written"):
        download(tmp_path).run_to_end()


def test_without_huggingface_hub_the_command_to_install_it_is_named(monkeypatch):
    monkeypatch.setattr("glyphscope.models.hub.jobs.find_spec", lambda name: None)
    with pytest.raises(ModelError) as caught:
        look()
    assert "pip install 'glyphscope[hub]'" in caught.value.hint
