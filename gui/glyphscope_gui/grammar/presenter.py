"""The presenter of the grammar page: its text, the workbench that checks it, and the tools beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QInputDialog, QMenu

from glyphscope.base.pointer import steps_of
from glyphscope.base.shorten import shorten
from glyphscope.events import Answer, RunRequest
from glyphscope.events.answer import AnswerKind
from glyphscope.explain.grammar_origins import RuleOrigin, rule_origin, rules_by_argument
from glyphscope.grammar.bundled import bundled_grammars
from glyphscope.grammar.convert import TargetLanguage
from glyphscope.grammar.languages import LARK
from glyphscope.store import GrammarExample, GrammarWork
from glyphscope_gui.context import AppContext, FilePlace, LackingPlace, Page, Place, RulePlace
from glyphscope_gui.enforcement.other_engines import OtherEngines
from glyphscope_gui.enforcement.rows import badges
from glyphscope_gui.enforcement.table import CUSTOM, CUSTOM_ENGINE, ENGINES, EnforcementRow
from glyphscope_gui.grammar.examples import GrammarExamplesModel
from glyphscope_gui.grammar.files import GrammarFiles
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.problems import GrammarProblem
from glyphscope_gui.grammar.railroad_drawing import RailroadDrawing
from glyphscope_gui.grammar.step_tokens_presenter import StepTokensPresenter
from glyphscope_gui.grammar.work import (
    Checked,
    CheckedExamples,
    Converted,
    GrammarComparison,
    StepView,
    summary_words,
)
from glyphscope_gui.grammar.workbench import GrammarBench
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.dialogs import open_once
from glyphscope_gui.shared.labels import fewer_parts, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import HeaderPart, PageId
from glyphscope_gui.shared.plain_text import copy_text, shown_part
from glyphscope_gui.shared.run_words import value_words

MAX_ROWS = 1_000
"""Constraints in the table; each proof that arrives costs time for each of them."""
MAX_SHOWN = 200
"""Characters of a converted expression or schema that are shown."""
_FOREIGN: Mapping[str, TargetLanguage] = {
    tr("a regular expression"): "regex",
    tr("a JSON Schema"): "json-schema",
}
"""Languages that the page does not edit, by their names in the menu."""


class GrammarPresenter(Page):
    """Connects the view with the documents of the project and with the runs under its grammar."""

    id = PageId.GRAMMAR
    title = tr("Grammar")
    tip = tr("View, edit and test the grammar")
    can_run = True

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._project = context.project
        self._document = context.project.grammar
        self.examples = GrammarExamplesModel(self._document)
        self.view = self.widget = GrammarPage(self.examples)
        self.bench = GrammarBench(self._document, context.project.tools, self)
        self.files = GrammarFiles(self._document, context.window)
        self.others = OtherEngines(context.services.places.engines, self.view)
        self.run_rules = _RunRules(context, self.view, self.bench)
        self.step_tokens = StepTokensPresenter(context, self.view, self.bench)
        self._linking = False
        """Whether this page is selecting an argument in the tools, which must not select its rule again."""
        self._tools_problem = ""
        """Why the tools have no grammar."""
        self._summary: tuple[str, ...] = (tr("Checking…"),)
        self._rows: tuple[EnforcementRow, ...] = ()
        self._rows_complete = False
        """Whether all proofs of the tools' grammar are in `_rows`."""
        self._custom_rows: tuple[EnforcementRow, ...] = ()
        self._tool = ""
        """The tool whose rule is shown; empty for none."""
        self.view.edit.rule_tip = self._rule_tip
        self._connect_text()
        self._connect_answers()
        self._connect_window()
        self._show_source()
        self._options_changed(self._project.options)

    @property
    def header(self) -> frozenset[HeaderPart]:
        return frozenset({HeaderPart.MODEL, HeaderPart.CALL, HeaderPart.RUN})

    def run(self) -> None:
        """Show the playground and run there."""
        self.context.navigator.show(PageId.PLAYGROUND)
        super().run()

    def step(self) -> None:
        self.context.navigator.show(PageId.PLAYGROUND)
        super().step()

    def go_to(self, place: Place) -> None:
        match place:
            case FilePlace(path):
                self.files.open(path)
            case RulePlace(rule, grammar):
                self.run_rules.show_rule(rule, grammar)
            case LackingPlace():
                self._document.follow_tools()
                self.view.lacking.set_value("lacking")
                self.view.show_tab(self.view.enforcement)
                self._show_rows()

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_text(self) -> None:
        page, document = self.view, self._document
        page.edit.edited.connect(self._edited)
        page.edit.ruleEntered.connect(self.bench.set_rule)
        page.edit.fixRequested.connect(self._fix)
        page.diagnostics.fixRequested.connect(self._fix)
        page.diagnostics.chosen.connect(self._go_to)
        document.sourceChanged.connect(self._show_source)
        document.changed.connect(self._show_links)
        page.copy_link.clicked.connect(self._edit_as_text)
        page.source.chosen.connect(self._choose_source)
        page.open_link.clicked.connect(self.files.ask_to_open)
        page.fileDropped.connect(lambda path: self.files.open(Path(path)))
        page.use_box.clicked.connect(self._use)
        page.answer_link.clicked.connect(self._run_as_answer)
        page.more_link.clicked.connect(self._show_more)
        page.help_link.clicked.connect(page.help.show)
        self.files.opened.connect(self._opened)
        self.files.failed.connect(self.context.show_error)
        self.files.sourceRead.connect(self.bench.open_source)

    def _connect_answers(self) -> None:
        page, bench = self.view, self.bench
        bench.checking.connect(self._show_checking)
        bench.checked.connect(self._show_checked)
        bench.generated.connect(lambda _made: self._show_tools_problem(""))
        bench.notGenerated.connect(lambda error: self._show_tools_problem(str(error)))
        bench.drawn.connect(self._show_drawing)
        bench.examplesChecked.connect(self._show_examples)
        bench.stepped.connect(self._show_step)
        bench.sampled.connect(self._show_samples)
        bench.compared.connect(self._show_comparison)
        bench.lined.connect(page.lines.show_rows)
        bench.converted.connect(self._converted)
        bench.proved.connect(self._show_proofs)
        bench.enforcementTested.connect(self._show_custom_rows)
        bench.crashed.connect(self.context.show_error)
        page.step.moved.connect(self._step_moved)
        page.examples.chosen.connect(page.step.set_text)
        for source in (page.examples, page.samples, page.differences):
            source.stepRequested.connect(self._step_through)
        for source in (page.samples, page.differences):
            source.exampleRequested.connect(self.examples.add)
        page.step.rules.linkActivated.connect(page.edit.go_to_rule)
        page.lines.stepRequested.connect(lambda line: page.edit.go_to_rule(line.partition("::=")[0].strip()))
        page.lacking.chosen.connect(lambda _value: self._show_rows())
        page.railroad.ruleChosen.connect(page.edit.go_to_rule)
        page.railroad.failed.connect(self.context.show_error)
        page.again_link.clicked.connect(self.bench.sample_again)
        page.add_run_link.clicked.connect(self._add_run)

    def _connect_window(self) -> None:
        context, page = self.context, self.view
        context.navigator.shown.connect(self._page_shown)
        self._project.optionsChanged.connect(self._options_changed)
        context.panels.argumentSelected.connect(self._argument_selected)
        context.themes.changed.connect(lambda _theme: self.bench.draw())
        context.runs.ended.connect(lambda _ended: self._show_links())
        page.origin.clicked.connect(self._go_to_argument)
        page.enforcement.constraintChosen.connect(self._constraint_chosen)
        menu = page.engines_link.menu()
        menu.aboutToShow.connect(lambda: self.others.fill(menu))
        self.others.changed.connect(self._engines_changed)
        self.others.failed.connect(context.show_error)

    # -- text --------------------------------------------------------------------------------------------------

    def _edited(self) -> None:
        self._document.typed(self.view.edit.text)
        self.bench.text_changed()

    def _show_source(self) -> None:
        """Show another text: the tools' grammar or the custom one."""
        edit, document = self.view.edit, self._document
        part = shown_part(document.text)
        if document.is_generated and edit.isReadOnly():
            edit.follow(part)
        else:
            edit.replace_all(part)
        edit.setReadOnly(document.is_generated or part is not document.text)
        edit.set_language(document.language.name)
        self._show_rows()
        self._show_links()

    def _show_links(self) -> None:
        page, work, generated = self.view, self._document.work, self._document.is_generated
        page.source.set_value("tools" if generated else "text")
        page.source.button("text").setEnabled(not generated or bool(work.text))
        page.copy_link.setVisible(generated)
        page.copy_link.setEnabled(bool(self._document.generated))
        lark = self._document.language is LARK
        page.engines_link.setVisible(generated)
        page.use_box.setVisible(not generated and not lark)  # the grammar of the tools is GBNF
        page.use_box.setChecked(work.use)
        page.answer_link.setVisible(not generated)
        page.add_run_link.setEnabled(bool(self.context.runs.state.text))
        options = self._project.options
        written = [value_words(name, getattr(options, name)) for name in ("notation", "shape")]
        forms = fewer_parts(" · ".join(written)) if generated else (Path(work.path).name,)
        page.edit_card.heading.hint.set_forms(*forms)

    def _choose_source(self, source: str) -> None:
        if source == "tools":
            self._document.follow_tools()
        else:
            self._document.return_to_custom_text()

    def _edit_as_text(self) -> None:
        """Replace the custom grammar with a copy of the generated one, and offer to undo that."""
        before = self._document.work
        self._document.edit_as_text()
        self._offer_undo(before)

    def _offer_undo(self, before: GrammarWork, words: str = "") -> None:
        """Offer to return to the work before the custom grammar was replaced; `words` say more about that."""
        if before.text and before.text != self._document.work.text:
            restored = msgspec.structs.replace(before, source="text")
            replaced = tr("Your grammar was replaced.")
            self.view.notice.show_words(
                f"{words} {replaced}".strip(), tr("Undo"), lambda: self._document.restore(restored)
            )
        elif words:
            self.view.notice.show_words(words)
        self.view.edit.setFocus()

    def _show_more(self) -> None:
        other = "GBNF" if self._document.language is LARK else "Lark"
        targets: dict[str, TargetLanguage] = {other: other.lower(), **_FOREIGN}  # type: ignore[dict-item]
        convert = [
            (tr("Convert to {language}", language=words), partial(self.bench.convert, to))
            for words, to in targets.items()
        ]
        listed = [(one.title, partial(self._open_bundled, name)) for name, one in bundled_grammars().items()]
        place = self.view.more_link.mapToGlobal(self.view.more_link.rect().topLeft())
        typed = (tr("Regular expression as a grammar…"), self._ask_for_pattern)
        save = (tr("Save as…"), self.files.ask_where_to_save)
        pop_up(QMenu(self.view), place, save, None, *convert, typed, None, *listed)

    def _ask_for_pattern(self) -> None:
        dialog = named(
            QInputDialog(self.view), "patternDialog", windowTitle=tr("Regular expression as a grammar")
        )
        dialog.setLabelText(tr("Regular expression, which the whole text matches"))
        dialog.textValueSelected.connect(lambda text: self.bench.open_source(text, "regex"))
        open_once(dialog)

    def _open_bundled(self, name: str) -> None:
        """Show a bundled grammar with its examples."""
        before, one = self._document.work, bundled_grammars()[name]
        self._document.open_text(one.text, "")
        right = (GrammarExample(text, True) for text in one.matches)
        wrong = (GrammarExample(text, False) for text in one.rejects)
        self._document.set_examples((*right, *wrong))
        self._offer_undo(before)

    def _converted(self, made: Converted | None, why: str) -> None:
        if made is None:
            self.view.notice.show_words(why)
        elif made.to in _FOREIGN.values():
            words = f"{shorten(made.text.strip(), MAX_SHOWN)} · {made.note}"
            self.view.notice.show_words(words, tr("Copy"), lambda: copy_text(made.text.strip()))
        else:
            before = self._document.work
            self._document.open_text(made.text, "")
            self._offer_undo(before, made.note)

    def _opened(self, path: str, warning: str) -> None:
        self.view.notice.hide()
        if warning:
            self.view.notice.show_words(warning)
        self.view.edit.setFocus()

    def _fix(self, problem: GrammarProblem) -> None:
        """Apply a fix only to the checked text: in a newer text, it would change the wrong place."""
        if self._document.is_generated:
            self.view.notice.show_words(
                tr("Generated from the tools. Edit a copy to change it."),
                tr("Edit as text"),
                self._edit_as_text,
            )
            return
        last = self.bench.last
        if last is not None and last.text == self.view.edit.text():
            self.view.edit.fix(problem)

    def _go_to(self, problem: GrammarProblem) -> None:
        self.view.edit.select(problem.start, problem.end)
        self.view.edit.setFocus()

    def _use(self, used: bool) -> None:
        self._document.set_use(used)
        if used and self._project.options.constraint == "off":
            self._project.set_options(constraint="gbnf")
        self._show_links()

    def _run_as_answer(self) -> None:
        """Run the prompt; its answer is a text of the grammar."""
        kind: AnswerKind = "lark" if self._document.language is LARK else "gbnf"
        self._project.set_options(answer=Answer(kind, self._document.text))
        self.run()

    # -- answers -----------------------------------------------------------------------------------------------

    def _show_checking(self) -> None:
        self.view.summary.set_forms(*self._summary)

    def _show_tools_problem(self, words: str) -> None:
        self._tools_problem = words
        self._show_summary()

    def _show_checked(self, found: Checked) -> None:
        page = self.view
        page.edit.set_language(found.language.name)
        page.help.set_language(found.language.name)
        page.edit.show_problems(found.problems)
        page.edit.completer.set_names(found.rules)
        page.diagnostics.set_room(page.edit_card.height())
        page.diagnostics.show_problems(found.problems)
        self._summary = summary_words(found)
        self._show_summary()

    def _show_summary(self) -> None:
        generated = self._document.is_generated
        problem = self._tools_problem if generated else ""
        self.view.summary.set_forms(*((problem,) if problem else self._summary))

    def _show_drawing(self, drawing: RailroadDrawing | None) -> None:
        page = self.view
        page.railroad.show_drawing(drawing)
        page.rule_card.heading.title.set_title(
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
            page.origin.set_words(*fewer_parts(f"← {origin.words}"), "←")
            page.origin.setToolTip(
                tr("Generated from {origin}. Click to show it in the tools.", origin=origin.words)
            )
        hint = tr("%n part(s) omitted", "", drawing.left_out) if drawing and drawing.left_out else ""
        page.rule_card.heading.hint.setText(hint)

    def _show_examples(self, checked: CheckedExamples | None) -> None:
        page, count = self.view, len(self.examples.examples)
        self.examples.show_verdicts(checked.verdicts if checked else {})
        if not count:
            words = ""
        elif checked is None:
            words = tr("fix the errors first")
        else:
            words = checked.problem or tr(
                "{right} of {count} pass", right=self.examples.passing(), count=count
            )
        page.example_hint.setText(words)

    def _show_step(self, view: StepView | None, why: str) -> None:
        self.view.step.show_view(view, why)
        self.view.step_hint.setText(self.view.step.words())

    def _show_samples(self, texts: tuple[str, ...] | None, why: str) -> None:
        self.view.samples.show_rows([("", text) for text in texts or ()], why)
        if texts and not self.view.step.text:
            self.view.step.set_text(texts[-1])

    def _show_comparison(self, found: GrammarComparison | None, why: str) -> None:
        if found is None:
            self.view.differences.show_rows(
                [], why or tr("Edit the grammar to see which texts it newly accepts or rejects.")
            )
            return
        both = ((tr("now accepted"), found.now), (tr("no longer"), found.no_longer))
        rows = [(words, text) for words, text in both if text is not None]
        self.view.differences.show_rows(rows, found.note)

    def _show_proofs(self, rows: tuple[EnforcementRow, ...], complete: bool) -> None:
        self._rows = rows
        self._rows_complete = complete
        self._show_rows()
        self._show_badges()

    def _show_custom_rows(self, rows: tuple[EnforcementRow, ...]) -> None:
        self._custom_rows = rows
        self._show_rows()

    def _show_rows(self) -> None:
        """Show the enforcement for the shown rule's tool, or for all tools; a custom grammar has separate rows."""
        custom = not self._document.is_generated
        found = self._custom_rows if custom else self._rows
        engines = CUSTOM_ENGINE if custom else (*ENGINES[:2], *self.others.columns, *ENGINES[2:])
        engine = CUSTOM if custom else "gbnf" if self._project.options.constraint == "gbnf" else "mask"
        lacking = tuple(row for row in found if row.lacks(engine))
        named = (
            () if self.view.lacking.value == "lacking" else [row for row in found if row.tool == self._tool]
        )
        rows = lacking if self.view.lacking.value == "lacking" else named or found
        unknown = sum(row.is_unknown(engine) for row in lacking)
        self.view.show_lacking(len(lacking) - unknown, unknown, len(named or found))
        self.view.enforcement.show_rows(rows[:MAX_ROWS], engines, of_one_tool=bool(named))
        about = self._about_rows(any_rows=bool(found))
        if len(rows) > MAX_ROWS:
            cut = tr("The first {most:,} constraints; a rule shows those of its tool.", most=MAX_ROWS)
            about = f"{about} {cut}"
        self.view.enforcement.show_nothing(about)
        self.view.enforcement_hint.setText(about if rows else "")

    def _about_rows(self, *, any_rows: bool) -> str:
        """A hint about the table, or the reason why it is empty."""
        last = self.bench.last
        if not self._document.is_generated:
            if last is not None and not last.ok:
                return tr("Available when the errors are fixed.")
            return "" if any_rows else tr("The grammar calls none of the tools.")
        if self.others.installing:
            return tr("Installing {package}…", package=self.others.installing)
        if not self._rows_complete:
            done, count = self.bench.tested
            return tr("Testing each constraint: {done:,} of {count:,} tools…", done=done, count=count)
        if any_rows:
            return tr("Converter: llama.cpp’s JSON Schema grammar")
        return tr("The schemas have no constraints.")

    def _engines_changed(self) -> None:
        self.bench.set_outside(self.others.outside)
        self._show_rows()

    def _show_badges(self) -> None:
        constraint = self._project.options.constraint
        self.context.panels.show_enforcement(badges(self._rows, constraint, self._rows_complete))

    # -- rules and the tools -----------------------------------------------------------------------------------

    def _origin_of(self, rule: str) -> RuleOrigin | None:
        origin = self.bench.origins.get(rule)
        return rule_origin(self._project.tools.registry, origin) if origin is not None else None

    def _rule_tip(self, rule: str) -> str:
        origin = self._origin_of(rule)
        return tr("{rule}: from {origin}", rule=rule, origin=origin.words) if origin else ""

    def _go_to_argument(self) -> None:
        drawing = self.view.railroad.drawing
        origin = self._origin_of(drawing.rule) if drawing else None
        if origin is not None:
            self._show_argument(origin.tool, origin.argument)

    def _constraint_chosen(self, tool: str, pointer: str) -> None:
        steps = steps_of(pointer)
        argument = steps[1] if len(steps) > 1 and steps[0] == "properties" else None
        rule = rules_by_argument(self.bench.origins).get((tool, argument))
        if rule:
            self.view.edit.go_to_rule(rule)

    def _show_argument(self, tool: str, argument: str | None) -> None:
        self._linking = True
        self.context.panels.reveal_argument(tool, argument)
        self._linking = False

    def _argument_selected(self, tool: str, argument: str | None) -> None:
        """Show the rule of an argument that the user selected in the tools."""
        if self._linking or self.context.navigator.current is not PageId.GRAMMAR:
            return
        rule = rules_by_argument(self.bench.origins).get((tool, argument))
        if rule:
            self.view.edit.go_to_rule(rule)
        self.view.enforcement.show_argument(tool, argument)

    # -- the window --------------------------------------------------------------------------------------------

    def _page_shown(self, page: PageId) -> None:
        if page is PageId.GRAMMAR:
            self.bench.activate()

    def _options_changed(self, options: RunRequest) -> None:
        self.bench.set_options(options)
        self._show_links()
        self._show_rows()
        self._show_badges()

    def _step_through(self, text: str) -> None:
        self.view.step.set_text(text)
        self.view.show_tab(self.view.step)

    def _step_moved(self, text: str, at: int) -> None:
        self.bench.set_step(text, at)
        self.view.step_hint.setText(self.view.step.words())

    def _add_run(self) -> None:
        """Add the last run's output as an example: a valid call must match, any other must not."""
        state = self.context.runs.state
        if state.text:
            example = GrammarExample(state.text, state.outcome == "valid")
            if example not in self.examples.examples:
                self.examples.add(example.text, example.matches)


class _RunRules(QObject):
    """The shown run's rules: shows their costs as the run is measured, and goes to a rule when its text is loaded."""

    def __init__(self, context: AppContext, view: GrammarPage, bench: GrammarBench) -> None:
        super().__init__(view)
        self._view = view
        self._bench = bench
        self._document = context.project.grammar
        self._rule = ""
        """The rule to go to once the page's text is checked; empty for none."""
        self._run_grammar: str | None = None
        """The custom text with which that rule's run was made."""
        bench.checked.connect(self._go)
        view.costs.ruleChosen.connect(lambda rule: self.show_rule(rule, context.rules.grammar))
        context.rules.priced.connect(view.costs.show_costs)

    def show_rule(self, name: str, grammar: str | None) -> None:
        """Go to a rule of the shown run once its text is loaded; `grammar` is the run's custom text, if any."""
        document = self._document
        if grammar is not None and document.is_generated and document.work.text == grammar:
            document.return_to_custom_text()
        self._rule, self._run_grammar = name, grammar
        last = self._bench.last
        if last is not None and last.text == document.text:
            self._go(last)

    def _go(self, found: Checked) -> None:
        if not self._rule:
            return
        name, self._rule = self._rule, ""
        custom = self._run_grammar
        if not self._view.edit.go_to_rule(name):
            words = (
                tr(
                    "The run used the grammar generated from the tools; its rule {name} is not in this text.",
                    name=name,
                )
                if custom is None
                else tr("The run used a custom grammar; its rule {name} is not in this text.", name=name)
            )
            self._view.notice.show_words(words)
        elif not self._document.is_generated if custom is None else custom != found.text:
            self._view.notice.show_words(tr("The run used another grammar, with a rule of that name."))
