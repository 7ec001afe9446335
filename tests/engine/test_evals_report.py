"""The report: parsed as a browser would, fed with hostile texts, and checked for accessibility."""

from __future__ import annotations

import hashlib
import itertools
import re
from base64 import b64encode
from html.parser import HTMLParser
from xml.etree import ElementTree

import msgspec
import pytest

from glyphscope import resources
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results import report_parts
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.report import report_html
from glyphscope.evals.results.sample import Failure, Sample
from glyphscope.evals.results.summary import summarise
from glyphscope.evals.results.tables import CheckResult, SizeResult, SuiteTables
from glyphscope.evals.suites.suite import Suite
from glyphscope.notation.write import Sizes
from made_samples import MadeResult, made_arms

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


class Page(HTMLParser):
    """A page's elements with attributes, its text, and whether all its elements were closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append(data)
        elif not self._open or self._open[-1] != "style":
            self.text.append(data)

    def of(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def _page(made: MadeResult, **more: object) -> tuple[str, Page]:
    samples = list(made.samples())
    html = report_html(made.manifest, summarise(made.manifest, samples), samples, **more)  # type: ignore[arg-type]
    return html, Page(html)


SMALL = MadeResult(scenarios=12, trials=2)


@pytest.mark.slow
def test_the_report_shows_the_models_the_settings_and_the_results() -> None:
    html, page = _page(SMALL)
    reported = summarise(SMALL.manifest, SMALL.samples())
    for part in ("ab" * 32, "Q4_1", "llama-cpp-python", "0.3.36", "a processor", "temperature 0.7", "greedy"):
        assert part in page.words
    for note in reported.notes:
        assert re.sub(r"\s+", " ", note) in page.words
    for arm in reported.arms:
        ok = arm.tools.ok
        assert f"{ok.correct}/{ok.n}" in page.words
        assert f"[{ok.low * 100:.0f}, {ok.high * 100:.0f}]" in page.words
    assert "The mask: " in page.words
    assert "McNemar exact p " in page.words
    assert html.startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_the_report_needs_no_network_and_runs_only_its_own_script() -> None:
    html, page = _page(SMALL)
    assert {tag for tag, _ in page.elements}.isdisjoint(
        {"link", "img", "iframe", "object", "embed", "form", "base"}
    )
    assert not re.search(r"url\(|@import|https?://", html)
    policy = next(m["content"] for m in page.of("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert len(page.of("script")) == 1
    digest = b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy


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
                failures=(Failure(reason="SCHEMA", detail=text * 50, code="SYNTAX", path=text),),
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
    assert len(page.of("script")) == 1
    assert "alert" not in "".join(page.scripts)
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
    assert report_parts.links_of(next(SMALL.samples()))
    samples = [
        msgspec.structs.replace(s, failures=(Failure(reason="PARSE", detail="x" * 100_000),), ok=False)
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
def test_too_many_samples_for_one_mark_each_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_parts, "MOST_MARKS", 10)
    _, page = _page(SMALL)
    assert "2 of 2" in page.words


def test_an_arm_is_named_by_its_difference_from_the_others() -> None:
    _, page = _page(MadeResult(arms=made_arms(profiles=("deterministic",)), scenarios=3, trials=1))
    assert "glyph · no constraint" in page.words
    assert "json · mask" in page.words


STYLE = resources.read_text("report/report.css")
SCHEMES = re.findall(r":root \{(.*?)\}", STYLE, re.S)
GROUNDS = [
    *(("paper", text) for text in ("ink", "muted", "link", "right", "wrong")),
    ("warn", "ink"),
    *((f"h{shade}", f"t{shade}") for shade in range(report_parts.SHADES)),
]


@pytest.mark.parametrize("scheme", range(3), ids=["light", "dark", "print"])
def test_every_text_has_a_contrast_of_four_and_a_half(scheme: int) -> None:
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", SCHEMES[scheme]))
    for ground, text in GROUNDS:
        assert _contrast(colours[ground], colours[text]) >= 4.5, (ground, text)


@pytest.mark.parametrize("scheme", range(3), ids=["light", "dark", "print"])
def test_shades_are_ordered_in_grey_too(scheme: int) -> None:
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", SCHEMES[scheme]))
    greys = [_luminance(colours[f"h{shade}"]) for shade in range(report_parts.SHADES)]
    assert greys in (sorted(greys), sorted(greys, reverse=True))
    assert all(abs(_lightness(a) - _lightness(b)) > 5 for a, b in itertools.pairwise(greys))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _lightness(luminance: float) -> float:
    """CIE L*, from 0 to 100."""
    return 116 * luminance ** (1 / 3) - 16


def _contrast(first: str, second: str) -> float:
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)
