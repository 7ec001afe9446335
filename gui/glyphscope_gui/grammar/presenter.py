"""Who hears what about grammars: the page, its engine room, the tools beside it, and the runs under a grammar."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject

from glyphscope.events import RunRequest
from glyphscope.proof import Proof
from glyphscope.registry.pointer import steps_of
from glyphscope.sessions import GrammarExample, GrammarWork
from glyphscope_gui.enforcement.model import ENGINES, OWN_ENGINE, EnforcementRow
from glyphscope_gui.enforcement.rows import badges, enforcement_rows
from glyphscope_gui.grammar.examples_model import GrammarExamplesModel
from glyphscope_gui.grammar.files import GrammarFiles
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.problems import GrammarProblem
from glyphscope_gui.grammar.railroad_drawing import RailroadDrawing
from glyphscope_gui.grammar.work import Checked, Comparison, Judged, StepView
from glyphscope_gui.grammar.workbench import GrammarBench
from glyphscope_gui.runs.grammar_origins import RuleOrigin, rule_origin, rules_by_argument
from glyphscope_gui.shared.language import tr
from glyphscope_gui.tools.registry_tree_model import Item

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

PAGE, PLAYGROUND = "grammar", "playground"
NO_DIFFERENCES = tr("After an edit: texts that are accepted now, and texts that are not any more.")
_NOTATIONS = {"glyph": "GLYPH", "json": "JSON"}


class GrammarWiring(QObject):
    """Connects the grammar page; nothing else knows both it and the rest of the window."""

    def __init__(self, window: MainWindow, page: GrammarPage, examples: GrammarExamplesModel) -> None:
        super().__init__(window)
        self._window = window
        self._page = page
        self._examples = examples
        self._parts = window.parts
        self._document = window.parts.project.grammar
        self.bench = GrammarBench(self._document, self._parts.document, self)
        self.files = GrammarFiles(self._document, window)
        self._linking = False
        self._trouble = ""
        self._summary = ""
        self._rows: tuple[EnforcementRow, ...] = ()
        self._rows_complete = False
        self._own_rows: tuple[EnforcementRow, ...] = ()
        self._tool = ""
        page.edit.rule_tip = self._rule_tip
        self._connect_text()
        self._connect_answers()
        self._connect_window()
        page.enforcement.hide()
        self._show_source()
        self._options_changed(self._parts.project.options)

    def close(self) -> None:
        self.bench.close()
        self.files.close()

    def under(self, request: RunRequest) -> RunRequest:
        """The request of a run, held to the user's own grammar where that is wanted."""
        work = self._document.work
        if not work.use or request.constraint == "off":
            return request
        return msgspec.structs.replace(request, grammar=work.text)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_text(self) -> None:
        page, document = self._page, self._document
        page.edit.edited.connect(self._edited)
        page.edit.ruleEntered.connect(self._rule_entered)
        page.edit.fixWanted.connect(self._fix)
        page.diagnostics.fixWanted.connect(self._fix)
        page.diagnostics.chosen.connect(self._go_to)
        document.sourceChanged.connect(self._show_source)
        document.changed.connect(self._show_links)
        page.copy_link.clicked.connect(self._edit_as_text)
        page.tools_link.clicked.connect(document.follow_tools)
        page.own_link.clicked.connect(document.own_text)
        page.open_link.clicked.connect(self.files.ask_to_open)
        page.save_link.clicked.connect(self.files.ask_where_to_save)
        page.fileDropped.connect(self._open)
        page.use_link.clicked.connect(self._use)
        page.help_link.clicked.connect(page.help.show)
        self.files.opened.connect(self._opened)
        self.files.failed.connect(self._window.tell_error)

    def _connect_answers(self) -> None:
        page, bench = self._page, self.bench
        bench.checking.connect(self._show_checking)
        bench.checked.connect(self._show_checked)
        bench.generated.connect(lambda _made: self._told_trouble(""))
        bench.notGenerated.connect(lambda error: self._told_trouble(str(error)))
        bench.drawn.connect(self._show_drawing)
        bench.judged.connect(self._show_judged)
        bench.stepped.connect(self._show_step)
        bench.sampled.connect(self._show_samples)
        bench.compared.connect(self._show_comparison)
        bench.proved.connect(self._show_proofs)
        bench.tried.connect(self._show_own_rows)
        bench.crashed.connect(self._window.tell_error)
        page.step.moved.connect(self._step_moved)
        for source in (page.examples, page.samples, page.differences):
            source.stepWanted.connect(page.step.set_text)
        for source in (page.samples, page.differences):
            source.exampleWanted.connect(self._examples.add)
        page.step.ruleChosen.connect(self._go_to_rule)
        page.railroad.ruleChosen.connect(self._go_to_rule)
        page.railroad.failed.connect(self._window.tell_error)
        page.again_link.clicked.connect(self.bench.sample_again)
        page.add_run_link.clicked.connect(self._add_run)

    def _connect_window(self) -> None:
        window, page = self._window, self._page
        window.pages.shown.connect(self._page_shown)
        self._parts.project.optionsChanged.connect(self._options_changed)
        window.tools_page.tree.itemSelected.connect(self._argument_chosen)
        window.themes.changed.connect(lambda _theme: self.bench.draw())
        window.runs.ended.connect(lambda _applied: self._show_links())
        page.origin.clicked.connect(self._go_to_argument)
        for action in (window.actions_.run, window.actions_.step):
            action.triggered.connect(self._show_run)
        page.enforcement.constraintChosen.connect(self._constraint_chosen)

    # -- text --------------------------------------------------------------------------------------------------

    def _edited(self) -> None:
        self._document.typed(self._page.edit.text)
        self.bench.text_changed()

    def _show_source(self) -> None:
        """Another text is in force."""
        edit, document = self._page.edit, self._document
        if document.is_generated and edit.isReadOnly():
            edit.follow(document.text)
        else:
            edit.replace_all(document.text)
        edit.setReadOnly(document.is_generated)
        self._show_rows()
        self._show_links()

    def _show_links(self) -> None:
        page, work, generated = self._page, self._document.work, self._document.is_generated
        page.copy_link.setVisible(generated)
        page.copy_link.setEnabled(bool(self._document.generated))
        page.own_link.setVisible(generated and bool(work.text))
        page.tools_link.setVisible(not generated)
        page.use_link.setVisible(not generated)
        page.use_link.setChecked(work.use)
        page.use_link.setText(tr("✓ Used for runs") if work.use else tr("Use for runs"))
        tip = tr("Runs are held to this text, not to the tools’ grammar. A click ends that.")
        page.use_link.setToolTip(
            tip if work.use else tr("Hold the runs to this text instead of the tools’ grammar")
        )
        page.add_run_link.setEnabled(bool(self._window.runs.state.text))
        options = self._parts.project.options
        source = tr(
            "Tools · {notation} · {shape}", notation=_NOTATIONS[options.notation], shape=options.shape
        )
        page.edit_card.heading.hint.setText(
            source if generated else Path(work.path).name or tr("your own text")
        )

    def _edit_as_text(self) -> None:
        self._replacing(self._document.edit_as_text)
        self._page.edit.setFocus()

    def _open(self, path: str) -> None:
        self.files.open(path)

    def _opened(self, path: str, trouble: str) -> None:
        self._page.notice.hide()
        if trouble:
            self._page.notice.tell(trouble)
        self._page.edit.setFocus()

    def _replacing(self, do: object) -> None:
        """What takes the place of the user's own text can be taken back."""
        before = self._document.work
        do()  # type: ignore[operator]
        if before.text and before.text != self._document.work.text:
            self._page.notice.tell(
                tr("Your own text was replaced."), tr("Take it back"), lambda: self._take_back(before)
            )

    def _take_back(self, before: GrammarWork) -> None:
        self._document.restore(msgspec.structs.replace(before, source="text"))

    def _fix(self, problem: GrammarProblem) -> None:
        """Of the text as it was checked only: an older fix would hit the wrong place."""
        if self._document.is_generated:
            self._page.notice.tell(
                tr("This grammar follows the tools. To correct it by hand, edit a copy."),
                tr("Edit as text"),
                self._edit_as_text,
            )
            return
        last = self.bench.last
        if last is not None and last.text == self._page.edit.text():
            self._page.edit.fix(problem)

    def _go_to(self, problem: GrammarProblem) -> None:
        self._page.edit.select(problem.start, problem.end)
        self._page.edit.setFocus()

    def _use(self, wanted: bool) -> None:
        self._document.set_use(wanted)
        if wanted and self._parts.project.options.constraint == "off":
            self._parts.project.set_options(constraint="gbnf")
        self._show_links()

    # -- answers -----------------------------------------------------------------------------------------------

    def _show_checking(self) -> None:
        self._page.summary.setText(self._summary or tr("Checking…"))

    def _told_trouble(self, words: str) -> None:
        self._trouble = words
        self._show_summary()

    def _show_checked(self, found: Checked) -> None:
        page = self._page
        page.edit.set_problems(found.problems)
        page.edit.set_rule_names(tuple(found.rules))
        page.diagnostics.set_room(page.edit_card.height())
        page.diagnostics.show_problems(found.problems)
        self._summary = summary_words(found)
        self._show_summary()

    def _show_summary(self) -> None:
        generated = self._document.is_generated
        self._page.summary.setText(self._trouble if generated and self._trouble else self._summary)

    def _show_drawing(self, drawing: RailroadDrawing | None) -> None:
        page = self._page
        page.railroad.show_drawing(drawing)
        page.rule_card.heading.set_title(
            tr("Rule {rule}", rule=drawing.rule) if drawing else tr("Rule"), upper=4
        )
        origin = self._origin_of(drawing.rule) if drawing else None
        tool = origin.tool if origin else ""
        if tool != self._tool:
            self._tool = tool
            self._show_rows()
        if origin is not None and origin.argument is not None:
            page.enforcement.show_argument(origin.tool, origin.argument)
        page.origin.setVisible(origin is not None)
        if origin is not None:
            page.origin.set_words(f"← {origin.words}")
            page.origin.setToolTip(
                tr("This rule comes from {origin}. A click goes to it in the tools.", origin=origin.words)
            )
        hint = tr("%n piece(s) left out", "", drawing.left_out) if drawing and drawing.left_out else ""
        page.rule_card.heading.hint.setText(hint)

    def _show_judged(self, judged: Judged | None) -> None:
        page, count = self._page, len(self._examples.examples)
        self._examples.show_verdicts(judged.verdicts if judged else {})
        if not count:
            words = ""
        elif judged is None:
            words = tr("correct the mistakes first")
        else:
            words = judged.trouble or tr(
                "{right} of {count} as they should be", right=self._examples.right(), count=count
            )
        page.example_card.heading.hint.setText(words)

    def _show_step(self, view: StepView | None, why: str) -> None:
        self._page.step.show_view(view, why)
        self._page.step_card.heading.hint.setText(self._page.step.words())

    def _show_samples(self, texts: tuple[str, ...] | None, why: str) -> None:
        self._page.samples.show_rows([("", text) for text in texts or ()], why)
        if texts and not self._page.step.text:
            self._page.step.set_text(texts[-1])

    def _show_comparison(self, found: Comparison | None, why: str) -> None:
        if found is None:
            self._page.differences.show_rows(
                [],
                why
                or tr("Edit the text: what it accepts now, and what it does not any more, is shown here."),
            )
            return
        both = ((tr("now accepted"), found.now), (tr("no longer"), found.no_longer))
        rows = [(words, text) for words, text in both if text is not None]
        self._page.differences.show_rows(rows, found.told)

    def _show_proofs(self, proofs: tuple[Proof, ...], complete: bool) -> None:
        self._rows = enforcement_rows(self._parts.document.registry, proofs)
        self._rows_complete = complete
        self._show_rows()
        self._show_badges()

    def _show_own_rows(self, rows: tuple[EnforcementRow, ...]) -> None:
        self._own_rows = rows
        self._show_rows()

    def _show_rows(self) -> None:
        """Those of the tool whose rule is shown; without one, of all. A text of the user's own has its own."""
        own = not self._document.is_generated
        found = self._own_rows if own else self._rows
        named = [row for row in found if row.tool == self._tool]
        rows = named or [replace(row, words=f"{row.tool} · {row.words}") for row in found]
        self._page.enforcement.show_rows(rows, OWN_ENGINE if own else ENGINES)
        self._page.enforcement.setVisible(bool(rows))

    def _show_badges(self) -> None:
        constraint = self._parts.project.options.constraint
        self._window.tools_page.set_enforcement(badges(self._rows, constraint, self._rows_complete))

    # -- rules and the tools -----------------------------------------------------------------------------------

    def _rule_entered(self, name: str) -> None:
        self.bench.set_rule(name)

    def _go_to_rule(self, name: str) -> None:
        self._page.edit.go_to_rule(name)

    def _origin_of(self, rule: str) -> RuleOrigin | None:
        origin = self.bench.origins.get(rule)
        return rule_origin(self._parts.document.registry, origin) if origin is not None else None

    def _rule_tip(self, rule: str) -> str:
        origin = self._origin_of(rule)
        return tr("{rule}: from {origin}", rule=rule, origin=origin.words) if origin else ""

    def _go_to_argument(self) -> None:
        drawing = self._page.railroad.drawing
        origin = self._origin_of(drawing.rule) if drawing else None
        if origin is not None:
            self._show_argument(origin.tool, origin.argument)

    def _constraint_chosen(self, tool: str, pointer: str) -> None:
        steps = steps_of(pointer)
        argument = steps[1] if len(steps) > 1 and steps[0] == "properties" else None
        rule = rules_by_argument(self.bench.origins).get((tool, argument))
        if rule:
            self._page.edit.go_to_rule(rule)

    def _show_argument(self, tool: str, argument: str | None) -> None:
        dock = self._window.left[0]
        dock.show()
        dock.raise_()
        self._linking = True
        self._window.tools_page.show_argument(tool, argument)
        self._linking = False

    def _argument_chosen(self, item: Item | None) -> None:
        """An argument chosen in the tools shows its rule here."""
        if item is None or self._linking or self._window.pages.current != PAGE:
            return
        rule = rules_by_argument(self.bench.origins).get((item.tool, item.argument))
        if rule:
            self._page.edit.go_to_rule(rule)
        self._page.enforcement.show_argument(item.tool, item.argument)

    # -- the window --------------------------------------------------------------------------------------------

    def _page_shown(self, name: str) -> None:
        if name == PAGE:
            self.bench.activate()

    def _show_run(self) -> None:
        """A run is seen where it is shown."""
        if self._window.pages.current == PAGE:
            self._window.pages.show(PLAYGROUND)

    def _options_changed(self, options: RunRequest) -> None:
        self.bench.set_options(options)
        self._show_links()
        self._show_badges()

    def _step_moved(self, text: str, at: int) -> None:
        self.bench.set_step(text, at)
        self._page.step_card.heading.hint.setText(self._page.step.words())

    def _add_run(self) -> None:
        """What the last run wrote: a call that was right must match, one that was not must not."""
        state = self._window.runs.state
        if state.text:
            example = GrammarExample(state.text, state.outcome == "valid")
            if example not in self._examples.examples:
                self._examples.add(example.text, example.matches)


def summary_words(found: Checked) -> str:
    """`8 rules, 2 mistakes, checked in 4 ms`."""
    errors, warnings, hints = (found.counts.get(kind, 0) for kind in ("error", "warning", "hint"))
    words = [
        tr("%n rule(s)", "", len(found.rules)),
        tr("%n mistake(s)", "", errors) if errors else tr("no mistakes"),
        tr("%n warning(s)", "", warnings) if warnings else "",
        tr("%n hint(s)", "", hints) if hints else "",
    ]
    took = (
        tr("{milliseconds:.0f} ms", milliseconds=found.seconds * 1000)
        if found.seconds < 1
        else tr("{seconds:.1f} s", seconds=found.seconds)
    )
    return tr("{counts}, checked in {time}", counts=", ".join(filter(None, words)), time=took)
