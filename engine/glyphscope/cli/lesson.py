"""`glyphscope lesson …`: list, show, take and export lessons; check and record one. Runs are shown from recordings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markdown import Markdown
from rich.text import Text

from glyphscope.base.errors import LessonError
from glyphscope.base.figures import pluralize
from glyphscope.base.visible import visible
from glyphscope.cli import output
from glyphscope.cli.inputs import InputError
from glyphscope.cli.options import JsonOption, ModelOption
from glyphscope.cli.run_printer import RunView
from glyphscope.evals.alignment import align, difference_words
from glyphscope.lessons.checking import check_lesson, record_lesson
from glyphscope.lessons.lesson import Experiment, Lesson, PresenterNote, Prose, Question, WatchPart
from glyphscope.lessons.library import LessonPlace, all_lessons, bundled_lessons, find_lesson
from glyphscope.lessons.progress import LessonProgress, ReadingProgress
from glyphscope.lessons.questions import DEFAULT_ASK, Sheet, grade, sheet
from glyphscope.lessons.website import export_website
from glyphscope.models.opening import EMBEDDED
from glyphscope.runs import run_state
from glyphscope.store import places
from glyphscope.store.named_models import open_named


def list_lessons(as_json: JsonOption = False) -> None:
    """List the bundled lessons and your own."""
    progress = ReadingProgress(places().lesson_progress)
    rows: list[dict[str, Any]] = []
    numbers = ("minutes", "steps", "seen", "answered")
    table = output.TextTable("lesson", *numbers, "about", right=numbers)
    table.columns[0].no_wrap = True
    for place, content in all_lessons():
        done = progress.of(place.key)
        if isinstance(content, Lesson):
            rows.append(_row(place, content, done))
            seen, questions = len(done.seen), len(content.questions)
            answered = f"{len(done.answers)} of {questions}" if seen and questions else "–"
            counts = (str(content.minutes), str(len(content.steps)), str(seen or "–"))
            table.add_row(place.name, *counts, answered, f"{content.title}. {content.about}")
        else:
            rows.append({"name": place.name, "file": place.where, "problem": content.message})
            table.add_row(place.name, "", "", "", "", Text(f"✗ {visible(content.message)}", "red"))
    if as_json:
        output.print_json(rows)
    else:
        output.console().print(table)
        output.print_note(f"Your own lessons: {places().lessons}", "dim")


def _row(place: LessonPlace, lesson: Lesson, progress: LessonProgress) -> dict[str, Any]:
    return {
        "name": place.name,
        "file": place.where,
        "own": place.path is not None,
        "title": lesson.title,
        "about": lesson.about,
        "minutes": lesson.minutes,
        "steps": len(lesson.steps),
        "questions": len(lesson.questions),
        "seen": len(progress.seen),
        "answered": len(progress.answers),
    }


LessonArgument = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A lesson of the list, or a file.")]


def show(
    lesson: LessonArgument,
    notes: Annotated[bool, typer.Option("--notes", help="With the presenter's notes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a lesson with its runs and questions, but without answers."""
    content = find_lesson(lesson).read()
    if as_json:
        output.print_json(content)
        return
    output.print_text(content.title, "bold")
    length = f"About {pluralize(content.minutes, 'minute')}, {pluralize(len(content.steps), 'step')}."
    output.print_text(f"{content.about} {length}")
    for number, step in enumerate(content.steps, 1):
        output.print_text()
        output.print_text(f"{number}. {step.title}", "bold")
        for part in step.parts:
            if isinstance(part, Prose | PresenterNote):
                _print_prose(part, notes=notes)
            else:
                output.print_text(f"▸ {_part_words(part)}", "blue")


def _print_prose(part: Prose | PresenterNote, *, notes: bool) -> None:
    if isinstance(part, Prose):
        output.console().print(_markdown(part.text))
    elif notes:
        output.print_text(f"Note: {part.text}", "dim", lines=True)


def _markdown(text: str) -> Markdown:
    return Markdown(visible(text, lines=True), hyperlinks=False)


