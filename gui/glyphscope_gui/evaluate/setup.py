"""The suites of an evaluation, and the cost of a plan before it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import estimate, percent
from glyphscope.base.inputs import read_file
from glyphscope.base.structs import ready
from glyphscope.evals.matrix.arms import OFFERED, Arm, values_of
from glyphscope.evals.matrix.needs import rubrics_of
from glyphscope.evals.matrix.plan import Matrix, Plan
from glyphscope.evals.matrix.profiles import profile
from glyphscope.evals.results.comparing import comparisons_of
from glyphscope.evals.results.folder import ResultRow
from glyphscope.evals.scoring.model_judge import MAX_TOKENS as JUDGE_TOKENS
from glyphscope.evals.statistics import fewest_cases
from glyphscope.evals.suites.imported import NOT_IMPORTED, is_own
from glyphscope.evals.suites.own import own_suites
from glyphscope.evals.suites.reading import STARTER, bundled_suites, load_suite
from glyphscope.evals.suites.suite import Scenario, Suite
from glyphscope.events import LoopSettings, ModelInfo, RunRequest, settings_of
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.named_files import NamedFile, NamedFiles


class SuiteChoice(NamedTuple):
    """A suite that can be chosen: `source` is its name, or its file's path. `problem` is why it cannot be used, `notes`
    list the parts of another program's file that it omits. `outside` are the files outside of its folder that the user
    has not allowed.
    """

    source: str
    title: str
    about: str
    scenarios: int
    problem: str = ""
    notes: tuple[str, ...] = ()
    outside: tuple[NamedFile, ...] = ()


MAX_SAVED = 100_000
"""Characters of a set-up above which it is not saved for the next start, such as with long system prompts."""
_PROJECT = "uses_project"


def saved_setup(
    matrix: Matrix, usual: Mapping[str, Any], model: str, *, uses_project: bool
) -> dict[str, Any]:
    """The set-up for the next start: the members that differ from the `usual` ones of the project and from the
    defaults, with an empty name for the open `model`. Empty if it is too long.
    """
    first = {**{name: field.default for name, field in settings_of(Matrix).items()}, **usual}
    saved = {
        name: value
        for name, value in msgspec.to_builtins(matrix).items()
        if getattr(matrix, name) != first.get(name)
    }
    saved["models"] = ["" if name == model else name for name in matrix.models]
    saved[_PROJECT] = uses_project
    return saved if len(json.dumps(saved)) <= MAX_SAVED else {}


def read_setup(saved: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The members of a saved set-up, and whether the project's prompt is used; none if it is of another version."""
    members = {name: value for name, value in saved.items() if name != _PROJECT}
    try:
        matrix = msgspec.convert({"suites": (), "models": (), **members}, ready(Matrix), strict=True)
    except msgspec.ValidationError:
        return {}, True
    return {name: getattr(matrix, name) for name in members if name in matrix.__struct_fields__}, saved.get(
        _PROJECT
    ) is not False


def suite_choices(own: Path, files: NamedFiles, more: Iterable[str] = ()) -> list[SuiteChoice]:
    """Return the bundled suites, the first one to try at the top, the user's in that folder, and those of `more`
    that are files. Reads files: not for the window's thread.
    """
    bundled = sorted(bundled_suites(), key=lambda name: name != STARTER)
    sources = dict.fromkeys((*bundled, *map(str, own_suites(own)), *filter(os.path.isfile, more)))
    return [suite_choice(source, files) for source in sources]


def editable(source: str) -> tuple[Suite, Path | None]:
    """The suite and its file; for a bundled suite or another program's file, a copy without a file.

    Reads files: not for the window's thread. Raises SuiteError and StorageError.
    """
    suite, path = load_suite(source), Path(source)
    if source in bundled_suites() or not is_own(path, read_file(path)):
        return msgspec.structs.replace(suite, name=f"{suite.name}-copy"), None
    return suite, path


def suite_choice(source: str, files: NamedFiles) -> SuiteChoice:
    """A suite to choose; if it cannot be read, it has a `problem`, and nothing is raised."""
    title = source.replace("\\", "/").rpartition("/")[2].removesuffix(".json")
    with files.reading() as outside:
        try:
            suite = load_suite(source)
        except GlyphscopeError as error:
            return SuiteChoice(source, title, "", 0, str(error), outside=tuple(outside))
    notes = tuple(note for note in suite.notes if note.startswith(NOT_IMPORTED))
    missing = tuple(outside) if notes else ()  # of others, the suite has the texts
    return SuiteChoice(source, suite.name, suite.about, len(suite.scenarios), "", notes, missing)


_NO_MODEL = ModelInfo(name="")
_MAX_TOKENS = settings_of(RunRequest)["max_tokens"].default
"""The default for runs whose suite does not set it."""


class Price(NamedTuple):
    """The cost of a plan. `tokens` is the most that are decoded, without the continuations of aborted runs.
    `comparisons` of arms are made, of `cases`: the scenarios without controls, each with `distinct` trials that can
    differ.
    """

    arms: int
    scenarios: int
    trials: int
    samples: int
    tokens: int
    comparisons: int
    cases: int
    distinct: int


