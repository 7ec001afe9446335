"""The computations of the grammar page: which ones a change repeats, always outside the GUI thread.

Results for an older text are dropped. Nothing is computed before the page is shown for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from glyphscope.events import RunRequest
from glyphscope.grammar.convert import TargetLanguage
from glyphscope.grammar.generate.sample import short_samples
from glyphscope.grammar.languages import GBNF
from glyphscope.grammar.tree import Grammar, Origin, Unenforced
from glyphscope.registry import ToolRegistry
from glyphscope_gui.enforcement.rows import NO_OTHERS, EnforcementRows, Outside, prove
from glyphscope_gui.grammar import work
from glyphscope_gui.grammar.railroad_drawing import draw_rule
from glyphscope_gui.grammar.work import Checked, ExampleVerdict, GeneratedExamples, custom_grammar_rows
from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.project.registry_document import RegistryDocument
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.language import tr
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.fonts import mono_families

DEBOUNCE_MS = 120
"""Milliseconds after the last key press; too short to be noticed."""
SAMPLES = 8
"""Number of random texts that are shown."""
MAX_CHARACTERS = 300_000
"""The largest grammar that is compared, sampled and tested for enforcement after each edit."""
_TOO_LARGE = tr("Not computed: the grammar is too large.")
_HAS_ERRORS = tr("Available when the errors are fixed.")
PROOF_DELAY_MS = 600
"""Milliseconds after the last edit of the tools: proofs start processes, and are not urgent."""
PROOF_SHOWN_MS = 150
"""Milliseconds between updates of the shown proofs."""
_SLOW = frozenset({"samples", "compare", "lines", "convert", "enforcement", "prove"})
"""The keys of slow jobs, which do not delay jobs that respond to typing."""


def _is_stopped() -> bool:
    """Whether the job of this thread was stopped, as a newer one replaces it."""
    return this_task().stopped.is_set()


class GrammarBench(QObject):
    """`generated` carries the tools' grammar, `notGenerated` the error of tools that have none.

    `checked` carries a Checked, `drawn` a RailroadDrawing or None, `examplesChecked` CheckedExamples or None (the
    grammar is invalid), `stepped` a StepView, or None with the reason in words, `sampled`, `compared` and
    `converted` likewise. `lined` carries the lines that differ from the tools' grammar.
    `proved` carries the rows of the proofs made so far, and whether all are made; `enforcementTested` those of a custom
    grammar; `crashed` the exception of a job.

    Each job has a slot, its key of `Background`: only the result of the newest job in a slot is shown.
    """

    generated = Signal(object)
    notGenerated = Signal(object)
    checking = Signal()
    checked = Signal(object)
    drawn = Signal(object)
    examplesChecked = Signal(object)
    stepped = Signal(object, str)
    sampled = Signal(object, str)
    compared = Signal(object, str)
    lined = Signal(object, str)
    converted = Signal(object, str)
    proved = Signal(object, bool)
    enforcementTested = Signal(object)
    crashed = Signal(object)

    def __init__(
        self, document: GrammarDocument, registry: RegistryDocument, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._registry = registry
        self._jobs = Background(self)
        # Every thread that computes in Python takes turns with the window's: ten at once delayed each of its frames by
        # a quarter of a second (measured on two cores). So there are two, each of which does one job after the other.
        self._quick, self._slow = self._jobs.line(), self._jobs.line()
        self._active = False
        self._options = RunRequest(prompt="", registry={})
        self.last: Checked | None = None
        """The newest check's result."""
        self.origins: dict[str, Origin] = {}
        """The origins of the rules of the tools' grammar; a custom grammar may have rules of the same names."""
        self._verdicts: dict[str, ExampleVerdict] = {}
        """The verdicts on the examples under the last grammar, by text."""
        self._rule = ""
        """The rule whose diagram is shown."""
        self._step = ("", 0)
        """The text that is stepped through, and the number of characters read."""
        self._seed = 0
        self._later = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._later.timeout.connect(self._check)
        self._tools_later = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._tools_later.timeout.connect(self._generate)
        self._proved = EnforcementRows(ToolRegistry(()))
        self._outside = NO_OTHERS
        self._claims: Mapping[str, tuple[Unenforced, ...]] = {}
        self._prove_later = QTimer(self, singleShot=True, interval=PROOF_DELAY_MS)
        self._prove_later.timeout.connect(self._prove)
        self._proof_ticks = QTimer(self, interval=PROOF_SHOWN_MS)
        self._proof_ticks.timeout.connect(lambda: self.proved.emit(self._proved(), False))
        registry.changed.connect(lambda _registry: self._tools_changed())
        document.examplesChanged.connect(self._check_examples)
        document.sourceChanged.connect(self.text_changed)
        document.baseChanged.connect(self._compare)

    # -- what the page shows -----------------------------------------------------------------------------------

    def activate(self) -> None:
        """Keep the results up to date from now on, as the page is shown."""
        if not self._active:
            self._active = True
            self._generate()
            if not self._document.is_generated:
                self._check()

    def set_options(self, options: RunRequest) -> None:
        """Use these run settings: notation, shape and order decide the tools' grammar."""
        old, self._options = self._options, options
        if (old.notation, old.shape, old.order) != (options.notation, options.shape, options.order):
            self._tools_changed()

    @property
    def tested(self) -> tuple[int, int]:
        """The number of tools with a proof, and of all that are to be tested."""
        return len(self._proved.tools), len(self._registry.registry.allowed)

    def set_outside(self, outside: Outside) -> None:
        """Test the tools' constraints by these engines too."""
        if outside != self._outside:
            self._outside = outside
            self._prove_later.start()

    def text_changed(self) -> None:
        """Check the edited or newly shown text after a short pause."""
        if self._active:
            self._later.start()

    def set_rule(self, name: str) -> None:
        """Show the diagram of that rule."""
        self._rule = name
        self.draw()

    def set_step(self, text: str, at: int) -> None:
        """Step through a text: show the state of the grammar after `at` characters."""
        self._step = (text, at)
        self._do_step()

    def sample_again(self) -> None:
        """Make other samples."""
        self._seed += 1
        self._sample()

    def convert(self, to: TargetLanguage) -> None:
        """Write the grammar in another language."""
        grammar = self._grammar_for("convert", lambda why: self.converted.emit(None, why), bounded=True)
        if grammar is not None:
            self._answer("convert", lambda: work.converted(grammar, to, _is_stopped), self.converted)

    def open_source(self, text: str, source: Literal["regex", "json-schema"]) -> None:
        """Write a pattern or a JSON Schema as a grammar."""
        self._answer("convert", lambda: work.from_source(text, source, _is_stopped), self.converted)

    # -- the tools' grammar ------------------------------------------------------------------------------------

    def _tools_changed(self) -> None:
        if self._active:
            self._tools_later.start()

    def _generate(self) -> None:
        registry, options = self._registry.registry, self._options
        self._start(
            "generate",
            lambda: work.generate(registry, options.notation, options.shape, options.order),
            self._generated,
            self._not_generated,
        )

    def _prove(self) -> None:
        """Prove the enforcement of the tools' constraints; a round for older tools is cancelled."""
        registry, options, outside = self._registry.registry, self._options, self._outside
        found = self._proved = EnforcementRows(registry, self._claims)
        self.proved.emit(found(), False)
        self._proof_ticks.start()

        def done(_nothing: object) -> None:
            self._proof_ticks.stop()
            self.proved.emit(found(), True)

        def failed(error: BaseException) -> None:
            done(None)
            self.crashed.emit(error)

        self._start(
            "prove",
            lambda: prove(
                registry, options.notation, options.shape, options.order, found.add, _is_stopped, outside
            ),
            done,
            failed,
        )

    def _generated(self, made: GeneratedExamples) -> None:
        self.origins, self._claims = dict(made.origins), made.claims
        self.generated.emit(made)
        self._document.set_generated(made.text)
        self._list_lines()
        self._prove_later.start()

    def _not_generated(self, error: BaseException) -> None:
        self.origins = {}
        self.notGenerated.emit(error)
        self._document.set_generated("")
        self._jobs.drop("prove")
        self._proof_ticks.stop()
        self.proved.emit((), True)

    # -- the text ----------------------------------------------------------------------------------------------

    def _check(self) -> None:
        text, language = self._document.text, self._document.language
        self.checking.emit()
        self._start("check", lambda: work.check(text, language, _is_stopped), self._checked)

    def _checked(self, found: Checked) -> None:
        if found.text != self._document.text:
            return  # the timer will check the newer text
        self.last = found
        self._verdicts = {}
        self.checked.emit(found)
        self.draw()
        self._check_examples()
        self._do_step()
        self._sample()
        self._compare()
        self._list_lines()
        self._test_enforcement()

    def draw(self) -> None:
        """Draw the diagram of the rule, or of the root, in the current theme."""
        rules = self.last.rules if self.last is not None else {}
        rule = rules.get(self._rule, rules.get(self.last.language.start if self.last else ""))
        if rule is None:
            self.drawn.emit(None)
            return
        colors, family = dict(theme().roles), mono_families()[0]
        self._start("draw", lambda: draw_rule(rule, colors, family), self.drawn.emit)

    # -- for a valid grammar only --------------------------------------------------------------------------------

    def _check_examples(self) -> None:
        grammar = self._grammar_for("examples", lambda _why: self.examplesChecked.emit(None))
        if grammar is None:
            return
        found, known = self.last, dict(self._verdicts)
        texts = tuple(example.text for example in self._document.work.examples)

        def done(checked: work.CheckedExamples) -> None:
            if self.last is found:
                self._verdicts.update(checked.verdicts)
                self.examplesChecked.emit(checked)

        self._start("examples", lambda: work.check_examples(grammar, texts, known, _is_stopped), done)

    def _do_step(self) -> None:
        text, at = self._step
        if self.last is None or not text:
            self.stepped.emit(None, "")
            return
        grammar = self._grammar_for("step", lambda why: self.stepped.emit(None, why))
        if grammar is not None:
            self._answer("step", lambda: work.step(grammar, text, at, _is_stopped), self.stepped)

    def _sample(self) -> None:
        seed = self._seed
        grammar = self._grammar_for("samples", lambda why: self.sampled.emit(None, why), bounded=True)
        if grammar is not None:
            self._answer("samples", lambda: short_samples(grammar, SAMPLES, seed), self.sampled)

    def _compare(self) -> None:
        found, base = self.last, self._document.base
        if found is None or base is None or base == found.text:
            self._jobs.drop("compare")
            self.compared.emit(None, "" if base is None or found is None else tr("No changes yet."))
            return
        grammar = self._grammar_for("compare", lambda why: self.compared.emit(None, why), bounded=True)
        if grammar is not None and len(base) > MAX_CHARACTERS:
            self.compared.emit(None, _TOO_LARGE)
        elif grammar is not None:
            self._answer(
                "compare", lambda: work.compare(base, found.language, grammar, _is_stopped), self.compared
            )

    def _list_lines(self) -> None:
        """List the lines in which the custom text differs from the tools' grammar; both are GBNF."""
        before, after = self._document.generated, self._document.text
        if self._document.is_generated or self._document.language is not GBNF or not before:
            self._jobs.drop("lines")
            self.lined.emit((), "")
        elif max(before.count("\n"), after.count("\n")) > work.MAX_LINES:
            self.lined.emit((), _TOO_LARGE)
        else:
            self._answer("lines", lambda: work.changed_lines(before, after), self.lined)

    def _test_enforcement(self) -> None:
        registry, options = self._registry.registry, self._options
        if self._document.is_generated:
            self._jobs.drop("enforcement")
            self.enforcementTested.emit(())
            return
        grammar = self._grammar_for("enforcement", lambda _why: self.enforcementTested.emit(()), bounded=True)
        if grammar is not None:
            self._start(
                "enforcement",
                lambda: custom_grammar_rows(grammar, registry, options.notation, options.shape, _is_stopped),
                self.enforcementTested.emit,
            )

    def _grammar_for(
        self, slot: str, refuse: Callable[[str], object], *, bounded: bool = False
    ) -> Grammar | None:
        """The grammar of the last check. None if its text has errors or, if `bounded`, is too large: `refuse` is then
        called with the reason.
        """
        found = self.last
        self._jobs.drop(slot)
        if found is None:
            return None
        if found.grammar is None or (bounded and len(found.text) > MAX_CHARACTERS):
            refuse(_HAS_ERRORS if found.grammar is None else _TOO_LARGE)
            return None
        return found.grammar

    def _answer(self, slot: str, work: Callable[[], Any], signal: SignalInstance) -> None:
        """Start a job whose `signal` carries its result and "", or None and the error in words."""
        self._start(
            slot, work, lambda found: signal.emit(found, ""), lambda error: signal.emit(None, str(error))
        )

    def _start(
        self,
        slot: str,
        work: Callable[[], Any],
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        line = self._slow if slot in _SLOW else self._quick
        self._jobs.start(slot, work, done, failed or self.crashed.emit, line=line)
