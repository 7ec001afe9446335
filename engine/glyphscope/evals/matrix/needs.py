"""The requirements of a plan's assertions besides the evaluated models: the user's consent, and judge models."""

from __future__ import annotations

from dataclasses import dataclass, field

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.shorten import and_more
from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.suites.reading import split_function
from glyphscope.evals.suites.suite import expectations
from glyphscope.models.remote import is_address

MAX_NAMED = 6


@dataclass(frozen=True)
class PythonFile:
    """A Python file whose functions would be run, as read by its suite."""

    suite: str
    file: str
    functions: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Needs:
    """`judges` are model names by suite."""

    python: tuple[PythonFile, ...] = ()
    judges: dict[str, str] = field(default_factory=dict)


def rubrics_of(plan: Plan) -> int:
    """The number of decisions that a judge makes in one trial of one arm."""
    return sum(
        len(expect.judge)
        for loaded in plan.suites
        for scenario in loaded.suite.scenarios
        for expect in expectations(scenario)
    )


def needs_of(plan: Plan) -> Needs:
    """The requirements. Raises GlyphscopeError if a rubric has no judge, or one that the user must name."""
    python: list[PythonFile] = []
    judges: dict[str, str] = {}
    for suite in (loaded.suite for loaded in plan.suites):
        expected = [each for scenario in suite.scenarios for each in expectations(scenario)]
        functions: dict[str, dict[str, None]] = {}
        for check in (check for each in expected for check in each.python):
            file, name = split_function(check.function)
            functions.setdefault(file, {})[name] = None
        python += [
            PythonFile(suite.name, file, tuple(names), suite.sources.get(file, ""))
            for file, names in functions.items()
        ]
        if any(each.judge for each in expected):
            judges[suite.name] = _judge(plan.matrix.judge, suite.judge, suite.name)
    return Needs(tuple(python), judges)


def require_consent(needs: Needs) -> None:
    """Raises GlyphscopeError if Python functions would be run."""
    if not needs.python:
        return
    functions = [f"{each.file}:{name}" for each in needs.python for name in each.functions]
    raise GlyphscopeError(
        f"Scenarios are checked by Python functions ({and_more(functions, MAX_NAMED)}), which may do anything "
        "that you may.",
        where=", ".join(dict.fromkeys(each.suite for each in needs.python)),
        hint="Read the files. If you trust them, allow them with --allow-python.",
    )


def _judge(named: str, of_suite: str, suite: str) -> str:
    judge = named or of_suite
    if not judge:
        raise GlyphscopeError(
            "Scenarios have rubrics, and no judge model is named.",
            where=suite,
            hint='Name one with --judge, or as "judge" in the suite.',
        )
    if not named and is_address(judge):
        raise GlyphscopeError(
            f"The suite names an endpoint as its judge: {judge}. All results would be sent there.",
            where=suite,
            hint="If you want that, name it yourself with --judge.",
        )
    return judge
