"""The surroundings of every test: a separate home, no screen, and a check for leftovers afterwards."""

from __future__ import annotations

import builtins
import gc
import importlib
import os
import re
import runpy
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import distribution
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"  # the user's keyring is not used
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts background jobs so
    signal.signal(signal.SIGINT, signal.default_int_handler)  # otherwise started processes ignore Ctrl-C

# With several workers each stays on one core, with all that it starts: llama.cpp takes one thread for each core that
# it may use, and two models with two threads each wait for one another most of the time.
worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if worker and hasattr(os, "sched_setaffinity"):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})

# `make check` uses quick, `make test` full; deep is for a night. With CI set the examples are the same ones each time:
# there a change is judged by its own effects, and everywhere else other examples are tried.
DEEP = 50_000
for name, examples in (("quick", 25), ("full", 200), ("deep", DEEP)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=bool(os.environ.get("CI")),
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
settings.load_profile(os.environ.get("GLYPHSCOPE_EXAMPLES", "quick"))

# A command line is made for each call of `CliRunner`: the commands of the program are the same ones each time.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

PLAIN_IMPORT = builtins.__import__

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
GRACE = float(os.environ.get("GLYPHSCOPE_GRACE", "20"))
"""Seconds that a thread or a process may take to end after its test."""
PATIENCE = 60_000
"""Milliseconds that a test waits at least for an expected event: only failures, or a busy machine, take that long."""


EVERY_PROCESS = Path(__file__).parent / "support" / "every_process"
"""On the path of each process that a test starts: its `sitecustomize` saves prompts and imports."""


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    """Take back PySide6's `import`, which is for `from __feature__`: nothing here uses that.

    It takes twice as long, and Hypothesis imports in each of its functions.
    """
    builtins.__import__ = PLAIN_IMPORT


def _require_entry_points() -> None:
    """Plug-ins are found by the metadata of the installed program, which is written when it is installed."""
    root = Path(__file__).parents[1]
    if not (root / "pyproject.toml").is_file():  # a copy of this file, for a test of it
        return
    stated = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    installed = {(each.group, each.name, each.value) for each in distribution("glyphscope").entry_points}
    if (
        missing := {(group, name, value) for group, named in stated.items() for name, value in named.items()}
        - installed
    ):
        pytest.exit(
            f"This environment has not the entry points of pyproject.toml: {sorted(missing)[0]} …\n"
            f"Install them: {sys.executable} -m pip install --no-deps -e {root}",
            returncode=4,
        )


def pytest_configure(config: pytest.Config) -> None:
    """Make one folder of saved prompts for all processes of the session, and one of the servers that fork them.

    The workers find both in their environment. The prompts stay for the next session, if pytest has a cache.
    A nightly run reads every prompt by itself, and starts every process.
    """
    _require_entry_points()
    here = "GLYPHSCOPE_SAVED_PROMPTS" not in os.environ and EVERY_PROCESS.is_dir()
    if here and settings().max_examples < DEEP:
        folder = tempfile.mkdtemp(prefix="glyphscope-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        (Path(folder) / "forks").mkdir()
        prompts = Path(folder) / "prompts"
        if getattr(config, "cache", None) is not None:
            from prompt_folder import common_cache, prompt_folder

            if config.getoption("cacheclear"):
                shutil.rmtree(common_cache(), ignore_errors=True)
            prompts = prompt_folder(common_cache())
        prompts.mkdir(exist_ok=True)
        os.environ["GLYPHSCOPE_SAVED_PROMPTS"] = str(prompts)
        if hasattr(os, "pidfd_open"):  # Linux
            os.environ["GLYPHSCOPE_FORKS"] = f"{folder}/forks:{os.getpgrp()}:{os.getpid()}"
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(EVERY_PROCESS), *([path] if path else [])])


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Close the two files that llama-cpp-python keeps open on /dev/null, which Python would report at its end."""
    utils = sys.modules.get("llama_cpp._utils")
    for name in ("outnull_file", "errnull_file"):
        if (file := getattr(utils, name, None)) is not None:
            file.close()


QUICK = "not slow and not model"
_ALL_LEFT_OUT = re.compile(
    r"^pytestmark = \[?\s*(pytest\.mark\.\w+, )*pytest\.mark\.(slow|model)\b", re.MULTILINE
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip importing files in `make check` whose tests are all deselected, with the libraries that only they need."""
    if config.option.markexpr != QUICK or collection_path.suffix != ".py":
        return None
    return bool(_ALL_LEFT_OUT.search(collection_path.read_text(encoding="utf-8"))) or None


