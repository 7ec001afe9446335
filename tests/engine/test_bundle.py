"""Bundles: a run is read from its file unchanged, with everything that belongs to it and nothing else."""

import json
import zipfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundled import GOOD, HERMES, REGISTRY, REQUESTS, TEXTS, run_of, written
from cli_command import command
from examples import at_most
from glyphscope.base import resources
from glyphscope.base.errors import RecordError, StorageError
from glyphscope.events import (
    ApprovalNeeded,
    ApprovalRule,
    LoopSettings,
    RunFailed,
    RunRequest,
    decode_event,
    encode_event,
)
from glyphscope.registry import default_registry, load_registry, to_openai
from glyphscope.runs.strategies.constraints import call_constraint
from glyphscope.store import pack
from glyphscope.store.bundle import (
    MANIFEST,
    make_bundle,
    parse_bundle,
    read_bundle,
    read_run,
    redacted,
    write_bundle,
)
from glyphscope.store.records import read_record
from talks import SEARCH, Talker, talk
from toolbox import ALLOW, Box, Person

ALL = {
    "grammar.gbnf", "grammar.lark", MANIFEST, "openai-tools.json", "prompt.txt", "registry.json", "run.jsonl",
    "schema.json",
}  # fmt: skip


# the content of a bundle


def test_a_bundle_contains_the_record_and_all_that_follows_from_it():
    events = run_of(GOOD, constraint="mask")
    bundle = make_bundle(events)
    registry = default_registry()
    request = RunRequest(prompt="", registry=REGISTRY, constraint="gbnf")
    assert set(bundle.files) == ALL and not bundle.manifest.missing and not bundle.manifest.notes
    assert load_registry(bundle.files["registry.json"]).digest == registry.digest
    assert bundle.files["grammar.gbnf"].decode() == call_constraint(request, registry).text
    assert json.loads(bundle.files["openai-tools.json"]) == to_openai(registry)
    assert json.loads(bundle.files["schema.json"])["oneOf"][0]["properties"]["action"] == {"const": "search"}
    assert bundle.files["prompt.txt"].decode() == next(e.text for e in events if hasattr(e, "parts"))


def test_the_manifest_has_the_model_the_versions_and_the_request():
    events = run_of(GOOD, prompt="p", constraint="mask")
    document = json.loads(make_bundle(events).files[MANIFEST])
    assert document["glyphscope_bundle"] == 1 and document["seed"] == 1 and document["whole"]
    assert document["model"]["name"] == "scripted:x" and {"sha256", "quantisation"} <= set(document["model"])
    assert document["versions"] == events[0].versions and "glyphscope" in document["packed_with"]
    assert document["request"]["prompt"] == "p" and "registry" not in document["request"]
    assert set(document["files"]) == ALL - {MANIFEST} and document["events"] == len(events)


def test_the_same_record_gives_the_same_bytes(tmp_path):
    events = run_of(GOOD)
    write_bundle(tmp_path / "a.glyphrun", events)
    write_bundle(tmp_path / "b.glyphrun", events)
    data = (tmp_path / "a.glyphrun").read_bytes()
    assert data == (tmp_path / "b.glyphrun").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.glyphrun") as archive:
        assert archive.namelist() == sorted(ALL)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_missing_file_of_a_bundle_has_its_reason():
    broken = run_of(GOOD, registry={"glyphscope": 1, "tools": [{"name": "a b", "parameters": 5}]})
    missing = make_bundle(broken).manifest.missing
    assert set(missing) == ALL - {MANIFEST, "run.jsonl"} and "prompt was rendered" in missing["prompt.txt"]
    own = run_of(GOOD, native="openai", template=HERMES)
    missing = make_bundle(own).manifest.missing
    assert set(missing) == {"grammar.gbnf", "grammar.lark"} and "endpoint's own" in missing["grammar.gbnf"]


def test_a_custom_grammar_is_in_the_bundle_unchanged():
    own = 'root ::= "{action=\\"search\\" query=\\"x\\"}" # mine\n'
    files = make_bundle(run_of(GOOD, constraint="gbnf", grammar=own)).files
    assert files["grammar.gbnf"].decode() == own and b"mine" not in files["grammar.lark"]


@pytest.mark.parametrize(
    ("request_of", "words"),
    [
        ({"constraint": "off"}, "no constraint"),
        ({"constraint": "mask", "strategy": "two-stage"}, "in parts"),
        ({"constraint": "mask", "strategy": "route-execute"}, "in parts"),
    ],
)
def test_the_manifest_says_where_the_grammars_did_not_constrain_the_run(request_of, words):
    assert words in " ".join(make_bundle(run_of(GOOD, **request_of)).manifest.notes)


def test_a_conversations_grammar_allows_text_and_excludes_denied_tools():
    events = run_of("Done.", strategy="loop", constraint="mask", loop=LoopSettings(deny=("browse",)))
    files = make_bundle(events).files
    request = RunRequest(prompt="", registry=REGISTRY, constraint="gbnf")
    assert files["grammar.gbnf"].decode() != call_constraint(request, default_registry()).text
    assert "browse" not in files["grammar.gbnf"].decode() and "browse" in files["registry.json"].decode()


