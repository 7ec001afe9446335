"""`glyphscope lesson list`: the lessons that there are, and how far one has come."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.lessons import Lesson, LessonPlace, LessonProgress, Progress, all_lessons
from glyphscope.sessions import places
from glyphscope.visible import visible


def list_lessons(as_json: JsonOption = False) -> None:
    """List the bundled lessons and your own."""
    progress = Progress(places().lesson_progress)
    rows: list[dict[str, Any]] = []
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("lesson", "minutes", "steps", "seen", "answered", "about"):
        table.add_column(
            title,
            justify="left" if title in ("lesson", "about") else "right",
            no_wrap=title == "lesson",
        )
    for place, found in all_lessons():
        kept = progress.of(place.key)
        if isinstance(found, Lesson):
            rows.append(_row(place, found, kept))
            seen, questions = len(kept.seen), len(found.questions)
            answered = f"{len(kept.answers)} of {questions}" if seen and questions else "–"
            words = Text(f"{visible(found.title)}. {visible(found.about)}")
            table.add_row(
                Text(visible(place.name)),
                str(found.minutes),
                str(len(found.steps)),
                str(seen or "–"),
                answered,
                words,
            )
        else:
            rows.append({"name": place.name, "file": str(place.path or place.file), "problem": found.message})
            table.add_row(
                Text(visible(place.name)), "", "", "", "", Text(f"✗ {visible(found.message)}", style="red")
            )
    if as_json:
        print_json(rows)
    else:
        console().print(table)
        diagnostics().print(Text(f"Your own lessons: {places().lessons}", style="dim"))


def _row(place: LessonPlace, lesson: Lesson, kept: LessonProgress) -> dict[str, Any]:
    return {
        "name": place.name,
        "file": str(place.path or place.file),
        "own": place.path is not None,
        "title": lesson.title,
        "about": lesson.about,
        "minutes": lesson.minutes,
        "steps": len(lesson.steps),
        "questions": len(lesson.questions),
        "seen": len(kept.seen),
        "answered": len(kept.answers),
    }
