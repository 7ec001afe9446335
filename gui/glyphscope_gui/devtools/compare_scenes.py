"""What the picture of the Compare page shows: one prompt in GLYPH and in JSON, each as it was recorded."""

from __future__ import annotations

from glyphscope.calling import fold
from glyphscope_gui.compare.column_state import ColumnPhase
from glyphscope_gui.compare.comparison import Grown
from glyphscope_gui.compare.presenter import COMPARE
from glyphscope_gui.compare.variants import PRESETS
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.runs.run_controller import Applied
from glyphscope_gui.shell.main_window import MainWindow

RECORDS = ("search-mask.jsonl", "search-mask-json.jsonl")


def show_compare(window: MainWindow) -> None:
    """The columns have the figures of their records: nothing is run for the picture."""
    window.pages.show(COMPARE)
    comparison = window.compare.comparison
    notation = next(preset for preset in PRESETS if preset.key == "notation")
    window.compare_page.presetChosen.emit(notation.key)
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
