"""The scene of the Compare page: one prompt in GLYPH and in JSON, each as it was recorded."""

from __future__ import annotations

from glyphscope.calling import fold
from glyphscope_gui.compare.column_state import ColumnPhase
from glyphscope_gui.compare.comparison import Grown
from glyphscope_gui.compare.presenter import ComparePresenter
from glyphscope_gui.compare.variants import PRESETS
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.runs.run_controller import Applied
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window

RECORDS = ("search-mask.jsonl", "search-mask-json.jsonl")


def show_compare(window: Window) -> None:
    """Fill the columns from their records: nothing is run for the picture."""
    window.navigator.show(PageId.COMPARE)
    page = window.page(PageId.COMPARE)
    assert isinstance(page, ComparePresenter)
    comparison = page.comparison
    notation = next(preset for preset in PRESETS if preset.key == "notation")
    page.view.presetChosen.emit(notation.key)
    for place, name in enumerate(RECORDS):
        column, events = comparison.columns[place], bundled_run(name)
        column.phase = ColumnPhase.RUNNING
        comparison.changed.emit(place)
        column.events.extend(events)
        for event in events:
            fold(column.state, event)
        comparison.grew.emit(Grown(place, Applied(column.state, tuple(events), "run")))
        column.phase = ColumnPhase.DONE
        comparison.changed.emit(place)
