"""Makes figures from samples, or from their table: by arm with its breakdowns, by scenario, and as rows of a table.

With them go notes for their readers, in sentences.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from glyphscope.base.figures import percent, pluralize
from glyphscope.base.shorten import and_more
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results.comparing import compare_arms, format_sensitivity
from glyphscope.evals.results.figures import (
    ArmComparison,
    ArmFigures,
    Figures,
    ScenarioFigures,
    ScenarioSummary,
    Summary,
)
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.measuring import CellPart, counted
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.table import Cell, Key, SampleTable, table_of
from glyphscope.evals.results.words import arm_labels
from glyphscope.evals.statistics import Share, Spread

FEW, _NAMED = 30, 5
"""Scenarios below which a note says that they are few, and the names that a note lists."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def summarise(manifest: Manifest, samples: SampleTable | Iterable[Sample]) -> Summary:
    """`summary.json`. Of a sample that is there twice, the last one counts."""
    by_arm = _by_arm(manifest, samples)
    tools = {arm: part.of(_select(part, control=False)) for arm, part in by_arm.items()}
    comparisons = compare_arms(manifest.arms, tools)
    return Summary(
        digest=manifest.digest,
        samples=sum(map(len, by_arm.values())),
        planned=manifest.planned,
        arms=tuple(_arm_figures(arm, tools[arm], part) for arm, part in by_arm.items()),
        comparisons=comparisons,
        sensitivity=format_sensitivity(manifest.arms, tools),
        notes=notes_of(manifest, by_arm, comparisons),
    )


def by_scenario(manifest: Manifest, samples: SampleTable | Iterable[Sample]) -> ScenarioSummary:
    """`summary_by_scenario.json`: the figures of each scenario in each arm."""
    return _by_scenario(manifest, samples, "arm", lambda cell: cell.arm)


def by_scenario_and_strategy(manifest: Manifest, samples: SampleTable | Iterable[Sample]) -> ScenarioSummary:
    """`summary_by_scenario_and_strategy.json`: the same by strategy, over all arms that have it.

    Strategies are named as in arms' ids: `suite` for each suite's own, `+repair2` for two repairs, and `.baseline`
    for arms without the recommended settings of their models.
    """
    names = {
        arm.id: arm.strategy_id + ("" if arm.workarounds == "production" else ".baseline")
        for arm in manifest.arms
    }
    return _by_scenario(manifest, samples, "strategy", lambda cell: names.get(cell.arm, "unknown"))


def _whole(manifest: Manifest, samples: SampleTable | Iterable[Sample]) -> CellPart:
    return CellPart.whole(samples if isinstance(samples, SampleTable) else table_of(samples), manifest)


def _by_arm(manifest: Manifest, samples: SampleTable | Iterable[Sample]) -> dict[str, CellPart]:
    """Arms in the manifest's order, without those that have no samples."""
    whole = _whole(manifest, samples)
    found: dict[str, list[int]] = {arm.id: [] for arm in manifest.arms}
    for number in whole.numbers:
        found.setdefault(whole.table.cells[number].arm, []).append(number)
    return {arm: whole.of(numbers) for arm, numbers in found.items() if numbers}


def _select(part: CellPart, *, control: bool) -> list[int]:
    return [number for number in part.numbers if part.table.cells[number].control == control]


def _arm_figures(arm: str, tools: CellPart, part: CellPart) -> ArmFigures:
    control = _select(part, control=True)
    return ArmFigures(
        arm=arm,
        tools=tools.figures(),
        control=part.of(control).figures() if control else None,
        by_suite=_broken_down(tools, lambda cell: cell.suite),
        by_group=_broken_down(tools, lambda cell: cell.group),
        by_level=_broken_down(tools, lambda cell: cell.level),
    )


def _broken_down(part: CellPart, name: Callable[[Cell], str]) -> dict[str, Figures]:
    found: dict[str, list[int]] = {}
    for number in part.numbers:
        found.setdefault(name(part.table.cells[number]), []).append(number)
    return {each: part.of(numbers).figures() for each, numbers in found.items() if each}


