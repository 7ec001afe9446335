"""The mask-driven lab as a user runs it: the embedded model, the bundled server over stdio, four files."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.model, pytest.mark.slow]

COMMAND = [sys.executable, "-m", "glyphscope", "lab", "mask-driven"]
TIMES = ("mask_construction", "generation", "parse", "dispatch", "total")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("lab")
    ran = subprocess.run(
        [*COMMAND, "--out", str(out), "--json"], capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran, {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in out.iterdir()}


def test_under_the_masks_every_call_parses_and_every_dispatch_returns(done):
    ran, files = done
    results, transcript = files["results"], files["transcript"]
    assert (results["total_prompts"], len(transcript)) == (20, 20)
    assert (results["parse_failures"], results["dispatch_failures"]) == (0, 0)
    assert results["tool_errors"] == sum("tool_error" in entry for entry in transcript)
    for entry in transcript:
        assert json.loads(entry["model_output_str"]) == entry["parsed_tool_call"]
        assert json.loads(entry["model_output_args"]) == entry["parsed_tool_call"]["arguments"]
        assert entry["parsed_tool_call"]["name"] == entry["model_output_name"]
        assert entry["expected_tool"] and entry["expected_args"] and entry["prompt"]
        assert isinstance(entry["tool_result"], str) or set(entry["tool_result"]) == {"error"}
        assert set(entry["timings_ms"]) == set(TIMES)
        assert entry["timings_ms"]["dispatch"] > 0 and entry["timings_ms"]["generation"] > 0
    assert json.loads(ran.stdout)["parse_failures"] == 0 and "prompt 20 of 20" in ran.stderr
    assert results["tool_choice"]["n"] == 20


def test_the_first_entry_is_the_expected_call(done):
    first = done[1]["transcript"][0]
    assert first["parsed_tool_call"] == {"name": first["expected_tool"], "arguments": first["expected_args"]}
    assert first["tool_result"] == "ate"


def test_masks_are_compiled_once_for_each_tool_and_cached_for_the_second_run(done):
    timings = done[1]["timings"]
    seen = set()
    for timed, entry in zip(timings["prompts"], done[1]["transcript"], strict=True):
        hit, tool = timed["mask_cache_hit"], entry["model_output_name"]
        assert (hit["name"], hit["arguments"]) == (bool(seen), tool in seen)
        assert entry["mask_cache_hit"] == hit
        seen.add(tool)
    (second,) = timings["further_runs"]
    assert second["summary"]["mask_cache_hits"] == {"hits": 40, "masks": 40}
    assert second["summary"]["mask_construction_ms"]["mean"] == 0.0
    for name in TIMES:
        reported = timings["summary"][f"{name}_ms"]
        assert 0 <= reported["p50"] <= reported["p95"] and reported["mean"] > 0 and timings["notes"]


def test_the_manifest_has_everything_to_repeat_the_run(done):
    manifest = done[1]["manifest"]
    assert manifest["sampling"]["temperature"] == 0.7 and manifest["seed"] == manifest["sampling"]["seed"]
    assert len(manifest["model_sha256"]) == 64 and manifest["quantisation"] == "Q4_1"
    assert len(manifest["registry_digest"]) == 64 and len(manifest["tools"]) == 4
    assert manifest["command"].startswith("glyphscope lab mask-driven --out")
    assert manifest["date"] and "llguidance" in manifest["versions"] and "serve-verbs" in manifest["server"]


def test_ctrl_c_ends_it_with_every_process_it_started_and_writes_nothing(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "prompt 2 of" in line:
            break
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of its processes receive it
    assert process.wait(20) == 130
    process.communicate()
    until = time.monotonic() + 60
    while _members(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _members(process.pid)
    assert not list((tmp_path / "out").iterdir())


def _members(group: int) -> list[str]:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return []
    return [str(group)]
