"""Processes of a Dask cluster.

`-m dask_process scheduler` prints its address; `-m dask_process worker ADDRESS [BEHAVIOUR]` runs until it is ended. A
worker that is `old` has another version of Glyphscope, one that is `bare` has none.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path


class Cluster:
    """A scheduler with workers, each in a process."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self.scheduler = self._start("scheduler")
        assert self.scheduler.stdout is not None
        self.address = self.scheduler.stdout.readline().strip().removeprefix("tcp://")

    def add_worker(self, name: str, *behaviour: str, home: Path | None = None) -> subprocess.Popen[str]:
        """Start a worker, without waiting for it."""
        more = {"WORKER": name, **({"GLYPHSCOPE_HOME": str(home)} if home else {})}
        return self._start("worker", self.address, *behaviour, **more)

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers have joined."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.communicate()

    def _start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        if arguments[2:]:  # a behaviour begins before the imports
            environment["GLYPHSCOPE_FORKS"] = ""
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dask_process", *arguments],
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._processes.append(process)
        return process


@contextmanager
def cluster(*workers: str) -> Iterator[Cluster]:
    """A cluster with workers of these names, which have joined."""
    made = Cluster()
    try:
        for name in workers:
            made.add_worker(name)
        if workers:
            made.wait_for(len(workers))
        yield made
    finally:
        made.close()


async def _schedule() -> None:
    from distributed import Scheduler

    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()


async def _work(address: str) -> None:
    from distributed import Worker

    async with Worker(address, nthreads=1, dashboard=False) as worker:
        await worker.finished()


def _behave(behaviour: str) -> None:
    find: Callable[..., object] = PathFinder.find_spec
    version = metadata.version
    if behaviour == "bare":
        hidden = lambda name, *more: None if name.startswith("glyphscope") else find(name, *more)  # noqa: E731
        PathFinder.find_spec = staticmethod(hidden)  # type: ignore[method-assign,assignment]
    elif behaviour == "old":
        metadata.version = lambda name: "0.0.9" if name == "glyphscope" else version(name)


if __name__ == "__main__":
    for behaviour in sys.argv[3:]:
        _behave(behaviour)
    asyncio.run(_schedule() if sys.argv[1] == "scheduler" else _work(sys.argv[2]))
