"""Notes on a plan: arms whose calls have the same shape, and tools that its runs do not offer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import pluralize
from glyphscope.base.shorten import and_more
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.suites.reading import suite_registry
from glyphscope.evals.suites.suite import Suite
from glyphscope.grammar.builder.uncallable import Uncallable, uncallable, uncallable_note
from glyphscope.grammar.shapes import fitting_shape

_NAMED = 5


def in_different_shapes(
    arms: Sequence[Arm], suites: Sequence[Suite]
) -> tuple[tuple[Arm, ...], tuple[str, ...]]:
    """The arms without those that would repeat another one, as their tools allow one shape only; and notes on that.

    Raises RegistryError and StorageError.
    """
    fitting = {arm: msgspec.structs.replace(arm, shape="tool-args") for arm in arms if arm.shape == "flat"}
    twins = {arm: other for arm, other in fitting.items() if arm.notation != "native" and other in arms}
    alike, scenarios = [], 0
    for suite in suites if twins else ():
        for scenario in suite.scenarios:
            scenarios += 1
            if fitting_shape(suite_registry(suite, scenario), "flat") != "flat":
                alike.append(scenario.id)
    if not alike:
        return tuple(arms), ()
    pairs = and_more([f"{arm.id} and {other.id}" for arm, other in twins.items()], _NAMED)
    why = "an argument of a tool is called action, so calls have the shape tool-args"
    if len(alike) == scenarios:
        words = f"In every scenario, {why}. These configurations would be equal, and only the second is made: {pairs}."
        return tuple(arm for arm in arms if arm not in twins), (words,)
    where = f"In {len(alike):,} of {pluralize(scenarios, 'scenario')} ({and_more(alike, _NAMED)})"
    return tuple(arms), (f"{where}, {why}. There, these configurations are equal: {pairs}.",)


def own_answers(suites: Sequence[Suite]) -> Iterator[str]:
    """For each suite, its scenarios with their own answers. Raises GlyphscopeError if all scenarios have one."""
    own = {suite.name: [each.id for each in suite.scenarios if each.answer is not None] for suite in suites}
    if sum(map(len, own.values())) == sum(len(suite.scenarios) for suite in suites) > 0:
        raise GlyphscopeError(
            "Every scenario has its own answer, which is used in every configuration.",
            where=", ".join(own),
            hint="Leave the answer to the suite, or remove the scenarios' answers.",
        )
    for name, ids in own.items():
        if ids:
            yield (
                f"{name}: in {pluralize(len(ids), 'scenario')} ({and_more(ids, _NAMED)}), the scenario's own answer is "
                "used in every configuration."
            )


def project_notes(suites: Sequence[Suite]) -> Iterator[str]:
    """The suites whose prompt, template and sampling are a project's, and those that say so without one."""
    given = [suite.name for suite in suites if suite.sampling is not None]
    if given:
        of = "All suites" if len(given) == len(suites) > 1 else and_more(given, _NAMED)
        yield f"{of}: the project's prompt, template and sampling."
    for suite in suites:
        if suite.project and suite.sampling is None:
            yield (
                f"{suite.name}: made for a project's prompt, template and sampling, and evaluated without them. Name "
                "the project with --project."
            )


def not_offered(suites: Sequence[Suite]) -> Iterator[str]:
    """For each suite, its tools of which no call can be written."""
    for suite in suites:
        found: dict[Uncallable, None] = {}
        for scenario in suite.scenarios:
            try:
                registry = suite_registry(suite, scenario)
            except GlyphscopeError:  # its samples report it
                continue
            found |= dict.fromkeys(uncallable(registry))
        if found:
            yield f"{suite.name}: {uncallable_note(tuple(found))}"
