"""Between a run that ended and what explains it: what was wanted and got by field, and its token boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from glyphscope.calling.fold import StageState
from glyphscope.calling.wanted import Wanted, wanted_of
from glyphscope_gui.runs.run_controller import Applied
from glyphscope_gui.runs.run_registry import registry_of, whole_registry_of
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.runs.worker.token_boundaries import Answered, Cut
from glyphscope_gui.shared.background import Background

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow


class _Dropped:
    """Asked by what is worked out for a run whether anybody still wants it."""

    def __init__(self) -> None:
        self.now = False

    def __call__(self) -> bool:
        return self.now


class ExplainWiring(QObject):
    """Made after `StrategyWiring`, which says which stage is in sight. Only of a run that is over is anything told."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._runs = window.runs
        self._view = window.evidence.wanted
        self._background = Background(self)
        self._dropped = _Dropped()
        self._asked: Answered | None = None
        self._over = False
        self._working = False
        self._runs.began.connect(lambda _state: self._begin())
        self._runs.ended.connect(self._ended)
        self._runs.cutTold.connect(self._cut_told)
        self._runs.modelTold.connect(self._model_told)
        window.strategies.choice.shown.connect(self._stage_shown)
        self._view.tokenChosen.connect(window.page.tokens.choose)
        self._view.placeChosen.connect(self._show_place)
        self._view.promptChosen.connect(self._show_prompt)

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way, or waited for."""
        return self._working or self._asked is not None

    def close(self) -> None:
        self._dropped.now = True
        self._background.close()

    # -- what the run tells ------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._over = False
        self._dropped.now = True
        self._asked, self._working = None, False
        self._view.clear()
        self._window.evidence.wanted_section.hide()

    def _ended(self, applied: Applied) -> None:
        if applied.kind != "continuation":
            self._over = True
            self._explain(self._window.strategies.choice.stage)

    def _stage_shown(self, stage: StageState) -> None:
        if self._over:
            self._explain(stage)

    def _explain(self, stage: StageState) -> None:
        state = self._runs.state
        self._dropped.now = True
        self._view.clear()
        self._window.evidence.wanted_section.setVisible(bool(stage.tokens))
        if not stage.tokens or state.started is None:
            return
        dropped = self._dropped = _Dropped()
        self._working = True
        whole = (
            whole_registry_of(state.started.request)
            if registry_of(state.started.request) is not None
            else None
        )
        self._background.start(
            "wanted",
            lambda: wanted_of(state, stage, registry=whole, cancel=dropped),
            self._show,
            self._failed,
        )
        self._ask_cut(stage)

    def _failed(self, error: BaseException) -> None:
        self._working = False
        if not self._dropped.now:
            self._window.tell_error(error)

    def _show(self, wanted: Wanted) -> None:
        self._working = False
        started = self._runs.state.started
        if not self._dropped.now and started is not None:
            self._view.show_wanted(wanted, registry_of(started.request))

    # -- token boundaries --------------------------------------------------------------------------------------

    def _ask_cut(self, stage: StageState) -> None:
        started = self._runs.state.started
        assert started is not None, "a stage with tokens has a run"
        prompt = stage.prompt.text if stage.prompt is not None else ""
        steps = tuple(token.step for token in stage.tokens)
        self._asked = Answered(started.run, stage.name, prompt, steps, started.model)
        self._runs.ask_cut(self._asked)

    def _cut_told(self, cut: Cut) -> None:
        if cut.answered is not self._asked:
            return
        self._asked = None
        self._view.show_boundaries(cut.boundaries)
        self._window.page.tokens_model.set_boundaries(cut.boundaries)
        self._window.page.stream.set_boundaries(cut.boundaries)

    def _model_told(self, status: ModelStatus) -> None:
        """A model that was opened may be the one that wrote the shown run."""
        if status.phase == "ready" and self._over and not self._runs.is_busy:
            stage = self._window.strategies.choice.stage
            if stage.tokens and self._runs.state.started is not None:
                self._ask_cut(stage)

    # -- where it can be changed -------------------------------------------------------------------------------

    def _show_place(self, tool: str, argument: str | None) -> None:
        dock = self._window.left[0]
        dock.show()
        dock.raise_()
        self._window.tools_page.show_argument(tool, argument)

    def _show_prompt(self) -> None:
        dock = self._window.left[1]
        dock.show()
        dock.raise_()
