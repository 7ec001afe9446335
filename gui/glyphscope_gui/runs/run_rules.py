"""Finds the grammar rule of each token of the run, in the background, in batches.

Only one job at a time may advance the run's grammar; results of an older run are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import Alternative, RunRequest, RunStarted, Token
from glyphscope.registry import ToolRegistry
from glyphscope.runs.state import StageState
from glyphscope_gui.runs.alternatives_table import MAX_TEXT
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.token_rules import Refusal, RuleReader, TokenRule
from glyphscope_gui.shared.background import Background, this_task

BATCH_MS = 100
"""Milliseconds between reads of new tokens: rules may appear that much later."""
AT_ONCE = 2_000
"""Tokens that one job reads, so that rules appear while a long run is read."""


MAX_COMPARED = 100
"""Tokens with whose text the alternatives of the first one are compared."""


class _Run:
    """A stage that is read: its tokens so far, and the number of them that were passed to a job."""

    def __init__(self, request: RunRequest, registry: ToolRegistry, tokens: Sequence[Token]) -> None:
        self.request = request
        self.registry = registry
        self.tokens = tokens
        """They grow while the model writes."""
        self.given = 0
        """Tokens that were passed to a job."""
        self.reader: RuleReader | None = None
        self.over = False
        """Whether the run has ended."""
        self.is_priced = False
        """Whether its costs were reported."""
        self.problem = ""
        """Why the tokens from `given` on could not be read."""

    def read(self, tokens: Sequence[Token]) -> list[Any]:
        """Read tokens, in the job's thread. Raises GlyphscopeError."""
        return self._made().read(tokens, this_task().stopped.is_set)

    def explain(self, index: int, alternatives: Sequence[Alternative], *, typed: bool = False) -> Refusal:
        """Why these cannot replace that token, in the job's thread; `typed`: they were not masked at that token.

        Raises GlyphscopeError.
        """
        if self.tokens[index].start > MAX_TEXT:
            return Refusal(index, "", ("",) * len(alternatives))
        after = () if typed else self.tokens[index : index + MAX_COMPARED]
        return self._made().refusals(self.tokens[:index], alternatives, this_task().stopped.is_set, after)

    def _made(self) -> RuleReader:
        if self.reader is None:
            self.reader = RuleReader(self.request, self.registry)
        return self.reader


class RunRules(QObject):
    """Reads a run's tokens by the rules of its grammar.

    `began` says whether the run has a grammar; `found` carries the first row and the TokenRules of the tokens from
    there; `refused` a Refusal; `textChecked` a text in a token's place and its Refusal, empty if the grammar accepts
    the text; `priced` the RuleCosts of a run that has ended. Tokens that could not be read have TokenRules with the
    reason.
    """

    began = Signal(bool)
    found = Signal(int, object)
    refused = Signal(object)
    textChecked = Signal(str, object)
    priced = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._run: _Run | None = None
        self._started: RunStarted | None = None
        self._stage: StageState | None = None
        self._requested: int | None = None
        """The token whose refusals are requested."""
        self._typed: tuple[int, str] | None = None
        """A token, and the text to check in its place."""
        self._working = False
        self._later = QTimer(self, singleShot=True, interval=BATCH_MS)
        self._later.timeout.connect(self._next)

    @property
    def is_busy(self) -> bool:
        """Whether a job is running or scheduled."""
        return self._working or self._later.isActive()

    @property
    def grammar(self) -> str | None:
        """The text of the run's custom grammar; None if the run used the tools' grammar."""
        return self._run.request.grammar if self._run is not None else None

    def show_stage(self, shown: ShownStage) -> None:
        """Read what is new in the stage, or all of another one."""
        started = shown.run.started
        if started is None:
            return
        is_other_stage = self._run is not None and shown.stage is not self._stage
        if started is not self._started or is_other_stage:
            self._started, self._stage = started, shown.stage
            self._begin(shown)
        run = self._run
        if run is None:
            return
        if shown.over and not run.over:
            run.over = True
            self._next()
        elif not self._later.isActive():
            self._later.start()

    def ask(self, index: int | None) -> None:
        """Request the grammar's expectation at that token, which `refused` carries. Only the last of several requests
        is answered.
        """
        self._requested = index
        self._next()

    def check_text(self, index: int, text: str) -> None:
        """Request a check of a text in the place of that token, which `textChecked` carries. Only the last of several
        requests is answered.
        """
        self._typed = index, text
        self._next()

    def _drop(self) -> None:
        self._background.stop("rules")
        self._run, self._requested, self._typed = None, None, None

    def _begin(self, shown: ShownStage) -> None:
        self._drop()
        request = shown.request
        # other strategies have a grammar for each stage
        if request is not None and request.constraint != "off" and request.strategy == "direct":
            registry = shown.run.registry
            if registry is not None:
                self._run = _Run(request, registry, shown.stage.tokens)
        self.began.emit(self._run is not None)
        self.priced.emit(None)

    def _next(self) -> None:
        run = self._run
        if run is None or self._working:
            return
        if self._requested is not None and self._requested < len(run.tokens):
            index, self._requested = self._requested, None
            rows = run.tokens[index].step.alternatives
            self._start(run, lambda: run.explain(index, rows), self.refused.emit)
        elif self._typed is not None and self._typed[0] < len(run.tokens):
            (place, text), self._typed = self._typed, None
            typed = Alternative(-1, text.encode("utf-8", "replace"), text, 0.0, None, allowed=False)
            report = partial(self.textChecked.emit, text)
            self._start(run, lambda: run.explain(place, (typed,), typed=True), report)
        elif run.given < len(run.tokens) and not run.problem:
            first = run.given
            tokens = run.tokens[first : first + AT_ONCE]
            run.given += len(tokens)
            self._start(run, lambda: run.read(tokens), lambda rules: self.found.emit(first, rules), first)
        elif run.given < len(run.tokens):
            first, run.given = run.given, len(run.tokens)
            self.found.emit(first, [TokenRule(words=run.problem)] * (run.given - first))
            self._next()
        elif run.over and not run.is_priced:
            run.is_priced = True
            self.priced.emit(run.reader.costs() if run.reader is not None else ())

    def _start(
        self, run: _Run, work: Callable[[], Any], done: Callable[[Any], None], first: int | None = None
    ) -> None:
        """Run a job. `first`: the number of the first token that it reads; if it fails, that token and all
        after it get the reason.
        """
        self._working = True

        def show(value: Any) -> None:
            self._working = False
            if run is self._run:
                done(value)
            self._next()

        def failed(error: BaseException) -> None:
            self._working = False
            if first is not None:
                run.problem, run.given = str(error), first
            self._next()
            if not isinstance(error, GlyphscopeError):
                raise error  # a bug, which is reported like any other

        self._background.start("rules", work, show, failed)
