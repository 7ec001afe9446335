"""Widgets and helpers that know no feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope_gui.shared.actions import Actions
    from glyphscope_gui.shared.chart import BarChart, Chart, Series
    from glyphscope_gui.shared.chart_roles import edge_role
    from glyphscope_gui.shared.code_edit import CodeEdit
    from glyphscope_gui.shared.dialogs import Role, ask
    from glyphscope_gui.shared.fields import DecimalBox, WholeBox
    from glyphscope_gui.shared.json_editor import JsonEditor
    from glyphscope_gui.shared.json_places import TextProblem, located, parse_object
    from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink, PlainLabel, WrappedLabel, words_label
    from glyphscope_gui.shared.plain_table import MIN_NAME, PlainTable
    from glyphscope_gui.shared.settings_grid import ResetButton
    from glyphscope_gui.shared.tab_order import focus_next, stops
    from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit, ReadBox
    from glyphscope_gui.shared.whole_text import PART, WholeText, WholeTextDialog, formatted, parts_of
else:
    __getattr__ = interface(__name__)
