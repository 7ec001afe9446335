"""The matrix as a list of samples: their prompts, order and seeds are fixed before the first run.

A sample is made when it is read: a plan of a million samples has only its arms and scenarios in memory.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from itertools import accumulate, chain, islice, product
from pathlib import Path
from typing import Annotated, Any, overload

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.pointer import to_pointer
from glyphscope.base.structs import ready
from glyphscope.evals.matrix.arms import AXES, Arm, first_value, values_of, variables_of
from glyphscope.evals.matrix.notes import in_different_shapes, own_answers, project_notes
from glyphscope.evals.matrix.profiles import profile
from glyphscope.evals.suites.reading import encode_suite, load_suite
from glyphscope.evals.suites.rules import answer_problem, unsuitable
from glyphscope.evals.suites.suite import Scenario, Suite, SuiteUsed, answer_of, of_project
from glyphscope.events import MAX_SEQUENCES, Answer, RunRequest, Setting, default_order
from glyphscope.models.opening import SCRIPTED
from glyphscope.models.remote import is_address
from glyphscope.models.templates import checked_template
from glyphscope.models.turn_forms import open_template
from glyphscope.runs import PreparedRequest
from glyphscope.store.named_models import RECORDED

MAX_SAMPLES = 1_000_000


def _axis_members() -> Iterator[tuple[str, Any, Any]]:
    """The members of a matrix for all axes but the model: tuples of an arm's values, and of the default by itself."""
    for name, field in AXES.items():
        if name != "model":
            kind = field.kind | None if first_value(name) is None else field.kind
            yield values_of(name), tuple[kind, ...], (field.default,)  # type: ignore[valid-type]


_Axes: Any = msgspec.defstruct("_Axes", _axis_members(), module=__name__, frozen=True, kw_only=True)


class Matrix(_Axes, frozen=True, kw_only=True):  # type: ignore[misc, call-arg]
    """The varied settings, one member per axis; the arms are all combinations. The axes are the fields of `Arm`; here,
    `strategies` and `answers` None are each suite's own, `orders` None the default under the arm's constraint.

    `jobs` samples are made at once, each by a separate model. `savings` is the share of aborted runs that are
    continued, to measure what stopping saved. `scenarios` are patterns of ids (`*` for any), `levels` the requested
    levels, `search` is searched for in ids, groups and prompts; then `first` scenarios of each suite remain (0: all).
    `judge` is the model for rubrics, empty for each suite's own. Each of the models decodes `sequences` samples in one
    batch, consecutive ones of its plan. `servers` are the names and identities of the MCP servers that execute
    calls; samples share them if `keep_servers`.
    """

    suites: tuple[str, ...]
    models: tuple[str, ...]
    levels: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    search: str = ""
    first: int = 0
    trials: Annotated[int, Setting(
        "Trials", "Runs of each scenario in each configuration, each with a different seed", least=1, most=1000,
    )] = 1  # fmt: skip
    seed: Annotated[int, Setting(
        "Seed", "Every configuration uses the same seeds, so configurations can be compared in pairs",
    )] = 1  # fmt: skip
    jobs: int = 1
    savings: Annotated[float, Setting(
        "Measure savings", "The share of aborted runs to continue, to measure the tokens saved", least=0, most=1,
        unit="%",
    )] = 0.0  # fmt: skip
    judge: str = ""
    servers: tuple[str, ...] = ()
    keep_servers: bool = False
    sequences: Annotated[int, msgspec.Meta(ge=1, le=MAX_SEQUENCES), Setting(
        "Batch size",
        "Samples that each model decodes in one batch, with as many times the memory for the context; it pays on "
        "graphics cards, and figures depend on it in their last digits",
    )] = 1  # fmt: skip


_EARLY = frozenset({
    "suites", "models", "notations", "shapes", "constraints", "strategies", "repairs", "profiles", "workarounds",
    "presets", "levels", "scenarios", "trials", "seed", "jobs", "savings",
})  # fmt: skip
"""The members that the first results had: these are always part of the digest, others with another value only."""

_OF_THE_CONSTRAINT: dict[str, Any] = {"constraint": "off", "constrain_from": "reasoning", "order": "schema"}
"""The settings in which arms with the same prompts may differ, set to fixed values."""


def sample_id(arm: str, suite: str, scenario: str, trial: int) -> str:
    """The same for the same sample in every run of the same matrix."""
    return f"{arm}/{suite}/{scenario}/{trial}"


