"""The work on a grammar: the text, its source, and the examples; a project stores it as one frozen value.

The tools' grammar is not stored: it follows the registry, and is shown while `source` is "tools".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal

from glyphscope.grammar.languages import GBNF, GrammarLanguage, language_of
from glyphscope.store import GrammarExample, GrammarWork

EMPTY = GrammarWork()


class GrammarDocument(QObject):
    """`changed` is emitted for any change, `sourceChanged` when a text other than the edited one must be shown,
    `examplesChanged` when the list of examples is replaced, `baseChanged` when edits are compared with another text.
    """

    changed = Signal()
    sourceChanged = Signal()
    examplesChanged = Signal()
    baseChanged = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = EMPTY
        self._typed: Callable[[], str] | None = None
        self.generated = ""
        self.base: str | None = None

    @property
    def work(self) -> GrammarWork:
        if self._typed is not None:
            read, self._typed = self._typed, None
            self._work = msgspec.structs.replace(self._work, text=read())
        return self._work

    @property
    def saved_work(self) -> GrammarWork | None:
        """The part of the project file; None until a grammar was edited."""
        return None if self.work == EMPTY else self.work

    @property
    def is_generated(self) -> bool:
        return self._work.source == "tools"

    @property
    def is_used(self) -> bool:
        """Whether runs are constrained by the custom text."""
        return self._work.use

    @property
    def text(self) -> str:
        """The text in use: the tools' grammar, or the custom one."""
        return self.generated if self.is_generated else self.work.text

    @property
    def language(self) -> GrammarLanguage:
        """The language of the text in use, by its file or its first rule."""
        return GBNF if self.is_generated else language_of(self.work.text, self._work.path)

    def restore(self, work: GrammarWork | None) -> None:
        """Show a project's grammar, with which edits are then compared."""
        self._typed = None
        self._work = work or EMPTY
        self.mark_base()
        self.changed.emit()
        self.sourceChanged.emit()
        self.examplesChanged.emit()

    def mark_base(self) -> None:
        """Set the version with which edits are compared: the text as opened, saved, or copied from the tools."""
        base = None if self.is_generated else self.work.text
        if base != self.base:
            self.base = base
            self.baseChanged.emit()

    def set_generated(self, text: str) -> None:
        """Set the tools' grammar, which is shown while they are the source."""
        if text == self.generated:
            return
        self.generated = text
        if self.is_generated:
            self.sourceChanged.emit()

    def typed(self, read: Callable[[], str]) -> None:
        """Note that the user typed. The text is read only on request, as reading a long one is slow."""
        if not self.is_generated:
            self._typed = read
            self.changed.emit()

    def edit_as_text(self) -> None:
        """Edit a copy of the tools' grammar, which is compared with the original."""
        self._show(self.generated, source="text", text=self.generated, path="")

    def follow_tools(self) -> None:
        """Return to the tools' grammar. The custom text is kept for later."""
        self._show(None, source="tools", use=False)

    def return_to_custom_text(self) -> None:
        """Show the custom text again."""
        self._show(self.work.text, source="text")

    def open_text(self, text: str, path: str) -> None:
        """Make a file's text the custom one. Only GBNF can be used in place of the tools' grammar."""
        use = self.work.use and language_of(text, path) is GBNF
        self._show(text, source="text", text=text, path=path, use=use)

    def saved_as(self, path: str) -> None:
        self._set(path=path)
        self.mark_base()
        self.changed.emit()

    def set_use(self, use: bool) -> None:
        """Set whether runs are constrained by the custom text."""
        self._set(use=use and not self.is_generated)

    def set_examples(self, examples: tuple[GrammarExample, ...]) -> None:
        if examples != self.work.examples:
            self._set(examples=examples)
            self.examplesChanged.emit()

    def _show(self, base: str | None, **changes: Any) -> None:
        """Show another text, whose edits are compared with `base`."""
        self._set(**changes)
        self.base = base
        self.sourceChanged.emit()

    def _set(self, **changes: Any) -> None:
        work = msgspec.structs.replace(self.work, **changes)
        if work != self._work:
            self._work = work
            self.changed.emit()
