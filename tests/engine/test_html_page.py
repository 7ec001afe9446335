"""The exported HTML page: its reduction is the engine's, foreign text is never markup, and it needs no network."""

import hashlib
import json
import re
import subprocess
from base64 import b64encode
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundled import GOOD, REQUESTS, TEXTS, run_of, written
from cli_command import command
from examples import at_most
from glyphscope.base import resources
from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import byte_size, duration_ms, percent
from glyphscope.base.visible import visible
from glyphscope.events import (
    BranchPoint,
    FieldClosed,
    FieldOpened,
    PromptRendered,
    Relaxed,
    SegmentClosed,
    SegmentOpened,
    StageStarted,
    Token,
    ToolContent,
    ToolResult,
    Violation,
    decode_event,
)
from glyphscope.explain.masked import masked_reasons
from glyphscope.runs import run_state
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import MAX_RUNS, html_page, run_data
from glyphscope.store.records import encode_record, parse_record
from page_runs import BUILT, SOURCE, dump, dumps_of_page, in_browser, node, with_modules
from page_text import PageText

RECORDS = [f"runs/{name}" for name in resources.names("runs", ".jsonl")]
LESSONS = [f"lessons/runs/{name}" for name in resources.names("lessons/runs", ".jsonl")]
MAX_PAGE = 400_000
"""Bytes of the page without its runs."""


def events_of(path):
    _header, *lines = resources.read_text(path).splitlines()
    return [decode_event(line) for line in lines]


def _records(parts):
    return [text for _, attributes, text in parts.raw if attributes.get("id", "").startswith("record-")]


def _unescaped(text):
    """The record of a data block, as the page reads it."""
    return re.sub(r"\\(\\|u003c)", lambda found: found[0] if found[1] == "\\" else "<", text).lstrip("\n")


# the reduction