@dataclass(frozen=True)
class LoadedSuite:
    """A suite with its selected scenarios, and the bytes of its saved copy."""

    suite: Suite
    data: bytes

    @property
    def used(self) -> SuiteUsed:
        return SuiteUsed(
            name=self.suite.name,
            about=self.suite.about,
            digest=hashlib.sha256(self.data).hexdigest(),
            scenarios=len(self.suite.scenarios),
            own_strategy=tuple(
                each.id
                for each in self.suite.scenarios
                if "strategy" in {**self.suite.request, **each.request}
                or not answer_of(self.suite, each).is_call
            ),
            project=self.suite.sampling is not None,
        )


@dataclass(frozen=True)
class Planned:
    """A sample to be made: its request is made from arm and scenario, unless `request` is given. One that `is_made` is
    made again only because others are decoded in the same batches.
    """

    arm: Arm
    suite: LoadedSuite
    scenario: Scenario
    trial: int
    seed: int
    request: PreparedRequest | None = None
    is_made: bool = False

    @property
    def id(self) -> str:
        return sample_id(self.arm.id, self.suite.suite.name, self.scenario.id, self.trial)

    @property
    def prompt_kind(self) -> Hashable:
        """A value that is the same for samples whose prompts begin alike."""
        return same_prompts(self.arm), self.suite.suite.name, prompt_kind(self.scenario)


@dataclass(frozen=True)
class PlanCost:
    """The size of a plan, before the speed of the models is known. `runs` counts each turn of a user."""

    samples: int
    runs: int
    models: int


@dataclass(frozen=True)
class Plan:
    """All samples of an evaluation. `digest` changes with everything that would change a sample; for the plan of a
    result, it is the saved one. `notes` are for the reader of its arms.
    """

    matrix: Matrix
    suites: tuple[LoadedSuite, ...]
    arms: tuple[Arm, ...]
    saved_digest: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def order(self) -> SampleOrder:
        """The places of all samples."""
        return SampleOrder(self)

    def samples(self) -> Sequence[Planned]:
        """The samples in the order in which they are made. Arms that differ only in the constraint take turns at each
        scenario: their prompts are the same and stay in the model's cache, and the first samples already compare them.
        Scenarios with the same tools, whose prompts begin alike, are consecutive.
        """
        return PlannedSamples(self.order, range(len(self.order)))

    @property
    def answers(self) -> set[Answer]:
        """All kinds of answers that are asked for."""
        of_arms = {arm.answer for arm in self.arms}
        return {
            answer_of(loaded.suite, scenario, of_arm)
            for loaded in self.suites
            for scenario in loaded.suite.scenarios
            for of_arm in of_arms
        }

    @property
    def cost(self) -> PlanCost:
        scenarios = [scenario for suite in self.suites for scenario in suite.suite.scenarios]
        each = len(self.arms) * self.matrix.trials
        turns = sum(1 + len(scenario.turns) for scenario in scenarios)
        return PlanCost(each * len(scenarios), each * turns, len(self.matrix.models))

    @property
    def digest(self) -> str:
        if self.saved_digest:
            return self.saved_digest
        # texts that are continued for savings are decoded with the others of their batch
        savings = self.matrix.savings if self.matrix.sequences > 1 else 0.0
        decisive = msgspec.structs.replace(self.matrix, suites=(), jobs=1, savings=savings)
        usual = {field.name: field.default for field in msgspec.structs.fields(Matrix)}
        members: dict[str, Any] = msgspec.to_builtins(decisive)
        if all(arm.order == "schema" for arm in self.arms):
            members["orders"] = usual["orders"]
        # a result from before the later members can still be resumed
        members = {
            name: members[name]
            for name in dict.fromkeys(("suites", "models", *members))
            if name in _EARLY or members[name] != usual[name]
        }
        digest = hashlib.sha256(msgspec.json.encode(members))
        for suite in self.suites:
            digest.update(suite.data)
        return digest.hexdigest()[:16]


