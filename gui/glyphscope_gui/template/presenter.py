"""The presenter of the chat template: inspects it in the background, and shows the results as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Signal
from PySide6.QtGui import QAction

from glyphscope.base.shorten import capitalised
from glyphscope.events import AnyEvent, ChatOptions, RunRequest, pair_value
from glyphscope.models.inspection import Inspection, inspect_template, with_proof
from glyphscope.models.template_variables import TemplateVariable, VariableValue
from glyphscope.models.templates import TemplateSource
from glyphscope.turns.slots import PROMPT_PARTS, Slot
from glyphscope_gui.context import AppContext, FilePlace, Page, Place
from glyphscope_gui.model_picker.presenter import LoadPresenter
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import MenuId, PageId
from glyphscope_gui.shared.run_words import model_name
from glyphscope_gui.template.lint import TEMPLATE_FILES, LintPresenter, TemplateFile
from glyphscope_gui.template.page import TEMPLATE, ReadersDialog, TemplatePage, last_answer
from glyphscope_gui.template.tables import Row, TextCell, on_one_line

# The template of the next runs and its variables: the one that is used, and the values that are set.

_NOTHING = tr("changes nothing in the tried conversations")


def variable_rows(variables: Sequence[TemplateVariable], used: dict[str, Any]) -> list[Row]:
    """A row for each value that was tried, with its change; the values in use are marked."""
    return [
        _row(variable, tried, variable.name if not place else "", used)
        for variable in variables
        for place, tried in enumerate(variable.values)
    ]


def _row(variable: TemplateVariable, tried: VariableValue, name: str, used: dict[str, Any]) -> Row:
    value = pair_value(tried.value)
    if variable.name in used and used[variable.name] == tried.value:
        note = tr("in use")
    else:
        note = tr("default") if variable.default == (tried.value,) else ""
    if tried.changes:
        words = f"{on_one_line(tried.before)} → {on_one_line(tried.after)}"
        change = TextCell(words, f"{tried.before}\n→\n{tried.after}", note=tried.where)
    else:
        change = TextCell("", note=tr("rejected: {error}", error=tried.error) if tried.error else _NOTHING)
    return TextCell(name), TextCell(value, note=note), change


class TemplateChoice(QObject):
    """Sets the project's chat template and variables from the page.

    `nameChosen` carries the name of another template in the same file.
    """

    nameChosen = Signal(str)

    def __init__(self, view: TemplatePage, project: ProjectController, parent: QObject) -> None:
        super().__init__(parent)
        self._view, self._project = view, project
        self._template: TemplateSource | None = None
        self._name: str | None = None
        self._variables: tuple[TemplateVariable, ...] = ()
        view.use_link.clicked.connect(self._use)
        view.own_link.clicked.connect(lambda: project.set_options(chat_template=""))
        view.names.activated.connect(lambda index: self.nameChosen.emit(view.names.itemData(index)))
        view.details.variables.opened.connect(self._toggle)
        view.details.given.edited.connect(lambda values: project.set_options(template_vars=values))
        project.optionsChanged.connect(self._show_options)
        self._show_options(project.options)

    def show_template(
        self, template: TemplateSource | None, variables: Sequence[TemplateVariable] = (), *, name: str | None
    ) -> None:
        """Show the inspected template, and the other ones in its file.

        `name` is its name in the open model, "" for the one that the model uses; None for a template from elsewhere.
        """
        self._template, self._name, self._variables = template, name, tuple(variables)
        names = () if template is None else template.names
        box = self._view.names
        box.clear()
        for each in ("", *names):
            box.addItem(each or tr("the usual template"), each)
        box.setVisible(bool(names))
        box.setCurrentIndex(max(box.findData("" if template is None else template.name), 0))
        self._show_options(self._project.options)

    def _show_options(self, options: RunRequest) -> None:
        view, template = self._view, self._template
        source = "" if template is None else template.source
        is_used = options.chat_template in (source, self._name) if template is not None else True
        view.use_link.setEnabled(not is_used)
        view.own_link.setVisible(bool(options.chat_template))
        view.details.given.show_value(options.template_vars)
        view.details.variables.rows.show_rows(variable_rows(self._variables, options.template_vars))

    def _use(self) -> None:
        """Use the inspected template from now on: by its name if it is one of the open model's."""
        if self._template is not None:
            name = self._template.source if self._name is None else self._name
            self._project.set_options(chat_template=name)

    def _toggle(self, index: QModelIndex) -> None:
        """Set the value of a row, or leave it out if it is set."""
        rows = [(each.name, tried.value) for each in self._variables for tried in each.values]
        if not 0 <= index.row() < len(rows):
            return
        name, value = rows[index.row()]
        values = dict(self._project.options.template_vars)
        if name in values and values[name] == value:
            del values[name]
        else:
            values[name] = value
        self._project.set_options(template_vars=values)


