"""A text of any length opens whole: parts, search, JSON, copy, save, and invisible characters."""

from __future__ import annotations

import json
import time

import pytest
from PySide6.QtGui import QGuiApplication

from glyphscope_gui.calls.call_texts import beginning
from glyphscope_gui.shared import PART, WholeText, WholeTextDialog, formatted, parts_of


@pytest.fixture
def opened(qtbot):
    def make(text, note=""):
        dialog = WholeTextDialog(WholeText("title", text, note))
        qtbot.addWidget(dialog)
        qtbot.waitUntil(lambda: dialog.is_ready and not dialog.is_busy)
        return dialog

    return make


def test_the_parts_of_a_text_make_up_the_whole_and_end_with_lines():
    text = "a line of some words\n" * 20_000
    starts = parts_of(text)
    parts = [text[a:b] for a, b in zip(starts, (*starts[1:], len(text)))]
    assert "".join(parts) == text and len(parts) == 5
    assert all(part.endswith("\n") and len(part) <= PART for part in parts)
    assert parts_of("") == (0,) and parts_of("x" * PART) == (0,)


def test_ten_megabytes_on_one_line_open_in_parts_and_copy_whole(opened):
    text = "x" * 10_000_000 + "needle"
    dialog = opened(lambda: text)
    assert len(dialog.view.toPlainText()) == PART and "10,000,006" in dialog.counts.text()
    start = time.process_time()
    dialog.search.setText("NEEDLE")
    assert dialog.matches.text() == "1 of 1" and dialog.view.textCursor().selectedText() == "needle"
    assert not dialog.next_button.isEnabled() and time.process_time() - start < 2
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == text


def test_the_search_goes_through_all_parts_in_both_directions(opened):
    dialog = opened(("needle " + "x" * (2 * PART)) * 3)
    dialog.search.setText("needle")
    places = [dialog.matches.text()]
    for step in (1, 1, 1, -1):
        dialog.find_text(step)
        assert dialog.view.textCursor().selectedText() == "needle"
        places.append(dialog.matches.text())
    assert places == ["1 of 3", "2 of 3", "3 of 3", "1 of 3", "3 of 3"]
    dialog.search.setText("nowhere")
    assert dialog.matches.text() == "No match"


def test_json_is_indented_on_request_with_its_numbers_and_keys_as_sent(opened):
    sent = '{"b":1.50,"b":12345678901234567890123,"a":[true,"x, [y"]}'
    dialog = opened(sent)
    assert dialog.text == sent and dialog.json_box.isEnabled()
    dialog.json_box.setChecked(True)
    assert dialog.text.splitlines()[:3] == ["{", '  "b": 1.50,', '  "b": 12345678901234567890123,']
    dialog.json_box.setChecked(False)
    assert dialog.text == sent
    assert not opened("[1, 2").json_box.isEnabled()


def test_json_that_indenting_would_blow_up_is_not_indented():
    deep = "[" * 800 + ",".join("1" * 200_000) + "]" * 800
    assert formatted(deep) is None
    assert formatted("[" * 100_000) is None


def test_invisible_characters_get_a_sign_and_a_search_selects_the_right_place(opened):
    dialog = opened("a\u202eb\x1b 😀needle")
    assert dialog.view.toPlainText() == "a⟨U+202E⟩b␛ 😀needle" and "U+202E" in dialog.hidden.text()
    dialog.search.setText("needle")
    assert dialog.view.textCursor().selectedText() == "needle"
    assert opened("plain\ntext").hidden.isHidden()


def test_save_writes_all_of_the_text_and_reports_a_failure(opened, qtbot, tmp_path):
    dialog = opened("x" * 300_000 + "\ud800")
    dialog.save(str(tmp_path / "result.txt"))
    qtbot.waitUntil(lambda: "Saved" in dialog.counts.text())
    assert (tmp_path / "result.txt").read_text() == "x" * 300_000 + "?"
    before = dialog.hidden.text()
    dialog.save(str(tmp_path))
    qtbot.waitUntil(lambda: dialog.hidden.text() != before)
    assert not dialog.is_busy


def test_the_beginning_of_a_long_value_is_the_beginning_of_its_json():
    value = {"rows": [{"n": n, "text": "é"} for n in range(2_000)]}
    whole = json.dumps(value, indent=2, ensure_ascii=False)
    assert beginning(value, 500) == whole[:501] and beginning([1], 500) == "[\n  1\n]"
    assert beginning("y" * 1_000, 10) == '"' + "y" * 10
