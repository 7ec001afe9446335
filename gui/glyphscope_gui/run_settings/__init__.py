"""The header: the settings of the next run, and the buttons that start and stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope_gui.run_settings.option_fields import (
        approvals_text,
        lists_text,
        read_approvals,
        read_lists,
    )
    from glyphscope_gui.run_settings.options import FIRST, OPTIONS, option_words
    from glyphscope_gui.run_settings.panel import OptionsPanel
else:
    __getattr__ = interface(__name__)