def _by_scenario(
    manifest: Manifest,
    samples: SampleTable | Iterable[Sample],
    by: Literal["arm", "strategy"],
    name: Callable[[Cell], str],
) -> ScenarioSummary:
    whole = _whole(manifest, samples)
    cells = whole.table.cells
    arms = {arm.id: index for index, arm in enumerate(manifest.arms)}
    found: dict[Key, dict[str, list[int]]] = {}
    for number in sorted(whole.numbers, key=lambda number: arms.get(cells[number].arm, len(arms))):
        found.setdefault(cells[number].key, {}).setdefault(name(cells[number]), []).append(number)
    greedy = {arm: is_greedy(manifest, arm) for arm in {cell.arm for cell in cells}}
    scenarios = []
    for (suite, scenario), each in found.items():
        first = cells[next(iter(each.values()))[0]]
        scenarios.append(
            ScenarioFigures(
                suite=suite,
                scenario=scenario,
                group=first.group,
                level=first.level,
                control=first.control,
                figures={
                    of: whole.of(numbers).figures(greedy=any(greedy[cells[number].arm] for number in numbers))
                    for of, numbers in each.items()
                },
            )
        )
    return ScenarioSummary(digest=manifest.digest, by=by, scenarios=tuple(scenarios))


_ARM_MEMBERS = tuple(
    "strategy_id" if name == "strategy" else name for name in Arm.__struct_fields__ if name != "repair"
)
"""The members of an arm in the columns after its name."""
COLUMNS = (
    "arm", *(name.removesuffix("_id") for name in _ARM_MEMBERS), "suite", "scenario", "group", "level", "control", "n",
    "answered", "ok", "ok_share", "ok_low", "ok_high", "ok_effective_n", "parsed", "parsed_n", "valid", "valid_n",
    "right_tool", "right_tool_n", "right_arguments", "right_arguments_n", "valid_wrong",
    "valid_wrong_n", "copied", "copied_n", "failures", "decoded_tokens_mean",
    "prompt_tokens_mean", "instruction_tokens_mean", "bytes_mean", "turns_mean", "first_token_ms_p50", "total_ms_p50",
    "total_ms_p95", "aborted", "abort_measured", "abort_decoded", "abort_would_have",
)  # fmt: skip


def csv_text(manifest: Manifest, scenarios: ScenarioSummary) -> str:
    """`summary.csv`: a row per arm and scenario. Unknown values are empty cells, never zeros.

    A text that a spreadsheet would treat as a formula has an apostrophe before it (OWASP, CSV injection).
    """
    arms = {arm.id: arm for arm in manifest.arms}
    rows = [(name, each, of) for each in scenarios.scenarios for name, of in each.figures.items()]
    order = {arm: number for number, arm in enumerate(arms)}
    rows.sort(key=lambda row: order.get(row[0], len(order)))
    lines = csv_lines(COLUMNS, (_csv_row(name, arms.get(name), scenario, of) for name, scenario, of in rows))
    return "".join(lines)


class _Line:
    """A file of which csv's writer returns the line that it writes."""

    @staticmethod
    def write(text: str) -> str:
        return text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The titles and rows as CSV, line by line, in cells that a spreadsheet does not interpret."""
    line = csv.writer(_Line(), lineterminator="\r\n").writerow
    yield line(columns)
    for row in rows:
        yield line([_spreadsheet_cell(value) for value in row])


def _csv_row(name: str, arm: Arm | None, scenario: ScenarioFigures, of: Figures) -> list[object]:
    axes = [getattr(arm, member) if arm is not None else "" for member in _ARM_MEMBERS]
    shares = [of.parsed, of.valid, of.right_tool, of.right_arguments, of.valid_wrong, of.copied]
    return [
        name, *axes, scenario.suite, scenario.scenario, scenario.group, scenario.level,
        "yes" if scenario.control else "no", of.n, of.answered, *_share_cells(of.ok),
        *(cell for each in shares for cell in (each.correct if each.n else None, each.n)),
        "; ".join(f"{reason} {n}" for reason, n in of.failures.items()),
        _mean(of.decoded), _mean(of.prompt_tokens), of.instructions if of.answered else None, _mean(of.bytes),
        _mean(of.model_turns),
        of.first_token_ms.p50 if of.first_token_ms else None, of.total_ms.p50 if of.total_ms else None,
        of.total_ms.p95 if of.total_ms else None, of.saving.aborted, of.saving.measured,
        of.saving.decoded if of.saving.measured else None, of.saving.would_have if of.saving.measured else None,
    ]  # fmt: skip


def _share_cells(share: Share) -> list[object]:
    if not share.n:
        return [None] * 5
    return [share.correct, share.share, share.low, share.high, share.effective]


def _mean(spread: Spread | None) -> float | None:
    return spread.mean if spread else None


def _spreadsheet_cell(value: object) -> object:
    """A value for a cell of CSV, with an apostrophe if a spreadsheet would treat it as a formula."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
        return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text
    return value


