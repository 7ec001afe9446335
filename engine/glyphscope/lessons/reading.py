"""Read a lesson, with all errors of the file at once, each with line and column; a lesson is read completely or not.

Errors that only recordings show (a missing recording, or a missing token in it) are reported by `checking.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import LessonError, PlacedProblem
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import utf8_text
from glyphscope.base.structs import ready
from glyphscope.evals.suites.structure import problems_of
from glyphscope.events import RunRequest
from glyphscope.lessons.lesson import (
    AnyPart,
    CharacterQuestion,
    ChoiceQuestion,
    Experiment,
    Lesson,
    LessonStep,
    NextQuestion,
    PresenterNote,
    Prose,
    WatchPart,
)
from glyphscope.lessons.run_settings import NAMES, VARY, bound_problems, merged, request_of, value_at
from glyphscope.lessons.tables import (
    QUESTIONS,
    Block,
    ChoiceTable,
    ExperimentTable,
    LessonHead,
    RunTable,
    Section,
    place,
    read_toml,
    split_steps,
)

MAX_BYTES = 1_000_000
MAX_LINES = 20_000
MAX_STEPS = 200
MAX_BLOCKS = 500
MAX_RUNS = 64
MAX_PROBLEMS = 200
MAX_OPTIONS = 12
MAX_TEXT = 2_000
"""The maximum length of a text in which a character is chosen, and of any other line of the page, in characters."""
MAX_STEP, MAX_PARTS = 20_000, 24
"""The maximum characters of a step's text, and its maximum number of parts: the whole step is laid out at once."""
RUN_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
NUMBER = re.compile(r"^\d+-")
"""The number at the beginning of a file name, for the order; the lesson's name begins after it."""


def parse_lesson(data: str | bytes, *, name: str, where: str = "", folder: Path | None = None) -> Lesson:
    """The lesson of a file's text; registries that it names are searched in `folder`. Raises LessonError."""
    text = _text(data, where)
    reading = _Reading(folder)
    lesson = reading.read(text, NUMBER.sub("", name))
    problems = sorted(reading.problems, key=lambda each: (each.line, each.column))
    if problems or lesson is None:
        raise lesson_error(problems, where)
    return lesson


def lesson_error(problems: Sequence[PlacedProblem], where: str) -> LessonError:
    """The error of a lesson with these problems."""
    count = "an error" if len(problems) == 1 else f"{len(problems)} errors"
    return LessonError(f"The lesson has {count}.", where=where, problems=tuple(problems))


def _text(data: str | bytes, where: str) -> str:
    if len(data) > MAX_BYTES:
        raise LessonError(
            f"The file has {byte_size(len(data))}; a lesson has at most {byte_size(MAX_BYTES)}.",
            where=where,
        )
    if isinstance(data, bytes):
        data = utf8_text(data, where, hint="A lesson is a Markdown file in UTF-8.", error=LessonError)
    if (lines := data.count("\n") + 1) > MAX_LINES:
        raise LessonError(f"The file has {lines:,} lines; a lesson has at most {MAX_LINES:,}.", where=where)
    return data.removeprefix("\ufeff")


class _Mention(NamedTuple):
    """The name of a run, under a `key` of a block."""

    run: str
    block: Block
    key: str


