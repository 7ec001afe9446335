"""Lessons as a static website: an index and one page for each lesson, which work from the disk without a network.

A page has the text of its lesson as HTML, rendered here, so that it can be read without scripts: the runs as text, the
solutions of questions in closed details. Its script (packaging/page/src/lesson.ts) makes of that the lesson as the
window shows it. HTML in a lesson is text, pictures are not loaded, and links lead to `http` and `https` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from glyphscope.base.errors import LessonError, StorageError
from glyphscope.base.inputs import storage_error
from glyphscope.base.shorten import capitalised, shorten
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.evals.alignment import align, difference_words
from glyphscope.lessons.checking import check_lesson
from glyphscope.lessons.lesson import AnyPart, Experiment, Lesson, LessonStep, PresenterNote, Prose, WatchPart
from glyphscope.lessons.library import LessonPlace
from glyphscope.lessons.questions import Sheet, sheet
from glyphscope.runs import RunState, run_state
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import filled_page, run_data, run_summary
from glyphscope.store.files import atomic_write, own_file

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

INDEX = "index.html"
GENERATOR = '<meta name="generator" content="Glyphscope lessons">'
"""In each index, by which an earlier export is recognized."""


def export_website(lessons: Sequence[LessonPlace], folder: Path) -> list[Path]:
    """Write the lessons' pages and their index into `folder`, and return the files, the index first.

    The folder is new, empty, or an earlier export, whose pages of the same lessons are replaced. Every lesson is read
    and checked before anything is written. Raises LessonError with the errors of an invalid lesson, and StorageError.
    """
    _check_folder(folder)
    pages = website(lessons)
    for name, page in pages.items():
        atomic_write(own_file(folder, name), page)
    return [folder / name for name in pages]


def website(lessons: Sequence[LessonPlace]) -> dict[str, str]:
    """The pages by their files' names, the index first. Raises LessonError for no lesson and for invalid ones."""
    if not lessons:
        raise LessonError("No lesson is given.", hint="Choose at least one.")
    read = [(place, check_lesson(place)) for place in lessons]
    names = _file_names(lessons)
    entries = [
        {
            "key": place.name,
            "file": name,
            "title": one_line(lesson.title),
            "about": one_line(lesson.about),
            "minutes": lesson.minutes,
            "steps": len(lesson.steps),
            "questions": len(lesson.questions),
        }
        for (place, lesson), name in zip(read, names)
    ]
    pages = {INDEX: filled_page("lessons.jinja", title="Lessons", data={"lessons": entries}, lessons=entries)}
    for number, (place, lesson) in enumerate(read):
        following = entries[number + 1] if number + 1 < len(read) else None
        pages[names[number]] = _Page(place, lesson, entries[number], following).html()
    return pages


def one_line(text: str) -> str:
    """A text of the lesson with a sign for each character that is not seen."""
    return visible(text, spaces=True)


def _check_folder(folder: Path) -> None:
    try:
        if not folder.exists() or not any(folder.iterdir()):
            return
        is_export = GENERATOR in (folder / INDEX).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        is_export = False
    except OSError as error:
        raise storage_error(error, folder, "read") from error
    if not is_export:
        raise StorageError(
            "The folder has other files.", where=str(folder), hint="Choose a new or an empty folder."
        )


def _file_names(lessons: Sequence[LessonPlace]) -> list[str]:
    taken = {INDEX}
    names = []
    for place in lessons:
        stem = re.sub(r"[^a-z0-9]+", "-", place.file.removesuffix(".md").lower()).strip("-")[:60] or "lesson"
        name, number = f"{stem}.html", 2
        while name in taken:
            name, number = f"{stem}-{number}.html", number + 1
        taken.add(name)
        names.append(name)
    return names


class _Recorded(NamedTuple):
    """A run of the lesson: its place among the runs of the page, its parts for the script and for the template."""

    number: int
    run: RecordedRun
    state: RunState
    data: dict[str, Any]
    summary: dict[str, Any]