# notes for readers of the figures: missing and unmeasured values, and the basis of intervals


def notes_of(
    manifest: Manifest, by_arm: Mapping[str, CellPart], comparisons: Sequence[ArmComparison]
) -> tuple[str, ...]:
    """The notes, the most important first."""
    samples = sum(map(len, by_arm.values()))
    return (
        *(manifest.notes or ()),
        *_missing(manifest, by_arm),
        *_unfinished(manifest, samples),
        *_unknown_arms(manifest, by_arm),
        *_unanswered(manifest, by_arm),
        *_judges(manifest),
        *_workers(manifest),
        *_own_strategy(manifest),
        *_trials(manifest, by_arm),
        *_few(by_arm),
        *_savings(manifest, by_arm),
        *_many_comparisons(comparisons),
    )


def is_greedy(manifest: Manifest, arm: str) -> bool:
    """Whether an arm samples greedily, so that its trials repeat each other; assumed if it is not known."""
    sampling = manifest.profiles.get(arm)
    return sampling is None or sampling.temperature == 0


def _missing(manifest: Manifest, by_arm: Mapping[str, CellPart]) -> Iterator[str]:
    for model, why in manifest.missing.items():
        arms = [arm.id for arm in manifest.arms if arm.model == model]
        made = sum(len(by_arm.get(arm, ())) for arm in arms)
        of = f"its {pluralize(len(arms), 'configuration')} {'has' if len(arms) == 1 else 'have'}"
        if made:
            yield f"The model “{model}” was abandoned: {of} only {pluralize(made, 'sample')}. {_sentence(why)}"
        else:
            yield f"The model “{model}” could not be opened, so {of} no samples: {_sentence(why)}"


def _unfinished(manifest: Manifest, samples: int) -> Iterator[str]:
    if samples < manifest.planned:
        state = "not finished" if not manifest.finished else "not complete"
        yield (
            f"This result is {state}: {samples:,} of {manifest.planned:,} planned samples are there, "
            "and figures are over these."
        )
    elif not manifest.finished:
        yield "All planned samples are there, but this result was not closed: some may still be made again."


def _unknown_arms(manifest: Manifest, by_arm: Mapping[str, CellPart]) -> Iterator[str]:
    known = {arm.id for arm in manifest.arms}
    strangers = [arm for arm in by_arm if arm not in known]
    if strangers:
        names = and_more(strangers, _NAMED)
        yield f"The manifest does not contain {names}, so these configurations are not compared with others."


def _unanswered(manifest: Manifest, by_arm: Mapping[str, CellPart]) -> Iterator[str]:
    silent = {arm: len(part) - part.total("answered") for arm, part in by_arm.items()}
    reasons = counted(
        item for part in by_arm.values() for item in part.counts("reason", answered=False).items()
    )
    if not reasons:
        return
    counts = ", ".join(f"{reason} {n:,}" for reason, n in reasons.items())
    unanswered, samples = sum(reasons.values()), pluralize(sum(map(len, by_arm.values())), "sample")
    worst = max(silent, key=silent.__getitem__)
    rows, right = by_arm[worst], by_arm[worst].total("ok")
    name = arm_labels(manifest.arms).get(worst, worst)
    yield (
        f"{unanswered:,} of {samples} have no answer from the model ({counts}), and shares leave them out. The "
        f"largest number is in {name}: {silent[worst]:,} of its {len(rows):,}. If they counted as wrong, it would be "
        f"correct in {right:,} of {len(rows):,}."
    )


def _judges(manifest: Manifest) -> Iterator[str]:
    evaluated = {arm.model for arm in manifest.arms}
    for judge in manifest.judges:
        if judge in evaluated:
            yield (
                f"The judge “{judge}” is also one of the models that are evaluated, and models often prefer their "
                "own answers."
            )


