"""Made-up results: a manifest, and samples of several arms, suites and trials, greedy and sampled.

The same for the same arguments. Each scenario has a difficulty and each arm a skill, so that trials of one scenario
are correlated, as real ones are; greedy arms repeat themselves.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import sample_id
from glyphscope.evals.results import Machine, Manifest
from glyphscope.evals.results.sample import ModelCall, Sample, SampleFailure
from glyphscope.evals.suites.suite import SuiteUsed
from glyphscope.events import ModelInfo, Sampling

TOOLS = ("search", "calculate", "browse", "execute", "read_file", "write_file", "send_email")
LEVELS = ("simple", "typical", "extreme")
GREEDY, SAMPLED = Sampling(temperature=0.0), Sampling(temperature=0.7)
MODEL = "SmolLM2-135M-Instruct-Q4_1.gguf"


def made_arms(
    models: tuple[str, ...] = (MODEL,), profiles: tuple[str, ...] = ("deterministic", "default")
) -> list[Arm]:
    """Both notations, without and with the mask, by model and sampling profile."""
    return [
        Arm(model=model, notation=notation, constraint=constraint, profile=profile)
        for model in models
        for notation in ("glyph", "json")
        for constraint in ("off", "mask")
        for profile in profiles
    ]


@dataclass
class MadeResult:
    """`without` names models that could not be opened: their arms have no samples."""

    arms: list[Arm] = field(default_factory=made_arms)
    suites: tuple[str, ...] = ("tool-calls", "routing")
    scenarios: int = 20
    trials: int = 3
    seed: int = 1
    without: tuple[str, ...] = ()
    savings: float = 0.5
    planned: int | None = None
    finished: str = "2026-01-01T00:10:00Z"

    @property
    def manifest(self) -> Manifest:
        there = dict.fromkeys(arm.model for arm in self.arms if arm.model not in self.without)
        planned = len(self.arms) * len(self.suites) * self.scenarios * self.trials
        return Manifest(
            digest="0123456789abcdef",
            started="2026-01-01T00:00:00Z",
            finished=self.finished,
            suites=tuple(
                SuiteUsed(name=name, about=f"What {name} asks.", digest="d" * 64, scenarios=self.scenarios)
                for name in self.suites
            ),
            arms=tuple(self.arms),
            profiles={arm.id: GREEDY if arm.profile == "deterministic" else SAMPLED for arm in self.arms},
            trials=self.trials,
            seed=self.seed,
            savings=self.savings,
            planned=planned if self.planned is None else self.planned,
            models={
                model: ModelInfo(
                    name=model.removesuffix(".gguf"),
                    sha256="ab" * 32,
                    quantisation="Q4_1",
                    parameters=134_515_008,
                    architecture="llama",
                    context=2048,
                    bytes=97_000_000,
                )
                for model in there
            },
            missing=dict.fromkeys(self.without, "There is no such file."),
            versions={"glyphscope": "0.1.0", "llama-cpp-python": "0.3.36"},
            machine=Machine(
                system="Linux 6.1 x86_64", processor="a processor", cores=2, memory=8 << 30, python="3.11"
            ),
        )

    def samples(self) -> Iterator[Sample]:
        for arm in self.arms:
            if arm.model in self.without:
                continue
            for suite in self.suites:
                for number in range(self.scenarios):
                    for trial in range(1, self.trials + 1):
                        yield self._sample(arm, suite, number, trial)

    def _sample(self, arm: Arm, suite: str, number: int, trial: int) -> Sample:
        greedy = arm.profile == "deterministic"
        scenario = f"{suite[:4]}-{number:03}"
        difficulty = random.Random(f"{self.seed} {suite} {number}").random()
        draw = random.Random(f"{self.seed} {arm.id} {suite} {number} {1 if greedy else trial}")
        times = random.Random(f"{self.seed} {arm.id} {suite} {number} {trial} time")
        tool = TOOLS[number % len(TOOLS)]
        control = number % 10 == 9
        skill = 0.45 + 0.3 * (arm.constraint == "mask") - 0.05 * (arm.notation == "glyph")
        verdicts = _verdicts(
            draw, skill - (difficulty - 0.5), masked=arm.constraint == "mask", tool=tool, control=control
        )
        decoded = draw.randint(12, 40) + 4 * (arm.notation == "json")
        aborted = bool(verdicts["failures"]) and verdicts["failures"][0].code == "UNKNOWN_TOOL"
        first = 80 + 40 * times.random()
        return Sample(
            id=sample_id(arm.id, suite, scenario, trial),
            arm=arm.id,
            suite=suite,
            scenario=scenario,
            trial=trial,
            seed=number * 100 + trial,
            group="" if control else tool,
            level=LEVELS[number % 3],
            control=control,
            expected=() if control else (tool,),
            text=f'{{action="{tool}" query="{draw.randint(0, 9)}"}}',
            prompt_tokens=190 + number,
            instructions=60 if arm.notation == "glyph" else 75,
            decoded=decoded,
            forced=decoded // 3 if arm.constraint == "mask" else 0,
            characters=decoded * 3,
            bytes=decoded * 3 + 1,
            stopped_at=20 if aborted else None,
            stopped_code="UNKNOWN_TOOL" if aborted else "",
            saved=draw.randint(5, 30) if aborted and draw.random() < self.savings else None,
            first_token_ms=first,
            total_ms=first + decoded * (12 + times.random()),
            runs=(f"runs/{arm.id}/{suite}/{scenario}-{trial}.jsonl",),
            time="2026-01-01T00:00:00Z",
            **verdicts,
        )


def _verdicts(draw: random.Random, skill: float, *, masked: bool, tool: str, control: bool) -> dict[str, Any]:
    """The verdicts of one answer."""
    if draw.random() < 0.02:
        failure = SampleFailure(reason=draw.choice(("MODEL_FAILED", "TIMEOUT")), detail="The process ended.")
        return {"failures": (failure,), "outcome": "failed", "valid": False}
    if control:
        ok = draw.random() < skill
        failures = () if ok else (SampleFailure(reason="UNWANTED_CALL", detail=f"It called {tool}."),)
        return {"parsed": True, "valid": ok, "ok": ok, "failures": failures, "outcome": "text"}
    parsed = masked or draw.random() < 0.8
    known = masked or draw.random() < 0.9
    right_tool = parsed and known and draw.random() < skill + 0.15
    right = right_tool and draw.random() < skill + 0.2
    if not parsed:
        failure = SampleFailure(reason="PARSE", code="SYNTAX", detail="Expected a value.")
    elif not known:
        failure = SampleFailure(
            reason="SCHEMA", code="UNKNOWN_TOOL", path="action", detail="There is no such tool."
        )
    elif not right_tool:
        failure = SampleFailure(reason="WRONG_TOOL", detail=f"Expected {tool}.")
    else:
        failure = SampleFailure(reason="WRONG_ARGUMENTS", path="query", detail="Expected another value.")
    calls = (
        (ModelCall(tool=tool if right_tool else "search", arguments={"query": "x"}),)
        if parsed and known
        else ()
    )
    return {
        "parsed": parsed,
        "valid": parsed and known,
        "right_tool": right_tool,
        "right_arguments": right,
        "copied_values": int(parsed and known and draw.random() < 0.3),
        "ok": right,
        "failures": () if right else (failure,),
        "calls": calls,
        "outcome": "valid" if parsed and known else "invalid",
    }


def jsonl(samples: Iterator[Sample]) -> bytes:
    """As in `samples.jsonl`."""
    return b"".join(msgspec.json.encode(sample) + b"\n" for sample in samples)
