"""The page of lessons without a model: every lesson from start to end, the player, questions, the lecture."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDockWidget, QFileDialog, QMenu, QWidget

from glyphscope.base.errors import ModelError
from glyphscope.events import Token
from glyphscope.lessons import (
    AnswerChoice,
    LessonProgress,
    ReadingProgress,
    Sheet,
    bundled_lessons,
    find_lesson,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store import places
from glyphscope_gui.context import FilePlace
from glyphscope_gui.lessons import (
    MAX_ROWS,
    LessonPlayer,
    LessonProse,
    LessonQuestion,
    LessonRow,
    shown_rows,
    slides_of,
)
from glyphscope_gui.runs import ModelStatus, Phase
from glyphscope_gui.shared.page_ids import MenuId, PageId
from glyphscope_gui.theme.fonts import base_points
from lesson_texts import BAD, LESSON, written_lesson
from lesson_walk import answer, layout_requests, look_through_step, open_in, parts_in_sight, take_step


def no_model(_name, **_options):
    raise ModelError("There is no model.")


@pytest.fixture
def without_model(open_page, monkeypatch):
    """The page on a machine without llama-cpp-python and without a model."""
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    return lambda **looks: open_page(PageId.LESSONS, no_model, **looks)


@pytest.fixture
def with_model(open_page):
    return lambda: open_page(PageId.LESSONS, lambda _name, **_options: ScriptedModel(BAD))


@pytest.fixture
def window_without_model(open_window, qtbot, monkeypatch):
    """Make the whole window of such a machine; return it, and its page of lessons with one open."""
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    window = open_window(no_model, size=(1280, 720))
    window.navigator.show(PageId.LESSONS)
    lessons = window.page(PageId.LESSONS)
    open_in(qtbot, lessons, find_lesson("mask"))
    return window, lessons


def press(lessons, *keys):
    for key in keys:
        QTest.keyClick(lessons.view.reader, key)


def proceed(lessons, there):
    """Page down until `there()`: slides that do not fit are scrolled first."""
    for _ in range(8):
        press(lessons, Qt.Key.Key_PageDown)
        if there():
            return
    raise AssertionError("one key does not reach it")


# -- walks ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_lesson_can_be_completed_without_a_model(without_model, qtbot):
    lessons = without_model()
    for place in bundled_lessons():
        open_in(qtbot, lessons, place)
        for number in range(len(lessons.slides)):
            lessons.show_slide(number)
            for card in take_step(lessons):
                assert not card.live_button.isEnabled() and "No model" in card.notice.text()
                card.play_button.click()
                assert "recording" in card.notice.text()
                card.run.player.go(card.run.player.last)
                assert card.state.finished is not None and card.difference.text()
        progress = lessons.progress.of(place.key)
        steps, questions = len(lessons.opened.lesson.steps), len(lessons.opened.lesson.questions)
        assert progress.is_done(steps, questions) and set(progress.answers.values()) == {True}
        lessons.progress.forget(place.key)
        for sheet in lessons.opened.sheets.values():
            card = LessonQuestion(sheet)
            qtbot.addWidget(card)
            answer(card, right=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "names"),
    [((1024, 700), [place.name for place in bundled_lessons()]), ((1440, 900), ["mask", "verdicts"])],
    ids=["small", "usual"],
)
def test_each_part_of_a_step_fits_the_window(window_without_model, qtbot, size, names):
    """The text with its run or question, before and after it is played or answered, above the buttons."""
    window, lessons = window_without_model
    window.resize(*size)
    for name in names:
        open_in(qtbot, lessons, find_lesson(name))
        for number, slide in enumerate(lessons.slides):
            lessons.show_slide(number)
            look_through_step(qtbot, lessons)
            assert lessons.view.after_button.isVisible() and slide.parts


@pytest.mark.slow
def test_a_question_that_fits_is_with_its_text_and_a_step_is_laid_out_once(window_without_model, qtbot):
    """It was measured at another width and then on two screens; and each layout asked for the next, without end."""
    window, lessons = window_without_model
    window.resize(1432, 640)
    open_in(qtbot, lessons, find_lesson("probability"))
    lessons.show_slide(4)
    assert [type(part) for part in parts_in_sight(qtbot, lessons)] == [LessonQuestion]
    assert layout_requests(qtbot, lessons.view.reader.widget()) == 0


# -- the page ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_lesson_that_is_chosen_in_the_list_has_the_keys(without_model, qtbot):
    lessons = without_model()
    view = lessons.view
    qtbot.waitUntil(lambda: not view.list.visualRect(view.model.index(1, 0)).isEmpty())
    view.list.setFocus()
    row = view.list.visualRect(view.model.index(1, 0)).center()
    qtbot.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=row)
    qtbot.waitUntil(lambda: lessons.opened is not None)
    assert view.window().focusWidget() is view.reader


@pytest.mark.slow
def test_answering_a_question_shows_the_next_part_and_completes_the_lesson(without_model, qtbot, tmp_path):
    """And digits answer wherever the keyboard is, also after a step back."""
    lessons = without_model()
    place = written_lesson(tmp_path)
    open_in(qtbot, lessons, place)
    reader, view = lessons.view.reader, lessons.view
    for number in range(len(lessons.slides)):
        lessons.show_slide(number)
    row = view.model.index(view.model.row_of(place.key), 0)
    assert "completed" not in row.data(Qt.ItemDataRole.AccessibleTextRole)
    assert "0 of 3 questions answered" in row.data(Qt.ItemDataRole.AccessibleTextRole)
    assert row.data(Qt.ItemDataRole.StatusTipRole) is None
    back = view.before_button
    lessons.show_slide(5)
    QTest.mouseClick(back, Qt.MouseButton.LeftButton)
    assert lessons.at == 4 and view.place.text() == "Step 3 of 4, part 3 of 3"
    QTest.keyClick(back, Qt.Key.Key_2)
    assert reader.active[0].chosen == {1}
    reader.active[0].reveal()
    QTest.mouseClick(back, Qt.MouseButton.LeftButton)
    QTest.keyClick(back, Qt.Key.Key_1)
    assert reader.active[0].chosen == {0}
    QTest.keyClick(view.window().focusWidget(), Qt.Key.Key_Return)  # the answer has the focus now
    assert reader.active[0].is_revealed
    assert "✓ completed" not in row.data(Qt.ItemDataRole.AccessibleTextRole)
    lessons.turn(-1)
    (character,) = reader.active
    character.choose(character.sheet.at)
    character.reveal()
    assert "✓ completed" in row.data(Qt.ItemDataRole.AccessibleTextRole)


def test_the_text_after_a_question_appears_with_its_answer_and_stays_for_who_has_answered(
    without_model, qtbot, tmp_path
):
    lessons = without_model()
    open_in(
        qtbot, lessons, written_lesson(tmp_path, LESSON.replace("## An exp", "Now it is known.\n\n## An exp"))
    )
    reader = lessons.view.reader
    lessons.show_slide(4)
    reader.active[0].reveal()
    words = reader.active[0].result
    assert words.text() == "Nothing was chosen." and words.property("role") == "muted", "nobody is scolded"
    lessons.show_slide(4)
    (question,), text = reader.active, reader._order[-1]
    assert isinstance(text, LessonProse) and not text.isVisible() and reader._covered.isVisible()
    question.choose(1)
    question.reveal()
    qtbot.waitUntil(text.isVisible)
    assert question.isVisible() and not reader._covered.isVisible()
    lessons.turn(-1)
    lessons.turn(1)
    assert reader._order[-1].isVisible() and not reader._covered.isVisible()


@pytest.mark.slow
def test_the_list_shows_progress_and_a_damaged_lesson_is_reported(without_model, qtbot, tmp_path):
    lessons = without_model()
    open_in(qtbot, lessons, find_lesson("mask"))
    listed = lessons.view.findChild(QWidget, "lessonList")
    assert listed is not None and listed.accessibleName() == "Lessons"
    qtbot.waitUntil(lambda: lessons.view.model.rowCount() == len(bundled_lessons()))
    place = lessons.view.model.row_of("mask")
    assert "1 of 7 steps seen" in lessons.view.model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    lessons.turn(1)
    lessons.turn(-1)
    lessons.turn(-1)  # there is none before the first
    assert "2 of 7 steps seen" in lessons.view.model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    qtbot.waitUntil(places().lesson_progress.exists)
    path = tmp_path / "broken.md"
    path.write_text(LESSON.replace("minutes = 5", "minutes = 0"))
    lessons.go_to(FilePlace(path))
    qtbot.waitUntil(lambda: lessons.opened is None and not lessons.is_busy)
    assert "line 4, column 1" in lessons.view.empty.text() and not lessons.view.foot.isVisible()
    place = written_lesson(tmp_path, record=False)
    lessons.go_to(FilePlace(place.path))
    qtbot.waitUntil(lambda: lessons.opened is not None and not lessons.is_busy)
    assert "No matching recording: one, two" in lessons.view.notice.label.text()
    for number in range(len(lessons.slides)):
        lessons.show_slide(number)
    place = written_lesson(tmp_path, name="other.md")
    place.path.write_text(LESSON.replace("10 results", "20 results"))
    lessons.go_to(FilePlace(place.path))  # its recordings are of the previous text
    qtbot.waitUntil(
        lambda: lessons.opened is not None and lessons.opened.place == place and not lessons.is_busy
    )
    assert "No matching recording: one, two" in lessons.view.notice.label.text()


def test_a_lesson_loads_no_picture_and_shows_html_as_text(qtbot, tmp_path):
    picture = tmp_path / "secret.png"
    picture.write_bytes(b"x")
    prose = LessonProse(f"a ![x]({picture}) <b>bold</b> <img src='{picture}'> `![y](z)`")
    qtbot.addWidget(prose)
    prose.resize(400, 300)
    assert "<img" in prose.toPlainText() and "￼" not in prose.toPlainText()


# -- the player ----------------------------------------------------------------------------------------------------


def test_the_sampled_token_is_among_the_shown_alternatives():
    tokens = [event for event in find_lesson("mask").events("mask-search") if isinstance(event, Token)]
    unlikely = msgspec.structs.replace(tokens[0].step.alternatives[-1], id=7, data=b"{")
    reported = (*tokens[0].step.alternatives[:10], unlikely)
    step = msgspec.structs.replace(tokens[0].step, id=7, data=b"{", alternatives=reported)
    rows = shown_rows(msgspec.structs.replace(tokens[0], step=step))
    assert len(rows) == MAX_ROWS and rows[-1] is unlikely
    for token in tokens:
        assert token.step.id in [row.id for row in shown_rows(token)]


def test_a_run_is_played_at_its_pace_to_its_end(qtbot):
    player = LessonPlayer()
    player.show(find_lesson("mask").events("mask-search"), 0, 4)
    player.set_pace(50)
    with qtbot.waitSignal(player.playingChanged, check_params_cb=lambda playing: not playing):
        player.play()
    assert player.at_end and not player.is_playing
    player.play()
    assert player.place == 0
    player.pause()


# -- questions and experiments -------------------------------------------------------------------------------------


def test_the_sign_of_an_answer_is_beside_it_and_not_beside_the_reason_below(qtbot):
    choices = (
        AnswerChoice("An answer", right=True, why="Its reason"),
        AnswerChoice("Another", right=False, why="No"),
    )
    question = LessonQuestion(Sheet(kind="choice", ask="Which?", choices=choices))
    qtbot.addWidget(question)
    question.show()
    question.reveal()
    row = question.rows[0]
    question.layout().activate()
    row.layout().activate()
    assert row.why.isVisible() and row.why.y() >= row.button.geometry().bottom()
    assert abs(row.sign.geometry().center().y() - row.button.geometry().center().y()) <= 2


@pytest.mark.slow
def test_a_run_and_a_question_work_by_keyboard(without_model, qtbot, tmp_path):
    lessons = without_model()
    open_in(qtbot, lessons, find_lesson("mask"))
    lessons.show_slide(1)
    run = lessons.view.reader.active[0]
    run.setFocus()
    for key, place in (
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Right, 2),
        (Qt.Key.Key_Left, 1),
        (Qt.Key.Key_End, 11),
    ):
        QTest.keyClick(run, key)
        assert run.player.place == place
    QTest.keyClick(run, Qt.Key.Key_Space)
    assert run.player.is_playing and run.player.place == 0
    lessons.turn(1)
    assert not run.player.is_playing
    open_in(qtbot, lessons, written_lesson(tmp_path))
    lessons.show_slide(2)
    (character,) = lessons.view.reader.active
    character.line.setFocus()
    for _ in range(character.sheet.at + 1):
        QTest.keyClick(character.line, Qt.Key.Key_Right)
    QTest.keyClick(character.line, Qt.Key.Key_Return)
    assert character.is_revealed and character.result.text().startswith("✓")
    lessons.turn(1)
    (following,) = lessons.view.reader.active
    QTest.keyClick(following, Qt.Key.Key_1)
    QTest.keyClick(following, Qt.Key.Key_3)
    QTest.keyClick(following, Qt.Key.Key_Return)
    assert following.result.text().startswith("✓") and "allows" in following.rows[0].why.text()
    lessons.turn(1)
    (choice,) = lessons.view.reader.active
    QTest.keyClick(choice, Qt.Key.Key_1)
    QTest.keyClick(choice, Qt.Key.Key_2)  # one of them is right: the first is no longer chosen
    assert choice.chosen == {1}
    choice.reveal()
    assert choice.result.text() == "✓ Right." and not choice.rows[0].button.isEnabled()
    choice.choose(0)
    assert choice.chosen == {1}
    lessons.show_slide(4)
    answer(lessons.view.reader.active[0], right=False)  # the first answer counts
    assert lessons.progress.of(lessons.opened.place.key).answers == {0: True, 1: True, 2: True}


@pytest.mark.slow
def test_an_experiment_runs_live_with_the_readers_changes(with_model, qtbot, tmp_path):
    lessons = with_model()
    open_in(qtbot, lessons, written_lesson(tmp_path))
    lessons.show_slide(5)
    (card,) = lessons.view.reader.active
    assert card.live_button.isEnabled() and not card.notice.text()
    for phase, can in (("opening", False), ("failed", False), ("none", True)):
        lessons.context.runs.model = ModelStatus(phase, "m")
        lessons.context.runs.modelStatusChanged.emit(lessons.context.runs.model)
        assert card.live_button.isEnabled() is can, "a run opens the model that it requests"
    card._fields["search/max_results/maximum"].setValue(450)
    before = lessons.context.runs.events
    card.live_button.click()
    qtbot.waitUntil(lambda: card.state.finished is not None and not card.is_running)
    (tool,) = [tool for tool in card.state.started.request.registry["tools"] if tool["name"] == "search"]
    assert tool["parameters"]["properties"]["max_results"]["maximum"] == 450
    assert card.run.source.text().startswith("Live:") and lessons.context.runs.events == before
    card._fields["search/max_results/maximum"].setValue(-5)
    card.live_button.click()
    qtbot.waitUntil(lambda: not lessons.is_busy and not lessons.context.runs.is_busy)
    card.play_button.click()
    assert card.run.source.text().startswith("Recorded:") and card.run.player.is_playing
    lessons.context.navigator.show(PageId.PLAYGROUND)
    assert not card.run.player.is_playing
    lessons.context.navigator.show(PageId.LESSONS)
    lessons.show_slide(5)
    lessons.view.reader.active[0].live_button.click()
    lessons.show_slide(0)  # it is no longer in sight: it ends
    qtbot.waitUntil(lambda: not lessons.is_busy and lessons.context.runs.phase is Phase.IDLE)
    assert not lessons.live.is_running
    open_in(qtbot, lessons, find_lesson("token"))
    lessons.show_slide(6)
    (card,), name = lessons.view.reader.active, "search/query/enum"
    for text, value in (("Maria", ["Maria"]), ("12345", ["12345"]), ('["a", "b"]', ["a", "b"])):
        card._fields[name].setText(text)
        assert card.changed() == {name: value}, "text in place of a list of texts is its only one"


# -- the lecture ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_lecture_hides_the_list_enlarges_the_text_and_restores_the_page(without_model, qtbot):
    lessons = without_model(size=(1280, 720))
    open_in(qtbot, lessons, find_lesson("mask"))
    parts, navigator = (lessons.view.list_card, lessons.view.foot), lessons.context.navigator
    points = base_points()
    lessons.view.lecture_button.click()
    assert lessons.lecture.is_on and navigator.is_presenting
    assert not any(part.isVisible() for part in parts)
    assert base_points() >= 12
    assert lessons.view.reader.hasFocus() or lessons.view.focusWidget() is lessons.view.reader
    press(lessons, Qt.Key.Key_Plus, Qt.Key.Key_Minus)
    proceed(lessons, lambda: lessons.at == 1)
    press(lessons, Qt.Key.Key_N)
    assert lessons.lecture.notes.isVisible() and "pays for all" in lessons.opened.lesson.steps[1].notes
    press(lessons, Qt.Key.Key_Right, Qt.Key.Key_Right)
    proceed(lessons, lambda: lessons.at == 2)
    assert lessons.lecture.notes.answers.text() == "Correct: character 0, 'S'"
    QTest.keyClick(lessons.lecture.notes, Qt.Key.Key_PageUp)
    assert lessons.at == 1
    press(lessons, Qt.Key.Key_Escape)
    assert not navigator.is_presenting and all(part.isVisible() for part in parts)
    assert base_points() == points and not lessons.lecture.notes.isVisible()


@pytest.mark.slow
def test_a_lecture_hides_all_distractions_until_it_or_its_page_or_the_window_is_left(
    window_without_model, open_window
):
    window, lessons = window_without_model
    parts = (
        window.menuWidget(),
        window.rail,
        window.statusBar(),
        lessons.view.list_card,
        lessons.view.foot,
    )
    lessons.view.lecture_button.click()
    assert lessons.lecture.is_on and window.isFullScreen()
    assert not any(part.isVisible() for part in (*parts, *window.findChildren(QDockWidget)))
    assert window.actions_.stop.shortcuts() == []
    assert lessons.view.reader.hasFocus() or window.focusWidget() is lessons.view.reader
    press(lessons, Qt.Key.Key_Escape)
    assert not window.isFullScreen() and all(part.isVisible() for part in parts)
    assert window.actions_.stop.shortcuts()

    docks = window.findChildren(QDockWidget)
    evidence = window.findChild(QDockWidget, "evidenceDock")
    evidence.show()  # as a user may arrange it beside a lesson
    lessons.lecture.begin()
    window.navigator.show(PageId.SERVERS)
    assert window.rail.isVisible() and window.menuWidget().isVisible() and not window.isFullScreen()
    assert not any(dock.isVisible() for dock in docks)
    window.navigator.show(PageId.LESSONS)
    assert window.rail.isVisible() and evidence.isVisible()

    lessons.lecture.begin()
    window.shut_down()
    again = open_window(no_model, size=None)
    assert not again.isFullScreen() and again.rail.isVisible()


@pytest.mark.slow
def test_one_key_goes_through_runs_questions_and_steps(without_model, qtbot):
    lessons = without_model(size=(1280, 720))
    open_in(qtbot, lessons, find_lesson("mask"))
    lessons.lecture.begin()
    press(lessons, Qt.Key.Key_Space)
    run = lessons.view.reader.active[0]
    press(lessons, Qt.Key.Key_Space)
    assert run.player.is_playing
    press(lessons, Qt.Key.Key_Right)
    assert run.player.at_end and not run.player.is_playing
    press(lessons, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down)
    assert run.player.place == run.player.last - 1
    run.player.go(run.player.last)
    proceed(lessons, lambda: lessons.at == 2)
    question = lessons.view.reader.active[0]
    proceed(lessons, lambda: question.is_revealed)
    assert lessons.at == 2
    proceed(lessons, lambda: lessons.slides[lessons.at].step == 2)
    slides = slides_of(lessons.opened.lesson)
    assert [id(part) for slide in slides for part in slide.parts] == [
        id(part) for step in lessons.opened.lesson.steps for part in step.shown
    ]
    for at in range(lessons.at + 1, len(slides)):
        proceed(lessons, lambda at=at: lessons.at == at)
    step = slides[-1].step
    lessons.context.navigator.show(PageId.PLAYGROUND)  # ends the lecture, at its current step
    assert not lessons.lecture.is_on and not lessons.lecture_action.isEnabled()
    lessons.context.navigator.show(PageId.LESSONS)
    assert lessons.lecture_action.isEnabled() and lessons.slides[lessons.at].step == step


@pytest.mark.slow
def test_after_the_last_step_comes_the_next_lesson(without_model, qtbot):
    lessons = without_model()
    rows = lessons.view.model
    qtbot.waitUntil(lambda: rows.rowCount() > 2)
    open_in(qtbot, lessons, rows.row(0).place)
    lessons.show_slide(len(lessons.slides) - 1)
    button = lessons.view.after_button
    assert button.isEnabled() and "lesson" in button.text()
    QTest.keyClick(lessons.view, Qt.Key.Key_Left)
    assert lessons.at == len(lessons.slides) - 2
    QTest.keyClick(lessons.view, Qt.Key.Key_Right)
    assert lessons.at == len(lessons.slides) - 1
    button.click()
    qtbot.waitUntil(lambda: lessons.opened.place == rows.row(1).place)
    assert lessons.at == 0 and "lesson" not in button.text()
    open_in(qtbot, lessons, rows.row(rows.rowCount() - 1).place)
    lessons.show_slide(len(lessons.slides) - 1)
    assert not button.isEnabled()


@pytest.mark.slow
@pytest.mark.parametrize("begun", ["lecture", "run"])
def test_a_lesson_that_cannot_be_read_ends_the_lecture_and_the_run_of_the_one_before(
    with_model, qtbot, tmp_path, begun
):
    lessons = with_model()
    open_in(qtbot, lessons, written_lesson(tmp_path))
    lessons.show_slide(5)
    if begun == "run":
        lessons.view.reader.active[0].live_button.click()
    else:
        lessons.lecture.begin()
    broken = tmp_path / "broken.md"
    broken.write_text("no lesson")
    lessons.go_to(FilePlace(broken))
    qtbot.waitUntil(lambda: not lessons.is_busy and lessons.context.runs.phase is Phase.IDLE)
    assert lessons.opened is None and not lessons.live.is_running and not lessons.context.errors
    assert not lessons.lecture.is_on and not lessons.context.navigator.is_presenting
    qtbot.wait(1)
    lessons.view.reader.resize(500, 400)  # its content is gone


def test_a_lesson_opens_from_the_menu_on_its_page(without_model):
    lessons = without_model(ready=False)
    assert list(lessons.menu_actions) == [MenuId.FILE, MenuId.VIEW]
    lessons.context.navigator.show(PageId.PLAYGROUND)
    lessons.open_action.trigger()
    (dialog,) = lessons.context.window.findChildren(QFileDialog)
    dialog.fileSelected.emit("/a/lesson.md")
    dialog.reject()
    assert lessons.context.navigator.visits[-1] == (PageId.LESSONS, FilePlace(Path("/a/lesson.md")))


@pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True)  # popups, offscreen
def test_the_lessons_of_the_list_are_exported_from_the_menu(without_model, qtbot, tmp_path):
    lessons = without_model(ready=False)
    folder = places().lessons
    folder.mkdir(parents=True)
    good = written_lesson(folder, name="good.md")
    bad = written_lesson(tmp_path / "unrecorded", name="bad.md", record=False)
    model, view = lessons.view.model, lessons.view
    model.show_rows([LessonRow(place, place.read(), LessonProgress()) for place in (good, bad)])
    view.export_button.click()
    (dialog,) = lessons.context.window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "site"))
    dialog.reject()
    qtbot.waitUntil(lambda: not lessons.is_busy)
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == ["good.html", "index.html"]
    words = view.notice.label.text()
    assert (
        words.startswith("1 lesson exported to") and "Not exported: bad (The lesson has 2 errors.)" in words
    )
    assert view.notice.action.text() == "Open"

    open_in(qtbot, lessons, good)
    view.export_button.click()
    (menu,) = view.findChildren(QMenu)
    menu.actions()[0].trigger()
    (dialog,) = lessons.context.window.findChildren(QFileDialog, "exportLessonsDialog")
    dialog.fileSelected.emit(str(tmp_path / "new" / "one"))
    dialog.reject()
    qtbot.waitUntil(lambda: not lessons.is_busy)
    assert sorted(path.name for path in (tmp_path / "new" / "one").iterdir()) == ["good.html", "index.html"]

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    lessons.export(tmp_path / "other")
    qtbot.waitUntil(lambda: not lessons.is_busy)
    assert "The folder has other files." in view.notice.label.text() and not lessons.context.errors


@pytest.mark.slow
def test_progress_is_saved_in_order_on_a_slow_disk(without_model, qtbot, monkeypatch):
    lessons = without_model()
    open_in(qtbot, lessons, find_lesson("mask"))
    qtbot.waitUntil(lambda: not lessons.is_busy)
    slow, write = threading.Event(), ReadingProgress.write
    written = []

    def slowly(progress, content):
        first = not written
        written.append(content)
        if first:
            slow.wait(60)
        return write(progress, content)

    monkeypatch.setattr(ReadingProgress, "write", slowly)
    lessons.show_slide(1)
    qtbot.waitUntil(lambda: len(written) == 1)
    lessons.show_slide(3)
    qtbot.wait(50)
    slow.set()
    qtbot.waitUntil(lambda: not lessons.is_busy)
    key = lessons.opened.place.key
    assert ReadingProgress(places().lesson_progress).of(key).step == 2