TURNS, MORE_TURNS = 200, 1000
"""Number of random turns that prove a form at first, and when the user tests it again."""
_NONE = tr(
    "No template: the open model has no file with one.\nOpen a chat template (.jinja) or "
    "a model (.gguf), or choose another model."
)


_STATES = {"on": tr("on"), "off": tr("off"), "undefined": tr("not set")}


def slot_rows(found: Inspection) -> list[Row]:
    numbers = {pair.key: number for number, pair in enumerate(found.pairs, 1)}
    return [_slot_row(slot, numbers) for slot in found.slots]


def _slot_row(slot: Slot, numbers: dict[str, int]) -> Row:
    places = [numbers[key] for key in slot.pairs if key in numbers]
    words = ""
    if places:
        listed = ", ".join(map(str, places))
        words = (
            tr("test case {number}", number=listed)
            if len(places) == 1
            else tr("test cases {numbers}", numbers=listed)
        )
    if slot.rows:
        words += ("; " if words else "") + tr("correction")
    tip = "\n".join(slot.rows) if slot.rows else words
    return (
        TextCell(slot.title),
        TextCell(on_one_line(slot.value), f"{slot.value}\n{slot.note}".strip(), note=slot.note),
        TextCell(words, tip),
    )


def marker_rows(found: Inspection) -> list[Row]:
    return [
        (
            TextCell(on_one_line(marker.text)),
            TextCell(marker.words),
            TextCell(
                " · ".join(str(token.id) for token in marker.tokens),
                " ".join(on_one_line(token.text) or str(token.id) for token in marker.tokens),
            ),
        )
        for marker in found.markers
    ]


def ends_words(found: Inspection) -> str:
    """The tokens at which llama.cpp ends a generation."""
    if not found.markers:
        return tr("Open the model of this template to see the markers as its tokens.")
    if not found.end_tokens:
        return tr("No token of this vocabulary ends a generation.")
    ends = ", ".join(f"{on_one_line(token.text)} ({token.id})" for token in found.end_tokens)
    return tr("Generation ends at {ends}.", ends=ends)


def thinking_rows(found: Inspection) -> list[Row]:
    out: list[Row] = []
    for each in found.thinking:
        like = tr("as {state}", state=_STATES[each.like]) if each.like else ""
        words = [PROMPT_PARTS.get(each.part, ""), like]
        out.append(
            (
                TextCell(_STATES[each.state]),
                TextCell(on_one_line(each.prompt), each.prompt),
                TextCell("; ".join(word for word in words if word)),
            )
        )
    return out


def note_rows(found: Inspection) -> list[Row]:
    out: list[Row] = [
        (TextCell(tr("warning"), pill="impossible"), TextCell(words)) for words in found.warnings
    ]
    for row in found.form.corrections:
        words = f"{capitalised(row.row)}: {row.reason} ({row.source})"
        out.append((TextCell(tr("correction"), pill="forced"), TextCell(words)))
    if found.arguments_as == "string":
        words = tr("The arguments of earlier calls are given as text: the template takes no objects.")
        out.append((TextCell(tr("note"), pill="open"), TextCell(words)))
    return out or [(TextCell(tr("none"), pill="holds"), TextCell(tr("No notes.")))]


def value_rows(found: Inspection) -> list[Row]:
    out: list[Row] = []
    for value in (found.proof or {}).get("values", ()):
        preserved = value["carried"]
        example = json.dumps(value["example"], ensure_ascii=False)
        if not preserved:
            example += f" → {json.dumps(value['read'], ensure_ascii=False)}"
        pill = TextCell(tr("yes"), pill="holds") if preserved else TextCell(tr("no"), pill="impossible")
        out.append((TextCell(value["kind"]), pill, TextCell(on_one_line(example))))
    return out


def proof_words(found: Inspection) -> tuple[str, str, str]:
    """The words of the proof, the role of their pill, and its tip."""
    proof = found.proof
    if proof is None:
        return tr("testing…"), "open", tr("Random turns are rendered by the template and parsed again.")
    counts = ", ".join(f"{count:,} × {kind}" for kind, count in sorted(proof["counts"].items()))
    if not proof["turns"]:
        return tr("not tested"), "open", tr("The template renders no calls.")
    words = tr("{equal:,} of {turns:,} turns identical", equal=proof["equal"], turns=proof["turns"])
    return words, "holds" if proof["proved"] else "impossible", counts


