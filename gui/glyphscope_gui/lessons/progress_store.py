"""Progress in the lessons, saved in the background."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from glyphscope.lessons.progress import LessonProgress, Progress
from glyphscope_gui.context import AppContext
from glyphscope_gui.shared.background import Background


class LessonProgressStore(QObject):
    """`changed` carries a lesson's key and its LessonProgress."""

    changed = Signal(str, object)

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._progress = Progress(context.services.places.lesson_progress)
        self._background = Background(self)
        self._is_dirty = False

    def of(self, key: str) -> LessonProgress:
        return self._progress.of(key)

    def put(self, key: str, progress: LessonProgress) -> None:
        """Keep the progress of a lesson, and save it."""
        self._progress.put(key, progress)
        self.changed.emit(key, progress)
        self._is_dirty = True
        self._save()

    def forget(self, key: str) -> None:
        """Delete the progress in a lesson; the next `put` also saves that."""
        self._progress.forget(key)

    def close(self) -> None:
        """Save pending changes. Call it once no save is in progress."""
        if self._is_dirty:
            self._progress.save()

    def _save(self) -> None:
        """Save, one at a time: otherwise an older save might be written last."""
        if not self._is_dirty or self._background.is_busy:
            return
        self._is_dirty = False
        content = self._progress.encode()
        self._background.start(
            "save", lambda: self._progress.write(content), self._saved, self._context.show_error
        )

    def _saved(self, problem: str) -> None:
        if problem:
            self._context.status.set_note(problem)
        self._save()
