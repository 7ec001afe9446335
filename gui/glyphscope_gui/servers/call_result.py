"""The result of a manual call: prepared outside of the window's thread, and shown piece by piece."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QWidget

from glyphscope.base.figures import byte_size, duration
from glyphscope.base.visible import visible
from glyphscope.events import ToolContent
from glyphscope.tools import Outcome
from glyphscope.tools.mcp.lines import MAX_LINE
from glyphscope_gui.calls.call_texts import beginning, whole_json
from glyphscope_gui.calls.pictures import read_picture
from glyphscope_gui.shared.labels import PlainLabel, link, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, replace_content, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import ReadBox
from glyphscope_gui.shared.verdict import Pill
from glyphscope_gui.shared.whole_text import WholeText, formatted, show_whole

MAX_TEXT = 60_000
"""Characters of a piece that are shown in place; `ResultPiece.whole` has all."""
MAX_LINE_SHOWN = 1_000
MAX_PIECES = 40
IMAGE_SIDE = 640
"""The largest width and height of a picture, in pixels."""

PieceKind = Literal["text", "json", "image", "link", "note", "problem"]
"""`note` and `problem` are Glyphscope's words, not the server's."""

_FAULTS = {
    "": (tr("succeeded"), "holds"),
    "tool": (tr("tool error"), "mark"),
    "protocol": (tr("protocol error"), "impossible"),
    "timeout": (tr("timed out"), "impossible"),
    "cancelled": (tr("cancelled"), "text-muted"),
    "unknown": (tr("unknown tool"), "impossible"),
}
_FAULT_TIPS = {
    "": tr("The server answered without isError."),
    "tool": tr(
        "The result has isError: the tool ran and failed. A model receives the error and can try again."
    ),
    "protocol": tr(
        "The server rejected the request, violated the protocol, or closed the connection. "
        "There is no result of the tool."
    ),
    "timeout": tr("Timed out; the server was notified."),
    "cancelled": tr("You cancelled the call; the server was notified."),
    "unknown": tr("The server no longer lists this tool."),
}


class BinaryFile(NamedTuple):
    """Content that is not text, with a name for its file."""

    name: str
    data: bytes


@dataclass(frozen=True)
class ResultPiece:
    """`whole` is the server's complete text, None for pictures and the program's words; `file` is binary content."""

    kind: PieceKind
    title: str
    text: str = ""
    image: QImage | None = None
    whole: WholeText | None = None
    file: BinaryFile | None = None


@dataclass(frozen=True)
class CallView:
    """`words` and `role` give the outcome, `figures` the duration and the size."""

    words: str
    role: str
    tip: str
    figures: str
    pieces: tuple[ResultPiece, ...]


def call_view(outcome: Outcome, seconds: float) -> CallView:
    """Prepare the outcome. Not for the window's thread, as an answer may have megabytes."""
    words, role = _FAULTS[outcome.fault]
    pieces: list[ResultPiece] = []
    repeated = {content.text.strip() for content in outcome.content}
    if outcome.message and outcome.message.strip() not in repeated:
        pieces.append(ResultPiece("problem", tr("Error"), outcome.message))
    if outcome.schema_problems:
        violations = "\n".join(outcome.schema_problems)
        pieces.append(ResultPiece("problem", tr("Output schema violated"), violations))
        if not outcome.fault:
            words, role = tr("succeeded, output schema violated"), "mark"
    if outcome.findings:
        pieces.append(
            ResultPiece("problem", tr("Does not match the declaration"), "\n".join(outcome.findings))
        )
        if not outcome.fault:
            words, role = tr("succeeded, does not match the declaration"), "mark"
    for number, content in enumerate(outcome.content[:MAX_PIECES]):
        piece = replace(_piece(content), file=_file(content))
        spoken = outcome.roles[number] if number < len(outcome.roles) else ""
        pieces.append(replace(piece, title=f"{spoken} · {piece.title}") if spoken else piece)
    if (more := len(outcome.content) - MAX_PIECES) > 0:
        pieces.append(ResultPiece("note", tr("More"), tr("%n more pieces are not shown.", "", more)))
    if outcome.structured is not None:
        value, title = outcome.structured, tr("Structured content")
        pieces.append(
            ResultPiece("json", title, shown_json(value), whole=_whole(title, lambda: whole_json(value)))
        )
    if not pieces and not outcome.fault:
        pieces.append(ResultPiece("note", tr("Result"), tr("The result is empty.")))
    size = sum(_bytes(content) for content in outcome.content)
    figures = _time(outcome, seconds) + (f" · {byte_size(size)}" if size else "")
    return CallView(words, role, _FAULT_TIPS[outcome.fault], figures, tuple(pieces))


