"""The judge's verdicts on the selected run: model, reason, rubric and prompt, with a link to the judge's own run."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QUrl, Signal
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from glyphscope.evals.results.sample import JudgeVerdict, Sample
from glyphscope.visible import visible
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import model_name
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import PAD

_OPEN, _RUBRIC, _PROMPT = tr("Open the judge’s run"), tr("Rubric"), tr("Prompt")
_NOTHING = tr("Select a run that a judge has decided.")


class EvalJudge(QTextBrowser):
    """`openRequested` carries the Sample and the number of the verdict whose run is to be opened."""

    openRequested = Signal(object, int)
    _sample: Sample | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "evalJudge", tr("Verdicts of the judge"))
        self.setOpenLinks(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(PAD)
        self.anchorClicked.connect(self._open)
        self.show_sample(None)

    def show_sample(self, sample: Sample | None) -> None:
        """The verdicts on a sample; None for none."""
        self._sample = sample if sample is not None and sample.judged else None
        if self._sample is None:
            self.setHtml(f"<p>{escape(_NOTHING)}</p>")
            return
        self.setHtml("".join(_html(number, each) for number, each in enumerate(self._sample.judged)))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:  # another theme: the colours are in the text
            self.show_sample(self._sample)

    def _open(self, link: QUrl) -> None:
        if self._sample is not None and link.toString().isdigit():
            self.openRequested.emit(self._sample, int(link.toString()))


def _html(number: int, judged: JudgeVerdict) -> str:
    if judged.passed is None:
        role, words = "text-muted", tr("– no verdict")
    else:
        role = "holds" if judged.passed else "impossible"
        words = tr("✓ pass") if judged.passed else tr("✕ fail")
    color = theme().color(role).name()
    link = f'<p><a href="{number}" style="color: {theme().color("accent").name()}">{escape(_OPEN)}</a></p>'
    turn = tr(" · turn {turn}", turn=judged.turn) if judged.turn > 1 else ""
    who = f"{_plain(model_name(judged.model).name)}{escape(turn)}"
    return (
        f'<h4><span style="color: {color}">{escape(words)}</span> · {who}</h4>'
        f"<p>{_plain(judged.reason or judged.error)}</p>{link if judged.run else ''}"
        f"<h4>{escape(_RUBRIC)}</h4><p>{_plain(judged.rubric)}</p>"
        f"<h4>{escape(_PROMPT)}</h4><p>{_plain(judged.prompt)}</p>"
    )


def _plain(text: str) -> str:
    return escape(visible(text, lines=True)).replace("\n", "<br>")
