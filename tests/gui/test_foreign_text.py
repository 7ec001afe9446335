"""Foreign text in the window: every character in it is visible, wherever it is shown."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractProxyModel
from PySide6.QtWidgets import QLabel

import glyphscope_gui
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import character_words, unseen
from glyphscope.events import ApprovalNeeded
from glyphscope_gui.grammar.railroad_drawing import text_words
from glyphscope_gui.playground import ApprovalCard
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.code_edit import CodeEdit
from glyphscope_gui.shared.labels import ElidedLabel, WrappedLabel, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit, ReadBox

HIDDEN = "\u2061\u2064\u180e\u034f\u115f\u3164\U000e0041\u202e\u200b\ue000\ud800\x1b"


def models():
    for found in pkgutil.walk_packages(glyphscope_gui.__path__, "glyphscope_gui."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            for _, kind in inspect.getmembers(module, inspect.isclass):
                if kind.__module__ == found.name and issubclass(kind, QAbstractItemModel):
                    yield kind


def has_own_data(kind):
    """Not an abstract base: Qt would fail for its `data`."""
    return any("data" in vars(base) for base in kind.__mro__ if base.__module__.startswith("glyphscope_gui"))


def test_every_model_of_the_window_shows_invisible_characters():
    own = [kind for kind in models() if not issubclass(kind, QAbstractProxyModel) and has_own_data(kind)]
    assert len(own) > 20
    assert [kind.__name__ for kind in own if not getattr(kind.data, "is_plain", False)] == []


@pytest.mark.parametrize(
    "make", [words_label, lambda text: _said(WrappedLabel(), text), lambda text: _said(ElidedLabel(), text)]
)
def test_a_label_of_foreign_words_shows_invisible_characters(qtbot, make):
    label = make(HIDDEN)
    qtbot.addWidget(label)
    assert not unseen(label.text()) and "⟨U+2061⟩" in label.text()
    label.setText("a\n" + HIDDEN)
    assert not unseen(label.text()) and label.text().startswith("a\n⟨U+2061⟩")


def _said(label, text):
    label.setText(text)
    return label


def test_a_read_only_box_shows_invisible_characters(qtbot):
    box = ReadBox(5, "box", HIDDEN)
    qtbot.addWidget(box)
    assert not unseen(box.toPlainText()) and "⟨U+E0041⟩" in box.toPlainText()


@pytest.mark.parametrize("make", [LineEdit, lambda: GrowingEdit(3), CodeEdit])
def test_an_editable_field_names_the_invisible_characters_of_its_text_and_keeps_them(qtbot, make):
    field = make()
    qtbot.addWidget(field)
    field.show()
    put = field.setText if isinstance(field, LineEdit) else field.setPlainText
    get = field.text if isinstance(field, LineEdit) else field.toPlainText
    put("plain")
    height = field.sizeHint().height()
    assert not field.invisibles_note.isVisible()
    put("user\u202eadmin\u200b")
    note = field.invisibles_note
    assert note.isVisible() and field.rect().contains(note.geometry())
    assert note.text().endswith("U+202E, U+200B") and get() == "user\u202eadmin\u200b"
    if isinstance(field, GrowingEdit):
        assert field.sizeHint().height() > height and not note.geometry().intersects(
            field.viewport().geometry()
        )
    put("")
    (field.insert if isinstance(field, LineEdit) else field.insertPlainText)("a\u2066")  # like a paste
    qtbot.waitUntil(lambda: note.text().endswith("U+2066"))
    put("plain again")
    assert not note.isVisible() and field.sizeHint().height() == height


def test_every_editable_field_of_the_window_names_invisible_characters():
    own = Path(glyphscope_gui.__file__).parent
    raw = [
        f"{path.relative_to(own)}: {call}"
        for path in own.rglob("*.py")
        if path.name != "text_edits.py"
        for call in re.findall(
            r"\bQLineEdit\(.*|\bQTextEdit\(.*|\bQPlainTextEdit\((?!.*readOnly=True).*|setEditable\(True\)",
            path.read_text(),
        )
        if not re.search(rf"{re.escape(call)}[\s\S]{{,400}}setReadOnly\(True\)", path.read_text())
    ]
    assert raw == []


def test_a_single_token_and_character_is_shown_visibly():
    for char in HIDDEN:
        assert not unseen(character_words(char)) and not unseen(text_words(char))
        assert not unseen(token_text(char.encode("utf-8", "surrogatepass"), char))


def test_the_approval_card_shows_all_invisible_characters(qtbot):
    card = ApprovalCard()
    qtbot.addWidget(card)
    needed = ApprovalNeeded(
        run="r", t=0, stage="s", call="1", tool=f"t{HIDDEN}", source=f"s{HIDDEN}", identity=f"i{HIDDEN}\u00a0",
        arguments={f"n{HIDDEN}": HIDDEN, "list": ["\ud800"]}, claims={"title": HIDDEN},
    )  # fmt: skip
    card.ask(needed, None)
    qtbot.waitUntil(card.allow_button.isEnabled)
    said = [
        label.text().replace("\u200b", "") for label in card.findChildren(QLabel)
    ]  # places for line breaks
    said += [action.text() for action in card.menu.actions()]
    assert not unseen("".join(said))
    assert any("U+D800" in text for text in said if "invisible characters" in text and "U+2061" not in text)
    end_work(card)


def test_every_label_of_the_window_shows_invisible_characters():
    """Qt's own label is used where marks would disturb: places to break a line, words of the program."""
    made = {}
    for path in Path(glyphscope_gui.__file__).parent.rglob("*.py"):
        count = len(re.findall(r"(?<![\w.])QLabel\(", path.read_text("utf-8")))
        if count:
            made[path.name] = count
    assert made == {"asking.py": 1}


def test_values_in_the_windows_sentences_show_invisible_characters():
    assert tr("{count:,} of {name}", count=4000, name="a\u202eb\nc") == "4,000 of a⟨U+202E⟩b\nc"
    assert tr("{path}", path=Path("a\u2061")) == tr("{path}", path=ValueError("a\u2061")) == "a⟨U+2061⟩"
