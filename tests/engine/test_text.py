"""Figures with units, shortened texts and places in texts: each is written in one module, by docs/style.md."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base import figures
from glyphscope.base.figures import (
    byte_size,
    count,
    duration,
    duration_ms,
    estimate,
    parameter_count,
    percent,
    percent_change,
    plain_ms,
    plain_number,
    pluralize,
    rate,
)
from glyphscope.base.lines import Lines, line_and_column
from glyphscope.base.shorten import excerpt, json_excerpt, listed, shorten
from sources import nodes_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"), (0, "0 ms"), (0.000001, "<0.01 ms"), (0.00042, "0.42 ms"), (0.0042, "4.2 ms"), (0.412, "412 ms"),
        (0.9996, "1.0 s"), (3.2, "3.2 s"), (30, "30 s"), (61.3, "61.3 s"), (119.97, "2 min"), (125, "2 min 5 s"),
        (7199.6, "2 h"), (7500, "2 h 5 min"), (float("inf"), "–"),
    ],
)  # fmt: skip
def test_a_duration_has_a_suitable_unit(seconds, words):
    assert duration(seconds) == words
    assert duration_ms(None if seconds is None else seconds * 1000) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "1 s"), (44.6, "45 s"), (119.6, "2 min"), (150, "2 min"), (210, "4 min"), (7500, "2 h 5 min")],
)
def test_an_estimate_is_in_whole_seconds_or_minutes(seconds, words):
    assert estimate(seconds) == words


@pytest.mark.parametrize(
    ("bytes", "words"),
    [
        (None, "–"), (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (3_400, "3.4 kB"), (99_960, "100 kB"),
        (999_600, "1.0 MB"), (64_000_000, "64 MB"), (1 << 26, "67.1 MB"),
        (268_435_456, "268 MB"), (4_213_000_000, "4.2 GB"),
    ],
)  # fmt: skip
def test_a_size_counts_in_decimal_units(bytes, words):
    assert byte_size(bytes) == words


@pytest.mark.parametrize(
    ("share", "words", "whole"),
    [
        (None, "–", "–"), (0.0, "0.0%", "0%"), (1e-5, "<0.1%", "<0.1%"), (0.004, "0.4%", "0.4%"),
        (0.774, "77.4%", "77%"),
        (0.996, "99.6%", "99.6%"), (0.9999, ">99.9%", ">99.9%"), (0.99999999, "100.0%", "100%"),
        (1.0, "100.0%", "100%"),
    ],
)  # fmt: skip
def test_a_percentage_is_rounded_to_0_or_100_only_where_it_is_exact(share, words, whole):
    assert percent(share) == words
    assert percent(share, 0) == whole


def test_counts_rates_and_parameters_are_formatted():
    assert count(12345) == "12,345"
    assert count(None) == plain_ms(None) == "–"
    assert pluralize(1, "arm") == "1 arm"
    assert pluralize(1200, "arm") == "1,200 arms"
    assert percent_change(885, 1000) == "-11.5%"
    assert percent_change(3, 0) == "–"
    assert [plain_ms(0.421), plain_ms(12.34), plain_ms(1234.5)] == ["0.42", "12.3", "1,234.5"]
    assert [plain_number(1240.4), plain_number(38), plain_number(4.23)] == ["1,240", "38", "4.2"]
    assert [parameter_count(n) for n in (134_515_008, 1_540_000_000, 70_600_000_000)] == [
        "135M",
        "1.54B",
        "70.6B",
    ]
    assert [rate(42.4), rate(3.44)] == ["42 tokens/s", "3.4 tokens/s"]


_UNITS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}
_SIZES = {unit: 1000**power for power, unit in enumerate(figures._SIZES)}


def _value(words: str, units: dict[str, float]) -> float:
    return sum(
        float(number.replace(",", "")) * units[unit] for number, unit in re.findall(r"([\d.,]+) (\w+)", words)
    )


@at_most(200)
@given(st.floats(0, 1e6))
def test_a_duration_is_right_to_five_percent(seconds):
    assert _value(duration(seconds), _UNITS) == pytest.approx(seconds, rel=0.06, abs=1.1e-5)


@at_most(200)
@given(st.integers(0, 10**18))
def test_a_size_is_right_to_five_percent(bytes):
    assert _value(byte_size(bytes), _SIZES) == pytest.approx(bytes, rel=0.06)


@at_most(200)
@given(st.text(), st.integers(1, 40), st.sampled_from(["start", "end", "ends"]))
def test_a_shortened_text_fits_and_has_the_requested_part(text, most, keep):
    short = shorten(text, most, keep=keep)
    assert len(short) <= most
    assert short == text or "…" in short
    before, _, after = short.partition("…") if short != text else (text, "", "")
    if "…" not in text:
        assert text.startswith(before)
        assert text.endswith(after)
        assert (after == "") if keep == "start" else True


def test_texts_are_shortened_at_either_end():
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcdef", 4, keep="end") == "…def"
    assert shorten("abcdef", 5, keep="ends") == "ab…ef"
    assert shorten("abcdef", 4, length=True) == "abc… (6 characters)"
    assert listed(["a", "b", "c"], 2) == "a, b, …"
    assert listed(["a", "b"], 2) == "a, b"
    assert excerpt("a\n b\u202e", 20) == "a b⟨U+202E⟩"
    assert excerpt(b"\xff" + b"a" * 400, 5) == "�aaa…"
    assert excerpt("a" + " " * 100, 5) == "a…"
    assert json_excerpt({"a": "ä" * 20}, 10) == '{"a": "ää…'


@at_most(200)
@given(st.text(alphabet="ab\r\n", max_size=30), st.data())
def test_the_place_of_a_character_is_the_same_from_all_lines_and_from_the_text_before(text, data):
    offset = data.draw(st.integers(0, len(text)))
    line, column = line_and_column(text, offset)
    assert Lines(text).place(offset) == (line, column)
    assert "\n" not in text[offset - column + 1 : offset]


# -- no second place for any of it --------------------------------------------------------------------------------

MODULES = {f"engine/glyphscope/base/{name}.py" for name in ("figures", "shorten", "lines")}
WINDOWS = {
    "engine/glyphscope/cli/grammar/build.py": "a line around a column",
    "engine/glyphscope/cli/output.py": "a text around a character",
    "engine/glyphscope/grammar/gbnf/lint/rules.py": "names, not characters",
    "engine/glyphscope/tools/demo/corpus.py": "cut between words",
    "engine/glyphscope/validation/reasons.py": "the text of recorded events",
    "gui/glyphscope_gui/calls/call_texts.py": "says where the rest is",
    "gui/glyphscope_gui/grammar/step.py": "names, not characters",
    "gui/glyphscope_gui/runs/compare_fields.py": "a text around a character",
    "gui/glyphscope_gui/shared/plain_text.py": "says how many more there are",
}
"""Files in which a slice beside an ellipsis is not a text cut to a length."""
EVENTS = {"engine/glyphscope/runs/strategies/loop/guards.py"}
"""The text of recorded events, which a replay compares."""
_FORMAT = re.compile(
    r"\{[^{}]*:[^{}]*(?:[fg]|,)\} ?(?:%|(?:ms|s|min|h|seconds|minutes|hours|B|kB|MB|GB|TB|tokens/s)\b)"
    r"|:[^{}]*%\}|\} %|\d %(?!\w)"
)
_BINARY = re.compile(r"\b[KMGT]iB\b")
_NARROW = re.compile(r"\d[\u202f\u2009]|[fg,]\}[\u202f\u2009]|^\u202f$")


def _texts(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield texts with their placeholders, as `tr` and f-strings have them: `{:.1f} s`."""
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = (
                part.value
                if isinstance(part, ast.Constant)
                else f"{{:{ast.unparse(part.format_spec)[2:-1]}}}"
                if part.format_spec
                else "{}"
                for part in node.values
            )
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | inner:
            yield node.lineno, node.value


