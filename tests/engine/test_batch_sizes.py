"""The batch size of prompts: chosen from times, timed once, and read again only for the same model and machine."""

from __future__ import annotations

import json
import math
from collections import deque
from importlib import import_module
from itertools import count
from types import SimpleNamespace

import pytest

from cli_command import command
from fake_hub import gguf
from glyphscope.base.errors import ModelError, StorageError
from glyphscope.events import LoadOptions, ModelInfo
from glyphscope.models import batch_sizes, wire
from glyphscope.models.batch_sizes import (
    BatchFile,
    BatchTimer,
    BatchTimes,
    OtherPrograms,
    with_measured_batch,
)
from glyphscope.store import fixed_batch, places

MACHINES = {
    "two cores": ({64: 142.0, 32: 75.0, 128: 283.0, 256: 570.0}, True, 32),
    "two cores whose small batches are slow": ({64: 142.0, 32: 90.0, 128: 283.0, 256: 570.0}, True, 64),
    "a slow processor: none is quick, 16 are as fast": ({64: 6400.0, 32: 3250.0, 16: 1680.0}, True, 16),
    "a slow processor that needs large batches": ({64: 3200.0, 32: 2500.0, 16: 2100.0}, True, 64),
    "a fast processor": ({64: 40.0, 128: 78.0, 256: 155.0, 512: 330.0}, True, 128),
    "a fast processor that needs large batches": ({64: 60.0, 128: 90.0, 256: 150.0, 512: 280.0}, True, 256),
    "a GPU": ({64: 20.0, 128: 22.0, 256: 28.0, 512: 45.0}, False, 512),
    "a slow GPU: Stop waits for a batch": ({64: 70.0, 128: 90.0, 256: 130.0, 512: 220.0}, False, 128),
    "a very slow GPU": ({64: 500.0, 32: 300.0, 16: 200.0}, False, 16),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_fastest_size_is_used_whose_batches_are_quick_unless_progress_would_cost_15_percent(machine):
    ms, interruptible, best = MACHINES[machine]
    assert BatchTimes(ms, interruptible).best == best


def timed(ms_of, disturbed=()):
    """Time batches on a machine, on which the tries of these numbers take three times as long."""
    timer, tries = BatchTimer(), []
    while (size := timer.next_size) is not None:
        timer.add(size, ms_of(size) * (3 if len(tries) in disturbed else 1))
        tries.append(size)
    return timer, tries


@pytest.mark.parametrize(
    ("ms_of", "sizes"),
    [
        (lambda size: size * 2.2, [64, 32, 128, 256]),
        (lambda size: size * 100.0, [64, 32, 16]),
        (lambda size: 20 + size * 0.05, [64, 128, 256, 512]),
    ],
    ids=["two cores", "slow processor", "GPU"],
)
def test_only_sizes_that_can_be_chosen_are_timed_each_until_two_times_agree(ms_of, sizes):
    timer, tries = timed(ms_of)
    assert tries == [size for size in sizes for _ in range(2)]
    assert timer.complete and timer.known == {size: ms_of(size) for size in sizes}


def test_a_time_that_other_programs_made_longer_is_repeated():
    timer, tries = timed(lambda size: size * 2.2, disturbed=(0, 3))
    assert timer.known[64] == pytest.approx(64 * 2.2) and timer.known[32] == pytest.approx(32 * 2.2)
    assert tries[:6] == [64, 64, 64, 32, 32, 32] and timer.complete


def test_times_beside_other_programs_are_dropped():
    timer = BatchTimer()
    for others in (0.9, 0.1, 0.9, 0.1):
        timer.add(64, 140.0, others)
    assert timer.ms == {64: 140.0} and timer.next_size == 32
    for _ in range(4):
        timer.add(32, 70.0, 0.5)
    assert timer.next_size is None and not timer.complete


def test_the_time_of_other_programs_is_that_of_all_without_this_one(monkeypatch):
    times = iter([(10.0, 100.0, 1.0), (18.0, 110.0, 6.0)] + [(0.0, 0.0, 1.0)] * 2)
    monkeypatch.setattr(batch_sizes, "_times", lambda: next(times))
    assert OtherPrograms().share == pytest.approx(0.3)
    assert OtherPrograms().share == 0.0, "not reported"
    monkeypatch.undo()
    assert 0.0 <= OtherPrograms().share <= 1.0


def test_a_busy_machine_gives_no_result():
    times = iter(range(100, 1000, 100))
    timer, tries = timed(lambda _size: 2.0 ** next(times))
    assert not timer.complete and tries == [64] * 6


def test_a_size_without_memory_is_left_out():
    timer, tries = timed(lambda size: math.inf if size > 128 else 20 + size * 0.05)
    assert timer.complete and sorted(timer.known) == [64, 128] and tries[-1] == 256
    timer, _ = timed(lambda _size: math.inf)
    assert not timer.complete


@pytest.fixture
def file(tmp_path):
    """A function that returns the file of times with these load options."""
    (tmp_path / "m.gguf").write_bytes(b"weights")
    return lambda **options: BatchFile(tmp_path / "batches", tmp_path / "m.gguf", LoadOptions(**options))


def test_the_measured_size_is_used_with_the_same_options_of_the_same_file(file, tmp_path):
    model, folder = tmp_path / "m.gguf", tmp_path / "batches"
    assert with_measured_batch(LoadOptions(), model, folder) == LoadOptions()
    file().write(BatchTimes({64: 20.0, 512: 50.0}, False))
    assert with_measured_batch(LoadOptions(context=512), model, folder) == LoadOptions(context=512, batch=512)
    assert with_measured_batch(LoadOptions(batch=64), model, folder).batch == 64, "given"
    assert with_measured_batch(LoadOptions(), model, None) == LoadOptions()
    for other in ({"threads": 7}, {"kv_type": "q8_0"}, {"gpu_layers": 0}, {"flash_attention": "on"}):
        assert file(**other).read() is None
    model.write_bytes(b"other weights")
    assert file().read() is None


@pytest.mark.parametrize("name", ["processor_name", "physical_cores", "libraries_in"])
def test_another_machine_and_another_build_are_measured_again(file, monkeypatch, name):
    file().write(BatchTimes({64: 20.0}, True))
    monkeypatch.setattr(batch_sizes, name, lambda *_: 99)
    assert file().read() is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"ms": {}, "interruptible": true}', '{"ms": {"64": 0}, "interruptible": true}',
     '{"ms": {"100": 5.0}, "interruptible": true}', '{"ms": {"64": "x"}, "interruptible": true}', "[" * 100_000],
)  # fmt: skip
def test_a_damaged_file_is_as_if_nothing_was_measured(file, text):
    file().write(BatchTimes({64: 20.0}, True))
    file().path.write_text(text)
    assert file().read() is None
    file().write(BatchTimes({32: 20.0}, True))
    assert file().read() == BatchTimes({32: 20.0}, True)


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(file, tmp_path):
    (tmp_path / "batches").write_text("a file")
    with pytest.raises(StorageError, match="batches"):
        file().write(BatchTimes({64: 20.0}, True))
    with pytest.raises(StorageError, match="batches"), file().alone():
        pass
    assert file().read() is None


