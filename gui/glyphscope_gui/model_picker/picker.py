"""The choice of the model: a button with its name and quantisation, and a menu of all known models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from glyphscope.base.figures import byte_size, percent
from glyphscope.base.visible import visible
from glyphscope.models.finding import FoundModel
from glyphscope.models.opening import model_name_of
from glyphscope_gui.model_picker.words import name_words, source_words
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import ModelName, model_name
from glyphscope_gui.theme import mono_font, theme

MAX_RECENT = 5
"""Recent models in the menu."""
_PADDING = 11
"""Pixels at both ends of the button."""
ARROW_ROOM = 20
"""Width of the arrow on its right, in pixels."""


class _Entry(NamedTuple):
    """A line of the menu: its value and its texts."""

    model: str
    name: str
    quantisation: str
    tip: str
    usable: bool = True


class ModelPicker(QToolButton):
    """`modelChosen` carries a path or a name for `open_model`; the other signals are requests of the menu. The
    presenter sets the open model and the found ones.
    """

    modelChosen = Signal(str)
    getRequested = Signal()
    fileRequested = Signal()
    endpointRequested = Signal()
    searchRequested = Signal()
    detailsRequested = Signal()

    def __init__(self, settings: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._found: tuple[FoundModel, ...] | None = None
        """The models on this computer; None while they are unknown."""
        self._shown = ModelName(tr("Choose a model"))
        self._path = ""
        self._fraction: float | None = None
        self._progress_text = ""
        self.setObjectName("modelPicker")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._record = ""
        self._menu = QMenu(self, toolTipsVisible=True)
        self._menu.aboutToShow.connect(self._fill)
        self.setMenu(self._menu)
        self._show_state()

    # -- what can be done --------------------------------------------------------------------------------------

    def set_model(self, model: str, name: str = "", quantisation: str = "") -> None:
        """Show the model in use; name and quantisation as in the file, if known."""
        self._path = model
        guess = model_name(model) if model else ModelName(tr("Choose a model"))
        self._shown = ModelName(*map(visible, (name, quantisation) if name else guess))
        self._show_state()

    def show_record(self, name: str) -> None:
        """Show the model of a record instead of the model in use; "" shows the latter again."""
        self._record = name
        self._show_state()

    def set_loading(self, fraction: float | None, text: str = "") -> None:
        """Show the loading progress, 0 to 1; None with a text while it is unknown or unloading, None alone else."""
        self._fraction, self._progress_text = fraction, text
        self._show_state()

    def show_found(self, found: Sequence[FoundModel]) -> None:
        """Show the models that were found on this computer."""
        self._found = tuple(found)
        if self._menu.isVisible():
            self._fill()

    # -- the menu ----------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Fill the menu. Models are found while it is open: they come last, so that nothing moves under the pointer."""
        self._menu.clear()
        recent = [model for model in self._settings.value.recent_models if model != self._path][:MAX_RECENT]
        self._add_group(tr("Recent"), [_Entry(model, *model_name(model), tip=model) for model in recent])
        self._menu.addSeparator()
        self._menu.addAction(tr("Model and chat template")).triggered.connect(self.detailsRequested)
        self._menu.addSeparator()
        self._menu.addAction(tr("Get a model…")).triggered.connect(self.getRequested)
        self._menu.addAction(tr("Open a GGUF…")).triggered.connect(self.fileRequested)
        self._menu.addAction(tr("Endpoint…")).triggered.connect(self.endpointRequested)
        self._menu.addAction(tr("Refresh list")).triggered.connect(self.searchRequested)
        known = {self._path, *recent}
        found = [entry for entry in map(_entry, self._found or ()) if entry.model not in known]
        self._add_group(tr("Found on this computer"), found)
        if self._found is None:
            self._add_title(tr("Looking for models…"))
            self.searchRequested.emit()

    def _add_group(self, title: str, entries: Sequence[_Entry]) -> None:
        if not entries:
            return
        self._add_title(title)
        for entry in entries:
            shown = self.fontMetrics().elidedText(entry.name, Qt.TextElideMode.ElideMiddle, 360)
            action = self._menu.addAction(f"{shown}\t{entry.quantisation}".replace("&", "&&"))
            action.setToolTip(plain_tip(entry.tip))
            action.setEnabled(entry.usable)
            action.triggered.connect(lambda _checked=False, chosen=entry.model: self.modelChosen.emit(chosen))

    def _add_title(self, words: str) -> None:
        """Add a line that cannot be chosen, as style sheets hide the titles of sections."""
        self._menu.addSeparator()
        self._menu.addAction(words).setEnabled(False)

    # -- looks -------------------------------------------------------------------------------------------------

    @property
    def _loading(self) -> bool:
        return self._fraction is not None or bool(self._progress_text)

    def _show_state(self) -> None:
        """Update the button and its accessible name after a change of the model or of its loading."""
        name, quantisation = self._words() if self._record else self._shown
        progress = self._progress_text or tr("loading")
        state = f", {progress}" if self._loading else ""
        self.setAccessibleName(
            tr("Model: {name} {quantisation}", name=name, quantisation=quantisation).strip() + state
        )
        where = tr("The model of the record") if self._record else self._path
        self.setToolTip(plain_tip(f"{name} {quantisation}".strip() + (f"\n{where}" if where else "")))
        self.updateGeometry()
        self.update()

    def _words(self) -> tuple[str, str]:
        if self._record:
            return model_name(self._record)
        if not self._loading:
            return self._shown
        done = "" if self._fraction is None else percent(self._fraction, 0)
        return self._progress_text or tr("Loading {name}", name=self._shown.name), done

    def sizeHint(self) -> QSize:
        name, more = self._shown if self._record else self._words()  # a record moves nothing beside it
        width = self.fontMetrics().horizontalAdvance(name) + QFontMetrics(mono_font(-1)).horizontalAdvance(
            more
        )
        return QSize(min(max(width + 2 * _PADDING + 34, 150), 320), self.fontMetrics().height() + 14)

    def minimumSizeHint(self) -> QSize:
        return QSize(min(150, self.sizeHint().width()), self.sizeHint().height())

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self.update()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(colors.color("accent" if self.hasFocus() else "border"), 1))
        painter.setBrush(colors.color("hover" if self.underMouse() else "panel"))
        painter.drawRoundedRect(box, 5, 5)
        inner = self.rect().adjusted(_PADDING, 0, -_PADDING, 0)
        self._paint_arrow(painter, inner.right() - 7, inner.center().y())
        words, more = self._words()
        small: QFont = mono_font(-1)
        room = inner.width() - ARROW_ROOM
        more_width = QFontMetrics(small).horizontalAdvance(more) + 8
        if self.fontMetrics().horizontalAdvance(words) + more_width > room and not self._loading:
            more, more_width = "", 0  # if it is narrow, the name takes precedence; the tooltip has both
        mode = Qt.TextElideMode.ElideRight if self._loading else Qt.TextElideMode.ElideMiddle
        shown = self.fontMetrics().elidedText(words, mode, room - more_width)
        painter.setFont(self.font())
        painter.setPen(colors.color("text-muted" if self._loading else "text"))
        painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        painter.setFont(small)
        painter.setPen(colors.color("text-muted"))
        beside = inner.adjusted(self.fontMetrics().horizontalAdvance(shown) + 8, 0, 0, 0)
        painter.drawText(beside, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, more)
        if self._loading:
            self._paint_progress(painter, box)

    def _paint_arrow(self, painter: QPainter, x: float, y: float) -> None:
        painter.setPen(QPen(theme().color("text-muted"), 1.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawPolyline([QPointF(x - 4, y - 1.5), QPointF(x, y + 2.5), QPointF(x + 4, y - 1.5)])

    def _paint_progress(self, painter: QPainter, box: QRectF) -> None:
        """Paint a line along the bottom; full and faint while the progress is unknown."""
        fraction = 1.0 if self._fraction is None else self._fraction
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("accent-soft" if self._fraction is None else "accent"))
        painter.drawRoundedRect(
            QRectF(box.left() + 4, box.bottom() - 3, (box.width() - 8) * fraction, 2), 1, 1
        )


def _entry(model: FoundModel) -> _Entry:
    tip = f"{model.path}\n{source_words(model)}, {byte_size(model.bytes)}"
    if model.problem:
        tip += f"\n{model.problem}"
    quantisation = model.quantisation or model_name(model.path).quantisation
    return _Entry(model_name_of(model.path), name_words(model), quantisation, tip, not model.problem)