def _places(events):
    return sorted({*range(0, len(events), max(len(events) // 12, 1)), len(events)})


@pytest.mark.slow
def test_the_page_reduces_every_bundled_record_to_the_engines_state_at_any_event():
    runs = [(events, _places(events)) for events in map(events_of, RECORDS + LESSONS)]
    for (events, places), dumps, name in zip(runs, dumps_of_page(runs), RECORDS + LESSONS, strict=True):
        for until, found in zip(places, dumps, strict=True):
            assert found == dump(run_state(events[:until])), f"{name} after {until} events"


_SMALL = st.integers(0, 12)
_EVENTS = st.one_of(
    st.builds(
        SegmentOpened,
        kind=st.sampled_from(["reasoning", "text", "call"]),
        start=_SMALL,
        call_index=st.integers(0, 2),
    ),
    st.builds(
        SegmentClosed,
        kind=st.sampled_from(["reasoning", "text", "call"]),
        start=_SMALL,
        end=_SMALL,
        call_index=st.integers(0, 2),
    ),
    st.builds(FieldOpened, path=st.sampled_from(["/a", "/b"]), start=_SMALL, call_index=st.integers(0, 2)),
    st.builds(
        FieldClosed,
        path=st.sampled_from(["/a", "/b"]),
        start=_SMALL,
        end=_SMALL,
        status=st.just("holds"),
        value=st.integers(-(2**53), 2**53),
    ),
    st.builds(
        Violation,
        code=st.just("SYNTAX"),
        message=st.text(max_size=3),
        path=st.sampled_from(["/a", "/b"]),
        char=st.integers(0, 2),
        token=_SMALL,
        call_index=st.integers(0, 1),
        corrects=st.booleans(),
    ),
    st.builds(StageStarted, stage=st.sampled_from(["call", "continuation", "turn"]), t=st.floats(0, 9)),
)


@pytest.mark.slow
@at_most(5)
@given(st.lists(st.lists(_EVENTS, max_size=12), min_size=20, max_size=20))
def test_the_page_reduces_any_order_of_events_as_the_engine_does(runs):
    whole = [(events, [len(events)]) for events in runs]
    assert [found[0] for found in dumps_of_page(whole)] == [dump(run_state(events)) for events in runs]


_WORDS = """
require(process.argv[1]);
const [figures, texts] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const { bytes, milliseconds, percent, visible } = glyphscope.words;
const found = figures.map((n) => [milliseconds(n), percent(n / 1e6), bytes(Math.floor(n))]);
console.log(JSON.stringify([found, texts.map(visible)]));
"""


def test_figures_and_invisible_characters_are_written_as_in_the_program():
    figures = [
        0,
        0.004,
        0.4,
        0.996,
        4.2,
        9.96,
        412,
        999.6,
        3_200,
        119_960,
        125_000,
        999_400,
        999_600,
        7_500_000,
    ]
    texts = [
        "a\u202eb",
        "x\x00y\x1b",
        "é\u200b",
        "tab\tnl\n",
        "\u2800",
        "👩\u200d👧",
        "क्\u200dष",
        "\u0600",
        "❤\ufe0f",
        "a\ufe0f",
    ]
    done = subprocess.run(
        [node(), "-e", _WORDS, str(BUILT / "page.js")],
        input=json.dumps([figures, texts]),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == [
        [[duration_ms(n), percent(n / 1e6), byte_size(int(n))] for n in figures],
        [visible(text, lines=True) for text in texts],
    ]


_PROBABILITIES = """
require(process.argv[1]);
const { barWidth, finalOf } = glyphscope.words;
const origins = ["model", "kept", "written", undefined];
console.log(JSON.stringify([
  [0.862, 0.609, 1].map((share) => parseFloat(barWidth(share))),
  origins.map((origin) => finalOf({ origin, probability: 0 })),
]));
"""


def test_bars_of_probabilities_have_one_scale_and_only_a_sampled_token_has_a_final_one():
    done = subprocess.run(
        [node(), "-e", _PROBABILITIES, str(BUILT / "page.js")],
        capture_output=True, encoding="utf-8", check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout) == [[86.2, 60.9, 100], [0, None, None, 0]]


# the file


@pytest.mark.parametrize("path", [pytest.param(each, marks=pytest.mark.slow) for each in RECORDS])
def test_a_bundled_run_is_one_small_page_with_its_record_inside(path):
    run = RecordedRun(events_of(path))
    html = html_page([run])
    parts = PageText(html)
    record = encode_record(run.events)
    [inside] = map(_unescaped, _records(parts))
    assert inside.encode() == record and parse_record(inside.encode()).events == run.events
    assert len(html.encode()) - len(_records(parts)[0].encode()) <= MAX_PAGE
    text = " ".join(parts.shown)
    assert run.request.prompt in text and run.started.model.sha256 in text


def test_the_page_without_its_runs_is_at_most_400_kb():
    assert sum((BUILT / name).stat().st_size for name in ("page.js", "page.css", "page.jinja")) < MAX_PAGE


@pytest.mark.slow
def test_nothing_on_the_page_comes_from_elsewhere():
    html = html_page([RecordedRun(events_of("runs/search-mask.jsonl"))])
    parts = PageText(html)
    for tag, attributes in parts.elements:
        assert not {"src", "href", "srcset", "action", "style"} & attributes.keys(), tag
        assert not any(name.startswith("on") for name in attributes)
    [policy] = [
        attributes["content"]
        for tag, attributes in parts.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        [text] = [text for name, attributes, text in parts.raw if name == tag and "type" not in attributes]
        assert rules[rule] == f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert {"img-src", "connect-src", "font-src"}.isdisjoint(rules)


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></style><img src=x onerror=alert(1)>",
    "\\u003c/script> \\\\u003c \\<",
    "{{ 7 * 7 }} {% raw %}",
    "\u202eevil\u2066\x00\x1b[31m\r\n\u2028",
    "&lt;b&gt; &amp;lt; \"'`",
    "\ud800",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_data_and_not_markup(text):
    events = _hostile(text)
    run = RecordedRun(parse_record(encode_record(events)).events)
    plain, html = html_page([RecordedRun(events_of("runs/search-mask.jsonl"))]), html_page([run])
    usual, parts = PageText(plain), PageText(html)
    assert [tag for tag, _ in parts.elements if tag in ("script", "style", "meta", "img")] == [
        tag for tag, _ in usual.elements if tag in ("script", "style", "meta", "img")
    ]
    assert _unescaped(_records(parts)[0]).encode() == encode_record(run.events)
    assert json.loads(next(text for _, attributes, text in parts.raw if attributes.get("id") == "runs"))


def _hostile(text):
    """A run with that text as its prompt, in its tools, in its answer and in a result."""
    events = run_of(GOOD, prompt=text)
    started = events[0]
    document = json.loads(json.dumps(started.request.registry))
    document["tools"][0]["description"] = text
    document["tools"].append(
        {"name": text, "description": text, "parameters": {"type": "object", "properties": {text: {}}}}
    )
    request = msgspec.structs.replace(started.request, prompt=text, registry=document, system_prompt=text)
    model = msgspec.structs.replace(started.model, name=text, path=text)
    events[0] = msgspec.structs.replace(
        started, request=request, model=model, versions={text: text}, time=text
    )
    end = events[-1]
    result = ToolResult(
        call="1",
        tool=text,
        source=text,
        ok=True,
        content=(ToolContent(text=text),),
        sent=text,
        run=end.run,
        t=end.t,
    )
    rendered = [
        msgspec.structs.replace(event, text=text + event.text) if isinstance(event, PromptRendered) else event
        for event in events[:-1]
    ]
    return [*rendered, result, end]


@pytest.mark.slow
@at_most(60)
@given(REQUESTS, st.lists(TEXTS, min_size=1, max_size=4))
def test_any_run_has_a_page(request_of, turns):
    events = run_of(*turns, **request_of)
    run = RecordedRun(parse_record(encode_record(events)).events)
    parts = PageText(html_page([run]))
    assert _unescaped(_records(parts)[0]).encode() == encode_record(run.events)


def test_a_record_cut_off_anywhere_has_a_page():
    events = events_of("runs/verbs-loop.jsonl")
    for until in (1, 2, 5, 20, 40):
        assert "the record ends before the run" in html_page([RecordedRun(events[:until])])


def test_runs_side_by_side_say_in_which_settings_they_differ():
    runs = [RecordedRun(events_of(f"runs/search-mask{end}.jsonl")) for end in ("", "-json")]
    data = json.loads(
        next(text for _, known, text in PageText(html_page(runs)).raw if known.get("id") == "runs")
    )
    assert [each["differing"] for each in data] == [["Notation"]] * 2
    with pytest.raises(GlyphscopeError, match="1 to 4 runs, not 5"):
        html_page(runs[:1] * (MAX_RUNS + 1))
    with pytest.raises(GlyphscopeError, match="1 to 4 runs, not 0"):
        html_page([])


# what the engine computes for it


def _reasons(path):
    run = RecordedRun(events_of(path))
    stage = run_state(run.events).stages[0]
    return stage, masked_reasons(run.request, run.enforced, stage)


def test_a_masked_alternative_has_the_grammars_reason():
    stage, reasons = _reasons("runs/search-mask.jsonl")
    token = next(
        token for token in stage.tokens if token.step.text.startswith("10") or token.step.text == "1"
    )
    assert reasons[token.step.index].place.startswith("max_results expects ")
    for one, reason in zip(token.step.alternatives, reasons[token.step.index].alternatives, strict=True):
        assert not (reason and one.allowed)


def test_without_a_constraint_an_impossible_alternative_has_the_validators_reason():
    stage, reasons = _reasons("runs/sources-abort.jsonl")
    last = stage.tokens[-1].step
    reason = reasons[last.index].alternatives[[one.id for one in last.alternatives].index(last.id)]
    assert reason == "sources must be of type array"


# the command


def test_export_html_writes_the_page_and_takes_several_runs(tmp_path):
    one, two = (
        written(tmp_path / f"{name}.jsonl", run_of(GOOD, prompt=name)) for name in ("first", "second")
    )
    page = tmp_path / "page.html"
    assert command("export", "html", one, two, "-o", page).exit_code == 0
    html = page.read_text(encoding="utf-8")
    assert len(_records(PageText(html))) == 2
    assert command("export", one, "--to", "html").stdout.startswith("<!DOCTYPE html>")
    assert "is of one run, and 2 are given" in command("export", one, two, "--to", "gbnf").output
    assert "No form is given" in command("export", one).output
    assert "No run is given" in command("export", "html").output


# the build, and the page in a browser: where there is npm's folder, and where there is a browser


@pytest.mark.slow
def test_the_committed_script_and_style_are_those_of_the_source(tmp_path):
    subprocess.run([with_modules(), "build.mjs", str(tmp_path)], cwd=SOURCE, check=True, timeout=120)
    for name in ("page.js", "page.css"):
        assert (tmp_path / name).read_bytes() == (BUILT / name).read_bytes(), "run: make page"


@pytest.mark.slow
def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (SOURCE / "package-lock.json").read_text(encoding="utf-8")


def _pages():
    """The runs of the pages that the browsers open, by name: every bundled run among them."""
    runs = {Path(path).stem: [events_of(path)] for path in RECORDS}
    runs["hostile"] = [_hostile(HOSTILE[0] + HOSTILE[2])]
    runs["side by side"] = [events_of(f"runs/search-mask{end}.jsonl") for end in ("", "-json")]
    runs["branches"] = _tree()
    runs["2,000 tokens"] = [_long(2_000)]
    return runs


@cache
def made():
    """The runs of each page, and the pages."""
    runs = _pages()
    records = {
        name: [RecordedRun(parse_record(encode_record(run)).events) for run in page]
        for name, page in runs.items()
    }
    return runs, {name: html_page(page) for name, page in records.items()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pages_work_in_a_browser_without_network_and_are_accessible(browser, tmp_path):
    runs, texts = made()
    pages = {name: tmp_path / f"{name}.html" for name in runs}
    for name, page in pages.items():
        page.write_text(texts[name], encoding="utf-8")
    found = in_browser("browse.mjs", browser, tmp_path, *pages.values())
    assert len(found) == len(runs)
    for name, page in pages.items():
        first, here = runs[name][0], found[str(page)]
        assert here["errors"] == here["requests"] == here["axe"] == [], name
        assert here["summary"]["with scripts"] is False
        assert here["summary"].get("without", True)
        saved = Path(f"{page}.saved.jsonl").read_bytes()
        assert parse_record(saved).events == parse_record(encode_record(first)).events, name
        assert here["tokens"] == sum(isinstance(event, Token) for event in first), name
        assert here["first"] <= 1 < here["tokens"]
        assert here["rows"] < 120
        stages = [stage for stage in run_state(first).stages if stage.tokens]
        assert here["printed"] == {"rows": here["tokens"], "stages": len(stages), "left": 0}, name
        steps = [token.step for token in stages[-1].tokens]
        masked = any(step.forced or (step.feasible is not None and step.feasible < 1) for step in steps)
        assert here["chart"] == masked, name


def _tree():
    """A run, a branch of it, and a branch of that."""
    runs = [run_of(GOOD)]
    for number, token in (("2", 3), ("3", 5)):
        parent = runs[-1][0].run
        run = f"{parent}-{number}"
        events = [msgspec.structs.replace(event, run=run) for event in run_of(GOOD)]
        branch = BranchPoint(parent, token)
        request = msgspec.structs.replace(events[0].request, branch_of=branch)
        runs.append([msgspec.structs.replace(events[0], request=request), *events[1:]])
    return runs


def test_a_branch_names_its_run_by_its_place_on_the_page():
    _root, branch, leaf = _tree()
    runs = [RecordedRun(events) for events in (leaf, branch)]
    data = json.loads(
        next(text for _, known, text in PageText(html_page(runs)).raw if known.get("id") == "runs")
    )
    found = [dict(each["settings"])["Branch of"] for each in data]
    assert found == ["run 2, from token 5", f"{branch[0].request.branch_of.run}, from token 3"]
    assert "Branch of" in data[0]["differing"]


def _long(tokens):
    """A run whose one stage has that many tokens."""
    events = events_of("runs/search-mask.jsonl")
    place = next(place for place, event in enumerate(events) if isinstance(event, Token))
    first = events[place]
    made = [
        msgspec.structs.replace(
            first,
            step=msgspec.structs.replace(first.step, index=index, text="ab ", data=b"ab "),
            start=3 * index,
            end=3 * index + 3,
        )
        for index in range(tokens)
    ]
    kept = [event for event in events if not isinstance(event, Token | FieldOpened | FieldClosed)]
    at = next(place for place, event in enumerate(kept) if place > 3 and event.t > first.t)
    return [*kept[:at], *made, *kept[at:]]


def test_a_call_that_is_valid_only_with_a_relaxed_schema_is_not_shown_as_valid():
    run = RecordedRun(events_of("runs/search-relaxed.jsonl"))
    data = run_data(run, run_state(run.events))
    assert data["status"] == "impossible" and data["words"].endswith("with the schema relaxed")
    assert "With all constraints: CONSTRAINT_MIN at character" in data["hint"]
    valid = _with_request(run.events, relaxed=(Relaxed("search", "/properties/query/maxLength"),))
    search = _with_request(events_of("runs/search-mask.jsonl"), relaxed=valid[0].request.relaxed)
    data = run_data(RecordedRun(search), run_state(search))
    assert data["status"] == "open" and data["hint"] == "With all constraints, the new text is valid anyway."


def _with_request(events, **changes):
    request = msgspec.structs.replace(events[0].request, **changes)
    return (msgspec.structs.replace(events[0], request=request), *events[1:])