WEIGHTS = Path(__file__).parent / "weights.txt"
"""Seconds that each file takes: `GLYPHSCOPE_WEIGHTS=write make test`, or a part of it, measures them again."""
UNKNOWN = 10
"""Seconds that a file without a weight may take: a new one does not come last, to be waited for by all."""
SLOW = Path(__file__).parent / "slow.txt"
"""Tests that `make check` leaves out beside those with the mark, as all of their examples take `MOST` seconds or more:
`GLYPHSCOPE_SLOW=write make check` measures them again, on a machine that does nothing else.
"""
MOST = 0.07
_WRITES_SLOW = os.environ.get("GLYPHSCOPE_SLOW") == "write"
_spent: Counter[str] = Counter()
"""Seconds, by file and by test."""


def read_weights() -> dict[str, int]:
    rows = map(str.split, WEIGHTS.read_text().splitlines()) if WEIGHTS.is_file() else ()
    return {path: int(seconds) for seconds, path in rows}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if worker:  # the longest files come first, so that all workers end at once
        weights = read_weights()
        items.sort(key=lambda item: -weights.get(item.nodeid.partition("::")[0], UNKNOWN))
    if not _WRITES_SLOW:
        slow = frozenset(SLOW.read_text().split())
        for item in items:
            if _test_of(item.nodeid) in slow:
                item.add_marker(pytest.mark.slow)
    if settings().max_examples >= DEEP:
        for item in items:
            item.add_marker(pytest.mark.timeout(0), append=False)  # nightly runs take long


def _test_of(name: str) -> str:
    """The test of an item, without its parameters."""
    return name.partition("[")[0]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _spent[report.nodeid.partition("::")[0]] += report.duration
    _spent[_test_of(report.nodeid)] += report.duration


def pytest_sessionfinish() -> None:
    if os.environ.get("GLYPHSCOPE_WEIGHTS") == "write" and not worker:
        files = {path: round(seconds) for path, seconds in _spent.items() if "::" not in path}
        weights = read_weights() | files
        there = [path for path in weights if (WEIGHTS.parents[1] / path).is_file()]
        rows = sorted((-weights[path], path) for path in there)
        WEIGHTS.write_text("".join(f"{-seconds} {path}\n" for seconds, path in rows))
    if _WRITES_SLOW and not worker:
        slow = [test for test, seconds in _spent.items() if "::" in test and seconds >= MOST]
        SLOW.write_text("".join(f"{test}\n" for test in sorted(slow)))


# Python's thresholds are for small heaps: a file with large caches went through all of them dozens of times.
gc.set_threshold(50_000, 20, 20)


def keep_from_collector() -> None:
    """Exempt all existing objects from garbage collection, so that no collection after a test goes through them."""
    gc.collect()
    gc.freeze()


def import_share(config: pytest.Config) -> None:
    """Begin with some of the files, each worker with others, and find the bytecode of the rest: in a new checkout,
    all workers would compile the same files at the same time. Collection reports what fails here.
    """
    files = sorted(Path(__file__).parent.glob("*/test_*.py"))
    for path in files[int(worker.removeprefix("gw")) :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]:
        if not pytest_ignore_collect(path, config):
            with suppress(Exception, pytest.skip.Exception):
                importlib.import_module(f"tests.{path.parent.name}.{path.stem}")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Disable garbage collection while imports create many objects that stay, and nothing to collect."""
    gc.disable()
    try:
        if worker and session.config.args == session.config.getini("testpaths"):
            import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def without_the_files_before() -> None:
    """Exempt the caches that earlier files filled from garbage collection; they grow to a million objects."""
    keep_from_collector()


_HOMES = count()


@pytest.fixture(autouse=True)
def home_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own settings, history and journals, in a folder that does not exist before it needs them.

    Numbered here: `mktemp` lists all folders before it makes the next, and there are thousands.
    """
    home = tmp_path_factory.getbasetemp() / f"home-{next(_HOMES)}"
    monkeypatch.setenv("GLYPHSCOPE_HOME", str(home))
    monkeypatch.setenv("GLYPHSCOPE_PROMPT_CACHE_MB", "0")  # tests count the tokens that are evaluated
    return home


@pytest.fixture
def unforked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the processes of the test without a fork of a server: for what only the process itself shows."""
    monkeypatch.delenv("GLYPHSCOPE_FORKS", raising=False)


@pytest.fixture
def own_home(home_of_the_test: Path) -> Path:
    """The home folder of the test, for a test that puts something into it."""
    home_of_the_test.mkdir()
    return home_of_the_test


@pytest.fixture
def shared_data() -> Path:
    """Golden cases and real schemas that lie beside a checkout of the developers; skipped elsewhere."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the developers' shared data is not here")
    return SHARED_DATA


@pytest.fixture(scope="session")
def llama_data() -> Path:
    """llama.cpp's `templates/*.jinja` and `ggml-vocab-*.gguf`, where the setup keeps them; skipped elsewhere."""
    setup = runpy.run_path(str(Path(__file__).parents[1] / "packaging" / "setup_env.py"))
    folder = Path(setup["llama_data"]())
    if not folder.is_dir():
        pytest.skip(
            f"llama.cpp's templates and vocabularies are not in {folder}: `make setup` keeps them there"
        )
    return folder


