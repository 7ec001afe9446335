"""Lessons for tests: the smallest complete one, and recordings of its runs by a scripted model."""

from __future__ import annotations

from pathlib import Path

from glyphscope.lessons import LessonPlace, record_lesson
from glyphscope.models.scripted import ScriptedModel

HEAD = '```lesson\ntitle = "A title"\nabout = "What it is about."\nminutes = 5\n```\n'
RUN = '```run\nname = "one"\nprompt = "Search for AI news, 10 results"\nconstraint = "off"\n```\n'
BAD = '{action="search" query="AI news" max_results=500}'
LESSON = f"""{HEAD}
Some *words* to begin with.

## A run

{RUN}
```note
Said, not shown.
```

## Questions

```question
kind = "character"
```

```question
kind = "next"
token = 1
tokens = ["action", "nothing", "act"]
why = "A call begins with its tool."
```

```question
kind = "choice"
ask = "Is it valid?"
why = "500 is more than 100."

[[option]]
text = "Yes"

[[option]]
text = "No"
right = true
```

## An experiment

```experiment
name = "two"
title = "More may be asked for"
vary = ["search/max_results/maximum", "temperature"]

[change]
"search/max_results/maximum" = 600
```
"""


def written_lesson(
    folder: Path, text: str = LESSON, name: str = "01-small.md", *, record: bool = True
) -> LessonPlace:
    """Write the lesson's file into a folder, with its runs recorded: every one of them writes `BAD`."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    place = LessonPlace(path.name, path)
    if record:
        pieces = ["{", "action", '="', "search", '"', ' query="AI news"', " max_results=", "5", "0", "0", "}"]
        for _ in record_lesson(place.read(), folder, open_=lambda: ScriptedModel(pieces)):
            pass
    return place