def test_only_one_process_measures_at_a_time(file):
    with file().alone(), pytest.raises(ModelError, match="Another window"), file(threads=3).alone():
        pass
    with file().alone():
        pass


def test_an_evaluation_has_one_size_for_all_its_samples(own_home):
    model = own_home / "m.gguf"
    model.write_bytes(b"weights")
    name, before = str(model), ModelInfo(name="m", load=LoadOptions(batch=128))
    assert fixed_batch(name, LoadOptions()).batch == 64
    BatchFile(places().batches, model, LoadOptions()).write(BatchTimes({512: 50.0}, False))
    assert fixed_batch(name, LoadOptions()).batch == 512
    assert fixed_batch(name, LoadOptions(), before).batch == 128, "that of the samples so far"
    assert fixed_batch(name, LoadOptions(), ModelInfo(name="m", load=LoadOptions())).batch == 64
    assert fixed_batch(name, LoadOptions(batch=32), before).batch == 32
    assert fixed_batch("scripted:x", LoadOptions()) == LoadOptions()
    assert fixed_batch("none/such", LoadOptions()) == LoadOptions(), "opening it raises the error"


def test_the_measured_size_is_shown_and_forgotten_by_commands(own_home):
    model = own_home / "m.gguf"
    model.write_bytes(gguf())
    file = BatchFile(places().batches, model, LoadOptions())

    def shown(*more: str) -> str:
        return command("models", "show", model, *more).output

    assert "64 tokens, not measured" in shown() and json.loads(shown("--json"))["batches"] is None
    file.write(BatchTimes({64: 20.0, 512: 50.0}, False))
    assert "512 tokens, measured" in shown()
    found = json.loads(shown("--json"))["batches"]
    assert found == {"best": 512, "ms": {"64": 20.0, "512": 50.0}, "interruptible": False}
    assert command("models", "measure", model, "--forget").exit_code == 0
    assert file.read() is None and "not measured" in shown()


