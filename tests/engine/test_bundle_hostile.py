"""Hostile bundles: for any content of the file, a clear error, in bounded time and memory, and nothing written."""

import hashlib
import io
import json
import os
import struct
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundled import GOOD, run_of
from cli_command import command
from examples import at_most
from glyphscope.base.errors import RecordError, StorageError
from glyphscope.store import bundle, pack, unpack
from glyphscope.store.bundle import MANIFEST, make_bundle, parse_bundle, read_bundle

GIVEN = make_bundle(run_of(GOOD))
DATA = pack(GIVEN.files)
MANIFEST_OF = json.loads(GIVEN.files[MANIFEST])


def zipped(*files: tuple[str, bytes], **changes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = changes.get("compress_type", zipfile.ZIP_DEFLATED)
            made.writestr(entry, content)
    return out.getvalue()


def with_files(**changes: bytes | None) -> bytes:
    """Return the good bundle with changed files, but the same manifest; None leaves one out."""
    names = {name.replace(".", "_").replace("-", "_"): name for name in GIVEN.files}
    files = dict(GIVEN.files)
    for name, content in changes.items():
        if content is None:
            del files[names[name]]
        else:
            files[names.get(name, name)] = content
    return pack(files)


def with_manifest(**changes) -> bytes:
    document = {**json.loads(GIVEN.files[MANIFEST]), **changes}
    return with_files(manifest_json=json.dumps(document).encode())


def with_record(content: bytes) -> bytes:
    """Return a bundle with that record and a matching manifest."""
    files = json.loads(GIVEN.files[MANIFEST])["files"]
    files["run.jsonl"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    document = {**json.loads(GIVEN.files[MANIFEST]), "files": files}
    return with_files(manifest_json=json.dumps(document).encode(), run_jsonl=content)


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "a/b", "..", "C:\\x", "a\\b", "run.jsonl/", "Ünï", "-x", "", "x" * 99, "a\nb"],
)
def test_a_name_with_a_path_is_rejected_and_nothing_is_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordError, match="Invalid file name"):
        parse_bundle(zipped((name, b"x")))
    assert os.listdir(tmp_path) == []


def test_a_duplicate_name_is_rejected():
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped(("run.jsonl", b"a"), ("run.jsonl", b"b"))
    with pytest.raises(RecordError, match="twice"):
        parse_bundle(data)


def test_a_zip_bomb_is_rejected_by_its_declared_size(monkeypatch):
    monkeypatch.setattr("glyphscope.store.archive.MAX_BYTES", 4 << 20)
    data = zipped(("run.jsonl", bytes(8 << 20)))
    tracemalloc.start()
    with pytest.raises(RecordError, match="has at most 4"):
        parse_bundle(data)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_zip_bomb_with_a_false_size_is_unpacked_no_further():
    big = bytes(8 << 20)
    data = bytearray(zipped(("run.jsonl", big)))
    for at in (data.find(b"PK\1\2") + 24, 22):  # the size unpacked, in the directory and before the data
        data[at : at + 4] = struct.pack("<L", 10)
    tracemalloc.start()
    with pytest.raises(RecordError, match="damaged"):
        unpack(bytes(data))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_too_many_empty_lines_are_rejected_before_they_are_split(monkeypatch):
    monkeypatch.setattr(bundle, "MAX_LINES", 1000)
    with pytest.raises(RecordError, match="more than 1,000 lines"):
        parse_bundle(with_record(b"\n" * 1001))


def test_a_file_larger_than_any_bundle_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope.store.archive.MAX_PACKED", 1 << 20)
    path = tmp_path / "x.glyphrun"
    path.write_bytes(b"PK")
    os.truncate(path, 1 << 27)
    tracemalloc.start()
    with pytest.raises(RecordError, match="a bundle has at most"):
        read_bundle(path)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


MANY = zipped(*((f"f{number}", b"") for number in range(500)))


def test_a_zip_of_many_files_is_rejected_before_its_directory_is_read(monkeypatch):
    monkeypatch.delattr(zipfile, "ZipFile")
    with pytest.raises(RecordError, match="more files than a bundle"):
        unpack(MANY)


