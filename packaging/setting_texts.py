"""The texts of the settings and of the forms of exports, which the window translates, as lines of Python in
which Qt's tools find them: `python packaging/setting_texts.py > texts.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import Matrix
from glyphscope.evals.matrix.questions import QUESTIONS
from glyphscope.events import (
    LoadOptions,
    LoopSettings,
    RepairSettings,
    RouterSettings,
    RunRequest,
    Sampling,
    settings_of,
)
from glyphscope.store import Settings
from glyphscope.store.exports.forms import EXPORTERS, EXPORTS

STATED = (
    Sampling,
    RunRequest,
    RepairSettings,
    RouterSettings,
    LoopSettings,
    LoadOptions,
    Settings,
    Arm,
    Matrix,
)


def texts() -> Iterator[str]:
    """Every title, hint, unit and words of the settings and of their choices, and the questions about them."""
    for struct in STATED:
        for field in settings_of(struct).values():
            setting = field.setting
            yield from (setting.title, setting.about, setting.unit, setting.special_words, setting.words)
            for choice in setting.choices:
                yield from (choice.title, choice.about, choice.words)
    for question in QUESTIONS:
        yield from (question.title, question.about)
    for form in (*EXPORTS.values(), *(exporter for _, exporter in EXPORTERS.all())):
        yield from (form.menu, form.kind, form.holds)
    yield from (form.copied for form in EXPORTS.values())


if __name__ == "__main__":
    print("from glyphscope_gui.shared.language import tr\n")
    for text in dict.fromkeys(filter(None, texts())):
        print(f"tr({text!r})")