@dataclass
class _Reading:
    """One lesson being read. `asked` are the settings of its runs by name, `runs` their requests, None for invalid
    ones; `last` is the last run that was named, and `used` are all mentions of runs.
    """

    folder: Path | None
    problems: list[PlacedProblem] = field(default_factory=list)
    runs: dict[str, RunRequest | None] = field(default_factory=dict)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    last: str = ""
    used: list[_Mention] = field(default_factory=list)

    def read(self, text: str, name: str) -> Lesson | None:
        sections, left_open = split_steps(text)
        if left_open is not None:
            kind = f"```{left_open.kind}" if left_open.kind else "fenced"
            self._report(f"The {kind} block is never closed.", left_open.line, 1)
        blocks = sum(len(section.blocks) for section in sections)
        if len(sections) > MAX_STEPS or blocks > MAX_BLOCKS:
            self._report(
                f"There are {len(sections)} steps with {blocks} parts; at most {MAX_STEPS} with {MAX_BLOCKS} are read.",
                1, 1,
            )  # fmt: skip
            return None
        head = self._head(sections[0])
        steps = [self._step(section) for section in sections]
        self._check_used()
        if len(self.runs) > MAX_RUNS:
            self._report(f"There are {len(self.runs)} runs; a lesson has at most {MAX_RUNS}.", 1, 1)
        shown = tuple(step for step in steps if step.parts or step.title)
        if not shown and not self.problems:
            self._report("The lesson has no steps: a heading (## Title) begins one.", 1, 1)
        if self.problems or head is None:
            return None
        if shown[0].line == 1 and not shown[0].title:
            shown = (msgspec.structs.replace(shown[0], title=head.title), *shown[1:])
        return Lesson(
            name=name,
            title=head.title,
            order=head.order,
            minutes=head.minutes,
            about=head.about,
            steps=shown,
            runs={key: request for key, request in self.runs.items() if request is not None},
            asked=dict(self.asked),
        )

    # -- blocks ------------------------------------------------------------------------------------------------

    def _head(self, first: Section) -> LessonHead | None:
        block = first.blocks.pop(0) if first.blocks and first.blocks[0].kind == "lesson" else None
        if block is None:
            self._report(
                "The first thing in the file is a block ```lesson with title, about and minutes.",
                1,
                1,
                "lesson",
            )
            return None
        table = self._table(block, LessonHead)
        if table is None:
            return None
        for key in ("title", "about"):
            if not table[key].strip() or len(table[key]) > MAX_TEXT or "\n" in table[key]:
                self._report_at(block, (key,), f"{key} is one line of words.")
        if not 1 <= table["minutes"] <= 600:
            self._report_at(block, ("minutes",), "minutes is how long the lesson takes, from 1 to 600.")
        return msgspec.convert(table, ready(LessonHead))

    def _step(self, section: Section) -> LessonStep:
        if section.line > 1 and not section.title:
            self._report("A heading that begins a step has words: they are its title.", section.line, 1)
        characters = sum(len(block.text) for block in section.blocks if block.kind in ("", "note"))
        if characters > MAX_STEP or len(section.blocks) > MAX_PARTS:
            most = f"at most {MAX_STEP:,} in {MAX_PARTS} parts are shown at once"
            self._report(
                f"The step has {characters:,} characters in {len(section.blocks)} parts; {most}.",
                section.line,
                1,
            )
            return LessonStep(title=section.title, parts=(), line=section.line)
        parts = [part for block in section.blocks if (part := self._part(block)) is not None]
        return LessonStep(title=section.title, parts=tuple(parts), line=section.line)

    def _part(self, block: Block) -> AnyPart | None:
        match block.kind:
            case "":
                return Prose(text=block.text, line=block.line)
            case "note":
                return PresenterNote(text=block.text.strip(), line=block.line)
            case "run":
                return self._run(block)
            case "question":
                return self._question(block)
            case "experiment":
                return self._experiment(block)
        self._report(
            "There is one ```lesson block, and it is the first thing in the file.", block.line, 1, "lesson"
        )
        return None

    def _run(self, block: Block) -> WatchPart | None:
        table = self._table(block, RunTable)
        if table is None or not self._is_name(block, table["name"]):
            return None
        name, settings = table["name"], {key: value for key, value in table.items() if key in NAMES}
        if settings and name in self.asked:
            self._report_at(
                block,
                ("name",),
                f'The run "{name}" is already defined: give only its name to watch it again.',
            )
        elif settings:
            self._add_run(block, name, settings)
        self.used.append(_Mention(name, block, "name"))
        self.last = name
        watch = msgspec.convert({key: table[key] for key in table.keys() - NAMES}, ready(RunTable))
        if watch.start < 0 or (watch.stop is not None and watch.stop <= watch.start):
            self._report_at(
                block,
                ("to" if "to" in table else "from",),
                "from and to are tokens counted from 0; to is larger.",
            )
        if watch.token is not None and watch.token < 0:
            self._report_at(block, ("token",), "Tokens are counted from 0.")
        if not 0.2 <= watch.pace <= 50:
            self._report_at(block, ("pace",), "pace is tokens a second, from 0.2 to 50.")
        return WatchPart(
            run=name, caption=watch.caption, stage=watch.stage, start=watch.start, stop=watch.stop,
            token=watch.token, pace=watch.pace, show=watch.show, line=block.line,
        )  # fmt: skip

    def _experiment(self, block: Block) -> Experiment | None:
        table = self._table(block, ExperimentTable)
        if table is None or not self._is_name(block, table["name"]):
            return None
        name, of = table["name"], table.get("of", self.last)
        if name in self.asked:
            self._report_at(block, ("name",), f'Another run has the name "{name}".')
            return None
        if of not in self.asked:
            self._report_at(
                block,
                ("of",),
                f'There is no run "{of}" before this one, on which the experiment could be based.',
            )
            return None
        given = {key: value for key, value in table.items() if key in NAMES}
        self._add_run(block, name, merged(self.asked[of], given), given)
        own = msgspec.convert({key: table[key] for key in table.keys() - NAMES}, ready(ExperimentTable))
        request = self.runs.get(name)
        for name_or_place in own.vary:
            if name_or_place in VARY or request is None:
                continue
            problem = ""
            if "/" not in name_or_place:
                problem = f'"{name_or_place}" is neither one of {", ".join(VARY)} nor tool/argument/keyword.'
            elif value_at(request.registry, name_or_place) is None:
                problem = f'There is nothing at "{name_or_place}" in the registry of this run.'
            if problem:
                self._report_at(block, ("vary",), problem)
        return Experiment(
            run=name, of=of, title=own.title, about=own.about, given=given, vary=own.vary, show=own.show,
            line=block.line,
        )  # fmt: skip

    def _question(self, block: Block) -> NextQuestion | CharacterQuestion | ChoiceQuestion | None:
        table = self._toml(block)
        if table is None:
            return None
        kind = table.get("kind")
        if not isinstance(kind, str) or kind not in QUESTIONS:
            self._report_at(block, ("kind",), 'A question has a kind: "next", "character" or "choice".')
            return None
        if not self._is_formed(block, QUESTIONS[kind], table):
            return None
        if kind == "choice":
            return self._choice(block, table)
        run = table.get("run", self.last)
        if not run:
            self._report_at(block, ("run",), "The question names the run that it is about.")
            return None
        self.used.append(_Mention(run, block, "run"))
        members = {**table, "run": run, "line": block.line}
        if kind == "character":
            about_text = msgspec.convert(members, ready(CharacterQuestion))
            if len(about_text.text) > MAX_TEXT:
                self._report_at(
                    block, ("text",), f"A text to choose a character of has at most {MAX_TEXT:,} of them."
                )
            return about_text
        question = msgspec.convert(members, ready(NextQuestion))
        if question.token < 0:
            self._report_at(block, ("token",), "Tokens are counted from 0.")
        if not 2 <= question.most <= MAX_OPTIONS:
            self._report_at(
                block, ("most",), f"most is how many tokens are offered, from 2 to {MAX_OPTIONS}."
            )
        tokens = question.tokens
        if tokens and (not 2 <= len(tokens) <= MAX_OPTIONS or len(set(tokens)) < len(tokens) or "" in tokens):
            self._report_at(block, ("tokens",), f"tokens are from 2 to {MAX_OPTIONS} different texts.")
        return question

    def _choice(self, block: Block, table: dict[str, Any]) -> ChoiceQuestion | None:
        options = msgspec.convert(table, ready(ChoiceTable)).option
        right = sum(option.right for option in options)
        if not 2 <= len(options) <= MAX_OPTIONS:
            self._report_at(
                block, ("option",), f"A question has from 2 to {MAX_OPTIONS} options ([[option]])."
            )
        elif right == 0:
            self._report_at(block, ("option",), "No option is right: write right = true in one.")
        if len({option.text for option in options}) < len(options):
            self._report_at(block, ("option",), "Two options have the same text.")
        for number, option in enumerate(options):
            if not option.text.strip():
                self._report_at(block, ("option", number), "An option has a text.")
            elif not option.why.strip() and not table.get("why", "").strip():
                self._report_at(
                    block,
                    ("option", number),
                    "An option says why it is right or wrong (why), or the question does.",
                )
        return ChoiceQuestion(ask=table["ask"], options=options, why=table.get("why", ""), line=block.line)

    # -- shared by the blocks -----------------------------------------------------------------------------------

    def _table(self, block: Block, kind: type[msgspec.Struct]) -> dict[str, Any] | None:
        table = self._toml(block)
        return table if table is not None and self._is_formed(block, kind, table) else None

    def _toml(self, block: Block) -> dict[str, Any] | None:
        table, problem = read_toml(block.text)
        if problem is not None:
            self._report(problem.message, block.line + problem.line - 1, problem.column, block.kind)
            return None
        return table

    def _is_formed(self, block: Block, kind: type[msgspec.Struct], table: dict[str, Any]) -> bool:
        found = [*problems_of(kind, table)] or [*bound_problems(table)]
        for path, message in found:
            self._report_at(block, path, message)
        return not found

    def _is_name(self, block: Block, name: str) -> bool:
        if RUN_NAME.fullmatch(name):
            return True
        self._report_at(
            block, ("name",), "A run's name is small letters, digits and hyphens: it is the name of its file."
        )
        return False

    def _add_run(
        self, block: Block, name: str, settings: dict[str, Any], given: dict[str, Any] | None = None
    ) -> None:
        """Add a run; `given` are the settings in the block of an experiment."""
        request, found = request_of(settings, self.folder)
        self.asked[name], self.runs[name] = settings, request
        for path, message in found:
            own = given is None or path[0] in given
            self._report_at(block, path if own else (), message if own else f"{path[0]}: {message}")

    def _check_used(self) -> None:
        for name, block, key in self.used:
            if name not in self.asked:
                self._report_at(
                    block, (key,), f'No block defines the run "{name}": one of them must have its prompt.'
                )

    def _report_at(self, block: Block, path: tuple[str | int, ...], message: str) -> None:
        if len(self.problems) >= MAX_PROBLEMS:
            return  # finding the places of thousands would take minutes
        line, column = place(block.text, path)
        where = ".".join(map(str, (block.kind, *path)))
        self._report(message, block.line + line - 1, column, where)

    def _report(self, message: str, line: int, column: int, where: str = "") -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(PlacedProblem(where or "lesson", message, line, column))