def test_a_zip_of_many_files_that_declares_one_is_rejected():
    lying = MANY[:-14] + struct.pack("<2H", 1, 1) + MANY[-10:]
    with pytest.raises(RecordError, match="more files than a bundle"):
        unpack(lying)


def test_a_zip_with_a_second_directory_is_rejected():
    locator = b"PK\6\7" + struct.pack("<LQL", 0, 0, 1)
    with pytest.raises(RecordError, match="zip64"):
        unpack(DATA[:-22] + locator + DATA[-22:])


def test_an_encrypted_file_is_rejected():
    data = bytearray(zipped(("run.jsonl", b"x")))
    data[data.find(b"PK\1\2") + 8] |= 1
    with pytest.raises(RecordError, match="encrypted, unlike any file"):
        parse_bundle(bytes(data))


def test_another_compression_method_is_rejected():
    with pytest.raises(RecordError, match="unsupported compression"):
        parse_bundle(zipped(("run.jsonl", b"x"), compress_type=zipfile.ZIP_LZMA))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a zip"),
        (b"hello", "not a zip"),
        (b"PK", "its end is missing"),
        (DATA[:-1], "its end is missing"),
        (DATA + b"x", "its end is missing"),
        (DATA[:200] + DATA[260:], "damaged"),
        (zipped(), "lacks manifest.json"),
        (zipped(("manifest.json", b"[]")), "no version"),
        (zipped(("manifest.json", b"\xff")), "no version"),
        (zipped(("manifest.json", b"[" * 100_000)), "no version"),
        (with_manifest(glyphscope_bundle=2), "newer Glyphscope"),
        (with_manifest(glyphscope_bundle="1"), "no version"),
        (with_manifest(files={"run.jsonl": 5}), "manifest is damaged"),
        (with_manifest(model=None), "manifest is damaged"),
        (with_manifest(files={}), "not in its manifest"),
        (with_files(run_jsonl=None), "lacks run.jsonl"),
        (zipped(("manifest.json", json.dumps({**MANIFEST_OF, "files": {}}).encode())), "lacks run.jsonl"),
        (with_files(grammar_gbnf=None), "lacks grammar.gbnf"),
        (with_files(registry_json=b"{}"), "registry.json does not match the manifest"),
        (with_files(more=b"x"), "more, which is not in its manifest"),
        (with_record(b"hello\n"), "Not a Glyphscope record"),
        (with_record(b'{"glyphscope_record": 2}\n'), "newer Glyphscope"),
        (with_record(GIVEN.files["run.jsonl"].replace(b'"type":"token"', b'"type":"tok"', 1)), "is damaged"),
    ],
)
def test_a_file_that_is_not_a_bundle_is_rejected_with_a_hint(data, words, tmp_path):
    path = tmp_path / "x.glyphrun"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=words) as caught:
        read_bundle(path)
    assert str(path) in caught.value.where and caught.value.hint
    for arguments in (["replay", str(path)], ["export", str(path), "--to", "gbnf"]):
        done = command(*arguments)
        assert (done.exit_code, done.stdout) == (2, "") and "Traceback" not in done.stderr


def test_a_folder_a_pipe_and_a_missing_file_are_rejected(tmp_path):
    os.mkfifo(tmp_path / "pipe.glyphrun")
    for name, words in (
        (".", "not a file"),
        ("pipe.glyphrun", "not a file"),
        ("none.glyphrun", "no such file"),
    ):
        with pytest.raises(StorageError, match=words):
            bundle.read_run(tmp_path / name)


@at_most(300)
@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), max_size=4))
def test_a_bundle_with_changed_bytes_is_the_same_run_or_rejected(changes):
    data = bytearray(DATA)
    for at, value in changes:
        data[at] = value
    try:
        found = parse_bundle(bytes(data))
    except RecordError:
        return
    assert found.files == GIVEN.files


@at_most(300)
@given(st.binary(max_size=300))
def test_random_bytes_are_not_a_bundle(data):
    with pytest.raises(RecordError):
        parse_bundle(b"PK" + data)
