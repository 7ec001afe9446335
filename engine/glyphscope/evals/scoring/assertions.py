"""Assertions that run only if everything else is right: Python functions first, then the judge model.

Both can fail to give a verdict. Such a sample has no answer, as if the model had not been reached, and `--retry` makes
it again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from glyphscope.base.errors import GlyphscopeError, Stopped
from glyphscope.evals.checking.service import CheckFailed, call_function
from glyphscope.evals.results.sample import JudgeVerdict, Sample, SampleFailure
from glyphscope.evals.scoring.model_judge import ModelJudge, TextListener
from glyphscope.evals.scoring.outcome import TurnOutcome
from glyphscope.evals.scoring.scorer import failure
from glyphscope.evals.suites.reading import split_function
from glyphscope.evals.suites.suite import JudgeCheck, PythonCheck, Suite
from glyphscope.events import AnyEvent


@dataclass(frozen=True)
class AssertionOptions:
    """The means of assertions: `allow_python` is the user's consent, `judges` are the open judge models by suite."""

    allow_python: bool = False
    judges: Mapping[str, ModelJudge] = field(default_factory=dict)


NO_ASSERTIONS = AssertionOptions()
"""Without Python and without judges: assertions that need them give no verdict."""


def assert_all(
    sample: Sample,
    suite: Suite,
    outcomes: Sequence[TurnOutcome],
    options: AssertionOptions,
    cancelled: threading.Event,
    on_text: TextListener,
) -> tuple[Sample, list[list[AnyEvent]]]:
    """The sample after the assertions on the results of all turns, in order, up to the first failure; and the events
    of the judge's runs, one for each of its verdicts. `on_text` receives a judge's text as it grows.
    """
    if not sample.ok:
        return sample, []
    work = _Work(suite, options, cancelled, on_text)
    failed = next((found for found in work.verdicts(outcomes) if found is not None), None)
    if failed is not None:
        sample = msgspec.structs.replace(sample, ok=False, failures=(failed,))
    return msgspec.structs.replace(sample, judged=tuple(work.judged)), work.runs


class _Work:
    """The assertions of one sample, with the judge's verdicts and runs."""

    def __init__(
        self, suite: Suite, options: AssertionOptions, cancelled: threading.Event, on_text: TextListener
    ) -> None:
        self._suite, self._options, self._cancelled, self._on_text = suite, options, cancelled, on_text
        self.judged: list[JudgeVerdict] = []
        self.runs: list[list[AnyEvent]] = []

    def verdicts(self, turns: Sequence[TurnOutcome]) -> Iterator[SampleFailure | None]:
        """The verdict of each assertion, in order; each one is evaluated when it is requested."""
        for number, turn in enumerate(turns, 1):
            for check in turn.expect.python:
                yield self._function_failure(check, turn.document, number)
        for number, turn in enumerate(turns, 1):
            for rubric in turn.expect.judge:
                yield self._judge_failure(rubric, turn.document, number)

    def _function_failure(
        self, check: PythonCheck, result: dict[str, Any], turn: int
    ) -> SampleFailure | None:
        """None if the function returns True."""
        if not self._options.allow_python:  # `evaluate` rejects the suite earlier: this is the last check
            return failure("CHECK_FAILED", f"{check.function}: Python is not allowed", turn)
        try:
            file, name = split_function(check.function)
            source = self._suite.sources[file]
            found = call_function(source, file, name, result)
        except CheckFailed as failed:
            return failure("CHECK_FAILED", f"{check.function}: {failed.message}", turn)
        except Stopped:
            raise
        except (GlyphscopeError, KeyError):
            return failure("CHECK_FAILED", f"{check.function}: the suite has no source of it", turn)
        if found.passed:
            return None
        return failure("PYTHON", f"{check.function}: {found.reason or 'returned False'}", turn)

    def _judge_failure(self, check: JudgeCheck, result: dict[str, Any], turn: int) -> SampleFailure | None:
        """None if the judge passes the result."""
        judge = self._options.judges.get(self._suite.name)
        if judge is None:
            return failure("JUDGE_FAILED", "no judge model is named", turn)
        judged, events = judge.judged(
            check.rubric, result, turn=turn, cancelled=self._cancelled, on_text=self._on_text
        )
        self.judged.append(judged)
        self.runs.append(events)
        if judged.passed is None:
            return failure("JUDGE_FAILED", f"{judge.name}: {judged.error}", turn)
        return None if judged.passed else failure("JUDGE", judged.reason, turn)
