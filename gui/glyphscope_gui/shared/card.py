"""A card: a heading line, a rule, and the content; and a section whose heading folds its content."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from glyphscope_gui.shared.labels import ElidedLabel, link, named
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.theme.sizes import PAD

AROUND = 11
"""Pixels of height that a card without padding adds to its heading and its body."""


class SectionLabel(ElidedLabel):
    """A heading in small capitals; screen readers get the original words. It is whole, except for a name in it."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.TextElideMode.ElideRight, role="section")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        font = self.font()
        font.setLetterSpacing(font.SpacingType.AbsoluteSpacing, 0.4)
        self.setFont(font)
        self.set_title(title)

    def set_title(self, title: str, upper: int | None = None) -> None:
        """Set the title in capitals, or only its first `upper` letters if it contains a case-sensitive name, which is
        of any length.
        """
        self._whole = upper is None
        self.setText(title.upper() if upper is None else title[:upper].upper() + title[upper:])
        self.setAccessibleName(title)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint() if self._whole else super().minimumSizeHint()


class CardHeading(QWidget):
    """A title on the left, a hint and actions on the right; the hint is shortened first."""

    def __init__(
        self, title: str, hint: str = "", actions: tuple[QWidget, ...] = (), parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.title = SectionLabel(title, self)
        self.hint = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        self.hint.setText(hint)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        hbox(self.title, (self.hint, 1), *actions, parent=self, spacing=10)


class Card(QFrame):
    """`body` fills the card below its heading; `padded` adds a margin around it."""

    def __init__(
        self,
        title: str,
        body: QWidget,
        *,
        hint: str = "",
        actions: tuple[QWidget, ...] = (),
        padded: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        named(self, "card", title)
        self.heading = CardHeading(title, hint, actions, self)
        self.heading.setContentsMargins(PAD, 8, PAD, 8)
        self._line = named(QFrame(self), "cardLine")
        inside = vbox(body, margins=((PAD, 10, PAD, 10) if padded else (5, 0, 5, 6)))
        vbox(self.heading, self._line, (inside, 1), parent=self, margins=1, spacing=0)

    def show_heading(self, shown: bool) -> None:
        """Show or hide the heading: without it, a card is as small as its content, for small windows."""
        self.heading.setVisible(shown)
        self._line.setVisible(shown)


class FoldingSection(QWidget):
    """A heading that folds the `body` below it, with a hint beside it. `toggled` carries whether it was opened.

    `indent` and `beside` are pixels on the left of the body, and around the heading.
    """

    toggled = Signal(bool)

    def __init__(
        self, title: str, body: QWidget, *, indent: int = 0, beside: int = 0, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.button = named(link("", "", self), role="fold")
        self.button.setCheckable(True)
        self.hint = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        self.body = body
        heading = hbox(self.button, (self.hint, 1), margins=(beside, beside // 3), spacing=8)
        vbox(heading, vbox(body, margins=(indent, 0, 0, 0)), parent=self, spacing=6)
        self.set_title(title)
        self.show_open(False)
        self.button.toggled.connect(self.show_open)
        self.button.toggled.connect(self.toggled)

    @property
    def is_open(self) -> bool:
        return self.button.isChecked()

    def set_title(self, title: str) -> None:
        self.button.setAccessibleName(title)
        self.show_open(self.is_open)

    def set_hint(self, words: str) -> None:
        """Set the words beside the heading, which describe it."""
        self.hint.setText(words)
        self.button.setAccessibleDescription(words)

    def show_open(self, is_open: bool) -> None:
        """Open or close it."""
        self.button.setChecked(is_open)
        self.button.setText(f"{'▾' if is_open else '▸'} {self.button.accessibleName()}")
        self.body.setVisible(is_open)
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Preferred, policy.Preferred if is_open else policy.Fixed)
