"""The presenter of branches: starts runs that branch from a token of the shown run, and shows their tree."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.inputs import home_path
from glyphscope.events import Alternative, ModelInfo, Relaxed, RunRequest, RunStarted
from glyphscope.explain.relaxing import RelaxationCost, cost_words, relaxation_cost
from glyphscope.models.interface import same_model
from glyphscope.models.opening import EMBEDDED
from glyphscope.models.remote import is_address
from glyphscope.models.response_prefix import CONTEXT
from glyphscope.runs import RunState
from glyphscope_gui.context import AppContext
from glyphscope_gui.playground.branches.bar import BUSY, BranchBar
from glyphscope_gui.playground.branches.branches import Branches, Events, Replacement
from glyphscope_gui.playground.branches.panel import CostLine
from glyphscope_gui.playground.branches.words import (
    NOTHING,
    MaskReason,
    incomplete_words,
    is_less_constrained,
    mask_reason,
    pieces_words,
    place_words,
    relaxation_words,
    replacement_words,
    usage_words,
)
from glyphscope_gui.playground.evidence_dock import EvidenceDock
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.runs.alternatives_table import AlternativeRow
from glyphscope_gui.runs.model_queries import Pieces, Typed, pieces_of
from glyphscope_gui.runs.run_controller import EndedRun, Phase
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.runs.token_rules import Refusal
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import is_masked

_OTHER_TEXT = tr("Only the first generation can be branched; this stage is a repair.")

_ONLY_SPECIAL = partial(pieces_of, typed=Typed(b"", ""))


class BranchPresenter(QObject):
    """Also shows why alternatives were masked, as a branch can take them anyway. `actions` are for the menu Run."""

    def __init__(self, context: AppContext, view: RunPage, evidence: EvidenceDock) -> None:
        super().__init__(view)
        self._context = context
        self._runs = context.runs
        self._page = view
        self._evidence = evidence
        self._bar = evidence.branch_bar
        self._panel = evidence.branch_panel
        self._card = view.branches
        self._state = RunState()
        self._special: frozenset[int] = frozenset()
        """The ids of special tokens in the shown run; empty while they are unknown."""
        self._known_special: tuple[ModelInfo, frozenset[int]] | None = None
        """The special tokens of the last model that was queried."""
        self._asked_special = False
        self._why_not = ""
        """Why the shown run cannot have branches; "" if it can."""
        self._select: int | None = None
        """The token to select once the run that was requested here is shown."""
        self._refusal: Refusal | None = None
        """Why the grammar masked alternatives at the shown token, once it is known."""
        self._cost_of = ""
        """The run whose cost is shown or being computed."""
        self._background = Background(self)
        self._typing = TypedTextPresenter(context, view, self._bar)
        self.branches = Branches(context.services.history, self)
        self._connect_runs()
        self._connect_branches()
        self._connect_tokens()
        self._connect_bar()
        self.actions: list[QAction] = [
            *self._bar.actions_.values(),
            self._card.back_action,
            self._card.forward_action,
        ]
        self._show_tree()

    def show_run(self, shown: ShownRun) -> None:
        if shown.run is not self._state:
            self._state = shown.run
            self._forget()
        self.branches.show_run(shown)

    def finish(self, ended: EndedRun) -> None:
        self.branches.finish(ended)
        started = self._runs.state.started
        self._why_not = "" if started is not None else tr("The run has no tokens to continue from.")
        self._forget()
        self._show_special()
        if started is not None:
            self.branches.why_not(ended.events, self._show_refusal)
            if started.request.branch_of is not None:
                self._panel.show_usage(usage_words(self._runs.state))
                self._evidence.verticalScrollBar().setValue(0)  # its cost is at the top
        self._show_tree()
        self._show_why_not()
        if self._select is not None:
            token, self._select = self._select, None
            self._page.tokens.choose(min(token, self._page.tokens_model.rowCount() - 1))

    def show_token(self, index: int | None) -> None:
        """Show the actions at the selected token of the shown stage; None: no token is selected."""
        token = self._page.current_token() if index is not None else None
        self._refusal = None
        self._bar.show_token(token)
        self._show_special()
        started, busy = self._runs.state.started, self._runs.is_busy
        if token is not None and not (self._asked_special or busy) and self._is_own_model(started):
            self._asked_special = True
            self._runs.queries.ask("special tokens", _ONLY_SPECIAL, self._know_special)
        self._show_why_not()

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_runs(self) -> None:
        runs = self._runs
        runs.phaseChanged.connect(lambda _phase: self._show_why_not())
        runs.notStarted.connect(self._not_started)
        runs.modelStatusChanged.connect(self._model_changed)

    def _connect_branches(self) -> None:
        branches = self.branches
        branches.changed.connect(self._show_tree)
        branches.runRequested.connect(self._show_run)
        branches.ready.connect(self._run)
        branches.refused.connect(self._bar.show_words)
        branches.failed.connect(self._context.show_error)
        branches.notFound.connect(lambda error: self._context.status.show_result(str(error)))
        branches.described.connect(self._context.recorder.described)
        self._context.recorder.described.connect(branches.look_again)
        branches.keepRequested.connect(self._context.recorder.keep)
        self._card.tree.runChosen.connect(self._run_chosen)
        self._card.model.renamed.connect(branches.rename)
        self._card.back_action.triggered.connect(lambda _checked=False: branches.back())
        self._card.forward_action.triggered.connect(lambda _checked=False: branches.forward())

    def _connect_tokens(self) -> None:
        table = self._evidence.alternatives
        self._context.rules.refused.connect(self._refused)
        table.rowChosen.connect(lambda _row: self._show_chosen())
        table.rowTaken.connect(self._take_row)
        table.menuRequested.connect(lambda place: self._bar.menu(table).popup(place))
        tokens = self._page.tokens
        tokens.menuRequested.connect(lambda place: self._bar.menu(tokens).popup(place))
        for action in self._bar.actions_.values():
            for view in (table, tokens, self._page.stream):
                view.addAction(action)

    def _connect_bar(self) -> None:
        bar = self._bar
        bar.tokenRequested.connect(self._take)
        bar.textRequested.connect(lambda text: self._start(text=text))
        bar.deleteRequested.connect(self._start)
        bar.keepRequested.connect(lambda: self._start(after=1))
        bar.relaxRequested.connect(lambda one, relax: self._take(one, relax=relax))
        bar.unconstrainedRequested.connect(lambda one: self._take(one, constraint="off"))

    # -- requests of the user ----------------------------------------------------------------------------------

    def _take_row(self, row: int) -> None:
        self._show_chosen()
        self._bar.go()

    def _take(
        self, one: Alternative | str, *, constraint: str | None = None, relax: Relaxed | None = None
    ) -> None:
        if isinstance(one, str):
            self._start(text=one, constraint=constraint, relax=relax)
        elif one.id >= 0:
            self._start(take=one.id, constraint=constraint, relax=relax)
        else:  # from an endpoint without token ids: the text can be sent
            self._start(text=one.text, constraint=constraint, relax=relax)

    def _start(self, *, after: int = 0, **replacement: Any) -> None:
        token = self._page.current_token()
        if token is None or not self._bar.can_branch:
            return
        try:
            self._model_of(self._runs.state.started)
        except ModelError as error:
            self._bar.show_words(error.words)
            return
        events = tuple(self._runs.events)
        self.branches.start(events, Replacement(token.step.index + after, **replacement), self._model_of)

    def _run(self, request: RunRequest) -> None:
        if self._runs.is_busy:
            self._bar.show_words(BUSY)
            return
        self._select = request.branch_of.token if request.branch_of is not None else None
        self._runs.run(request)

    def _model_of(self, started: RunStarted | None) -> str:
        """The model to open for a branch of that run, as token ids are valid for one model only. Raises ModelError."""
        assert started is not None, "a run that is shown has begun"
        if self._is_own_model(started):
            return self._runs.model.name
        name = started.request.model or started.model.path
        if name == EMBEDDED or is_address(name) or name.startswith("scripted:"):
            return name
        if name and os.path.isfile(home_path(name)):
            return name
        raise ModelError(
            tr(
                "Branching needs the model of the run, {model}, which is not available.",
                model=started.model.name,
            ),
            hint=tr("Open that model (Ctrl+M), and try again."),
        )

    # -- navigation in the tree --------------------------------------------------------------------------------

    def _run_chosen(self, run: str) -> None:
        if not self._runs.is_busy:
            self.branches.show(run)

    def _show_run(self, events: Events) -> None:
        """Show a finished run, at the token where it diverges from the previously shown run."""
        if self._runs.is_busy:
            return
        started = events[0]
        assert isinstance(started, RunStarted), "the history keeps no run without its beginning"
        self._select = self._divergence(self.branches.shown, started)
        self._runs.show_record(events)

    def _divergence(self, left: str, started: RunStarted) -> int | None:
        request, point = self.branches.request_of(left), started.request.branch_of
        if request is not None and request.branch_of is not None and request.branch_of.run == started.run:
            return request.branch_of.token
        return point.token if point is not None else None

    def _show_tree(self) -> None:
        branches, card = self.branches, self._card
        kin = branches.kin.get(branches.shown)
        self._show_tree_actions()
        is_tree = kin is not None and (len(branches.kin) > 1 or kin.started.request.branch_of is not None)
        self._evidence.boxes["branch"].setVisible(is_tree)
        if kin is None:
            if not branches.kin:
                card.show_none()
            return
        if not is_tree:
            card.show_none()
            return
        card.model.show(branches.roots, branches.kin, branches.shown, self._special)
        card.show_tree(sum(kin.started.request.branch_of is not None for kin in branches.kin.values()))
        card.tree.choose(branches.shown)
        request = kin.started.request
        put = replacement_words(request, self._special) or NOTHING
        is_branch = request.branch_of is not None
        gone = is_branch and not branches.parent_run
        where = tr("Branched {place}: {put}.", place=place_words(request), put=put) if is_branch else ""
        where += tr(" That run is not in the history.") if gone else ""
        self._evidence.sections["branch"].set_title(tr("This branch") if is_branch else tr("This run"))
        self._find_cost(request)
        self._panel.show_where(where)

    # -- one token of the shown run ----------------------------------------------------------------------------

    def _is_own_model(self, started: RunStarted | None) -> bool:
        """Whether the open model wrote that run, so that the run's token ids are valid in it."""
        status = self._runs.model
        if started is None or status.phase != "ready" or status.info is None:
            return False
        return _is_same(status.info, started.model)

    def _refused(self, refusal: Refusal) -> None:
        self._refusal = refusal
        self._show_chosen()

    def _show_chosen(self) -> None:
        """Show the alternative chosen in the table, with the reason of a masked one."""
        table, model = self._evidence.alternatives, self._evidence.alternatives_model
        index = table.currentIndex().row()
        if (row := model.row(index)) is not None:
            masked = is_masked(row.alternative)
            self._bar.show_alternative(row.alternative, self._mask_reason(index, row) if masked else None)

    def _mask_reason(self, index: int, row: AlternativeRow) -> MaskReason:
        started, token = self._runs.state.started, self._page.current_token()
        if started is None or token is None:
            return MaskReason()
        refusal = self._refusal
        known = refusal is not None and refusal.index == token.step.index
        constraints = refusal.constraints if refusal is not None and known else ()
        constraint = constraints[index] if index < len(constraints) else None
        words = refusal.alternatives if refusal is not None and known else ()
        said = words[index] if index < len(words) else ""
        registry, special = self._runs.state.registry, row.alternative.id in self._special
        return mask_reason(
            started.request, registry, row.reason, said, constraint, known=known, special=special
        )

    def _show_why_not(self) -> None:
        busy = self._runs.phase is not Phase.IDLE
        other = self._page.stage is not self._runs.state.stages[0]
        words = BUSY if busy else self._why_not or (_OTHER_TEXT if other else "")
        self._bar.show_why_not(words)
        self._show_tree_actions()

    def _show_tree_actions(self) -> None:
        idle = not self._runs.is_busy
        self._card.back_action.setEnabled(idle and bool(self.branches.parent_run))
        self._card.forward_action.setEnabled(idle and bool(self.branches.child_run))

    # -- events of runs ----------------------------------------------------------------------------------------

    def _not_started(self, _attempt: object) -> None:
        """Keep the shown run and its chosen token."""
        self._select = None

    def _forget(self) -> None:
        """Clear the figures of the previous run."""
        self._panel.show_usage("")
        self._panel.show_cost(())
        self._cost_of = ""

    def _show_refusal(self, words: str) -> None:
        self._why_not = words
        self._show_why_not()

    def _find_cost(self, request: RunRequest) -> None:
        """Compute the cost once each time a run is shown; the parent run may be found in the history only after a
        while.
        """
        run, parent = self.branches.shown, self.branches.parent_run
        if self._runs.is_busy or not parent or self._cost_of == run:
            return
        if is_less_constrained(request, self.branches.request_of(parent)):
            self._cost_of, events = run, tuple(self._runs.events)
            self.branches.read(parent, lambda before: self._show_cost(before, events))

    def _show_cost(self, before: Events, events: Events) -> None:
        """Compute the cost from both records, and show it if the run is still the shown one."""
        run = self.branches.shown

        def put_cost(cost: RelaxationCost) -> None:
            if self.branches.shown == run:
                self._panel.show_cost(self._cost_lines(cost))

        def failed(error: BaseException) -> None:
            if not isinstance(error, GlyphscopeError):
                raise error  # a bug, which is reported like any other
            self._panel.show_cost((CostLine(tr("The cost is unknown: {error}", error=error)),))

        self._background.start("cost", lambda: relaxation_cost(before, events), put_cost, failed)

    def _cost_lines(self, cost: RelaxationCost) -> list[CostLine]:
        """The engine's sentences, below the relaxed constraint in the words of the tree."""
        branches = self.branches
        request = branches.request_of(branches.shown)
        parent = branches.request_of(branches.parent_run)
        dropped = relaxation_words(request, parent) if request is not None else ""
        broken = {violation.message for violation in cost.violations}
        lines = [tr("From this token on: {dropped}.", dropped=dropped), *cost_words(cost)[1:]]
        return [CostLine(words, any(words.endswith(each) for each in broken)) for words in lines]

    def _model_changed(self, status: ModelStatus) -> None:
        if status.phase != "ready":
            self._asked_special = False

    def _know_special(self, pieces: Pieces) -> None:
        info, special = self._runs.model.info, pieces.special
        if special and info is not None:
            self._known_special = (info, special)
            self._show_special()

    def _show_special(self) -> None:
        """Mark the special tokens of the shown run, which are known only if the open model wrote it."""
        started, known = self._runs.state.started, self._known_special
        if started is None or known is None:
            return
        special = known[1] if _is_same(known[0], started.model) else frozenset()
        if special != self._special:
            self._special = special
            self._bar.show_special(special)
            self._evidence.alternatives_model.set_special(special)
            self._show_tree()


