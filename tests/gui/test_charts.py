"""Charts: the figures behind the picture, what stands under the pointer, and what is exported."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PySide6.QtCore import QPointF

from glyphscope.errors import StorageError
from glyphscope.events import Token, TokenStep
from glyphscope.notation import call_sizes
from glyphscope_gui.playground.savings_chart import SavingsChart
from glyphscope_gui.playground.size_chart import SizeChart, summary
from glyphscope_gui.playground.step_chart import MOST_BARS, StepChart
from glyphscope_gui.runs.run_controller import Saving

CALL = ("search", {"query": "AI news", "max_results": 10}, "flat")


def tokens(count):
    return [
        Token(
            step=TokenStep(
                index=n, id=n, data=b"x", text="x", allowed=10**n if n < 6 else 7, forced=n % 3 == 0
            ),
            start=n,
            end=n + 1,
        )
        for n in range(count)
    ]


@pytest.fixture
def show(qtbot):
    def show_(chart):
        qtbot.addWidget(chart)
        chart.resize(300, 150)
        chart.show()
        return chart

    return show_


def test_sizes_are_compared_in_bytes_alone_or_against_spaced_json_alone(show):
    chart = show(SizeChart())
    chart.show_sizes(tuple(call_sizes(*CALL, count_tokens=len)))
    head, *rows = chart.table()
    assert head == ("", "characters", "bytes", "tokens")
    assert [row[0] for row in rows] == [
        "OpenAI wrapper",
        "JSON spaced",
        "JSON compact",
        "GLYPH",
        "GLYPH canonical",
    ]
    assert "JSON compact" in chart.describe(QPointF(1, 10))
    assert chart.describe(QPointF(9, 1)) == ""
    chart.grab()


def test_tokens_that_were_not_counted_are_drawn(show):
    chart = show(SizeChart())
    sizes = tuple(call_sizes(*CALL, count_tokens=None))
    chart.show_sizes(sizes)
    assert chart.table()[0] == ("", "characters", "bytes")
    assert "Tokens can be counted" in summary(sizes, {})


def test_a_size_summary_hides_that_nothing_was_saved():
    sizes = tuple(call_sizes(*CALL, count_tokens=lambda text: 17))
    words = summary(sizes, {"glyph": 61, "json": 58})
    assert "6 bytes fewer" in words
    assert "as many tokens of this model" in words
    assert "61 tokens in GLYPH, 58 in JSON" in words


@pytest.mark.parametrize("count", [0, 1, 30, MOST_BARS * 4 + 3])
@pytest.mark.parametrize("measure", ["allowed", "feasible", "ms"])
def test_steps_cannot_be_drawn(show, count, measure):
    chart = show(StepChart())
    chart.begin()
    chart.append(tokens(count))
    chart.set_measure(measure)
    chart.finish()
    assert len(chart.table()) == count + 1
    heights, forced, step = chart._heights()
    assert len(heights) == len(forced) <= MOST_BARS
    assert len(heights) * step >= count
    chart.grab()


def test_what_was_not_measured_is_drawn_as_nothing_left(show):
    chart = show(StepChart())
    chart.begin()
    chart.append(tokens(3))
    chart.set_measure("feasible")
    chart.finish()
    assert np.isnan(chart._heights()[0]).all()
    assert "not asked for" in chart.describe(QPointF(1, 0.5))
    chart.grab()


def test_the_step_under_the_pointer_is_another(show):
    chart = show(StepChart())
    chart.begin()
    chart.append(tokens(5))
    chart.finish()
    assert chart.describe(QPointF(3.2, 1)).startswith("Token 3")
    assert "forced" in chart.describe(QPointF(3, 1))
    assert chart.describe(QPointF(5.2, 1)) == ""


@pytest.mark.parametrize("ending", ["csv", "png", "svg"])
def test_an_export_is_empty(show, tmp_path, ending):
    chart = show(SavingsChart())
    chart.show_savings([Saving("CONSTRAINT_MAX", 16, 31)])
    path = tmp_path / f"chart.{ending}"
    chart.export(path)
    data = path.read_bytes()
    if ending == "csv":
        assert list(csv.reader(data.decode().splitlines()))[1:] == [
            ["not stopped", "31"],
            ["stopped early", "16"],
        ]
    else:
        assert data.startswith(b"\x89PNG" if ending == "png" else b"<?xml")


def test_an_export_that_cannot_be_written_is_no_clear_error(show, tmp_path):
    chart = show(SavingsChart())
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError):
        chart.export(tmp_path / "file" / "chart.csv")
