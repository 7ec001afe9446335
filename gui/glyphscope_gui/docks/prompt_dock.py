"""The prompt: the preset, the system template, and what of it all goes to the model, with its price."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QSplitter, QVBoxLayout, QWidget

from glyphscope.events import PromptRendered
from glyphscope.prompting import RenderedMessages
from glyphscope_gui.models.prompt_document import PromptDocument, PromptState
from glyphscope_gui.widgets.card import section_label
from glyphscope_gui.widgets.code_edit import CodeEdit
from glyphscope_gui.widgets.token_costs import TokenCosts

_NOT_COUNTED = "Before the model's chat template. A run counts the tokens."


class PromptDock(QWidget):
    """The left page about prompts. The user's own words are edited in the centre; all else is here."""

    def __init__(self, document: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._document = document
        self._costs_of: RenderedMessages | None = None
        self.preset_combo = self._make_combo()
        self.reset_button = QPushButton("Reset", self)
        self.reset_button.setToolTip("Back to the preset's own template")
        self.reset_button.setAccessibleName("Reset the template to the preset")
        self.system_edit = CodeEdit(self)
        self.system_edit.setObjectName("systemPromptEdit")
        self.system_edit.setAccessibleName("System prompt template")
        self.system_edit.setLineWrapMode(CodeEdit.LineWrapMode.WidgetWidth)
        self.problem = QLabel(self, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.problem.setObjectName("promptProblem")
        self.problem.setProperty("role", "problem")
        self.rendered_view = CodeEdit(self)
        self.rendered_view.setObjectName("renderedPromptView")
        self.rendered_view.setAccessibleName("The prompt as it goes to the model")
        self.rendered_view.setReadOnly(True)
        self.rendered_view.setTabChangesFocus(True)
        self.rendered_view.setLineWrapMode(CodeEdit.LineWrapMode.WidgetWidth)
        self.caption = QLabel(_NOT_COUNTED, self, wordWrap=True)
        self.caption.setProperty("role", "muted")
        self.costs = TokenCosts(self)
        self._lay_out()
        self.preset_combo.activated.connect(self._choose_preset)
        self.reset_button.clicked.connect(document.reset_to_preset)
        self.system_edit.textEdited.connect(document.set_system)
        document.changed.connect(self._show_state)
        document.rendered.connect(self._show_messages)
        document.failed.connect(self._show_problem)
        self._show_state(document.state)
        self._show_problem(document.problem)
        if document.messages is not None:
            self._show_messages(document.messages)

    def set_token_costs(self, event: PromptRendered) -> None:
        """What a run sent to the model, word for word, and what each part of it cost."""
        self._costs_of = self._document.messages
        self.rendered_view.show_text(event.text)
        cached = f", {event.cached:,} from the cache" if event.cached else ""
        note = f" {event.note}" if event.note else ""
        self.caption.setText(f"As the model got it: {event.tokens:,} tokens{cached}.{note}")
        self.costs.show_parts(event.parts)

    def _make_combo(self) -> QComboBox:
        combo = QComboBox(self)
        combo.setObjectName("presetPicker")
        combo.setAccessibleName("Prompt preset")
        combo.setToolTip("Where the system prompt starts from")
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        combo.setMinimumContentsLength(8)
        for preset in self._document.presets:
            combo.addItem(preset.name, preset.name)
        return combo

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.preset_combo, 1)
        top.addWidget(self.reset_button)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(_section("System template", self.system_edit, self.problem))
        splitter.addWidget(_section("Rendered prompt", self.caption, self.rendered_view, self.costs))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 12, 14, 12)
        layout.setSpacing(12)
        layout.addLayout(top)
        layout.addWidget(splitter, 1)

    def _choose_preset(self, place: int) -> None:
        self._document.set_preset(self.preset_combo.itemData(place))

    def _show_state(self, state: PromptState) -> None:
        self.preset_combo.setCurrentIndex(self.preset_combo.findData(state.preset))
        self.reset_button.setEnabled(self._document.is_edited)
        self.system_edit.show_text(self._document.system_template)

    def _show_messages(self, messages: RenderedMessages) -> None:
        """The messages as they are now; the words of the last run stay as long as they are the same."""
        if messages == self._costs_of:
            return
        self._costs_of = None
        self.rendered_view.show_text("\n\n".join(f"[{m.role}]\n{m.content}" for m in messages.messages))
        self.caption.setText(_NOT_COUNTED)
        self.costs.show_parts(())

    def _show_problem(self, problem: str) -> None:
        self.problem.setText(f"{problem}\nThe last good prompt is shown below." if problem else "")
        self.problem.setVisible(bool(problem))


def _section(title: str, *widgets: QWidget) -> QWidget:
    """A heading with what belongs to it."""
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 8, 0, 8)
    layout.setSpacing(6)
    layout.addWidget(section_label(title, box))
    for widget in widgets:
        layout.addWidget(widget, 1 if isinstance(widget, CodeEdit) else 0)
    return box
