"""The report: parsed as a browser would, fed with hostile texts, and gone through in real browsers, from a cell to the
token where a run went wrong.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import re
from base64 import b64decode, b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from expected_texts import as_in_file
from glyphscope.base import resources
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results import (
    IN_SEGMENTS,
    CheckResult,
    Manifest,
    SizeResult,
    SuiteTables,
    report_runs,
    suite_tables,
    summarise,
)
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import BESIDE, REPORT, report_html, write_summaries
from glyphscope.evals.results.sample import Sample, SampleFailure
from glyphscope.evals.suites.reading import load_suite, suite_registry
from glyphscope.evals.suites.suite import Suite
from glyphscope.events import Token
from glyphscope.notation.write import Sizes
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import html_page
from glyphscope.store.records import parse_record
from made_results import GOOD, TOO_MANY, WRONG, events_of, four_arms, made_manifest, made_sample
from made_samples import MadeResult, made_arms
from page_runs import in_browser

CASES = Path(__file__).with_name("evals_report.txt")
LINES = {
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "tr",
    "li",
    "summary",
    "div",
    "section",
    "table",
    "ul",
    "caption",
    "dt",
    "dd",
    "nav",
}
"""Elements that begin a line."""
VOID = {"meta", "br", "link", "img", "input", "hr", "path", "line", "circle", "rect"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "</style></svg></title><script>alert(2)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u202egnp.exe\x00\x1b[31m",
)
SVG = "http://www.w3.org/2000/svg"
"""The name of a format, which is not an address that a browser opens."""


class Page(HTMLParser):
    """A page's elements with attributes, its text, and whether all its elements were closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._lines = [""]
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "h2":
            self._lines.append("")
        self._lines += [""] * (tag in LINES)
        self._lines[-1] += " | " if tag in ("td", "th") else ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag
        self._lines += [""] * (tag in LINES)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append(data)
        elif not self._open or self._open[-1] != "style":
            self.text.append(data)
            self._lines[-1] += "" if "svg" in self._open else data

    def of(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def sections(self) -> list[str]:
        """The lines that are shown, by section; cells are separated by bars."""
        found: list[list[str]] = []
        for line in self._lines:
            words = re.sub(r"\s+", " ", line).strip().strip("|").strip()
            if words in SECTIONS:
                found.append([])
            if words and found:
                found[-1].append(words)
        return ["\n".join(lines) for lines in found]

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def _page(made: MadeResult, **more: object) -> tuple[str, Page]:
    samples = list(made.samples())
    html = report_html(made.manifest, summarise(made.manifest, samples), samples, **more)  # type: ignore[arg-type]
    return html, Page(html)


SMALL = MadeResult(scenarios=12, trials=2)
SECTIONS = (
    "Evaluation: tool-calls", "Figures", "Comparisons", "Matrix", "Cost", "Failures", "Samples", "Scenarios",
    "Tables without model output", "Setup",
)  # fmt: skip


def test_the_words_of_a_report_are_those_of_the_file() -> None:
    """Of two arms of one model, and one of a model that is missing; not finished; with the tables of its suite."""
    arms = made_arms(("a.gguf", "b.gguf"))
    made = MadeResult(
        arms=[*arms[:2], arms[-1]],
        without=("b.gguf",),
        scenarios=4,
        trials=2,
        suites=("tool-calls",),
        finished="",
    )
    suite = load_suite("tool-calls")
    tables = suite_tables(
        suite, suite_registry(suite, None), lambda text: (len(text) + 2) // 3, model="thirds"
    )
    _, page = _page(made, suites=[suite], tables=[tables])
    as_in_file(CASES, page.sections)


@pytest.mark.slow
def test_the_report_needs_no_network_and_runs_only_its_own_script() -> None:
    html, page = _page(SMALL)
    assert {tag for tag, _ in page.elements}.isdisjoint(
        {"link", "img", "iframe", "object", "embed", "form", "base"}
    )
    assert not re.search(r"url\(|@import|https?://", html.replace(SVG, ""))
    policy = next(m["content"] for m in page.of("meta") if m.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert (rules["default-src"], rules["connect-src"]) == ("'none'", "'self'")
    assert [script.get("type", "a script") for script in page.of("script")] == [
        "application/json",
        "a script",
    ]
    digest = b64encode(hashlib.sha256(page.scripts[-1].encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"


@pytest.mark.slow
def test_every_run_is_one_click_away() -> None:
    _, page = _page(SMALL)
    links = {a["href"] for a in page.of("a")}
    for sample in SMALL.samples():
        assert f"./{sample.runs[0]}" in links
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {link[1:] for link in links if link.startswith("#")} <= ids
    assert all(link.startswith(("#", "./runs/")) for link in links)


@pytest.mark.slow
def test_tables_have_headers_and_drawings_have_titles() -> None:
    html, page = _page(SMALL)
    assert all("scope" in th for th in page.of("th"))
    for svg in re.findall(r"<svg.*?</svg>", html, re.S):
        tree = ElementTree.fromstring(svg)
        hidden = tree.get("aria-hidden") == "true"
        assert hidden or (tree.get("role") == "img" and tree.find("title") is not None)
        assert hidden or tree.findtext("title") == tree.get("aria-label")


@pytest.mark.slow
def test_configurations_have_names_not_ids_no_option_is_named_and_no_table_repeats_its_titles() -> None:
    html, page = _page(SMALL)
    words = page.words
    assert not [arm.id for arm in SMALL.manifest.arms if arm.id in words] and "--" not in words
    tables = re.findall(r"<table.*?</table>", html, re.S)
    assert tables and all(table.count("<thead") == 1 for table in tables)


def _hostile() -> tuple[MadeResult, Manifest, list[Sample], list[Suite], list[SuiteTables]]:
    arms = [Arm(model=text, profile=text, preset=text) for text in HOSTILE[:3]]
    made = MadeResult(arms=arms, suites=HOSTILE[:2], scenarios=4, trials=1, without=(HOSTILE[2],))
    manifest = msgspec.structs.replace(
        made.manifest,
        versions={text: text for text in HOSTILE},
        started=HOSTILE[1],
        digest=HOSTILE[1],
        missing={text: text for text in HOSTILE},
        models={t: msgspec.structs.replace(m, name=HOSTILE[0], sha256=HOSTILE[1], server=HOSTILE[3])
                for t, m in made.manifest.models.items()},
    )  # fmt: skip
    samples = []
    for number, sample in enumerate(made.samples()):
        text = HOSTILE[number % len(HOSTILE)]
        samples.append(
            msgspec.structs.replace(
                sample,
                id=f"{number}",
                scenario=text,
                group=text,
                level=text,
                text=text,
                failures=(SampleFailure(reason="SCHEMA", detail=text * 50, code="SYNTAX", path=text),),
                ok=False,
                runs=(text, f"../../{text}", "/etc/passwd", f"runs/{text}.jsonl", "https://evil.example/x"),
            )
        )
    suites = [Suite(glyphscope_suite=1, name=text, about=text, notes=HOSTILE) for text in HOSTILE]
    tables = [
        SuiteTables(
            suite=text,
            model=text,
            checks=(
                CheckResult(text=text, tool_allowed=True, code="SYNTAX", char=1, decided_by=text[:2], message=text,
                        expected_allowed=False, expected_code=text, fits=False, note=text),
            ),
            sizes=(
                SizeResult(id=text, tool=text, sizes=(Sizes(style="json", characters=1, bytes=1, tokens=1),),
                      claimed={text: 1}, words=(text,)),
            ),
            words=(text,),
        )
        for text in HOSTILE
    ]  # fmt: skip
    return made, manifest, samples, suites, tables


def test_hostile_texts_are_shown_as_text() -> None:
    _, manifest, samples, suites, tables = _hostile()
    html = report_html(manifest, summarise(manifest, samples), samples, suites, tables)
    page = Page(html)
    assert [script.get("type", "a script") for script in page.of("script")] == [
        "application/json",
        "a script",
    ]
    assert not re.search(r"\balert\(", "".join(page.scripts))
    assert not page.of("img")
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    for a in page.of("a"):
        assert a["href"].startswith(("#", "./"))
        assert ".." not in a["href"].split("/")
        assert ":" not in a["href"]
    assert "<script>alert(1)</script>" in page.words
    assert "49" not in re.findall(r"\b49\b", page.words.split("Machine and versions")[1])
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)


def test_a_text_that_is_too_long_is_shortened_with_its_length() -> None:
    samples = [
        msgspec.structs.replace(s, failures=(SampleFailure(reason="PARSE", detail="x" * 100_000),), ok=False)
        for s in SMALL.samples()
    ]
    html = report_html(SMALL.manifest, summarise(SMALL.manifest, samples), samples)
    assert len(html) < 1_000_000
    assert "(100,000 characters)" in html


def test_a_result_without_samples_has_a_report() -> None:
    manifest = Manifest(planned=4, missing={"a": "There is no such file."})
    page = Page(report_html(manifest, summarise(manifest, []), []))
    assert "There are no samples." in page.words
    assert "There is no such file." in page.words


def test_unknown_facts_of_the_machine_are_left_out() -> None:
    page = Page(report_html(Manifest(), summarise(Manifest(), []), []))
    assert "0 cores" not in page.words and "0 B" not in page.words


@pytest.mark.slow
@pytest.mark.parametrize("time", [5e-324, 1e-300, 1e308])
def test_an_impossible_time_does_not_prevent_the_report(time: float) -> None:
    odd = [msgspec.structs.replace(s, total_ms=time, first_token_ms=time) for s in SMALL.samples()]
    assert "Time" in Page(report_html(SMALL.manifest, summarise(SMALL.manifest, odd), odd)).words


@pytest.mark.slow
def test_many_trials_of_a_scenario_are_counted() -> None:
    _, page = _page(MadeResult(arms=made_arms()[:1], scenarios=4, trials=11))
    assert "11 of 11" in page.words


STYLE = resources.read_text("page/page.css")
PAIRS = re.findall(r"--([\w-]+):\s*light-dark\((#[0-9a-f]+),\s*(#[0-9a-f]+)\)", STYLE)
SHADES = 6
SCHEMES = {
    "light": {name: light for name, light, _ in PAIRS},  # also on paper
    "dark": {name: dark for name, _, dark in PAIRS},
}
GROUNDS = [
    *(("panel", text) for text in ("ink", "muted", "accent", "holds", "impossible")),
    *(("warned", text) for text in ("ink", "muted")),
    ("impossible-soft", "impossible"),
    *((f"h{shade}", f"t{shade}") for shade in range(SHADES)),
]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_has_a_contrast_of_four_and_a_half(scheme: str) -> None:
    colours = SCHEMES[scheme]
    for ground, text in GROUNDS:
        assert _contrast(colours[ground], colours[text]) >= 4.5, (ground, text)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_shades_are_ordered_in_grey_too(scheme: str) -> None:
    colours = SCHEMES[scheme]
    greys = [_luminance(colours[f"h{shade}"]) for shade in range(SHADES)]
    assert greys in (sorted(greys), sorted(greys, reverse=True))
    assert all(abs(_lightness(a) - _lightness(b)) > 5 for a, b in itertools.pairwise(greys))


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _lightness(luminance: float) -> float:
    """CIE L*, from 0 to 100."""
    return 116 * luminance ** (1 / 3) - 16


def _contrast(first: str, second: str) -> float:
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# -- the runs of the report


BROWSE = '{action="browse" url="https://example.org"}'
WAYS = (
    (GOOD, None),
    (
        TOO_MANY,
        SampleFailure(reason="SCHEMA", code="CONSTRAINT_MAX", path="/max_results", detail="500 is more than 100"),
    ),
    (WRONG, SampleFailure(reason="WRONG_ARGUMENTS", path="/max_results", detail="search: 11 is not 10")),
    (BROWSE, SampleFailure(reason="WRONG_TOOL", detail="the call is of 'browse', not of 'search'")),
)  # fmt: skip


def _result(parent: Path, **changes: object) -> ResultFolder:
    """Two arms with their records: the first is right, the second went wrong in three ways."""
    first, second, *_ = four_arms()
    folder = ResultFolder.create(parent, made_manifest((first, second), 4, 1, **changes), {})
    with folder.writing() as writer:
        for arm, ways in ((first, WAYS[:1]), (second, WAYS)):
            for number, (text, failure) in enumerate(ways):
                sample = msgspec.structs.replace(
                    made_sample(arm, ok=failure is None, text=text),
                    id=f"{arm.id}-{number}",
                    scenario=f"search-{number}",
                    failures=() if failure is None else (failure,),
                )
                writer.add(sample, [events_of(text)])
    return folder


def _written(folder: ResultFolder) -> Page:
    write_summaries(folder, folder.samples())
    return Page((folder.path / REPORT).read_text(encoding="utf-8"))


def _inside(page: Page) -> dict[str, tuple[dict[str, Any], bytes]]:
    """The runs inside the page as their data and their records, by the links to them."""
    texts = dict(zip((script.get("id", "") for script in page.of("script")), page.scripts, strict=True))
    links = {a["data-run"]: a["href"] for a in page.of("a") if "data-run" in a}
    found = {}
    for name, text in texts.items():
        if name.startswith("gzip-"):
            data, _, record = gzip.decompress(b64decode(text)).partition(b"\n")
            found[links[name.removeprefix("gzip-")]] = json.loads(data), record
    return found


def _beside(folder: ResultFolder) -> dict[str, list[dict[str, Any]]]:
    """The contents of the files beside the page, by the cells' places."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((folder.path / BESIDE).glob("*.json.gz")):
        found.setdefault(path.name.rpartition("-")[0], []).append(
            json.loads(gzip.decompress(path.read_bytes()))
        )
    return found


def test_a_list_shows_the_argument_the_keyword_and_the_deciding_character(tmp_path: Path) -> None:
    page = _written(_result(tmp_path))
    words = page.words
    assert 'max_results maximum: 100 500 is more than 100 …AI news" max_results=50 0' in words
    assert "max_results= 11 }" in words and '{action= "browse"' in words
    assert "token 13, character 47" in words


def test_records_inside_the_report_are_those_of_the_folder(tmp_path: Path) -> None:
    folder = _result(tmp_path)
    page = _written(folder)
    found = _inside(page)
    assert len(found) == 5 and "5 of 5 runs are inside this page" in page.words
    assert "http.server" not in page.words
    for link, (_, record) in found.items():
        assert (folder.path / link).read_bytes() == record
    assert not (folder.path / BESIDE).exists(), "everything is inside"


@pytest.mark.parametrize(("name", "limit"), [("MAX_EMBEDDED", 2), ("MAX_BYTES", 12_000)])
def test_wrong_runs_are_inside_first_up_to_the_limits(
    name: str, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_runs, name, limit)
    folder = _result(tmp_path)
    page = _written(folder)
    found = _inside(page)
    wrong = {f"./{sample.runs[0]}" for sample in folder.samples() if not sample.ok}
    assert 0 < len(found) < 3 and set(found) <= wrong
    assert f"{len(found)} of 5 runs are inside this page" in page.words
    assert "python -m http.server" in page.words
    beside = [data for [cell] in _beside(folder).values() for data in cell["runs"].values()]
    places = [each["place"] for each in [*(data for data, _ in found.values()), *beside]]
    assert len(places) == 5 and sum(place is not None for place in places) == 3


RECORDED = "lessons/runs/mask-search.jsonl"


@pytest.mark.parametrize(("tokens", "explained"), [(10_000, True), (3, False)])
def test_runs_of_a_report_explain_masked_alternatives_as_an_exported_run_does(
    tokens: int, explained: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_runs, "MAX_EXPLAINED", tokens)
    events = parse_record(resources.read_bytes(RECORDED), RECORDED).events
    arm = four_arms()[0]
    folder = ResultFolder.create(tmp_path, made_manifest((arm,), 1, 1), {})
    with folder.writing() as writer:
        writer.add(made_sample(arm), [events])
    [(data, _)] = _inside(_written(folder)).values()
    exported = Page(html_page([RecordedRun(events)]))
    [of_export] = json.loads(exported.scripts[0])
    assert "reasons" in of_export["stages"][0]
    assert data["explained"] is explained
    assert (data["stages"] == of_export["stages"]) is explained


def test_samples_that_are_not_listed_are_in_files_beside_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_runs, "MAX_PER_CELL", 1)
    monkeypatch.setattr(report_runs, "PORTION", 2)
    folder = _result(tmp_path)
    page = _written(folder)
    assert "1 of 4 samples are listed" in page.words
    [portions] = [each for each in _beside(folder).values() if len(each) > 1]
    rows = [row for portion in portions for row in portion["rows"]]
    assert [len(portion["rows"]) for portion in portions] == [2, 1]
    assert [row[:5] for row in rows] == [
        ["search-2", 1, "✗", "wrong", "Wrong arguments"],
        ["search-3", 1, "✗", "wrong", "Wrong tool"],
        ["search-0", 1, "✓", "right", "correct"],
    ]
    for row in rows:
        assert (folder.path / row[6][0]).is_file()
    monkeypatch.undo()
    _written(folder)
    assert not (folder.path / BESIDE).exists(), "files of an earlier report are removed"


def test_a_record_that_is_missing_or_damaged_is_left_out(tmp_path: Path) -> None:
    folder = _result(tmp_path)
    first, second, *_ = [sample for sample in folder.samples() if not sample.ok]
    (folder.path / first.runs[0]).unlink()
    (folder.path / second.runs[0]).write_bytes(b"x")
    assert len(_inside(_written(folder))) == 3


def test_each_reason_of_a_cell_is_listed_before_a_second_of_one() -> None:
    arm = four_arms()[0]
    wrong = made_sample(arm, ok=False)
    samples = [made_sample(arm)]
    for number in range(300):
        failure = SampleFailure(reason="WRONG_TOOL" if number == 299 else "PARSE")
        changes = {"id": f"{number}", "scenario": f"{number:03}", "failures": (failure,)}
        samples.append(msgspec.structs.replace(wrong, **changes))
    manifest = made_manifest((arm,), 300, 1)
    page = Page(report_html(manifest, summarise(manifest, samples), samples))
    listed = re.findall(
        r"(?:✗|✓) (The text is not of the expected form|Wrong tool|correct)",
        page.words.split("samples are listed")[1],
    )
    assert listed[:3] == [
        "The text is not of the expected form",
        "Wrong tool",
        "The text is not of the expected form",
    ]
    assert len(listed) >= report_runs.MAX_PER_CELL and "correct" not in listed[: report_runs.MAX_PER_CELL]


def test_all_lists_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_runs, "MAX_LISTED", 40)
    _, page = _page(SMALL)
    listed = {a["data-run"] for a in page.of("a") if "data-run" in a}
    cells = [element["id"] for element in page.of("details") if "id" in element]
    assert len(listed) <= max(40, len(cells)) and len(cells) == len({*cells})
    assert "samples are listed; the others are in the files beside the page" in page.words


@pytest.mark.slow
def test_the_report_does_not_grow_with_the_trials() -> None:
    few = {"arms": made_arms()[:2], "suites": ("tool-calls",), "scenarios": 60}
    sizes = [len(_page(MadeResult(**few, trials=trials))[0]) for trials in (20, 60)]
    assert sizes[1] < sizes[0] * 1.1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_cell_leads_to_the_token_where_a_run_went_wrong_in_a_browser(
    browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _result(tmp_path / "result")
    _written(folder)
    monkeypatch.setattr(report_runs, "MAX_EMBEDDED", 0)
    monkeypatch.setattr(report_runs, "MAX_PER_CELL", 1)
    bare = _result(tmp_path / "bare")
    segments = _result(tmp_path / "segments", glyphscope_eval=IN_SEGMENTS)
    for without in (bare, segments):
        _written(without)
    found = in_browser("report.mjs", browser, folder.path, bare.path, segments.path)
    assert found["axe"] == found["errors"] == []
    tokens = [event.step.text for event in events_of(TOO_MANY) if isinstance(event, Token)]
    inside = found["inside"]
    assert "".join(tokens[: int(inside["chosen"]) + 1]).endswith("500"), "the third digit decided"
    assert "maximum: 100" in inside["verdict"] and inside["title"] == "search-1"
    assert found["named"] == f"#run-{inside['run']}" and found["focused"] == inside["run"]
    wrong = next(sample for sample in folder.samples() if not sample.ok)
    records = {"bare": wrong.runs[0], "segments": "records/00001.jsonl.gz"}
    for kind, record in records.items():
        beside = [f"/{kind}/{record}", f"/{kind}/{BESIDE}/cell-0-1.json.gz"]
        assert sorted(found[kind].pop("requests")) == sorted([f"/{kind}/{REPORT}", *beside])
        rest = found[kind].pop("rest")
        assert rest["rows"] == ["search-2", "search-3", "search-0"]
        assert rest["words"] == "Samples 2 to 4 of 4" and rest["run"] == rest["shared"]
        assert rest["chosen"] == "13" and "11 is not 10" in rest["verdict"], "where the engine finds it, too"
    assert found["bare"] == found["segments"] == inside
    assert "not inside the page" in found["alone"] and "python -m http.server" in found["alone"]
    assert found["list"][1:] == ["✗ Wrong arguments", "✗ Wrong tool", "✓ correct"]
    assert found["printed"] == [["paper"], True]
    assert found["sorted"] == 1
    if browser == "chromium":
        assert "maximum: 100" in found["plain"]["row"] and found["plain"]["buttons"] == 0
        assert found["plain"]["link"] == f"./{wrong.runs[0]}"
