"""The panel of the prompt: its messages, its template, the whole text with the tokens of each part, and the changes."""

from __future__ import annotations

import json

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QPlainTextEdit, QScrollArea, QTabWidget, QWidget

from glyphscope.base.visible import visible
from glyphscope.events import Message, RunRequest
from glyphscope.prompting.costs import Cost
from glyphscope.prompting.messages import RenderedMessages
from glyphscope.prompting.template import presets
from glyphscope_gui.project.prompt_document import PromptDocument, PromptState
from glyphscope_gui.prompt.conversation import ConversationEditor
from glyphscope_gui.prompt.costs import CostRows, PromptCosts, PromptCostsModel, spans_of
from glyphscope_gui.prompt.places import PartPlace
from glyphscope_gui.prompt.rendered_prompt import PromptChanges, RenderedPromptView
from glyphscope_gui.prompt.watch import ShownPrompt
from glyphscope_gui.shared.code_edit import TAB_WORDS, CodeEdit
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink, named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import ScrollArea, hbox, holder, splitter, stack, vbox
from glyphscope_gui.shared.plain_table import WholeRows
from glyphscope_gui.shared.plain_text import copy_text, shown_part
from glyphscope_gui.shared.run_words import cached_words
from glyphscope_gui.shared.text_edits import GrowingEdit
from glyphscope_gui.theme import mono_font, use_font
from glyphscope_gui.theme.sizes import side_width

MIN_CHARACTERS = 30
"""The least width of the panel, in characters."""
MESSAGES, TEMPLATE, RENDERED, CHANGES = range(4)
"""The tabs."""
_PART_LINES = 4
"""The lines of the field that edits a part of the prompt."""


class PartEditor(QWidget):
    """The selected part of the prompt: edited in place, or explained if it cannot be edited here.

    `edited` carries the text as the user typed it. The link leads to the source of the part.
    """

    edited = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._showing = False
        self._place: PartPlace | None = None
        self.title = ElidedLabel(self, role="title")
        self.link = named(ElidedLink(self), "promptPartLink")
        self.edit = named(GrowingEdit(_PART_LINES, self), "promptPartEdit")
        self.words = words_label(parent=self)
        top = hbox((self.title, 1), self.link, spacing=8)
        vbox(top, self.edit, self.words, parent=self, spacing=6)
        self.edit.textChanged.connect(self._notify)
        self.show_place(None)

    def show_place(self, place: PartPlace | None) -> None:
        """Show another part, or the same one after an edit: a text being typed stays unchanged."""
        self.setVisible(place is not None)
        if place is None:
            self._place = None
            return
        self.title.setText(place.title)
        self.title.setAccessibleName(place.title)
        self.edit.setVisible(bool(place.source))
        self.edit.setAccessibleName(tr("Edit: {title}", title=place.title))
        self.edit.setAccessibleDescription(tr("Control and Enter runs the prompt."))
        self.say(place.words)
        self.link.setVisible(bool(place.tool) or place.source in ("line", "user"))
        self.link.set_words(self._link_words(place))
        typing = self.edit.hasFocus() and self._place is not None and self._place.identity == place.identity
        self._place = place
        if not typing:
            self._showing = True
            self.edit.show_text_or_part(place.text)
            self._showing = False

    def say(self, words: str) -> None:
        """Show a text below the field."""
        show_words(self.words, words)

    def _link_words(self, place: PartPlace) -> str:
        if place.tool:
            return tr("Show in Tools")
        return tr("Show in Template") if place.source == "line" else tr("Go to the prompt")

    def _notify(self) -> None:
        if not self._showing:
            self.edited.emit(self.edit.toPlainText())