def _time(outcome: Outcome, seconds: float) -> str:
    """The server's time; separately, the time in which it waited for the user's answer."""
    words = duration(max(seconds - outcome.waited, 0.0))
    return f"{words} · " + tr("waited {time}", time=duration(outcome.waited)) if outcome.waited else words


def raw_view(outcome: Outcome, seconds: float) -> CallView:
    """The result of any request, as the server sent it."""
    words, role = _FAULTS[outcome.fault]
    if not outcome.ok:
        pieces = (ResultPiece("problem", tr("Error"), outcome.message),)
    else:
        value, title = outcome.structured, tr("Result")
        pieces = (
            ResultPiece("json", title, shown_json(value), whole=_whole(title, lambda: whole_json(value))),
        )
    return CallView(words, role, _FAULT_TIPS[outcome.fault], _time(outcome, seconds), pieces)


def shown_json(value: Any) -> str:
    try:
        return shown_text(beginning(value, MAX_TEXT))
    except (RecursionError, ValueError):
        return tr("(nested too deeply to show)")


def shown_text(text: str) -> str:
    """The beginning of a text, in lines that a view can show; a note at the end says that there is more."""
    lines = text[:MAX_TEXT].split("\n")
    broken = [
        line[start : start + MAX_LINE_SHOWN]
        for line in lines
        for start in range(0, max(len(line), 1), MAX_LINE_SHOWN)
    ]
    shown = "\n".join(broken)
    return f"{shown}\n… " + tr("Open shows the rest.") if len(text) > MAX_TEXT else shown


def _whole(title: str, text: str | Callable[[], str]) -> WholeText:
    note = tr(
        "The text is complete. Of one message of a server at most {limit} are read.",
        limit=byte_size(MAX_LINE),
    )
    return WholeText(title, text, note)


def _piece(content: ToolContent) -> ResultPiece:
    size = content.size or len(content.data)
    about = " · ".join(part for part in (content.name, content.mime, byte_size(size) if size else "") if part)
    if content.kind == "image" or (
        content.kind == "resource" and content.mime.startswith("image/") and content.data
    ):
        image, why = read_picture(content.data, QSize(IMAGE_SIDE, IMAGE_SIDE))
        return ResultPiece(
            "image" if image else "note",
            tr("Image · {about}", about=about) if about else tr("Image"),
            why,
            image,
        )
    if content.kind == "audio":
        return ResultPiece("note", tr("Audio · {about}", about=about), tr("Audio is not played here."))
    if content.kind == "link":
        target = f"{content.uri}\n{content.text}".strip()
        return ResultPiece(
            "link",
            tr("Link to a resource · {about}", about=about) if about else tr("Link to a resource"),
            shown_text(target),
        )
    if content.kind == "resource":
        title = " · ".join(part for part in (tr("Resource"), content.uri, about) if part)
        if not content.text:
            return ResultPiece("text", title, tr("%n byte(s) that are not text", "", len(content.data)))
        return ResultPiece("text", title, shown_text(content.text), whole=_whole(title, content.text))
    title = tr("Text")
    return ResultPiece(
        _text_kind(content.text), title, _text_shown(content.text), whole=_whole(title, content.text)
    )


