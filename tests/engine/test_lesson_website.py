"""Lessons as a website: complete without scripts, nothing foreign is markup, and taken in real browsers."""

import itertools
import json
import re
import shutil
import subprocess

import pytest

from cli_command import command
from glyphscope.base.errors import GlyphscopeError, LessonError, StorageError
from glyphscope.lessons import AnswerChoice, LessonPlace, Sheet, bundled_lessons, find_lesson, grade
from glyphscope.lessons.website import INDEX, export_website, inline, rendered, website
from lesson_texts import LESSON, written_lesson
from page_runs import BUILT, in_browser, node
from page_text import PageText

HOSTILE = (
    "<img src=x onerror=alert(1)></script><script>alert(1)</script><!-- \u202e & `x` ![p](http://x/y.png)"
)
MAX_PAGE = 400_000
"""Bytes of a page without its data."""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return written_lesson(tmp_path_factory.mktemp("lesson"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the pages of all bundled lessons."""
    folder = tmp_path_factory.mktemp("lessons") / "site"
    export_website(bundled_lessons(), folder)
    return folder


def blocks(page):
    """The data of a page by id, and the whole page read as a browser reads it."""
    read = PageText(page)
    data = {
        known["id"]: text
        for _, known, text in read.raw
        if known.get("type") == "application/json" and "id" in known
    }
    return {name: json.loads(text) for name, text in data.items()}, read


# the text of a lesson


def test_markdown_becomes_html_without_foreign_markup_pictures_and_addresses():
    html = str(rendered(f'# One\n\n{HOSTILE}\n\n- *two*\n\n```gbnf\nroot ::= "<"\n```'))
    assert "<img" not in html and "<script" not in html and "\u202e" not in html
    assert "<em>two</em>" in html and '<code class="language-gbnf">' in html
    links = str(
        rendered("[a](https://a.example/x) [b](javascript:alert(1)) [c](file:///etc/passwd) <data:x>")
    )
    assert re.findall(r"href=\"([^\"]*)\"", links) == ["https://a.example/x"]
    assert 'rel="noreferrer"' in links


def test_a_table_has_no_style_in_its_elements():
    html = str(rendered("| a | b |\n|:--|--:|\n| 1 | 2 |"))
    assert "style" not in html and '<td class="n">2</td>' in html


def test_an_answer_is_a_line():
    assert str(inline("`a` or **b**")) == "<code>a</code> or <strong>b</strong>"


# the pages


def test_a_lesson_is_one_page_with_its_text_runs_and_solutions(small):
    pages = website([small])
    assert list(pages) == [INDEX, "01-small.html"]
    data, read = blocks(pages["01-small.html"])
    shown = " ".join(read.shown)
    for words in ("Some", "A run", "More may be asked for", "500 is more than 100.", "✓ correct"):
        assert words in shown
    kinds = [part["kind"] for part in data["lesson"]["parts"]]
    assert kinds == ["run", "question", "question", "question", "experiment"]
    assert [part["right"] for part in data["lesson"]["parts"] if part["kind"] == "question"] == [
        [47],
        [0, 2],
        [1],
    ]
    assert len(data["runs"]) == 2 and data["lesson"]["next"] is None
    assert [known["id"] for _, known, _ in read.raw if known.get("id", "").startswith("record-")] == [
        "record-0",
        "record-1",
    ]


def test_pages_follow_each_other_and_their_index(small, tmp_path):
    other = written_lesson(tmp_path, name="Ünïcode & <b>.md")
    third = written_lesson(tmp_path / "again", name="01-small.md")
    pages = website([small, other, third])
    assert list(pages) == [INDEX, "01-small.html", "n-code-b.html", "01-small-2.html"]
    data, _ = blocks(pages["01-small.html"])
    assert data["lesson"]["next"]["file"] == "n-code-b.html"
    entries, read = blocks(pages[INDEX])
    assert [entry["file"] for entry in entries["lessons"]] == list(pages)[1:]
    hrefs = [known["href"] for tag, known in read.elements if tag == "a"]
    assert hrefs == list(pages)[1:]


def test_nothing_on_the_pages_comes_from_elsewhere(small):
    for name, page in website([small]).items():
        _, read = blocks(page)
        for tag, known in read.elements:
            assert not {"src", "srcset", "action", "style"} & known.keys(), tag
            assert not any(attribute.startswith("on") for attribute in known)
        [policy] = [
            known["content"]
            for tag, known in read.elements
            if tag == "meta" and known.get("http-equiv") == "Content-Security-Policy"
        ]
        assert "default-src 'none'" in policy and "unsafe" not in policy, name


def test_a_hostile_lesson_is_text(tmp_path):
    quoted = json.dumps(HOSTILE)
    text = LESSON.replace('"A title"', quoted).replace('"What it is about."', quoted)
    text = text.replace('"More may be asked for"', quoted).replace('text = "Yes"', f"text = {quoted}")
    text = text.replace("Some *words* to begin with.", HOSTILE).replace('"500 is more than 100."', quoted)
    plain = website([written_lesson(tmp_path / "plain")])
    pages = website([written_lesson(tmp_path / "hostile", text)])
    for name in plain:
        usual, read = blocks(plain[name])[1], blocks(pages[name])[1]
        of = ("script", "style", "meta", "img", "iframe")
        assert [tag for tag, _ in read.elements if tag in of] == [
            tag for tag, _ in usual.elements if tag in of
        ]
        assert "\u202e" not in " ".join(read.shown)


def test_a_page_without_its_data_is_at_most_400_kb():
    names = ("page.js", "page.css", "base.jinja", "lesson.jinja", "lessons.jinja", "summary.jinja")
    assert sum((BUILT / name).stat().st_size for name in names) < MAX_PAGE


@pytest.mark.slow
def test_every_bundled_lesson_has_a_page(site):
    pages = sorted(path for path in site.iterdir() if path.name != INDEX)
    for place, page in zip(bundled_lessons(), pages, strict=True):
        lesson = place.read()
        data, read = blocks(page.read_text(encoding="utf-8"))
        kinds = [part["kind"] for part in data["lesson"]["parts"]]
        assert kinds.count("question") == len(lesson.questions)
        assert kinds.count("experiment") == len(lesson.experiments)
        assert sum(known.get("class") == "step" for _, known in read.elements) == len(lesson.steps)
        assert {each.get("data-part") for _, each in read.elements if "data-part" in each} == {
            str(number) for number in range(len(kinds))
        }


# the grades


_GRADES = """
require(process.argv[1]);
const cases = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([asked, chosen]) => glyphscope.grade(asked, chosen))));
"""


def test_the_page_grades_every_answer_as_the_program_does():
    choices = tuple(AnswerChoice(text, text in "bd", "") for text in "abcd")
    sheets = [
        Sheet(kind="next", ask="", choices=choices),
        Sheet(kind="choice", ask="", choices=choices[:3]),
        Sheet(kind="character", ask="", text="abcdef", at=3),
    ]
    cases = []
    for sheet in sheets:
        places = range(len(sheet.text or sheet.choices))
        most = 1 if sheet.kind == "character" else len(places)
        for count in range(most + 1):
            cases += [(sheet, frozenset(chosen)) for chosen in itertools.combinations(places, count)]
    sent = [
        (
            {
                "form": sheet.kind,
                "single": sheet.single,
                "right": sorted(sheet.right),
                "choices": [choice.text for choice in sheet.choices],
            },
            sorted(chosen),
        )
        for sheet, chosen in cases
    ]
    done = subprocess.run(
        [node(), "-e", _GRADES, str(BUILT / "page.js")],
        input=json.dumps(sent),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    expected = [grade(sheet, chosen) for sheet, chosen in cases]
    assert json.loads(done.stdout) == [{"right": each.right, "words": each.words} for each in expected]


# the folder


def test_an_export_goes_into_a_new_an_empty_or_an_earlier_folder(small, tmp_path):
    folder = tmp_path / "site"
    assert export_website([small], folder) == [folder / INDEX, folder / "01-small.html"]
    assert export_website([small], folder) == [folder / INDEX, folder / "01-small.html"]
    other = tmp_path / "other"
    other.mkdir()
    assert export_website([small], other)[0] == other / INDEX
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / INDEX).write_text("my own page")
    with pytest.raises(StorageError, match="The folder has other files"):
        export_website([small], mine)
    assert [path.name for path in mine.iterdir()] == [INDEX]
    assert (mine / INDEX).read_text() == "my own page"
    with pytest.raises(StorageError):
        export_website([small], mine / INDEX)


def test_an_invalid_lesson_writes_nothing(small, tmp_path):
    unrecorded = written_lesson(tmp_path / "lesson", record=False)
    with pytest.raises(LessonError) as caught:
        export_website([small, unrecorded], tmp_path / "site")
    assert "run one" in str([each.pointer for each in caught.value.problems])
    assert not (tmp_path / "site").exists()
    with pytest.raises(GlyphscopeError, match="No lesson is given"):
        website([])


def test_the_command_exports_the_named_lessons(small, tmp_path):
    def export(*arguments):
        return command("lesson", "export", *arguments)

    done = export(tmp_path / "one", small.path, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == [str(tmp_path / "one" / name) for name in (INDEX, "01-small.html")]
    named = export(tmp_path / "two", "mask", "03-mask")
    assert named.exit_code == 0 and "2 lessons exported" in named.stdout
    nowhere = export(tmp_path / "three", "no-such-lesson")
    assert nowhere.exit_code == 2 and "There is no such lesson" in nowhere.stderr
    assert export(small.folder).exit_code == 2


# in a browser


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_lessons_are_taken_from_start_to_end_in_a_browser(browser, site, tmp_path):
    lessons = bundled_lessons()
    shutil.copytree(site, tmp_path / "site")  # the browser writes into the folder
    found = in_browser("walk.mjs", browser, tmp_path / "site")
    assert found["errors"] == found["requests"] == found["axe"] == []
    assert list(found["lessons"]) == [place.name for place in lessons]
    for place, state in zip(lessons, found["lessons"].values(), strict=True):
        count = len(place.read().questions)
        assert state == f"✓ Lesson completed, {count} of {count} answers correct", place.name
    assert all(words.startswith("✓ completed") for words in found["index"])
    if browser == "chromium":
        presented = found["presented"]
        assert presented["open"] == 0 and presented["step"] == 1 and presented["left"] and presented["larger"]
        assert presented["axe"] == [] and "Esc leaves" in presented["hint"]
        first = find_lesson(lessons[0].name).read()
        assert found["bare"]["steps"] == len(first.steps) and found["bare"]["solution"]
        assert found["bare"]["runs"] and not found["bare"]["buttons"]
        assert "This browser keeps no progress" in found["unkept"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hostile_lesson_is_taken_in_a_browser(tmp_path):
    quoted = json.dumps(HOSTILE)
    text = LESSON.replace('"A title"', quoted).replace('text = "Yes"', f"text = {quoted}")
    text = text.replace("Some *words* to begin with.", HOSTILE)
    place = written_lesson(tmp_path, text)
    assert isinstance(place, LessonPlace)
    export_website([place], tmp_path / "site")
    found = in_browser("walk.mjs", "chromium", tmp_path / "site")
    assert found["errors"] == found["requests"] == found["axe"] == []
    assert found["index"] == ["✓ completed, 3 of 3 answers correct"]
