"""Results of evaluations made by hand: folders that the window must be able to open, with known figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import sample_id
from glyphscope.evals.results import Manifest
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import ModelCall, Reason, Sample, SampleFailure
from glyphscope.evals.suites.suite import SuiteUsed
from glyphscope.events import AnyEvent, Code, ModelInfo, RunRequest, Sampling
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run

MODEL = "models/SmolLM2-135M-Instruct-Q4_1.gguf"
GOOD = '{action="search" query="AI news" max_results=10}'
TOO_MANY = '{action="search" query="AI news" max_results=500}'
WRONG = '{action="search" query="AI news" max_results=11}'
GROUPS = ("search", "browse", "calculate", "files")
WAYS: tuple[tuple[Reason, Code | str, str], ...] = (
    ("PARSE", "SYNTAX", ""),
    ("WRONG_TOOL", "", ""),
    ("WRONG_ARGUMENTS", "", "/max_results"),
    ("SCHEMA", "CONSTRAINT_MAX", "/max_results"),
)


def four_arms() -> tuple[Arm, ...]:
    """GLYPH and JSON, each without a constraint and under the mask."""
    return tuple(
        Arm(model=MODEL, notation=notation, constraint=constraint)
        for notation in ("glyph", "json")
        for constraint in ("off", "mask")
    )


def made_sample(arm: Arm, scenario: int = 0, trial: int = 1, *, ok: bool = True, **changes: object) -> Sample:
    """Return one sample of the suite `made`; the error of one that is not ok follows from its scenario."""
    name = f"{GROUPS[scenario % 4]}-{scenario:02d}"
    reason, code, path = WAYS[scenario % 4]
    failure = SampleFailure(reason=reason, code=code, path=path, detail="max_results is at most 100")  # type: ignore[arg-type]
    sample = Sample(
        id=sample_id(arm.id, "made", name, trial),
        arm=arm.id,
        suite="made",
        scenario=name,
        trial=trial,
        seed=trial,
        group=GROUPS[scenario % 4],
        expected=("search",),
        calls=(ModelCall(tool="search", arguments={"max_results": 10 if ok else 11}),),
        text=GOOD if ok else TOO_MANY,
        parsed=ok or reason != "PARSE",
        valid=ok,
        right_tool=ok or reason != "WRONG_TOOL",
        right_arguments=ok,
        ok=ok,
        failures=() if ok else (failure,),
        outcome="valid" if ok else "invalid",
        decoded=20,
        prompt_tokens=180,
        instructions=61 if arm.notation == "glyph" else 58,
        first_token_ms=40.0,
        total_ms=400.0,
    )
    return msgspec.structs.replace(sample, **changes)


def many_samples(
    arms: tuple[Arm, ...], scenarios: int, trials: int, shares: tuple[float, ...] = (0.05, 0.75, 0.3, 0.7)
) -> Iterator[Sample]:
    """Yield samples of which about these shares are ok, always the same ones."""
    random = Random(1)
    for arm, share in zip(arms, shares * (len(arms) // len(shares) + 1)):
        for scenario in range(scenarios):
            for trial in range(1, trials + 1):
                ok = random.random() < share
                stopped = None if ok else 40
                saved = None if ok or random.random() < 0.5 else random.randint(1, 30)
                yield made_sample(
                    arm,
                    scenario,
                    trial,
                    ok=ok,
                    decoded=random.randint(14, 60),
                    stopped_at=stopped,
                    saved=saved,
                    total_ms=random.uniform(200, 900),
                )


def made_manifest(arms: tuple[Arm, ...], scenarios: int, trials: int, **changes: object) -> Manifest:
    info = ModelInfo(
        kind="llama.cpp",
        path=MODEL,
        name="SmolLM2 135M Instruct",
        sha256="ab12cd34ef56" * 5,
        bytes=98_000_000,
        quantisation="Q4_1",
    )
    manifest = Manifest(
        digest="0123456789abcdef",
        started="2026-11-21T12:00:00+00:00",
        finished="2026-11-21T12:10:00+00:00",
        suites=(SuiteUsed(name="made", about="Made by hand", digest="", scenarios=scenarios),),
        arms=arms,
        profiles={arm.id: Sampling(temperature=0.8) for arm in arms},
        trials=trials,
        planned=len(arms) * scenarios * trials,
        models={MODEL: info},
        versions={"glyphscope": "0.1.0"},
    )
    return msgspec.structs.replace(manifest, **changes)


def made_result(
    parent: Path, *, arms: tuple[Arm, ...] = (), scenarios: int = 8, trials: int = 3, **changes: object
) -> Path:
    """Make a result below `parent`, complete unless `changes` of its manifest say otherwise. Return its folder."""
    arms = arms or four_arms()
    samples = list(many_samples(arms, scenarios, trials))
    folder = ResultFolder.create(parent, made_manifest(arms, scenarios, trials, **changes), {})
    lines = b"".join(msgspec.json.encode(sample) + b"\n" for sample in samples)
    (folder.path / "samples.jsonl").write_bytes(lines)
    return folder.path


def result_with_controls(parent: Path, *, scenarios: int = 12, controls: int = 3) -> Path:
    """Make a result of a suite whose last scenarios are controls, which every arm fails. Return its folder."""
    arms = four_arms()
    samples = [*many_samples(arms, scenarios, 1)]
    left = range(scenarios, scenarios + controls)
    samples += [made_sample(arm, n, ok=False, control=True) for arm in arms for n in left]
    folder = ResultFolder.create(parent, made_manifest(arms, scenarios + controls, 1), {})
    lines = b"".join(msgspec.json.encode(sample) + b"\n" for sample in samples)
    (folder.path / "samples.jsonl").write_bytes(lines)
    return folder.path


def recorded_result(parent: Path, **changes: object) -> Path:
    """Two arms, one scenario: right in the first, in the second an argument too large; both with their records."""
    first, second, *_ = four_arms()
    samples = ((made_sample(first, 3), GOOD), (made_sample(second, 3, ok=False), TOO_MANY))
    folder = ResultFolder.create(parent, made_manifest((first, second), 1, 1, **changes), {})
    with folder.writing() as writer:
        for sample, text in samples:
            writer.add(sample, [events_of(text)])
    return folder.path


def events_of(text: str, **changes: object) -> tuple[AnyEvent, ...]:
    """Return the events of a run that writes that text, without a constraint."""
    members = {
        "prompt": "Search for AI news, 10 results",
        "model": "scripted",
        "constraint": "off",
        **changes,
    }
    request = RunRequest(registry=default_registry().to_document(), **members)  # type: ignore[arg-type]
    return tuple(run(request, ScriptedModel(text)))