# round trips


@pytest.mark.slow
@at_most(300)
@given(st.lists(TEXTS, min_size=1, max_size=3), REQUESTS)
def test_any_run_is_unchanged_by_its_bundle(turns, request):
    events = run_of(*turns, **request)
    bundle = make_bundle(events)
    again = parse_bundle(pack(bundle.files))
    assert list(again.record.events) == events
    assert again.manifest == bundle.manifest and again.files == bundle.files


@pytest.mark.slow
@pytest.mark.parametrize("name", resources.names("runs", ".jsonl"))
def test_a_bundle_replays_and_verifies_as_its_record_does(tmp_path, name):
    record = tmp_path / "run.jsonl"
    record.write_text(resources.read_text(f"runs/{name}"), encoding="utf-8")
    packed = tmp_path / "x.glyphrun"
    assert command("bundle", str(record), "-o", str(packed)).exit_code == 0
    assert command("replay", str(packed)).stdout == command("replay", str(record)).stdout
    verified = command("replay", str(packed), "--verify", "--json")
    found = json.loads(verified.stdout)
    assert (verified.exit_code, found["difference"], found["reworded"]) == (0, "", "")
    assert read_run(packed).events == read_record(record).events


def test_a_bundle_of_a_bundle_is_the_same_bundle(tmp_path):
    first, second = tmp_path / "a.glyphrun", tmp_path / "b.glyphrun"
    write_bundle(first, run_of(GOOD))
    assert command("bundle", str(first), "-o", str(second)).exit_code == 0
    assert first.read_bytes() == second.read_bytes()


# content that a bundle must not have


def test_a_bundle_has_no_command_line_and_no_home_folder_and_replays_identically(tmp_path):
    secret = "npx server --api-key sk-12345"
    interaction = Person(box(secret), ALLOW)
    events = talk(
        SEARCH,
        "Done.",
        interaction=interaction,
        model=Talker(SEARCH, "Done.", name=str(Path.home() / "models" / "m.gguf")),
        approvals=(ApprovalRule(identity=secret, tool="browse", action="allow"),),
    )
    assert any(isinstance(event, ApprovalNeeded) and event.identity == secret for event in events)
    packed = tmp_path / "x.glyphrun"
    write_bundle(packed, [decode_event(encode_event(event)) for event in events])
    whole = b"".join(read_bundle(packed).files.values())
    assert b"sk-12345" not in whole and str(Path.home()).encode() not in whole
    assert read_bundle(packed).manifest.model.name == "~/models/m.gguf"
    assert command("replay", str(packed), "--verify").exit_code == 0


def test_a_failed_run_is_shared_without_the_home_folder(tmp_path):
    path = Path.home() / "models" / "m.gguf"
    failed = RunFailed(
        code="MODEL_FAILED",
        message=f"{path}: no",
        hint=f"See {path}.",
        detail=f"load: from {path}\nin {Path.home()}.",
    )
    (event,) = redacted([failed])
    assert (event.message, event.hint) == ("~/models/m.gguf: no", "See ~/models/m.gguf.")
    assert event.detail == "load: from ~/models/m.gguf\nin ~."


def box(identity):
    return Box("demo", identity, search=lambda **_: "found")


# the command


def test_the_command_lists_the_contents_of_a_bundle_and_what_is_missing(tmp_path):
    record = written(tmp_path / "run.jsonl", run_of(GOOD, native="openai", template=HERMES))
    done = command("bundle", str(record), "-o", str(tmp_path / "x.glyphrun"))
    assert done.exit_code == 0 and "schema.json" in done.stdout and "without grammar.gbnf" in done.stderr
    reported = json.loads(command("bundle", str(record), "-o", str(tmp_path / "x.glyphrun"), "--json").stdout)
    assert reported == json.loads(read_bundle(tmp_path / "x.glyphrun").files[MANIFEST])


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_an_error(name):
    with pytest.raises(StorageError, match="cannot be read"):
        read_run(Path(name))


def test_a_bundle_that_cannot_be_written_leaves_the_old_one(tmp_path):
    with pytest.raises(StorageError, match="not a file"):
        write_bundle(tmp_path, run_of(GOOD))
    path = tmp_path / "x.glyphrun"
    path.write_bytes(b"old")
    with pytest.raises(RecordError):
        write_bundle(path, ())
    assert path.read_bytes() == b"old"


def test_a_lone_surrogate_is_replaced_in_a_bundle():
    events = run_of(GOOD, prompt="x")
    request = msgspec.structs.replace(events[0].request, prompt="\ud800")
    bundle = make_bundle([msgspec.structs.replace(events[0], request=request), *events[1:]])
    assert parse_bundle(pack(bundle.files)).record.events[0].request.prompt == "�"