def _part_words(part: WatchPart | Experiment | Question) -> str:
    match part:
        case WatchPart():
            return f"watch the run {part.run}" + (f": {part.caption}" if part.caption else "")
        case Experiment():
            return f"experiment: {part.title}"
        case _:
            return f"question: {part.ask or DEFAULT_ASK.get(type(part), '')}"


def check(
    file: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A lesson file, or a lesson of the list.")],
    as_json: JsonOption = False,
) -> None:
    """List every error of a lesson, with line and column. Exit code 1 if there is one."""
    try:
        lesson = check_lesson(find_lesson(file))
    except LessonError as error:
        output.print_problems(error, as_json=as_json)
        raise typer.Exit(1) from None
    counts = {
        "steps": len(lesson.steps),
        "runs": len(lesson.runs),
        "questions": len(lesson.questions),
        "experiments": len(lesson.experiments),
    }
    if as_json:
        output.print_json({"ok": True, "name": lesson.name, **counts, "problems": []})
        return
    words = ", ".join(pluralize(number, name.removesuffix("s")) for name, number in counts.items())
    output.print_text(f"✓ {lesson.title}: {words}, no errors", "green")


def record(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A lesson file; recordings are stored in runs/ next to it.")
    ],
    only: Annotated[
        list[str] | None, typer.Option("--run", metavar="NAME", help="Only this run; repeatable.")
    ] = None,
    model: ModelOption = EMBEDDED,
    as_json: JsonOption = False,
) -> None:
    """Execute the runs of a lesson and store the recordings next to it.

    The lesson sets the seed and temperature of each run, so the same model gives the same result.
    """
    if not file.is_file():
        raise InputError("There is no such file.", where=str(file), hint="Give the path of a lesson's file.")
    place = find_lesson(file)
    lesson = place.read()
    folder, chosen = file.absolute().parent, frozenset(only or ())
    recorded = record_lesson(lesson, folder, chosen, lambda: open_named(model))
    done: list[dict[str, str]] = []
    for name, path in recorded:
        done.append({"run": name, "file": str(path)})
        output.print_note(f"{len(done)} of {len(chosen or lesson.runs)}: {name}")
    if as_json:
        output.print_json(done)
    else:
        output.print_text(f"{pluralize(len(done), 'run')} recorded below {folder}")


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new or empty folder, or one of an earlier export.")
    ],
    lessons: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LESSON]…", help="Lessons of the list, or files; default: all bundled ones."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write lessons as a website that works without Glyphscope and from the disk: an index and a page per lesson."""
    chosen = [find_lesson(name) for name in lessons] if lessons else bundled_lessons()
    written = export_website(chosen, folder)
    if as_json:
        output.print_json([str(path) for path in written])
    else:
        output.print_text(
            f"{pluralize(len(chosen), 'lesson')} exported: open {written[0]} in a browser", "green"
        )


def run(
    lesson: LessonArgument,
    step: Annotated[int, typer.Option(min=1, help="The first step to show.")] = 1,
    notes: Annotated[bool, typer.Option("--notes", help="With the presenter's notes.")] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="Do not ask or wait; print the answers.")
    ] = False,
) -> None:
    """Take a lesson: Enter continues, questions are answered by their numbers. Runs and experiments are recordings."""
    place = find_lesson(lesson)
    content = place.read()
    if step > len(content.steps):
        raise InputError(f"The lesson has {pluralize(len(content.steps), 'step')}.", where="--step")
    taking = _Taking(place, content, ask=not answers, notes=notes)
    for number in range(step - 1, len(content.steps)):
        taking.step(number)