class _Page:
    """Collects the runs and the parts of one lesson."""

    def __init__(
        self, place: LessonPlace, lesson: Lesson, entry: dict[str, Any], following: dict[str, Any] | None
    ) -> None:
        self._place, self._lesson, self._entry, self._following = place, lesson, entry, following
        self._runs: dict[str, _Recorded] = {}
        self._parts: list[dict[str, Any]] = []
        self._questions = 0

    def html(self) -> str:
        steps = [self._step(step) for step in self._lesson.steps]
        runs = list(self._runs.values())
        return filled_page(
            "lesson.jinja",
            title=shorten(self._entry["title"], 120),
            data={
                "lesson": {**self._entry, "parts": self._parts, "next": self._following},
                "runs": [each.data for each in runs],
            },
            records=[each.run.events for each in runs],
            lesson=self._entry,
            following=self._following,
            steps=steps,
        )

    def _step(self, step: LessonStep) -> dict[str, Any]:
        return {"title": one_line(step.title), "parts": [self._part(part) for part in step.parts]}

    def _part(self, part: AnyPart) -> dict[str, Any]:
        match part:
            case Prose() | PresenterNote():
                return {"kind": part.block, "html": rendered(part.text)}
            case WatchPart():
                recorded = self._recorded(part.run)
                self._parts.append(
                    {
                        "kind": "run",
                        "run": recorded.number,
                        "caption": one_line(part.caption),
                        "stage": _stage_number(recorded.state, part.stage),
                        "start": part.start,
                        "stop": part.stop,
                        "token": part.token,
                        "pace": part.pace,
                        "show": part.show,
                    }
                )
                return self._numbered("run", caption=one_line(part.caption), run=recorded.summary)
            case Experiment():
                return self._experiment(part)
            case _:
                return self._question(sheet(part, self._lesson.runs, self._place.events))

    def _numbered(self, kind: str, **content: object) -> dict[str, Any]:
        return {"kind": kind, "number": len(self._parts) - 1, **content}

    def _recorded(self, name: str) -> _Recorded:
        if name not in self._runs:
            run = RecordedRun(self._place.events(name), name)
            state = run_state(run.events)
            data = run_data(run, state)
            self._runs[name] = _Recorded(len(self._runs), run, state, data, run_summary(run, state, data))
        return self._runs[name]

    def _experiment(self, part: Experiment) -> dict[str, Any]:
        base, recorded = self._recorded(part.of), self._recorded(part.run)
        words = difference_words(align([base.state, recorded.state]), ["previous run", "this run"])
        self._parts.append(
            {
                "kind": "experiment",
                "run": recorded.number,
                "stage": None,
                "show": part.show,
                "vary": [one_line(name) for name in part.vary],
            }
        )
        return self._numbered(
            "experiment",
            title=one_line(part.title),
            about=rendered(part.about),
            changes=[one_line(each) for each in part.change_words()],
            run=recorded.summary,
            difference=one_line(capitalised(words)),
        )

    def _question(self, asked: Sheet) -> dict[str, Any]:
        self._parts.append(
            {
                "kind": "question",
                "question": self._questions,
                "form": asked.kind,
                "single": asked.single,
                "right": sorted(asked.right),
                "choices": [choice.text for choice in asked.choices],
                "text": asked.text,
            }
        )
        self._questions += 1
        token = asked.kind == "next"
        return self._numbered(
            "question",
            form=asked.kind,
            ask=rendered(asked.ask),
            before=visible(asked.before, lines=True),
            text=visible(asked.text, lines=True),
            at=asked.at,
            character=visible(asked.text[asked.at]) if asked.text else "",
            choices=[
                {
                    "text": token_text(one.text.encode()) if token else inline(one.text),
                    "right": one.right,
                    "why": one_line(one.why) if token else inline(one.why),
                }
                for one in asked.choices
            ],
            why=rendered(asked.why),
        )


def _stage_number(state: RunState, name: str) -> int | None:
    """The place of the stage with that name; None for all of them."""
    return next((place for place, stage in enumerate(state.stages) if name and stage.name == name), None)


# Markdown


def rendered(text: str) -> Markup:
    """Markdown as HTML of paragraphs, lists, tables and code."""
    return _html(_markdown().parse(visible(text, lines=True)))


def inline(text: str) -> Markup:
    """The same for a line of it, such as an answer."""
    return _html(_markdown().parseInline(one_line(text)))


def _html(tokens: list[Token]) -> Markup:
    for token in _all(tokens):
        if token.type == "link_open":
            token.attrSet("rel", "noreferrer")
        elif style := token.attrs.pop("style", ""):  # the page's policy allows no styles in elements
            token.attrSet("class", "n" if "right" in str(style) else "")
    markdown = _markdown()
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


def _is_link(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # with the first lesson, not with the program

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    markdown.validateLink = _is_link  # type: ignore[method-assign]
    return markdown