class Engine:
    """The engine of a machine on which a batch takes that long."""

    interruptible = True

    def __init__(self, ms_of, at_third=lambda: None):
        self.ms_of, self.at_third, self.timed, self.stopped = ms_of, at_third, 0, False

    def interrupt(self, on):
        self.stopped = on

    def time_batch(self, size, _tokens):
        self.timed += 1
        if self.timed == 3:
            self.at_third()
        if self.stopped:
            raise import_module("glyphscope.models.llama_engine").Interrupted
        return self.ms_of(size)


@pytest.fixture
def process(monkeypatch):
    """A function that makes a model's process with that engine; and the bodies of its replies."""
    child = pytest.importorskip("glyphscope.models.child")
    monkeypatch.setattr(child, "OtherPrograms", lambda: SimpleNamespace(share=0.0))
    sent = []

    def made(engine):
        process = child.ModelChild(SimpleNamespace(write=lambda answer: sent.append(answer.body)), deque())
        process._session = SimpleNamespace(engine=engine, batch_timer=BatchTimer(), prompts=None)
        return process

    return made, sent


def test_the_process_reports_each_time_and_at_the_end_all_of_them(process):
    made, sent = process
    made(Engine(lambda size: size * 2.2))._handle(wire.Envelope(1, wire.TimeBatches()))
    *progress, last = sent
    assert progress == [wire.BatchesTimed()] * 8
    assert last.ended and last.times == BatchTimes({size: size * 2.2 for size in (64, 32, 128, 256)}, True)
    doubled = count()
    made(Engine(lambda _size: 2.0 ** next(doubled)))._handle(wire.Envelope(1, wire.TimeBatches()))
    assert sent[-1] == wire.BatchesTimed(ended=True, busy=True)


def test_cancelling_ends_it_and_the_next_request_continues(process):
    made, sent = process
    engine = Engine(lambda size: size * 2.2, lambda: child._cancel(1))
    child = made(engine)
    child._handle(wire.Envelope(1, wire.TimeBatches()))
    assert sent == [wire.BatchesTimed()] * 2 + [wire.BatchesTimed(ended=True)]
    sent.clear()
    child._handle(wire.Envelope(2, wire.TimeBatches()))
    assert len(sent) == 7 and sent[-1].times is not None, "the first two times are kept"
    child._handle(wire.Envelope(3, wire.TimeBatches()))
    assert len(sent) == 8 and sent[-1].times is not None, "nothing is left to be timed"
