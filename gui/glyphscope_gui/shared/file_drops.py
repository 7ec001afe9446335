"""Files that are dropped on a widget."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent

from glyphscope_gui.theme.mixin import WidgetMixin


class TakesFiles(WidgetMixin):
    """A mixin for a widget that accepts drops of files that end in one of `endings`, several unless `one_file`."""

    endings: tuple[str, ...] = ()
    one_file = True

    def accepts(self, path: Path) -> bool:
        return path.suffix.lower() in self.endings

    def files_dropped(self, paths: list[Path]) -> None:
        raise NotImplementedError

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._dropped(event):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if self._dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = self._dropped(event)
        if paths:
            event.acceptProposedAction()
            self.files_dropped(paths)

    def _dropped(self, event: QDropEvent) -> list[Path]:
        urls = event.mimeData().urls()
        if self.one_file and len(urls) != 1:
            return []
        paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
        return [path for path in paths if self.accepts(path)]
