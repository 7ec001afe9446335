"""The header: the settings of the next run, and the buttons that start and stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope_gui.run_settings.sampling_settings import SamplingSettings
    from glyphscope_gui.run_settings.strategy_settings import (
        StrategySettings,
        approvals_text,
        lists_text,
        read_approvals,
        read_lists,
    )
else:
    __getattr__ = interface(__name__)