class TemplatePresenter(Page):
    """`found` is the shown inspection; None while there is none."""

    id = PageId.TEMPLATE
    title = tr("Model")
    tip = tr("The open model: its facts, load options and chat template")
    in_rail = False

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.widget = self.view = TemplatePage()
        self.found: Inspection | None = None
        self.readers: ReadersDialog | None = None
        self._unproved: Inspection | None = None
        """The shown inspection before its proof, which can be repeated."""
        self._file: Path | None = None
        """The file that the user chose; None for the open model's."""
        self._vocabulary: Path | None = None
        self._source: TemplateFile | None = None
        """The source of the shown or running inspection."""
        self._pair = 0
        """The index of the shown pair."""
        self._markers: tuple[str, ...] = ()
        """The markers that the pair shows marked."""
        self._background = Background(self)
        self.lint = LintPresenter(self.view, self)
        self.choice = TemplateChoice(self.view, context.project, self)
        self.choice.nameChosen.connect(self._choose_name)
        self._name: str | None = None
        """The name of the template that the user chose, of several in a file; None for the one in use."""
        self.readers_action = QAction(tr("Parse an &answer…"), self)
        self.readers_action.setObjectName("readersAction")
        self.readers_action.setToolTip(
            tr("Paste an answer and see its verdict: in GLYPH, in JSON or in the notation of a model")
        )
        self.loading = LoadPresenter(context, self.view.loading)
        self._connect()
        self._show_nothing()

    @property
    def menu_actions(self) -> Mapping[MenuId, Sequence[QAction]]:
        return {MenuId.FILE: [self.readers_action]}

    def go_to(self, place: Place) -> None:
        """Inspect a file."""
        if isinstance(place, FilePlace):
            self.open(place.path)

    def open(self, path: Path, vocabulary: Path | None = None) -> None:
        """Inspect the template of that file, whatever model is open; `vocabulary` is a GGUF to use instead."""
        self.view.show_view(TEMPLATE)
        self._file, self._vocabulary, self._name = path, vocabulary, None
        self.refresh()

    def follow_model(self) -> None:
        """Inspect the template in use with the open model, now and whenever another is opened or chosen."""
        self._file = self._name = None
        self.refresh()

    def refresh(self) -> None:
        """Inspect the current template, unless it is already shown."""
        source = self._next_source()
        if source is None:
            self._source = None
            self._show_nothing()
        elif source != self._source:
            again = self._source is not None and self._source[:3] == source[:3] and self.found is not None
            self._source = source
            self._inspect(source, again)

    def ask_readers(self) -> None:
        """Open the dialog with the last answer, to parse it by the project's tools and by the inspected form."""
        answer, source = last_answer(self.context.runs.state), self._next_source()
        form = self.found.form if self.found is not None else answer.form
        template = None if source is None else source.template
        asked = self.context.project.next_run()
        self.readers = ReadersDialog(asked, answer, template, form, self.context.window)
        self.readers.chosen.connect(self._show_answer)
        self.readers.open()

    def _show_answer(self, events: tuple[AnyEvent, ...]) -> None:
        self.context.navigator.show(PageId.PLAYGROUND)
        self.context.runs.show_record(events)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        view = self.view
        view.open_link.clicked.connect(self._ask_for_file)
        view.model_link.clicked.connect(self.follow_model)
        view.prove_link.clicked.connect(lambda: self._prove(MORE_TURNS))
        view.readers_button.clicked.connect(self.readers_action.trigger)
        view.fileDropped.connect(lambda path: self.open(Path(path)))
        view.slotChosen.connect(self._choose_slot)
        view.pair.moved.connect(self._move)
        self.readers_action.triggered.connect(self.ask_readers)
        self.context.navigator.shown.connect(self._page_shown)
        self.context.runs.modelStatusChanged.connect(self._model_changed)
        self.context.project.optionsChanged.connect(self._model_changed)

    def _page_shown(self, page: PageId) -> None:
        if page is self.id:
            self._show_facts()
            self.refresh()

    def _model_changed(self, status: object) -> None:
        if self.context.navigator.current is self.id:
            if isinstance(status, ModelStatus):
                self._show_facts()
            self.refresh()

    def _show_facts(self) -> None:
        """Show the facts of the open model; one without a file has none."""
        info = self.context.runs.model.info
        has_file = info is not None and info.kind == "llama.cpp" and bool(info.path)
        self.view.no_facts.setVisible(not has_file)
        self.loading.show_model(info.path if info is not None and has_file else "")

    def _ask_for_file(self) -> None:
        window, title = self.context.window, tr("Inspect a template")
        ask_for_file(window, title, self.open, TEMPLATE_FILES, name="openTemplateDialog")

    # -- what is inspected -------------------------------------------------------------------------------------

    def _next_source(self) -> TemplateFile | None:
        info = self.context.runs.model.info
        model = Path(info.path) if info is not None and info.kind == "llama.cpp" and info.path else None
        options = self.context.project.options
        chat = ChatOptions(template_vars=options.template_vars, reasoning_effort=options.reasoning_effort)
        if self._file is None:
            name = options.chat_template if self._name is None else self._name
            return None if model is None else TemplateFile(model, model, name, chat)
        own = self._file if self._file.suffix.lower() == ".gguf" else None
        return TemplateFile(self._file, self._vocabulary or own or model, self._name or "", chat)

    def _choose_name(self, name: str) -> None:
        self._name = name
        self.refresh()

    def _inspect(self, source: TemplateFile, again: bool) -> None:
        """Inspect a source; `again` with other variables, while the page stays as it is."""
        self.found = self._unproved = None
        self.lint.inspect(source)
        self._show_source(source)
        if not again:
            self.view.show_words(tr("Rendering the template…"))
        work = partial(_look, source)
        self._background.start("look", work, partial(self._looked, source, again), self.view.show_error)

    def _looked(self, source: TemplateFile, again: bool, looked: tuple[Inspection, TemplateSource]) -> None:
        if source == self._source:
            self._unproved, template = looked
            found = self._unproved
            name = None if self._file is not None or "{" in source.name else source.name
            self.choice.show_template(template, found.variables, name=name)
            self._show(found, again)
            self._prove(TURNS)

    def _prove(self, turns: int) -> None:
        source, found = self._source, self._unproved
        if source is None or found is None:
            return
        self.view.prove_link.setEnabled(False)
        self.view.pill.set_words(*proof_words(found))
        work = partial(_prove, source, found, turns)
        self._background.start("prove", work, partial(self._proved, source), self.view.show_error)

    def _proved(self, source: TemplateFile, found: Inspection) -> None:
        if source == self._source:
            self.found = found
            self._show_proof()

    # -- what is shown -----------------------------------------------------------------------------------------

    def _show(self, found: Inspection, again: bool) -> None:
        self.found, view = found, self.view
        view.slots.rows.show_rows(slot_rows(found))
        view.markers.rows.show_rows(marker_rows(found))
        view.markers.setVisible(bool(found.markers))
        view.ends.setText(ends_words(found))
        view.details.thinking.rows.show_rows(thinking_rows(found))
        if not again:
            view.details.show_view("notes" if found.warnings else "thinking")
        view.show_form()
        self._show_proof()
        self._pair, self._markers = 0, ()
        self._show_pair()

    def _show_proof(self) -> None:
        assert self.found is not None
        self.view.pill.set_words(*proof_words(self.found))
        self.view.details.notes.rows.show_rows(note_rows(self.found))
        self.view.details.values.rows.show_rows(value_rows(self.found))
        self.view.prove_link.setEnabled(bool(self.found.proof and self.found.proof["turns"]))

    def _show_source(self, source: TemplateFile) -> None:
        name, quantisation = model_name(str(source.path))
        shown = source.path.name if self._file else f"{name} {quantisation}".strip()
        if "{" in source.name:
            shown = tr("{model}, with another template", model=shown)
        self.view.source.setText(shown)
        self.view.model_link.setEnabled(self._file is not None)

    def _show_nothing(self) -> None:
        self.found = self._unproved = None
        self.lint.inspect(None)
        self.choice.show_template(None, name=None)
        opening = self.context.runs.model.phase == "opening"
        self.view.source.setText("")
        self.view.model_link.setEnabled(False)
        self.view.show_words(tr("The model is loading…") if opening else _NONE)

    def _choose_slot(self, row: int) -> None:
        """Show the first pair that contains a slot, with its markers."""
        if self.found is None or not 0 <= row < len(self.found.slots):
            return
        slot = self.found.slots[row]
        self._markers = slot.markers
        keys = [pair.key for pair in self.found.pairs]
        self._pair = next((keys.index(key) for key in slot.pairs if key in keys), self._pair)
        self._show_pair()

    def _move(self, by: int) -> None:
        self._markers = ()
        self._pair += by
        self._show_pair()

    def _show_pair(self) -> None:
        pairs = self.found.pairs if self.found is not None else ()
        self._pair = min(max(self._pair, 0), max(len(pairs) - 1, 0))
        pair = pairs[self._pair] if pairs else None
        self.view.pair.show_pair(pair, self._pair + 1 if pairs else 0, len(pairs), self._markers)


def _look(source: TemplateFile) -> tuple[Inspection, TemplateSource]:
    template = source.template()
    return inspect_template(template, source.vocabulary), template


def _prove(source: TemplateFile, found: Inspection, turns: int) -> Inspection:
    return with_proof(found, source.template(), turns)