class PatientBot(QtBot):
    """Waits for slow events as well: the speed of a test machine proves nothing about the program."""

    def waitUntil(self, callback: Any, *, timeout: int = PATIENCE) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = PATIENCE, **options: Any) -> Any:
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitSignals(self, signals: Any, *, timeout: int = PATIENCE, **options: Any) -> Any:
        return super().waitSignals(signals, timeout=timeout, **options)


@pytest.fixture
def qtbot(qapp: Any, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


def _uses_qt(request: pytest.FixtureRequest) -> bool:
    return not {"qapp", "qtbot"}.isdisjoint(request.fixturenames)


@pytest.fixture(autouse=True)
def collected_in_this_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect garbage in the window's thread: a Qt object that another thread collects crashes the program.

    Objects from before the test are exempt from its collections and from the search for leftovers: both would
    go through all that thousands of tests have cached.
    """
    if not _uses_qt(request):
        yield
        return
    gc.disable()
    keep_from_collector()  # after a collection, which is when the test before is released
    yield
    gc.collect(1)  # all garbage of the test, as nothing was collected since
    gc.enable()


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, a child process, or a running Qt timer or thread behind, or disables `gc`.

    A fixture of wider scope may keep a model's process and threads: they were there before the test. Those of the
    compilers and of JSONPath stay until the program ends. Qt's are looked for among all objects, so after the tests
    that use it only.
    """
    threads, children, collecting = _threads(), _children(), gc.isenabled()
    yield
    if collecting and not gc.isenabled():
        gc.enable()
        pytest.fail("left the garbage collector disabled")
    deadline = time.monotonic() + GRACE
    while True:
        left = [f"thread {thread.name}" for thread in _threads() - threads]
        left += [f"process {pid} ({_command(pid)})" for pid in _children() - children]
        in_qt = _running_in_qt() if _uses_qt(request) else []
        if not left and not in_qt:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    left += [_stop(thing) for thing in in_qt]  # otherwise the following tests would be blamed
    pytest.fail(f"left behind: {', '.join(sorted(left))}")


def _threads() -> set[threading.Thread]:
    """Return Python's threads; one that Qt started is only a dummy here, and stays listed after its end."""
    return {t for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}


TASKS = "/proc/self/task"


def _children() -> set[int]:
    """The child processes of this one (Linux; empty elsewhere)."""
    found: set[int] = set()
    for thread in os.listdir(TASKS) if os.path.isdir(TASKS) else ():
        try:
            with open(f"{TASKS}/{thread}/children", "rb") as pids:
                found.update(map(int, pids.read().split()))
        except OSError:  # a thread that just ended
            continue
    for name in ("processes.compilers.service", "evals.checking.service", "processes.limited"):
        if (service := sys.modules.get(f"glyphscope.{name}")) is not None:
            for value in vars(service).values():
                pids = getattr(value, "pids", ())
                found -= pids if isinstance(pids, set) else set()
    if (tracker := sys.modules.get("multiprocessing.resource_tracker")) is not None:
        found.discard(tracker._resource_tracker._pid)  # of locks, as tqdm makes one: it ends with Python
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:200].strip()
    except OSError:
        return "ended"


def _running_in_qt() -> list[Any]:
    """Return the running timers and threads among all objects of the interpreter."""
    core, widgets = sys.modules.get("PySide6.QtCore"), sys.modules.get("PySide6.QtWidgets")
    if core is None or widgets is None or widgets.QApplication.instance() is None or not _running(core):
        return []
    # objects deleted later, or in a reference cycle, are not leftovers
    core.QCoreApplication.sendPostedEvents(None, core.QEvent.Type.DeferredDelete.value)
    gc.collect()
    return _running(core)


def _running(core: Any) -> list[Any]:
    kinds = (core.QTimer, core.QThread)
    found = [thing for thing in gc.get_objects() if issubclass(type(thing), kinds)]
    alive = [thing for thing in found if sys.modules["shiboken6"].isValid(thing)]
    return [t for t in alive if (t.isActive() if isinstance(t, core.QTimer) else t.isRunning())]


def _stop(thing: Any) -> str:
    """Stop a leftover timer or thread; return its description, with its owner."""
    owner = thing.parent()
    of = "" if owner is None else f" of {owner.objectName() or type(owner).__name__}"
    if hasattr(thing, "interval"):
        thing.stop()
        return f"timer of {thing.interval()} ms{of}"
    thing.quit()
    thing.wait(int(GRACE * 1000))
    return f"Qt thread {thing.objectName()}{of}"