def _is_same(one: ModelInfo, other: ModelInfo) -> bool:
    return one.kind == other.kind and same_model(one, other)


class TypedTextPresenter(QObject):
    """Connects the field, the model's tokenizer and the grammar of the run."""

    def __init__(self, context: AppContext, view: RunPage, bar: BranchBar) -> None:
        super().__init__(view)
        self._runs = context.runs
        self._page = view
        self._bar = bar
        self._rules = context.rules
        bar.field.tokensRequested.connect(self._ask)
        self._rules.textChecked.connect(self._show_refusal)

    def _ask(self, text: str) -> None:
        token = self._page.current_token()
        if token is None:
            return
        # as many bytes of the answer before the token as the engine reads
        tokens = self._page.stage.tokens[: token.step.index]
        before = b"".join(each.step.data for each in tokens[-CONTEXT:])[-CONTEXT:]
        self._runs.queries.ask("pieces", partial(pieces_of, typed=Typed(before, text)), self._show_pieces)
        if text:
            self._rules.check_text(token.step.index, text)

    def _show_pieces(self, pieces: Pieces) -> None:
        lines = []
        if pieces.spelled:
            names = ", ".join(pieces.spelled)
            lines.append(
                tr(
                    "{names}: typed text is never a special token. Select an alternative to insert one.",
                    names=names,
                )
            )
        elif pieces.count is None:
            lines.append(tr("The model splits the text into tokens when it runs."))
        else:
            lines.append(pieces_words(pieces.pieces, pieces.count))
        half = incomplete_words(pieces.typed.before)
        if half:
            lines.append(
                tr(
                    "The kept text ends inside a character, {bytes}, which typed text leaves incomplete.",
                    bytes=half,
                )
            )
        self._bar.field.show_pieces(pieces.typed.text, "\n".join(lines))

    def _show_refusal(self, text: str, refusal: Refusal) -> None:
        """Show why the constraint rejects the text, before it is tried."""
        started, token = self._runs.state.started, self._page.current_token()
        if started is None or token is None or token.step.index != refusal.index:
            return
        said, found = (*refusal.alternatives, "")[0], (*refusal.constraints, None)[0]
        if not said and found is None:
            self._bar.show_typed(text, None)
            return
        registry = self._runs.state.registry
        self._bar.show_typed(text, mask_reason(started.request, registry, "", said, found, known=True))
