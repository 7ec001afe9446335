"""Charts: the figures behind the picture, the values under the pointer, and the export."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from itertools import pairwise
from random import Random

import msgspec
import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPointF, QRect
from PySide6.QtGui import QFontMetrics, QImage, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem

from glyphscope.base.errors import StorageError
from glyphscope.evals.statistics import share
from glyphscope.events import Token, TokenStep
from glyphscope.notation.write import call_sizes
from glyphscope.runs import run_state
from glyphscope_gui.compare import SHARE_ROLE, ShareDelegate
from glyphscope_gui.evaluate import EvalCharts, ShareChart
from glyphscope_gui.playground import MIN_SLOT, SavingsChart, SizeChart, StepChart, size_words, token_words
from glyphscope_gui.runs import Saving
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.runs.token_table import COLUMNS
from glyphscope_gui.shared import BarChart, Chart, Series, edge_role
from glyphscope_gui.theme import ThemeManager, theme

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


def test_sizes_are_compared_in_bytes_and_tokens_with_each_form_of_json(show):
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


def test_tokens_that_were_not_counted_are_not_drawn(show):
    chart = show(SizeChart())
    sizes = tuple(call_sizes(*CALL, count_tokens=None))
    chart.show_sizes(sizes)
    assert chart.table()[0] == ("", "characters", "bytes")
    assert "Open the model of the run" in size_words(sizes, {})


def test_a_size_summary_says_that_no_token_was_saved():
    sizes = tuple(call_sizes(*CALL, count_tokens=lambda text: 17))
    words = size_words(sizes, {"glyph": 61, "json": 58})
    assert "6 bytes fewer" in words
    assert "the same number of tokens of this model" in words
    assert "61 tokens in GLYPH, 58 in JSON" in words


MEASURES = ("allowed", "feasible", "ms")


@pytest.mark.parametrize("count", [0, 1, 30, 963])
@pytest.mark.parametrize("measure", MEASURES)
def test_steps_of_any_number_are_drawn(show, count, measure):
    chart = show(StepChart())
    chart.set_measure(measure)
    chart.show_tokens(tokens(count), over=True)
    assert len(chart.table()) == count + 1
    bars = chart.bars()
    assert len(bars.sampled) == len(bars.forced) <= 300 // MIN_SLOT
    assert len(bars.sampled) * bars.step >= count
    chart.grab()


@pytest.mark.parametrize("points", [0, 14])
@pytest.mark.parametrize("height", [60, 90, 150])
def test_the_figures_beside_the_steps_are_whole_and_apart(qapp, show, points, height):
    chart = show(StepChart())
    themes = ThemeManager(qapp, "light", points, parent=chart)
    alike = [
        msgspec.structs.replace(t, step=msgspec.structs.replace(t.step, allowed=48_786)) for t in tokens(20)
    ]
    chart.resize(300, height)
    seen = []
    for measure in MEASURES[:2]:
        chart.set_measure(measure)
        chart.show_tokens(alike, over=True)
        QApplication.processEvents()
        axis, box = chart.getAxis("left"), chart.getViewBox()
        letters, ticks = QFontMetrics(axis.style["tickFont"]), axis._tickLevels[0]
        places = sorted(box.mapFromView(QPointF(0, at)).y() for at, _ in ticks)
        widest = max(letters.horizontalAdvance(words) for _, words in ticks)
        seen.append((max(ticks)[1], places, letters.height(), widest, axis.width()))
    themes.choose("light")
    for (highest, places, line, widest, room), expected in zip(seen, ("100k", "100%")):
        assert highest == expected and widest < room - 5
        assert places[0] >= line / 2 - 1
        assert all(b - a >= line - 1 for a, b in pairwise(places))


class Picture:
    """The painted pixels of a chart, by columns."""

    def __init__(self, chart):
        self.chart = chart
        image = chart.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        width, height = image.width(), image.height()
        self.pixels = np.frombuffer(image.constBits(), dtype=np.uint32).reshape(height, width) & 0xFFFFFF

    def place(self, x, y=0.0):
        """Return the place of a value, in pixels."""
        scene = self.chart.getViewBox().mapViewToScene(QPointF(x, y))
        return scene.x(), scene.y()

    def tops(self, *roles):
        """Return the height in pixels above the axis that each column is painted in these roles; 0 for none."""
        painted = np.isin(self.pixels, [theme().color(role).rgb() & 0xFFFFFF for role in roles])
        base = self.place(0)[1]
        return np.where(painted.any(axis=0), base - painted.argmax(axis=0), 0.0)


def some_steps(count, seed):
    random = Random(seed)
    steps, forced, level = [], False, 48_786
    for n in range(count):
        if random.random() < 0.08:
            forced, level = random.random() < 0.4, random.choice((1, 3, 40, 900, 48_786, 48_786))
        unknown = forced and random.random() < 0.7
        steps.append(
            Token(
                step=TokenStep(
                    index=n, id=n, data=b"x", text="x", forced=forced, allowed=1 if forced else level,
                    feasible=None if unknown else random.random() ** 3,
                    decode_ms=0.0 if forced else random.uniform(1, 90),
                ),
                start=n, end=n + 1,
            )
        )  # fmt: skip
    return steps


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_the_step_chart_equals_its_table_at_every_size(show, measure):
    """Near every step with a value is a bar of that height or, where several share a bar, of the extreme one beside it.

    Without values there is no bar.
    """
    chart = show(StepChart())
    chart.set_measure(measure)
    for width, count in ((140, 512), (302, 1500), (417, 90), (640, 512), (901, 8)):
        chart.resize(width, chart.height())
        chart.show_tokens(some_steps(count, width), over=True)
        QApplication.processEvents()
        picture = Picture(chart)
        every, forced = picture.tops("chart-main", "chart-forced"), picture.tops("chart-forced")
        near = max((picture.place(1)[0] - picture.place(0)[0]) / 2, 5.0)
        rows = [dict(zip(chart.table()[0], row)) for row in chart.table()[1:]]
        x = np.array([picture.place(row["step"])[0] for row in rows])
        values = np.array([value_of(row, measure) for row in rows])
        height = np.array([picture.place(0)[1] - picture.place(0, value)[1] for value in values])
        for at, h, row in zip(x, height, rows):
            if np.isnan(h):
                continue
            tops = forced if row["forced"] else every
            beside = tops[max(round(at - near), 0) : round(at + near) + 1]
            assert beside.max() >= 1, (width, count, row)
            if measure == "feasible":
                assert beside[beside > 0].min() <= max(h, 2) + 1.5, (width, count, row)
            else:
                assert beside.max() >= h - 1.5, (width, count, row)
        for column in np.flatnonzero(every):
            around = height[(np.abs(x - column) <= 2 * near) & ~np.isnan(height)]
            assert len(around) and max(around.max(), 2) + 1.5 >= every[column], (width, count, column)


def value_of(row, measure):
    if measure == "allowed":
        return np.log10(row["allowed"]) if row["allowed"] else np.nan
    if measure == "feasible":
        return np.nan if row["feasible"] is None else row["feasible"]
    return row["mask_ms"] + row["sample_ms"] + row["decode_ms"]


@pytest.mark.parametrize(
    "figures",
    [{"decode_ms": 1e308, "mask_ms": 1e308}, {"decode_ms": -5.0}, {"feasible": 7.0}, {"allowed": 10**30}],
)
def test_steps_of_a_record_with_any_figures_are_drawn(show, figures):
    chart = show(StepChart())
    step = msgspec.structs.replace(tokens(1)[0].step, **figures)
    chart.show_tokens([msgspec.structs.replace(tokens(1)[0], step=step)])
    for measure in MEASURES:
        chart.set_measure(measure)
        chart.grab()
    assert chart.table()[1][2] == step.allowed


@pytest.mark.slow
def test_the_step_chart_has_no_holes_at_any_width(show):
    chart = show(StepChart())
    alike = [msgspec.structs.replace(t, step=msgspec.structs.replace(t.step, allowed=48_786, forced=False))
             for t in tokens(512)]  # fmt: skip
    for width in range(190, 345, 7):
        chart.resize(width, chart.height())
        chart.show_tokens(alike, over=True)
        QApplication.processEvents()
        picture = Picture(chart)
        first, last = round(picture.place(0)[0]) + 3, round(picture.place(511)[0]) - 3
        empty = picture.tops("chart-main")[first:last] == 0
        assert not empty.any(), width


@pytest.mark.slow
def test_a_chart_of_bars_equals_its_table_at_every_size(show):
    chart = show(BarChart("bars", "Bars", 150))
    random = Random(3)
    roles = ("chart-main", "chart-other", "chart-soft", "chart-faint")
    for width, groups, series in ((140, 1, 2), (140, 12, 2), (236, 3, 4), (302, 12, 2), (640, 5, 3)):
        chart.resize(width, chart.height())
        made = [
            Series(
                role, role, [random.choice((None, 1, 7, random.randrange(1, 90_000))) for _ in range(groups)]
            )
            for role in roles[:series]
        ]
        chart.show_series([str(n) for n in range(groups)], made)
        QApplication.processEvents()
        picture = Picture(chart)
        for place, (role, *values) in enumerate(chart.table()[1:]):
            tops = picture.tops(role, edge_role(role))
            for group, value in enumerate(values):
                x, y = picture.place(chart._x(group, place), value or 0)
                top = tops[round(x - 1) : round(x + 1) + 1].max()
                if value == "":
                    continue
                assert abs(top - (picture.place(0)[1] - y)) <= 2, (width, groups, role, value)


def test_a_chart_of_shares_equals_its_table_at_every_size(show):
    chart = show(ShareChart())
    rows = [(f"GLYPH · name + arguments · {n}", share(n, 12)) for n in (0, 1, 6, 12)]
    chart.show_shares([*rows, ("x", share(990, 1000))])
    for width in (236, 302, 640):
        chart.resize(width, chart.height())
        QApplication.processEvents()
        chart.grab()  # pyqtgraph updates axes while painting
        picture = Picture(chart)
        for row, (_name, _correct, _n, _share, low, high, _worth) in enumerate(chart.table()[1:]):
            (left, y), (right, _) = (picture.place(x, 5 - row) for x in (low, high))
            line = picture.pixels[round(y) - 3] == theme().color("chart-main-soft").rgb() & 0xFFFFFF
            painted = np.flatnonzero(line)
            if right - left > 12:
                assert abs(painted[0] - left) <= 6 and abs(painted[-1] - right) <= 6, (width, row)
        edge = chart.getViewBox().sceneBoundingRect().right()
        labels = [item for item in chart.items() if isinstance(item, pg.TextItem)]
        assert len(labels) == 5
        for label in labels:
            assert label.mapToScene(label.boundingRect()).boundingRect().right() <= edge + 1, width


@pytest.mark.parametrize("width", [180, 236, 417, 901])
def test_a_share_among_several_seeds_is_as_long_as_its_figure_at_every_size(qapp, width):
    model, delegate = QStandardItemModel(), ShareDelegate()
    for count in (1, 5, 12, 30):
        known = share(count, 30)
        item = QStandardItem("")
        item.setData(known, SHARE_ROLE)
        model.appendRow(item)
        image = QImage(width, 24, QImage.Format.Format_RGB32)
        image.fill(theme().color("panel"))
        option = QStyleOptionViewItem()
        option.rect = QRect(0, 0, width, 24)
        painter = QPainter(image)
        delegate.paint(painter, option, model.index(model.rowCount() - 1, 0))
        painter.end()
        pixels = np.frombuffer(image.constBits(), dtype=np.uint32).reshape(24, width) & 0xFFFFFF
        line = pixels[8]  # the bar's own colours, beside the interval that is drawn over its middle
        filled = np.flatnonzero(line == theme().color("accent").rgb() & 0xFFFFFF)
        track = np.flatnonzero(line == theme().color("track").rgb() & 0xFFFFFF)
        if width < 300:  # figures only, if there is no space for both
            continue
        left = 8
        right = (track if len(track) else filled)[-1] + 2
        assert abs(filled[-1] - (left + known.share * (right - left))) <= 4, (count, filled[-1], right)


def test_every_kind_of_chart_is_compared_with_its_table():
    """Another kind needs a separate test here."""
    kinds = {kind for kind in subclasses(Chart) if kind.__module__.startswith("glyphscope_gui.")}
    assert kinds == {StepChart, ShareChart, BarChart, SizeChart, SavingsChart}
    assert {kind.draw for kind in (SizeChart, SavingsChart)} == {BarChart.draw}
    made = EvalCharts.__annotations__
    assert set(made.values()) == {"ShareChart", "BarChart"}


def subclasses(kind):
    return {each for sub in kind.__subclasses__() for each in (sub, *subclasses(sub))}


def test_unmeasured_steps_are_not_drawn(show):
    chart = show(StepChart())
    chart.set_measure("feasible")
    chart.show_tokens(tokens(3), over=True)
    assert np.isnan(chart.bars().sampled).all() and np.isnan(chart.bars().forced).all()
    assert "not recorded" in chart.describe(QPointF(1, 0.5))
    chart.grab()


def test_the_step_under_the_pointer_is_described(show):
    chart = show(StepChart())
    chart.show_tokens(tokens(5), over=True)
    assert chart.describe(QPointF(3.2, 1)).startswith("Token 3")
    assert "forced" in chart.describe(QPointF(3, 1))
    assert chart.describe(QPointF(5.2, 1)) == ""


@pytest.mark.parametrize("ending", ["csv", "png", "svg"])
def test_an_export_has_the_data_of_the_chart(show, tmp_path, ending):
    chart = show(SavingsChart())
    chart.show_savings([Saving("CONSTRAINT_MAX", 16, 31)])
    path = tmp_path / f"chart.{ending}"
    chart.export(path)
    data = path.read_bytes()
    if ending == "csv":
        assert list(csv.reader(data.decode().splitlines()))[1:] == [
            ["without stopping", "31"],
            ["with early abort", "16"],
        ]
    else:
        assert data.startswith(b"\x89PNG" if ending == "png" else b"<?xml")


def test_an_export_that_cannot_be_written_is_a_storage_error(show, tmp_path):
    chart = show(SavingsChart())
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError):
        chart.export(tmp_path / "file" / "chart.csv")


@pytest.mark.parametrize("width", [200, 300, 900])
def test_the_figures_of_a_chart_of_bars_do_not_overlap(show, width):
    chart = show(BarChart("bars", "Bars", 150))
    chart.resize(width, 150)
    groups = ("characters", "bytes", "tokens")
    chart.show_series(groups, [Series(f"s{n}", "chart-main", (193, 127, 1036)) for n in range(5)])
    labels = [item for item in chart.plotItem.items if isinstance(item, pg.TextItem)]
    boxes = [label.mapRectToScene(label.boundingRect()) for label in labels]
    assert len(boxes) == 15
    for place, box in enumerate(boxes):
        assert not any(box.adjusted(1, 1, -1, -1).intersects(other) for other in boxes[place + 1 :]), place


@pytest.mark.parametrize(
    ("origin", "penalty", "expected"),
    [
        ("model", 1.0, "sampled. Temperature 0: the most likely allowed token is always taken."),
        ("model", 1.3, "Temperature 0: the most likely allowed token after biases and penalties is taken."),
        ("written", 1.0, "Inserted by hand, not sampled; the figures are the model's own. The mask kept"),
        ("kept", 1.0, "Kept from the run that was branched. The mask kept"),
    ],
)
def test_only_a_token_of_the_model_is_said_to_be_sampled_and_the_most_likely(origin, penalty, expected):
    state = run_state(bundled_run("search-mask.jsonl"))
    token = next(each for each in state.tokens if not each.step.forced and each.step.alternatives)
    token = msgspec.structs.replace(
        token, step=msgspec.structs.replace(token.step, origin=origin, probability=0.0)
    )
    sampling = msgspec.structs.replace(
        state.started.request.sampling, temperature=0.0, repeat_penalty=penalty
    )
    request = msgspec.structs.replace(state.started.request, sampling=sampling)
    words = token_words(token, state.present, msgspec.structs.replace(state.started, request=request))
    assert expected in words
    assert ("sampled." in words and "likely" in words) is (origin == "model")
    assert COLUMNS[5].show(token.step) == ("0.0%" if origin == "model" else "–")


PROGRAM = """
import sys
from PySide6.QtWidgets import QApplication
from glyphscope.events import Token, TokenStep
from glyphscope.runs.state import StageState
from glyphscope_gui.playground.chart_views import StepsView
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.slices import charts_imported, import_charts

app = QApplication([])
view = StepsView()
view.show()
print(sorted({"numpy", "pyqtgraph"} & sys.modules.keys()))
some = import_charts()
while "pyqtgraph" not in sys.modules:
    next(some)
some.close()
token = Token(step=TokenStep(index=0, id=0, data=b"x", text="x"), start=0, end=1)
view.show_stage(ShownStage(stage=StageState(tokens=[token])))
while not view._place.is_made:
    app.processEvents()
print(len(view.chart.table()), sys.modules["pyqtgraph"].PlotWidget.__name__)
"""


@pytest.mark.slow
def test_a_chart_and_its_library_are_loaded_when_the_chart_is_first_seen_also_after_an_abandoned_import():
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "2 PlotWidget"]