class _Taking:
    """Takes a lesson at the terminal, step by step, and saves the progress."""

    def __init__(self, place: LessonPlace, lesson: Lesson, *, ask: bool, notes: bool) -> None:
        self._place, self._lesson = place, lesson
        self._ask, self._notes = ask, notes
        self._progress = ReadingProgress(places().lesson_progress)
        self._questions = {id(question): number for number, question in enumerate(lesson.questions)}

    def step(self, number: int) -> None:
        step = self._lesson.steps[number]
        output.print_text()
        output.print_text(f"{number + 1} of {len(self._lesson.steps)}  {step.title}", "bold")
        for part in step.parts:
            match part:
                case Prose() | PresenterNote():
                    _print_prose(part, notes=self._notes)
                case WatchPart():
                    self._run(part.run, part.caption)
                case Experiment():
                    self._experiment(part)
                case _:
                    self._question(part)
        key = self._place.key
        self._keep(self._progress.of(key).at(number, len(self._lesson.steps)))
        if self._ask and number + 1 < len(self._lesson.steps):
            self._read("Enter continues. ")

    def _run(self, name: str, caption: str) -> None:
        output.print_text()
        if caption:
            output.print_text(caption, "italic")
        output.print_text(f"recorded: {self._lesson.runs[name].prompt}", "dim")
        output.console().print(RunView(run_state(self._place.events(name))))

    def _experiment(self, part: Experiment) -> None:
        output.print_text()
        output.print_text(f"Experiment: {part.title}", "bold")
        if part.about:
            output.console().print(_markdown(part.about))
        for name, value in part.given.items():
            output.print_text(f"  {name}: {value}")
        self._run(part.run, "")
        states = [run_state(self._place.events(name)) for name in (part.of, part.run)]
        words = difference_words(align(states), ["before", "now"])
        if words:
            output.print_text(words)

    def _question(self, part: Question) -> None:
        asked = sheet(part, self._lesson.runs, self._place.events)
        output.print_text()
        output.print_text(f"Question: {asked.ask}", "bold")
        if asked.before:
            output.print_text(f"  written so far: {asked.before}")
        if asked.kind == "character":
            output.print_text(f"  {asked.text}")
        for number, choice in enumerate(asked.choices, 1):
            output.print_text(f"  {number}  {choice.text}")
        if self._ask:
            by_place = asked.kind == "character"
            how = "character, counted from 0" if by_place else "numbers, with spaces between"
            graded = grade(asked, self._chosen(asked, self._read(f"Your answer ({how}): ")))
            output.print_text(graded.words, "green" if graded.right else "yellow")
            number = self._questions[id(part)]
            self._keep(self._progress.of(self._place.key).answered(number, graded.right))
        self._reveal(asked)

    def _reveal(self, asked: Sheet) -> None:
        if asked.kind == "character":
            out = output.console()
            out.print(output.marked(asked.text, asked.at, out.width))
            output.print_text(f"  character {asked.at}")
        for number, choice in enumerate(asked.choices, 1):
            mark, style = ("✓", "green") if choice.right else ("✗", "red")
            output.print_text(f"  {mark} {number}  {choice.text}  {choice.why}", style)
        if asked.why:
            output.print_text(f"  {asked.why}", lines=True)

    def _chosen(self, asked: Sheet, line: str) -> frozenset[int]:
        """The valid numbers in the line, as indexes from 0: of choices, or of one character."""
        by_place = asked.kind == "character"
        first, count = (0, len(asked.text)) if by_place else (1, len(asked.choices))
        words = (word for word in line.replace(",", " ").split() if word.isascii() and word.isdigit())
        valid = sorted({int(word) - first for word in words if len(word) < 6} & set(range(count)))
        return frozenset(valid[:1] if by_place else valid)

    def _read(self, words: str) -> str:
        """A line of standard input; empty at its end."""
        output.console().print(Text(words, "dim"), end="")
        return sys.stdin.readline() if sys.stdin is not None else ""

    def _keep(self, progress: LessonProgress) -> None:
        self._progress.put(self._place.key, progress)
        self._progress.save()


app = typer.Typer(help="Lessons: text, recorded runs, questions and experiments.", no_args_is_help=True)
app.command("list")(list_lessons)
app.command("show")(show)
app.command("run")(run)
app.command("check")(check)
app.command("record")(record)
app.command("export")(export)