def _workers(manifest: Manifest) -> Iterator[str]:
    kinds = {(worker.machine.processor, worker.machine.cores) for worker in manifest.workers.values()}
    if len(kinds) > 1:
        yield (
            f"The samples were made by {pluralize(len(manifest.workers), 'worker')} on {len(kinds)} kinds of machines, "
            "so their times are not comparable, and the last digits of their logits can differ."
        )


def _own_strategy(manifest: Manifest) -> Iterator[str]:
    if not any(arm.strategy for arm in manifest.arms):
        return
    for suite in manifest.suites:
        if own := suite.own_strategy:
            have = "has a strategy of its" if len(own) == 1 else "have strategies of their"
            yield (
                f"{pluralize(len(own), 'scenario')} of {suite.name} ({and_more(own, _NAMED)}) {have} "
                "own and ran so in every configuration, whose strategy replaces only what the suite is made for."
            )


def _trials(manifest: Manifest, by_arm: Mapping[str, CellPart]) -> Iterator[str]:
    if not any(map(_has_trials, by_arm.values())):
        return
    yield (
        "Trials of one scenario are not independent. Intervals are over the effective number of samples (Kish's design "
        "effect), and paired tests take each scenario as one case, whatever its number of trials."
    )
    greedy = [arm for arm in by_arm if arm in manifest.profiles and is_greedy(manifest, arm)]
    if not greedy:
        return
    unsteady = [arm for arm in greedy if _different_answers(by_arm[arm])]
    yield (
        f"{pluralize(len(greedy), 'configuration')} of {len(by_arm)} sample greedily (temperature 0): further trials "
        "repeat the first, so they add no evidence, and pass^k equals pass^1."
    )
    labels = arm_labels(manifest.arms)
    for arm in unsteady:
        scenarios = pluralize(_different_answers(by_arm[arm]), "scenario")
        yield (
            f"{labels.get(arm, arm)}: with greedy sampling, {scenarios} still got different texts in different trials. "
            "The computation of this model is not deterministic."
        )


def _has_trials(part: CellPart) -> bool:
    """Whether there are samples of several trials."""
    ends = [(trials.min(), trials.max()) for trials in (rows["trial"] for rows in part.blocks())]
    return bool(min(least for least, _ in ends) < max(most for _, most in ends))


def _different_answers(part: CellPart) -> int:
    """The number of scenarios with different texts."""
    import numpy as np

    first = np.full(len(part.table.cells), -1)
    differs = np.zeros(len(first), bool)
    for rows in part.blocks():
        cells, answers = (rows[column][rows["answered"] == 1] for column in ("cell", "answer"))
        found, places = np.unique(cells, return_index=True)
        first[found] = np.where(first[found] < 0, answers[places], first[found])
        differs[cells[answers != first[cells]]] = True
    return int(differs.sum())


def _few(by_arm: Mapping[str, CellPart]) -> Iterator[str]:
    cells = (part.table.cells[number] for part in by_arm.values() for number in part.numbers)
    scenarios = {cell.key for cell in cells if not cell.control}
    if 0 < len(scenarios) < FEW:
        asking = f"{pluralize(len(scenarios), 'scenario')} {'asks' if len(scenarios) == 1 else 'ask'}"
        yield f"Only {asking} for tools: intervals are wide, and only large differences can be significant."


def _savings(manifest: Manifest, by_arm: Mapping[str, CellPart]) -> Iterator[str]:
    aborted, measured = (
        sum(part.total(name) for part in by_arm.values()) for name in ("aborted", "measured")
    )
    if aborted and not measured and not manifest.savings:
        yield f"The savings of {pluralize(aborted, 'early abort')} were not measured, as no aborted run was continued."
    elif measured < aborted:
        yield (
            f"The savings of early aborts were measured for {measured:,} of {aborted:,} of them "
            f"({percent(manifest.savings, 0)} requested); saved tokens include only these."
        )


def _many_comparisons(comparisons: Sequence[ArmComparison]) -> Iterator[str]:
    n = sum(each.measure == "ok" for each in comparisons)
    if n > 1:
        yield (
            f"There are {n} comparisons by each measure, and without any difference, about one in twenty has p < 0.05 "
            "by chance. Use the p that is corrected for that by Holm's method."
        )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