def price(plan: Plan) -> Price:
    """Compute the price from arms and scenarios, without iterating over samples."""
    scenarios = [(loaded.suite, scenario) for loaded in plan.suites for scenario in loaded.suite.scenarios]
    tokens = sum(tokens_at_most(arm, suite, scenario) for arm in plan.arms for suite, scenario in scenarios)
    tokens += rubrics_of(plan) * len(plan.arms) * JUDGE_TOKENS
    trials = plan.matrix.trials
    cases = sum(not scenario.control for _, scenario in scenarios)
    of_project = next((each.suite.sampling for each in plan.suites if each.suite.sampling is not None), None)
    sampled = {profile(arm.profile).of(_NO_MODEL, 1, of_project).temperature > 0 for arm in plan.arms}
    return Price(
        len(plan.arms), len(scenarios), trials, plan.cost.samples, tokens * trials,
        comparisons_of(plan.arms), cases, trials if any(sampled) else 1,
    )  # fmt: skip


def tokens_at_most(arm: Arm, suite: Suite, scenario: Scenario) -> int:
    """From the limits of its runs: a run's limit, once more for each repair; the loop's limit for all its turns."""
    members: dict[str, Any] = {**suite.request, **scenario.request}
    turns = 1 + len(scenario.turns)
    strategy = members.get("strategy") or arm.strategy or suite.strategy
    if strategy == "loop":
        return turns * int(_member(members, "loop", "max_total_tokens", LoopSettings().max_total_tokens))
    repairs = int(_member(members, "repair", "attempts", arm.repair))
    stages = 2 + len(scenario.answers) if strategy == "route-execute" else 1
    return turns * stages * int(members.get("max_tokens", _MAX_TOKENS)) * (1 + repairs)


def _member(members: dict[str, Any], settings: str, name: str, otherwise: int) -> int:
    """A member of a request's settings, if a suite or scenario sets it."""
    group = members.get(settings)
    return group.get(name, otherwise) if isinstance(group, dict) else otherwise


def seconds_a_sample(rows: Sequence[ResultRow], models: Iterable[str]) -> float | None:
    """Return the time per sample in the newest finished result of one of these models; None if there is none.

    It is the result's wall time from start to end, times the number of parallel jobs.
    """
    names = set(models)
    for row in rows:
        manifest = row.manifest
        if manifest is None or not (manifest.finished and manifest.planned) or manifest.missing:
            continue
        if manifest.workers or not names & {arm.model for arm in manifest.arms}:
            continue  # of machines elsewhere, the time says nothing about this one
        try:
            took = datetime.fromisoformat(manifest.finished) - datetime.fromisoformat(manifest.started)
        except ValueError:
            continue
        if took.total_seconds() > 0:
            return took.total_seconds() * manifest.jobs / manifest.planned
    return None


def price_words(made: Price, seconds: float | None, jobs: int) -> str:
    """The price in sentences."""
    factors = (
        tr("%n configuration(s)", "", made.arms),
        tr("%n scenario(s)", "", made.scenarios),
        tr("%n trial(s)", "", made.trials),
    )
    product = " × ".join(factors) + " = " + tr("%n sample(s)", "", made.samples)
    if seconds is None:
        time = tr("The duration is unknown until the first samples are done.")
    else:
        length = estimate(seconds * made.samples / jobs)
        time = tr("About {duration}, based on the last result.", duration=length)
    cost = tr("At most {tokens:,} tokens decoded. {time}", tokens=made.tokens, time=time)
    return "\n".join(filter(None, (product, difference_words(made), cost)))


def difference_words(made: Price) -> str:
    """The smallest difference of two arms that can be significant among all comparisons (Holm): that of the fewest
    scenarios which are all better in the same arm, each in one of its trials. Empty without a comparison.
    """
    if not made.comparisons:
        return ""
    fewest = fewest_cases(0.05 / made.comparisons)
    among = tr(" among %n comparison(s)", "", made.comparisons) if made.comparisons > 1 else ""
    if made.cases < fewest:
        return tr(
            "Too few scenarios for a significant difference{among}: it needs at least {count}.",
            count=fewest,
            among=among,
        )
    share = percent(fewest / (made.cases * made.distinct), 0)
    return tr(
        "Smallest difference that can be significant{among}: {share}, if {count} scenarios differ, all in the same "
        "direction.",
        share=share,
        count=fewest,
        among=among,
    )


def nothing_ticked(matrix: Matrix) -> str:
    """Return the message about the first empty axis; "" where every axis has a value."""
    if not matrix.suites:
        return tr("Select at least one suite.")
    if not matrix.models:
        return tr("Select at least one model.")
    empty = (field for name, field in OFFERED.items() if not getattr(matrix, values_of(name)))
    title = next((in_language(field.setting.title) for field in empty), "")
    return tr("Select at least one value of “{axis}”.", axis=title) if title else ""
