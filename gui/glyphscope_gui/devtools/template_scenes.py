"""What the picture of the Template page shows: the example of a template."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer

from glyphscope import resources
from glyphscope.models import embedded_path
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window
from glyphscope_gui.template.presenter import TemplatePresenter

EXAMPLE = "forms/example.jinja"


def show_template(window: Window) -> None:
    """The template, with the slot of the arguments chosen."""
    window.navigator.show(PageId.TEMPLATE)
    page = window.page(PageId.TEMPLATE)
    assert isinstance(page, TemplatePresenter)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "example.jinja")
        path.write_bytes(resources.read_bytes(EXAMPLE))
        page.open(path, embedded_path())
        while page.is_busy or page.found is None:
            _pause(100)
    page.view.slots.selectRow(next(n for n, slot in enumerate(page.found.slots) if slot.key == "arguments"))
    page.view.details.show_view("thinking")


def _pause(ms: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()