def _file(content: ToolContent) -> BinaryFile | None:
    """A file named after the last segment of its URI, otherwise after its kind; the type decides the suffix."""
    if not content.data:
        return None
    last = unquote(content.uri.rstrip("/").rpartition("/")[2])
    name = "".join(char for char in last if char.isalnum() or char in "._- ").strip(". ")[:80] or content.kind
    suffix = mimetypes.guess_extension(content.mime.partition(";")[0].strip()) or ".bin"
    return BinaryFile(name if "." in name else name + suffix, content.data)


def _text_kind(text: str) -> PieceKind:
    return "json" if text[:1] in "{[" and len(text) <= MAX_TEXT else "text"


def _text_shown(text: str) -> str:
    """The text; short JSON, with which many tools answer, is indented."""
    indented = formatted(text) if text[:1] in ("{", "[") and len(text) <= MAX_TEXT else None
    return shown_text(text if indented is None else indented)


def _bytes(content: ToolContent) -> int:
    return content.size or len(content.data) or len(content.text.encode("utf-8", "replace"))


MAX_LINES = 16
"""Number of lines beyond which a piece's text scrolls."""


class CallResultView(QWidget):
    """Nothing in it is opened, loaded or followed: a link is shown as text. `saveRequested` carries a BinaryFile."""

    saveRequested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "callResult", tr("Result of the call"))
        self.view: CallView | None = None
        self.pill = Pill(self)
        self.figures = PlainLabel(self, role="hint")
        self._scroll = named(QScrollArea(self, widgetResizable=True), "", tr("Result"))
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        head = hbox(self.pill, self.figures, STRETCH, spacing=10)
        vbox(head, (self._scroll, 1), parent=self, margins=(0, 2, 0, 0), spacing=6)
        self.show_view(None)

    @property
    def text(self) -> str:
        """All shown content as text."""
        pieces = self.view.pieces if self.view else ()
        return "\n".join(f"{piece.title}\n{piece.text}" for piece in pieces)

    def show_view(self, view: CallView | None) -> None:
        """Show a result; None clears it."""
        self.view = view
        self._scroll.setVisible(view is not None)  # without a result, the arguments get its height
        self.pill.set_words(
            view.words if view else "", view.role if view else "open", view.tip if view else ""
        )
        self.figures.setText(view.figures if view else "")
        box = QWidget()
        column = vbox(parent=box, margins=(0, 0, 6, 0), spacing=4)
        for piece in view.pieces if view else ():
            column.addLayout(self._heading(piece))
            if piece.image is not None:
                column.addWidget(_picture(piece))
            elif piece.text or piece.kind in ("text", "json"):
                column.addWidget(_text(piece))
            column.addSpacing(6)
        column.addStretch(1)
        replace_content(self._scroll, box)

    def say(self, words: str) -> None:
        """Add words to the figures of the shown result."""
        if self.view is not None:
            self.figures.setText(f"{self.view.figures} · {words}")

    def _heading(self, piece: ResultPiece) -> QHBoxLayout:
        row = hbox((_title(piece), 1), spacing=12)
        if (file := piece.file) is not None:
            tip = tr("Save the binary content to a file")
            save_link = link(tr("Save as…"), tip, name="saveContentButton")
            save_link.clicked.connect(lambda: self.saveRequested.emit(file))
            row.addWidget(save_link)
        if (whole := piece.whole) is not None:
            tip = tr("Show the whole text, with search, Copy and Save as")
            open_link = link(tr("Open"), tip, name="openWholeButton")
            open_link.clicked.connect(lambda: show_whole(whole, self))
            row.addWidget(open_link)
        return row


def _title(piece: ResultPiece) -> QLabel:
    return PlainLabel(visible(piece.title[:120]), role="section")


def _picture(piece: ResultPiece) -> QLabel:
    label = PlainLabel()
    assert piece.image is not None
    label.setPixmap(QPixmap.fromImage(piece.image))
    named(label, words=f"{piece.title}, {piece.text}", tip=plain_tip(piece.text))
    return label


def _text(piece: ResultPiece) -> QWidget:
    if piece.kind in ("note", "problem"):
        role = "problem" if piece.kind == "problem" else "muted"
        return words_label(piece.text[:4000], role, selectable=True)
    return ReadBox(MAX_LINES, piece.title, piece.text)
