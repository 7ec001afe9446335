"""Invisible characters are shown, by their properties and not by a list."""

import json
import unicodedata

import pytest
import regex

from glyphscope.base.visible import character_words, escaped, is_seen, one_line, unseen, visible

TRIED = [
    *range(0x2061, 0x2065), 0x180E, 0x034F, 0x115F, 0x3164, 0xFFA0, 0xE0001, *range(0xE0020, 0xE0080), 0x2800,
    *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x200E, 0x061C, 0xFEFF, 0xAD, 0x85, 0x9B, 0x2028, 0x2029,
    0xD800, 0xDFFF, 0xE000, 0xF8FF, 0x10FFFF, 0xFDD0, 0xFFFE, 0xFFF9, 0xFE00, 0xE0100, 0x1BCA0, 0x378,
]  # fmt: skip


EVERYTHING = "".join(map(chr, (*range(0x34000), *range(0xE0000, 0xE1000), *range(0x10F000, 0x110000))))
"""All planes that have characters, and the end of the last one for private use; the others are unassigned."""


@pytest.mark.parametrize("code", TRIED)
def test_an_invisible_character_is_shown_by_its_number(code):
    text = f"a{chr(code)}b"
    assert visible(text) == f"a⟨U+{code:04X}⟩b"
    assert visible(text, single=True) == "a\ufffdb"
    assert unseen(text) == f"U+{code:04X}"
    assert not is_seen(chr(code)) and character_words(chr(code)) == f"U+{code:04X}"


@pytest.mark.slow
def test_every_code_point_of_the_properties_is_shown():
    properties = r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Cn}]"
    hidden = regex.findall(properties, EVERYTHING)
    assert len(hidden) > 60_000
    assert not regex.search(properties, visible("x".join(hidden[:5000])))
    shown = visible(" ".join(hidden))
    assert not regex.search(properties, shown)


def test_controls_are_shown_by_their_pictures():
    assert visible("\x1b[2J\r\n\t\x7f") == "␛[2J␍␊␉␡"
    assert visible("a\r\n\tb", lines=True) == "a␍\n\tb"
    assert unseen("a\r\n\tb") == "" and unseen("\x1b\x1bx") == "U+001B ×2"


@pytest.mark.parametrize(
    "text", ["plain", "é", "日本語　", "Привет", "❤️", "👩🏽‍💻", "1️⃣", "می‌خواهم", "क्‍ष", "؀", "∅ “”"]
)
def test_visible_text_is_unchanged(text):
    """Joiners and variation selectors too, where a standard has them change the picture."""
    assert visible(text) == text and unseen(text) == ""


@pytest.mark.parametrize("text", ["a\u200db", "\u200c", "x\ufe0f", "❤\u200d", "\ufe0fx", "a\u200cb"])
def test_a_joiner_that_joins_nothing_is_shown(text):
    assert visible(text) != text and unseen(text)


def test_a_sign_of_one_character_moves_no_position():
    text = "a\u202eb\U000e0041c\n❤\u200d"
    assert len(visible(text, single=True)) == len(text)
    assert visible("❤\u200d", single=True) == "❤\u200d"  # the rest of the emoji may be the next token


def test_unusual_spaces_are_shown_where_requested():
    assert visible("a\u00a0b\u2003") == "a\u00a0b\u2003"
    assert visible("a\u00a0b\u2003 ", spaces=True) == "a⟨U+00A0⟩b⟨U+2003⟩ "
    assert one_line(" a\r\n\u2028 b\x1b ") == "a b␛"


def test_visible_text_is_not_changed_again():
    text = "".join(map(chr, range(0, 0x3000, 7))) + "\ud800\U000e0041"
    assert visible(visible(text)) == visible(text)
    assert visible(visible(text), spaces=True) == visible(text, spaces=True)
    assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co") or char in "\u0600" for char in visible(text)
               if not "\u0600" <= char <= "\u0605" and char not in "\u06dd\u070f\u08e2")  # fmt: skip


@pytest.mark.parametrize(
    "text", ["\u202e\u2061", "\U000e0041", "\ud800", "\x7f\x9b", 'a"\\\u180e', "é 👩🏽‍💻", "plain"]
)
def test_escaped_json_has_the_same_values_and_is_visible(text):
    written = escaped(json.dumps({text: [text]}, ensure_ascii=False, indent=2))
    assert json.loads(written) == {text: [text]}
    assert not unseen(written)
    assert visible(text) != text or text in written


def test_ascii_has_the_same_signs_alone_as_beside_other_characters():
    for char in map(chr, range(128)):
        for options in ({}, {"lines": True}, {"spaces": True}, {"single": True}):
            assert visible(f"日{char}", **options) == "日" + visible(char, **options)


@pytest.mark.slow
def test_what_is_shown_as_itself_is_visible_by_the_properties():
    assert not [char for char in EVERYTHING if visible(char, spaces=True) == char and not is_seen(char)]
