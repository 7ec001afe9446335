"""The model picker: local files, downloads, endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope_gui.model_picker.dialog import EndpointDialog, LoadPanel, ModelDialog, OpenModelLine
    from glyphscope_gui.model_picker.downloads import Downloading, DownloadPhase, ModelDownloads
    from glyphscope_gui.model_picker.enforcement import EnforcementDialog
    from glyphscope_gui.model_picker.hub_panel import HubPanel
    from glyphscope_gui.model_picker.picker import ModelPicker
    from glyphscope_gui.model_picker.presenter import ModelPresenter
    from glyphscope_gui.model_picker.words import FIX_HUB, progress_words, status_words
else:
    __getattr__ = interface(__name__)
