"""The compare page: one prompt under several settings side by side, and the fields in which the answers differ."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QScrollArea, QWidget

from glyphscope.base.shorten import capitalised
from glyphscope_gui.compare.column_view import CompareColumn
from glyphscope_gui.compare.variant_settings import VariedMenu
from glyphscope_gui.compare.variants import OWN, PRESETS
from glyphscope_gui.project.prompt_document import PromptDocument
from glyphscope_gui.runs.compare_fields import CompareFields, CompareFieldsModel
from glyphscope_gui.runs.user_prompt_edit import UserPromptEdit
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import ElidedLabel, named, push_button, set_role
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox, holder, splitter, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_table import WholeRows
from glyphscope_gui.theme.sizes import GAP

LOW = 640
"""Pixels of height below which the page saves lines."""
_OWN_WORDS = tr("Custom columns")
_NO_WORDS = tr("The fields of all columns; the first difference is marked.")


class ComparePage(FollowsSize, QWidget):
    """The view of a comparison. `presetChosen` carries a preset's key; the signals about a column carry its place, and
    `variantChosen` also the Variant.
    """

    presetChosen = Signal(str)
    variantChosen = Signal(object, object)
    removeRequested = Signal(object)
    openRequested = Signal(object)

    def __init__(self, prompt: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "comparePage", tr("Compare"))
        self.notice = NoticeBanner(self)
        self.prompt_edit = named(UserPromptEdit(prompt, self), "comparePromptEdit")
        self.prompt_edit.setAccessibleName(tr("The prompt of all columns"))
        self.prompt_edit.setAccessibleDescription(
            tr(
                "The playground’s prompt, used by every column without its own prompt. Control and "
                "Enter runs all."
            )
        )
        self.facts = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self._make_controls()
        self.columns: list[CompareColumn] = []
        self.fields_model = CompareFieldsModel(self)
        self.fields = CompareFields(self.fields_model, self)
        self.words = named(ElidedLabel(self, Qt.TextElideMode.ElideRight, role="title"), "compareWords")
        self._border_was_moved = self._is_hint = False
        self._lay_out()
        self.setFocusProxy(self.prompt_edit)

    def show_columns(self, count: int) -> None:
        """Show that many columns; they are made on first use."""
        for index in range(len(self.columns), count):
            self._make_column(index)
        for index, view in enumerate(self.columns):
            view.setVisible(index < count)

    def show_column(self, index: int) -> None:
        """Scroll as little as possible to show the column's full width."""
        view, bar = self.columns[index], self.columns_area.horizontalScrollBar()
        left, right = view.x(), view.x() + view.width()
        if left < bar.value():
            bar.setValue(left)
        elif right > bar.value() + self.columns_area.viewport().width():
            bar.setValue(right - self.columns_area.viewport().width())

    def show_preset(self, key: str) -> None:
        """Select a preset, without a signal."""
        self.presets.setCurrentIndex(self.presets.findData(key))

    def show_running(self, *, running: bool, free: bool) -> None:
        """Show whether the runs of columns can be opened; `running` disables nothing else here."""
        for column in self.columns:
            column.show_free(free)

    def show_turn(self, words: str, *, hint: bool = False, earlier: bool = False) -> None:
        """Show which column the model is running, a hint, or that the columns are results of an earlier request. A low
        page has one line, for what matters more.
        """
        self._is_hint = hint
        self.turn.setText(words)
        self.turn.setAccessibleName(words)
        set_role(self.turn, "problem" if earlier else "muted")
        self._show_lines()

    def show_words(self, words: str) -> None:
        """Show the differences of the columns, in a sentence."""
        role, words = ("title", capitalised(words)) if words else ("muted", _NO_WORDS)
        if words != self.words.text():
            self.words.setText(words)
            set_role(self.words, role)
            self.words.setAccessibleName(tr("Differences: {differences}", differences=words))

    def minimumSizeHint(self) -> QSize:
        return QSize(400, 360)

    def _fit(self) -> None:
        roomy = self.height() >= LOW
        self.prompt_card.show_heading(roomy)
        self._show_lines()
        self.field_card.show_heading(roomy)
        self._share_room()

    def _show_lines(self) -> None:
        roomy = self.height() >= LOW
        self.turn.setVisible(roomy or not self._is_hint)
        self.facts.setVisible(roomy or self._is_hint)

    def _make_controls(self) -> None:
        self.presets = choice_box(
            self,
            "comparePresets",
            tr("Question"),
            tip=tr("Columns set up to answer a question"),
            least=16,
            choices=(*((preset.key, preset.question, "") for preset in PRESETS), (OWN, _OWN_WORDS, "")),
        )
        self.presets.activated.connect(lambda index: self.presetChosen.emit(self.presets.itemData(index)))
        self.varied = VariedMenu(self)
        self.add_button = push_button(tr("Add a column"), self, name="compareAddButton", role="link")
        self.turn = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.export_button = push_button(
            tr("Export page…"),
            self,
            name="compareExportButton",
            role="link",
            tip=tr("One HTML page with all columns, to go through in a browser"),
        )
        self.stop_button = push_button(
            tr("Stop"), self, name="compareStopButton", tip=tr("Stop and keep the finished columns (Esc)")
        )
        self.stop_button.setAccessibleName(tr("Stop the comparison"))
        self.run_button = push_button(
            tr("Run all"),
            self,
            name="compareRunButton",
            role="primary",
            tip=tr("Run the columns one after the other (Ctrl+Enter)"),
            spoken=tr("Run all columns"),
        )

    def _lay_out(self) -> None:
        line = hbox(
            (self.presets, 1),
            self.varied,
            self.add_button,
            STRETCH,
            self.export_button,
            self.stop_button,
            self.run_button,
            spacing=10,
        )
        top = holder(vbox(self.prompt_edit, self.facts, self.turn, line, spacing=8), self)
        self.prompt_card = Card(tr("One prompt, several settings"), top, hint=tr("Ctrl+Enter runs all"))

        inside = QWidget()
        self._row = hbox(parent=inside, spacing=GAP)
        self.columns_area = named(QScrollArea(self, widgetResizable=True), "compareColumns")
        self.columns_area.setAccessibleName(tr("Columns of the comparison"))
        self.columns_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.columns_area.setWidget(inside)

        words = hbox(self.words, margins=(9, 8, 9, 2))
        below = holder(vbox(words, (WholeRows(self.fields), 1), spacing=2), self)
        self.field_card = Card(tr("Fields side by side"), below, padded=False)
        self.splitter = splitter(Qt.Orientation.Vertical, (self.columns_area, self.field_card), (1, 0))
        self.splitter.splitterMoved.connect(self._border_moved)
        parts = (self.prompt_card, (self.splitter, 1))
        vbox(*parts, parent=self, margins=(GAP + 4, GAP, GAP + 4, 4), spacing=GAP)

    def _make_column(self, index: int) -> None:
        view = CompareColumn(index + 1, self)
        view.picker.chosen.connect(lambda variant: self.variantChosen.emit(index, variant))
        for button, request in (
            (view.remove_button, self.removeRequested),
            (view.open_button, self.openRequested),
        ):
            button.clicked.connect(lambda _checked=False, request=request: request.emit(index))
        self._row.addWidget(view, 1)
        self.columns.append(view)

    def _border_moved(self, _place: int, _border: int) -> None:
        self._border_was_moved = True

    def _share_room(self) -> None:
        """Make the fields as high as a usual call's, until the user moves the border."""
        if self._border_was_moved:
            return
        room = self.splitter.height() - self.splitter.handleWidth()
        share = 0.36 if self.height() >= LOW else 0.3
        fields = min(self.field_card.sizeHint().height(), round(room * share))
        self.splitter.setSizes([room - fields, fields])
