"""The base of mixins for Qt's widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    WidgetMixin = QWidget
else:
    WidgetMixin = object  # a class can have only one Qt class as its base
