"""Notes for readers of the figures, in sentences: missing and unmeasured values, and the basis of intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from glyphscope.evals.results.figures import Comparison
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.measuring import Part, counted
from glyphscope.text.figures import percent, pluralize
from glyphscope.text.shorten import and_more

FEW = 30
_NAMED = 5


def notes_of(
    manifest: Manifest, by_arm: Mapping[str, Part], comparisons: Sequence[Comparison]
) -> tuple[str, ...]:
    """The notes, the most important first."""
    samples = sum(map(len, by_arm.values()))
    return (
        *(manifest.notes or ()),
        *_missing(manifest, by_arm),
        *_unfinished(manifest, samples),
        *_unknown_arms(manifest, by_arm),
        *_unanswered(by_arm),
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


def _missing(manifest: Manifest, by_arm: Mapping[str, Part]) -> Iterator[str]:
    for model, why in manifest.missing.items():
        arms = [arm.id for arm in manifest.arms if arm.model == model]
        made = sum(len(by_arm.get(arm, ())) for arm in arms)
        of = f"its {pluralize(len(arms), 'arm')} {'has' if len(arms) == 1 else 'have'}"
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


def _unknown_arms(manifest: Manifest, by_arm: Mapping[str, Part]) -> Iterator[str]:
    known = {arm.id for arm in manifest.arms}
    strangers = [arm for arm in by_arm if arm not in known]
    if strangers:
        names = and_more(strangers, _NAMED)
        yield f"The manifest does not contain {names}, so these arms are not compared with others."


def _unanswered(by_arm: Mapping[str, Part]) -> Iterator[str]:
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
    yield (
        f"{unanswered:,} of {samples} have no answer from the model ({counts}), and shares leave them out. No arm has "
        f"more of them than {worst}: {silent[worst]:,} of its {len(rows):,}. If they counted as wrong, it would be "
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
                "own and ran so in every arm: an arm's strategy replaces only what the suite is made for."
            )


def _trials(manifest: Manifest, by_arm: Mapping[str, Part]) -> Iterator[str]:
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
        f"{pluralize(len(greedy), 'arm')} of {len(by_arm)} sample greedily (temperature 0): further trials repeat the "
        "first, so they add no evidence, and pass^k equals pass^1."
    )
    for arm in unsteady:
        yield (
            f"{arm}: with greedy sampling, {pluralize(_different_answers(by_arm[arm]), 'scenario')} still got "
            "different texts in different trials. The computation of this model is not deterministic."
        )


def _has_trials(part: Part) -> bool:
    """Whether there are samples of several trials."""
    ends = [(trials.min(), trials.max()) for trials in (rows["trial"] for rows in part.blocks())]
    return bool(min(least for least, _ in ends) < max(most for _, most in ends))


def _different_answers(part: Part) -> int:
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


def _few(by_arm: Mapping[str, Part]) -> Iterator[str]:
    cells = (part.table.cells[number] for part in by_arm.values() for number in part.numbers)
    scenarios = {cell.key for cell in cells if not cell.control}
    if 0 < len(scenarios) < FEW:
        asking = f"{pluralize(len(scenarios), 'scenario')} {'asks' if len(scenarios) == 1 else 'ask'}"
        yield f"Only {asking} for tools: intervals are wide, and only large differences can be significant."


def _savings(manifest: Manifest, by_arm: Mapping[str, Part]) -> Iterator[str]:
    aborted, measured = (
        sum(part.total(name) for part in by_arm.values()) for name in ("aborted", "measured")
    )
    if aborted and not measured and not manifest.savings:
        yield f"The savings of {pluralize(aborted, 'early abort')} were not measured (`--savings` is 0)."
    elif measured < aborted:
        yield (
            f"The savings of early aborts were measured for {measured:,} of {aborted:,} of them "
            f"({percent(manifest.savings, 0)} requested); saved tokens include only these."
        )


def _many_comparisons(comparisons: Sequence[Comparison]) -> Iterator[str]:
    n = sum(each.measure == "ok" for each in comparisons)
    if n > 1:
        yield (
            f"There are {n} comparisons by each measure, and without any difference, about one in twenty has p < 0.05 "
            "by chance. Use the p that is corrected for that by Holm's method."
        )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