class RecordedPrompt(QWidget):
    """The system prompt, the conversation and the message of one request."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("recordedPrompt")
        self.mark = words_label(tr("Messages of the record, read-only."), parent=self)
        self.text = named(QPlainTextEdit(self, readOnly=True, tabChangesFocus=True), "recordedMessages")
        self.text.setAccessibleName(tr("Messages of the record"))
        use_font(self.text, mono_font, -0.5)
        vbox(self.mark, (self.text, 1), parent=self, margins=(14, 12), spacing=8)

    def show_request(self, request: RunRequest) -> None:
        system = (Message("system", request.system_prompt),) if request.system_prompt else ()
        messages = (*system, *request.history, Message("user", request.prompt))
        self.text.setPlainText(visible(shown_part("\n\n".join(map(_words, messages))), lines=True))


def _words(message: Message) -> str:
    name = f" {message.name}" if message.name else ""
    reasoning = (tr("[reasoning]\n{text}", text=message.reasoning),) if message.reasoning else ()
    calls = (f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in message.tool_calls)
    content = (message.content,) if message.content else ()
    return "\n".join((f"[{message.role}{name}]", *reasoning, *content, *calls))


class PromptDock(QWidget):
    """Edits the prompt's messages and template, and shows the rendered prompt. The user's message is edited on the
    page, or here as a part of the whole.

    `partChosen` carries the Cost of a row of the costs, or None.
    """

    partChosen = Signal(object)

    def __init__(self, document: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._document = document
        self._costs_of: RenderedMessages | None = None
        """The messages of the project whose costs are shown, if any."""
        self.expects_price = False
        """Whether the current prompt is being counted; until it is, the shown one stays."""
        self.shows_prompt = False
        """Whether a prompt is shown, not the messages of one that is not counted."""
        self._record: RunRequest | None = None
        self.conversation = ConversationEditor(document, self)
        self.recorded = RecordedPrompt(self)
        self.preset_combo = choice_box(
            self,
            "presetPicker",
            tr("Prompt preset"),
            tip=tr("The preset on which the system prompt is based"),
            choices=((name, name, "") for name in presets()),
            least=8,
        )
        self.reset_button = push_button(
            tr("Reset"),
            self,
            tip=tr("Reset to the template of the preset"),
            spoken=tr("Reset the template to the preset"),
        )
        self.system_edit = named(
            CodeEdit(self), "systemPromptEdit", tr("System prompt template"), description=TAB_WORDS
        )
        self.system_edit.setLineWrapMode(CodeEdit.LineWrapMode.WidgetWidth)
        self.problem = words_label(role="problem", parent=self, name="promptProblem")
        self.rendered_view = RenderedPromptView(self)
        self.caption = words_label(parent=self)
        self._shown_text = ""
        copy = tr("Copy the prompt")
        self.copy_button = named(IconButton("duplicate", None, self), "copyPromptButton", copy, tip=copy)
        self.copy_button.clicked.connect(lambda: copy_text(self._shown_text))
        self.costs_model = PromptCostsModel(self)
        self.costs = PromptCosts(self.costs_model, self)
        self.part = PartEditor(self)
        self.run_button = push_button(
            tr("Run again"), self, name="promptRunButton", tip=tr("Run the current prompt (Ctrl+Enter)")
        )
        self.changes = PromptChanges(self)
        self.tabs = QTabWidget(self)
        self._lay_out()
        self._connect(document)
        self._show_state(document.state)
        self._show_problem(document.problem)
        self._show_uncounted("")
        if document.messages is not None:
            self._show_messages(document.messages)

    def minimumSizeHint(self) -> QSize:
        return QSize(side_width(self, MIN_CHARACTERS), super().minimumSizeHint().height())

    # -- what is shown -----------------------------------------------------------------------------------------

    def show_prompt(self, shown: ShownPrompt, *, is_own: bool = True) -> None:
        """Show the prompt with its costs, changes and cached part, as far as they are known.

        A prompt that is not the project's (`is_own`) stays only until the project's messages are shown.
        """
        prompt = shown.prompt
        self._costs_of = self._document.messages if is_own else None
        self._shown_text = prompt.text
        self.shows_prompt = True
        self.rendered_view.show_prompt(prompt.text, prompt.controls)
        self.caption.setText(self._caption(shown))
        self.costs_model.show_rows(shown.rows, counted=bool(prompt.tokens))
        self.costs.setAccessibleDescription(self.costs_model.words())
        self.costs.setVisible(bool(shown.rows.costs))
        self.changes.show_prompt(shown)
        self._mark(self.costs.chosen())

    def show_record(self, request: RunRequest | None) -> None:
        """Show the messages and the template of a record, read-only; None shows the project's again."""
        self._record = request
        for widget in (self.preset_combo, self.run_button, self.part):
            widget.setEnabled(request is None)
        if request is not None:
            self.recorded.show_request(request)
        self.messages_stack.setCurrentIndex(int(request is not None))
        self._show_state(self._document.state)

    def show_messages(self) -> None:
        """Show the messages of a prompt that could not be counted, unless they equal the ones that a run sent."""
        if self._document.messages is not None:
            self.expects_price = False
            self._show_messages(self._document.messages)

    def show_place(self, place: PartPlace | None) -> None:
        """Show the chosen part for editing."""
        self.part.show_place(place)

    def show_template_line(self, line: int) -> None:
        """Show the template at that line, counted from 1."""
        self.tabs.setCurrentIndex(TEMPLATE)
        block = self.system_edit.document().findBlockByNumber(line - 1)
        if block.isValid():
            cursor = self.system_edit.textCursor()
            cursor.setPosition(block.position())
            self.system_edit.setTextCursor(cursor)
            self.system_edit.centerCursor()
        self.system_edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_state(self, state: PromptState) -> None:
        record = self._record
        self.preset_combo.setCurrentIndex(
            self.preset_combo.findData(record.preset if record else state.preset)
        )
        self.reset_button.setEnabled(self._document.is_edited and record is None)
        template = self._document.system_template if record is None else self._document.template_of(record)
        typed = self.system_edit.toPlainText() == template  # a text that was typed here stays
        part = template if typed else shown_part(template)
        self.system_edit.setReadOnly(record is not None or part is not template)
        self.system_edit.show_text(part)

    def _show_messages(self, messages: RenderedMessages) -> None:
        """Show the present messages if no model counts them; the last run's stay while they are the same."""
        if messages == self._costs_of or self.expects_price or self._record is not None:
            return
        self._costs_of = None
        self._show_uncounted("\n\n".join(f"[{m.role}]\n{m.content}" for m in messages.messages))

    def _show_uncounted(self, text: str) -> None:
        self._shown_text = text
        self.shows_prompt = False
        self.rendered_view.show_prompt(text)
        self.caption.setText(tr("Before the model’s chat template. The tokens are not counted yet."))
        self.costs_model.show_rows(CostRows())
        self.costs.setVisible(False)
        self.part.show_place(None)

    def _show_problem(self, problem: str) -> None:
        words = tr("{problem}\nThe last valid prompt is shown.", problem=problem) if problem else ""
        show_words(self.problem, words)
        self.conversation.show_problem(problem)

    def _caption(self, shown: ShownPrompt) -> str:
        prompt = shown.prompt
        if not prompt.tokens:
            words = tr("An endpoint reports token counts only with its answer.")
        elif shown.origin == "now":
            words = tr("Prompt as sent to the model: %n token(s).", "", prompt.tokens)
        else:
            cached = cached_words(prompt)
            words = tr("Prompt as sent to the model: %n token(s){cached}.", "", prompt.tokens, cached=cached)
        return f"{words} {prompt.note}".rstrip()

    # -- rows and text, each marked by the other ---------------------------------------------------------------

    def _part_chosen(self, cost: Cost | None) -> None:
        self._mark(cost)
        self.partChosen.emit(cost)

    def _mark(self, cost: object) -> None:
        self.rendered_view.mark([*spans_of(cost)] if isinstance(cost, Cost) else [])

    def _hover(self, cost: Cost | None) -> None:
        self.rendered_view.hover([] if cost is None else [*spans_of(cost)])

    def _place_chosen(self, character: int) -> None:
        self.costs.choose(self.costs_model.index_at(character))

    def _place_hovered(self, character: int | None) -> None:
        index = self.costs_model.index_at(-1 if character is None else character)
        cost = self.costs_model.cost(index)
        self._hover(cost)
        self.rendered_view.setToolTip(str(index.data(Qt.ItemDataRole.ToolTipRole) or "") if cost else "")

    # -- layout and connections --------------------------------------------------------------------------------

    def _connect(self, document: PromptDocument) -> None:
        self.conversation.template_link.clicked.connect(lambda: self.tabs.setCurrentIndex(TEMPLATE))
        self.preset_combo.activated.connect(
            lambda _place: document.set_preset(self.preset_combo.currentData())
        )
        self.reset_button.clicked.connect(document.reset_to_preset)
        self.system_edit.textEdited.connect(document.set_system)
        self.costs.partChosen.connect(self._part_chosen)
        self.costs.partHovered.connect(self._hover)
        self.rendered_view.placeChosen.connect(self._place_chosen)
        self.rendered_view.placeHovered.connect(self._place_hovered)
        document.changed.connect(self._show_state)
        document.rendered.connect(self._show_messages)
        document.failed.connect(self._show_problem)

    def _lay_out(self) -> None:
        top = hbox((self.preset_combo, 1), self.reset_button, spacing=8)
        template = holder(vbox(top, (self.system_edit, 1), self.problem, margins=(14, 12), spacing=10), self)
        parts = ((WholeRows(self.costs), 1), self.part, (self.run_button, 0, Qt.AlignmentFlag.AlignRight))
        below = holder(vbox(*parts, margins=(0, 6, 0, 0), spacing=10), self)
        views = splitter(Qt.Orientation.Vertical, (self.rendered_view, below), (0, 0), of_cards=False)
        views.setSizes([400, 500])
        above = hbox((self.caption, 1), (self.copy_button, 0, Qt.AlignmentFlag.AlignTop))
        rendered = holder(vbox(above, (views, 1), margins=(14, 12), spacing=8), self)
        self.tabs.setObjectName("promptTabs")
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("The prompt: messages, template, rendered, diff"))
        self.messages_stack = stack(_scrolled(self.conversation), self.recorded)
        self.tabs.addTab(self.messages_stack, tr("Messages"))
        self.tabs.addTab(template, tr("Template"))
        self.tabs.addTab(_scrolled(rendered), tr("Rendered"))
        self.tabs.addTab(_scrolled(self.changes), tr("Diff"))
        vbox(self.tabs, parent=self)


def _scrolled(page: QWidget) -> QScrollArea:
    """Make a page scrollable, as with large text it lacks height."""
    area = ScrollArea(page)
    for ground in (area.viewport(), page):
        ground.setAutoFillBackground(False)  # the dock's background shows through
    return area