def _is_cut(node: ast.AST) -> bool:
    """Whether there is a slice beside an ellipsis in one expression."""
    if not isinstance(node, ast.BinOp | ast.JoinedStr | ast.IfExp):
        return False
    inside = list(ast.walk(node))
    return any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) for n in inside) and any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) and "…" in n.value for n in inside
    )


def _is_line_count(node: ast.AST) -> bool:
    """Whether it is `text.count("\n", 0, offset)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "count"
        and len(node.args) > 1
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value in ("\n", b"\n")
    )


def _is_unit(node: ast.AST) -> bool:
    """Whether it is `bytes / 1e6` or `bytes >> 20`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div | ast.FloorDiv | ast.RShift):
        return False
    try:
        divisor = eval(ast.unparse(node.right), {"__builtins__": {}})
    except (NameError, TypeError, AttributeError):
        return False
    return divisor in ((20, 30) if isinstance(node.op, ast.RShift) else (1024, 1024**2, 1024**3, 1e6, 1e9))


def _hand_made(path: str) -> Iterator[str]:
    nodes = nodes_of(ROOT / path)
    for line, text in _texts(nodes):
        for kind, pattern in (("figure", _FORMAT), ("binary unit", _BINARY), ("thin space", _NARROW)):
            if pattern.search(text) and path not in EVENTS:
                yield f"{path}:{line}: {kind} in {text[:80]!r}: use glyphscope.base.figures"
    for node in nodes:
        line = getattr(node, "lineno", 0)
        if _is_cut(node) and path not in WINDOWS:
            yield f"{path}:{line}: a text is cut: use glyphscope.base.shorten"
        if _is_line_count(node):
            yield f"{path}:{line}: lines are counted: use glyphscope.base.lines"
        if _is_unit(node):
            yield f"{path}:{line}: a size is divided: use glyphscope.base.figures"


@pytest.mark.slow
def test_figures_are_formatted_in_one_module_only():
    paths = [str(path.relative_to(ROOT)) for top in ("engine", "gui") for path in (ROOT / top).rglob("*.py")]
    assert "\n".join(made for path in sorted(paths) if path not in MODULES for made in _hand_made(path)) == ""
    assert sorted(WINDOWS) == sorted(set(WINDOWS) & set(paths))


def test_documents_have_the_same_units():
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    documents += [path for kind in ("md", "jinja") for path in (ROOT / "assets").rglob(f"*.{kind}")]
    assert [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in documents
        for found in re.finditer(r"\b[KMG]iB\b|\d %(?![\w}])|\d\u202f", path.read_text(encoding="utf-8"))
    ] == []
