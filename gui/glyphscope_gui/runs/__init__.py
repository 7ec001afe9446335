"""Runs: the controller, the recorder, and the views of a run that several pages show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope_gui.runs.export_formats import exported, file_name, record_summary
    from glyphscope_gui.runs.run_controller import BackgroundEvents, Phase, RunController, Saving
    from glyphscope_gui.runs.run_rules import RunRules
    from glyphscope_gui.runs.shown_record import ShownRecord
    from glyphscope_gui.runs.stage_choice import ShownRun, ShownStage, StageChoice
    from glyphscope_gui.runs.stream_view import StreamView
    from glyphscope_gui.runs.user_prompt_edit import UserPromptEdit
    from glyphscope_gui.runs.worker.interaction import WindowInteraction
    from glyphscope_gui.runs.worker.jobs import Asked, JobEnded, ModelStatus, TokenPlace
    from glyphscope_gui.runs.worker.mailbox import INTERVAL_MS, MAX_POSTS, Mailbox
    from glyphscope_gui.runs.worker.run_worker import Gate, GatedModel
else:
    __getattr__ = interface(__name__)
