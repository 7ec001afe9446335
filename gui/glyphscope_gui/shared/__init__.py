"""Widgets and helpers that know no feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope_gui.shared.actions import Actions
    from glyphscope_gui.shared.background import Background, end_work, is_working, this_task
    from glyphscope_gui.shared.chart import BarChart, Chart, Series
    from glyphscope_gui.shared.chart_roles import edge_role
    from glyphscope_gui.shared.code_edit import CodeEdit
    from glyphscope_gui.shared.dialogs import Role, ask
    from glyphscope_gui.shared.errors import (
        CrashLog,
        ErrorDialog,
        ErrorReporter,
        Explanation,
        explain,
        install_excepthooks,
        offer_crash_report,
        show_error,
    )
    from glyphscope_gui.shared.json_editor import JsonEditor
    from glyphscope_gui.shared.json_places import TextProblem, located, parse_object
    from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink, PlainLabel, WrappedLabel, words_label
    from glyphscope_gui.shared.language import is_sound, tr
    from glyphscope_gui.shared.layouts import stack
    from glyphscope_gui.shared.page_ids import HeaderPart, MenuId, PageId, PanelId
    from glyphscope_gui.shared.plain_table import MIN_NAME, PlainTable
    from glyphscope_gui.shared.plain_text import (
        MAX_CHARACTERS,
        MAX_LINE,
        MAX_LINES,
        cut_at,
        document_part,
        is_long,
        plain_tip,
        shown_part,
    )
    from glyphscope_gui.shared.run_words import model_name, opened_name, step_text
    from glyphscope_gui.shared.settings_grid import ResetButton
    from glyphscope_gui.shared.tab_order import focus_next, stops
    from glyphscope_gui.shared.table_model import LINES_ROLE, MAX_TITLE, NOTE_ROLE, PILL_ROLE
    from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit, ReadBox
    from glyphscope_gui.shared.verdict import FORCED, VERDICTS, Pill
    from glyphscope_gui.shared.whole_text import PART, WholeText, WholeTextDialog, formatted, parts_of
else:
    __getattr__ = interface(__name__)
