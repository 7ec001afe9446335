"""`glyphscope lesson …`: its output and its exit codes."""

from __future__ import annotations

import json

from cli_command import command
from lesson_texts import BAD, LESSON, written_lesson


def lesson(*arguments, answers=""):
    return command("lesson", *arguments, text=answers)


def test_an_author_is_led_from_a_new_file_to_a_valid_lesson(tmp_path):
    place = written_lesson(tmp_path, record=False)
    missing = lesson("check", place.path, "--json")
    reported = json.loads(missing.stdout)
    assert missing.exit_code == 1 and not reported["ok"]
    assert [(each["line"], each["pointer"]) for each in reported["problems"]] == [
        (12, "run one"),
        (50, "run two"),
    ]
    made = lesson("record", place.path, "--model", f"scripted:{BAD}", "--json")
    assert made.exit_code == 0 and [each["run"] for each in json.loads(made.stdout)] == ["one", "two"], (
        made.stderr
    )
    assert lesson("check", place.path).stdout.startswith(
        "✓ A title: 4 steps, 2 runs, 3 questions, 1 experiment"
    )
    taken = lesson("run", place.path, answers="\n\n46\n9\n1 2\n\n")
    assert taken.exit_code == 0, taken.stderr
    assert (
        "▲\n  character" in taken.stdout
        and "Not quite" in taken.stdout
        and "Said, not shown." not in taken.stdout
    )


def test_an_invalid_lesson_ends_with_a_message(tmp_path):
    path = tmp_path / "x.md"
    path.write_text(LESSON.replace("minutes = 5", "minutes = 0"))
    wrong = lesson("run", path)
    assert wrong.exit_code == 2 and "minutes is how long" in wrong.stderr and "Traceback" not in wrong.stderr
    nowhere = lesson("show", "no-such-lesson")
    assert nowhere.exit_code == 2 and "There is no such lesson" in nowhere.stderr
    bundled = lesson("record", "mask")
    assert bundled.exit_code == 2 and "There is no such file" in bundled.stderr