class SampleOrder:
    """The place of each sample of a plan, from 0: arms with the same prompts, then suite, scenario, trial, arm."""

    def __init__(self, plan: Plan) -> None:
        self._groups = _alike(plan.arms)
        self._scenarios = [
            (suite, scenario) for suite in plan.suites for scenario in _by_prompt(suite.suite.scenarios)
        ]
        self._seed, self._trials = plan.matrix.seed, plan.matrix.trials
        self._each = len(self._scenarios) * self._trials  # the samples of an arm
        self._starts = [0, *accumulate(len(arms) * self._each for arms in self._groups)]
        self._arms = {
            arm.id: (group, number)
            for group, arms in enumerate(self._groups)
            for number, arm in enumerate(arms)
        }
        self._numbers = {
            (suite.suite.name, scenario.id): number
            for number, (suite, scenario) in enumerate(self._scenarios)
        }

    def __len__(self) -> int:
        return self._starts[-1]

    def at(self, index: int) -> Planned:
        """The sample at a place."""
        group = bisect_right(self._starts, index) - 1
        arms = self._groups[group]
        rest, arm = divmod(index - self._starts[group], len(arms))
        number, trial = divmod(rest, self._trials)
        suite, scenario = self._scenarios[number]
        seed = seed_of(self._seed, suite.suite.name, scenario.id, trial + 1)
        return Planned(arms[arm], suite, scenario, trial + 1, seed)

    def place(self, arm: str, suite: str, scenario: str, trial: int) -> int | None:
        """The place of a sample; None if it is not planned."""
        number, found = self._numbers.get((suite, scenario)), self._arms.get(arm)
        if number is None or found is None or not 1 <= trial <= self._trials:
            return None
        group, place = found
        return self._starts[group] + (number * self._trials + trial - 1) * len(self._groups[group]) + place

    def missing(self, model: str, made: bytearray, together: int = 1) -> PlannedSamples:
        """The samples of a model whose bytes in `made`, by place, are 0, and all that are made `together` with one."""
        places = array("I")
        of_model = chain.from_iterable(
            range(start, stop)
            for arms, start, stop in zip(self._groups, self._starts, self._starts[1:])
            if arms[0].model == model
        )
        while group := array("I", islice(of_model, together)):
            if not all(made[place] for place in group):
                places.extend(group)
        return PlannedSamples(self, places, made)


class PlannedSamples(Sequence[Planned]):
    """The samples at these places; each is made when it is read."""

    def __init__(self, order: SampleOrder, places: Sequence[int], made: bytearray | None = None) -> None:
        self._order, self._places, self._made = order, places, made

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Planned: ...
    @overload
    def __getitem__(self, place: slice) -> PlannedSamples: ...
    def __getitem__(self, place: int | slice) -> Planned | PlannedSamples:
        if isinstance(place, slice):
            return PlannedSamples(self._order, self._places[place], self._made)
        found = self._places[place]
        sample = self._order.at(found)
        return replace(sample, is_made=True) if self._made is not None and self._made[found] else sample


def plan_of(matrix: Matrix, project: RunRequest | None = None) -> Plan:
    """The plan, with the prompt, template and sampling of a `project` for the suites that use one.

    Raises GlyphscopeError if there are no scenarios or no models, SuiteError for a suite's errors.
    """
    for name, values in (("suite", matrix.suites), ("model", matrix.models)):
        if not values:
            raise GlyphscopeError(f"An evaluation needs a {name}.", where="eval")
    for each in matrix.profiles:
        profile(each)
    for each in matrix.template_vars:
        variables_of(each)
    for answer in filter(None, matrix.answers):
        if wrong := answer_problem(answer):
            raise GlyphscopeError(wrong, where=str(answer))
    if matrix.sequences > 1:
        for name in matrix.models:
            require_sequences(name)
    suites = tuple(_loaded(name, matrix, project) for name in dict.fromkeys(matrix.suites))
    names = [loaded.suite.name for loaded in suites]
    if len(set(names)) < len(names):
        raise GlyphscopeError("Two suites have the same name.", where=", ".join(names), hint="Rename one.")
    for answer in filter(None, matrix.answers):
        _require_suitable(answer, suites)
    arms, notes = in_different_shapes(tuple(dict.fromkeys(_arms(matrix))), [each.suite for each in suites])
    if any(matrix.answers):
        notes = (*notes, *own_answers([each.suite for each in suites]))
    notes = (*notes, *project_notes([each.suite for each in suites]))
    plan = Plan(matrix, suites, arms, notes=notes)
    if len({arm.id for arm in plan.arms}) < len(plan.arms):
        raise GlyphscopeError(
            "Two models have the same short name, so their figures could not be distinguished.",
            where=", ".join(matrix.models),
            hint="Rename a file, or evaluate them one after the other.",
        )
    if not plan.cost.samples:
        raise GlyphscopeError(
            "No scenario matches.", where="eval", hint="Change the filter, the levels or the names."
        )
    if plan.cost.samples > MAX_SAMPLES:
        raise GlyphscopeError(
            f"This matrix has {plan.cost.samples:,} samples; at most {MAX_SAMPLES:,} are made.",
            where="eval",
            hint="Take fewer configurations or trials.",
        )
    return plan


