"""Running a matrix: each sample once, whatever happens in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.evals.running.evaluation import Forecast, evaluate, newest_result, saved_plan
    from glyphscope.evals.running.local_workers import LocalWorkers
    from glyphscope.evals.running.place import SamplesPlace, read_place
    from glyphscope.evals.running.requests import ScriptedTools, request_for
    from glyphscope.evals.running.sample_runs import SampleAndRuns, run_sample
    from glyphscope.evals.running.tool_servers import ToolServers
    from glyphscope.evals.running.worker_pool import SampleQueue, Workers
else:
    __getattr__ = interface(__name__)