def _require_suitable(answer: Answer, suites: Sequence[LoadedSuite]) -> None:
    """Raises GlyphscopeError for a scenario without its own answer whose expectations exclude this one."""
    for suite in (loaded.suite for loaded in suites):
        for index, scenario in enumerate(suite.scenarios):
            if scenario.answer is not None:
                continue
            for at, reason in unsuitable(scenario, answer, ("scenarios", index)):
                raise GlyphscopeError(
                    f"A configuration's answer does not suit this scenario. {reason}",
                    where=f"{suite.name}/{scenario.id}, {to_pointer(at[2:])}",
                    hint="Select other scenarios, or leave the answer to the suite.",
                )


def typed_text(name: str, text: str) -> str:
    """The value that a person gives for one of the LONG axes: a text, or the file of one. Raises GlyphscopeError."""
    if not os.path.isfile(text):
        return text
    if name == "chat_template":
        return checked_template(open_template(Path(text)).source, text)
    return utf8_text(read_file(Path(text)), text, hint="Give a text file in UTF-8.")


def require_sequences(model: str) -> None:
    """Raises GlyphscopeError for a model that cannot decode several samples in one batch."""
    if is_address(model):
        raise GlyphscopeError(
            "An endpoint forms its own batches; a batch size is for models in this program.",
            where=model,
            hint="Use --jobs for the number of requests at a time, and the batch size 1.",
        )
    if model.startswith((SCRIPTED, RECORDED)):
        raise GlyphscopeError(
            "A scripted or recorded model decodes one sample at a time.",
            where=model,
            hint="Use the batch size 1.",
        )


def seed_of(seed: int, suite: str, scenario: str, trial: int) -> int:
    """The sampler's seed for one trial of a scenario: the same in every arm, so that arms can be paired."""
    data = hashlib.sha256(f"{seed}\n{suite}\n{scenario}\n{trial}".encode()).digest()
    return int.from_bytes(data[:4], "big") & 0x7FFFFFFF


def same_prompts(arm: Arm) -> Arm:
    """One arm that stands for all arms with the same prompts: those that differ only in the constraint."""
    return msgspec.structs.replace(arm, **_OF_THE_CONSTRAINT)


def prompt_kind(scenario: Scenario) -> Hashable:
    """A value that is the same for a suite's scenarios whose prompts begin alike: with the same tools, in one form."""
    return scenario.tools, scenario.id if scenario.registry is not None else "", bool(scenario.turns)


def _by_prompt(scenarios: Sequence[Scenario]) -> Iterator[Scenario]:
    """The scenarios grouped by kind, kinds in the order of their first scenario."""
    kinds: dict[Hashable, list[Scenario]] = {}
    for scenario in scenarios:
        kinds.setdefault(prompt_kind(scenario), []).append(scenario)
    return chain.from_iterable(kinds.values())


def _alike(arms: Sequence[Arm]) -> list[list[Arm]]:
    """The arms grouped by equal prompts."""
    groups: dict[Arm, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(same_prompts(arm), []).append(arm)
    return list(groups.values())


def _arms(matrix: Matrix) -> Iterator[Arm]:
    axes = {name: getattr(matrix, values_of(name)) for name in AXES}
    for values in product(*axes.values()):
        members: dict[str, Any] = dict(zip(axes, values))
        once = "strategy", "shape"  # only calls have several
        answer = members["answer"]
        if answer is not None and not answer.is_call and any(members[name] != axes[name][0] for name in once):
            continue
        if members["notation"] == "native":
            members["shape"] = "flat"  # the model's own form has one shape: not the same arm three times
        usual = default_order(members["constraint"])
        if members["order"] is None or members["constraint"] == "off":  # which enforces no order
            members["order"] = usual
        yield msgspec.convert(members, ready(Arm))


def _loaded(name: str, matrix: Matrix, project: RunRequest | None) -> LoadedSuite:
    suite = load_suite(name)
    if project is not None:
        suite = of_project(suite, project)
    selected = tuple(scenario for scenario in suite.scenarios if _is_selected(scenario, matrix))
    suite = msgspec.structs.replace(suite, scenarios=selected[: matrix.first or None])
    return LoadedSuite(suite, encode_suite(suite))


def _is_selected(scenario: Scenario, matrix: Matrix) -> bool:
    if matrix.levels and scenario.level not in matrix.levels:
        return False
    if matrix.scenarios and not any(fnmatch(scenario.id, pattern) for pattern in matrix.scenarios):
        return False
    text = f"{scenario.id}\n{scenario.group}\n{scenario.prompt}".casefold()
    return all(word in text for word in matrix.search.casefold().split())
