"""Flame graphs of decoding by py-spy, for docs/performance.md: a masked run with all evidence, and the bare loop.

`python packaging/flame.py FOLDER` writes `flame-run.svg` and `flame-bare.svg` there, and prints the time of a token by
its parts, measured without the tracer. `make trace` does it, with py-spy in a separate environment. Needs Linux and the
permission to trace child processes.
"""

from __future__ import annotations

import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import psutil

from glyphscope.events import LoadOptions, PromptRendered, Token
from glyphscope.models.interface import Model
from glyphscope.models.opening import EMBEDDED, open_model
from glyphscope.registry import default_registry
from glyphscope.runs.strategies.running import run

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from glyphscope_benchmarks import documents  # noqa: E402
from glyphscope_benchmarks.baseline_process import Baseline, started  # noqa: E402
from glyphscope_benchmarks.decoding import run_request  # noqa: E402
from glyphscope_benchmarks.timing import FULL  # noqa: E402

PY_SPY = ROOT / "build" / "trace-env" / "bin" / "py-spy"
RATE, SECONDS, ROUNDS = 100, 30, 9

Parts = dict[str, float]
"""Milliseconds of a token, by part."""


def masked_run(model: Model) -> Parts:
    """A call whose prompt is cached, from its prompt to its last token, as the window and the command line run it."""
    request = run_request(default_registry(), documents.PROMPTS[0], "mask", FULL.call_tokens)
    spent = time.process_time()
    events = list(run(request, model))
    spent = time.process_time() - spent
    start = next(event.t for event in events if isinstance(event, PromptRendered))
    tokens = [event for event in events if isinstance(event, Token)]
    parts = {
        "evaluation (llama_decode)": sum(token.step.decode_ms for token in tokens),
        "mask": sum(token.step.mask_ms for token in tokens),
        "choice and evidence": sum(token.step.sample_ms for token in tokens),
    }
    whole = (tokens[-1].t - start) * 1000
    parts["everything else"] = whole - sum(parts.values())
    parts["in all"] = whole
    parts["processor time of the reading process"] = spent * 1000
    return {name: ms / len(tokens) for name, ms in parts.items()}


def bare_tokens(baseline: Baseline, prompt: str) -> Parts:
    """Tokens of a text, each evaluated and chosen when it is asked for, and nothing else."""
    stamped, answer = baseline.ask_bare(prompt, FULL.text_tokens)
    compute = statistics.median(answer.spent) * 1000
    whole = statistics.median(stamped.intervals) * 1000
    return {"evaluation and choice": compute, "everything else": whole - compute, "in all": whole}


def trace(title: str, module: str, work: Callable[[], Parts], image: Path) -> None:
    """Draw the child process of that module while it works, with its caches filled; print the parts of a token."""
    work()
    rounds = [work() for _ in range(ROUNDS)]
    print(f"{title}, ms a token, medians of {ROUNDS}")
    for name in rounds[0]:
        print(f"  {name}: {statistics.median(parts[name] for parts in rounds):.2f}")
    [process] = [child for child in psutil.Process().children() if module in child.cmdline()]
    tracer = subprocess.Popen(
        [PY_SPY, "record", "--native", "--rate", str(RATE), "--pid", str(process.pid), "--output", image],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        work()
    tracer.send_signal(signal.SIGINT)
    if tracer.wait():
        raise SystemExit(f"py-spy ended with exit code {tracer.returncode}")
    drawn = image.read_text(encoding="utf-8")
    image.write_text(re.sub(r"[^>]*py-spy record[^<]*", f"{title}: {module}", drawn), encoding="utf-8")


def main(folder: Path) -> None:
    with closing(open_model(EMBEDDED)) as model:
        trace(
            "A masked call", "glyphscope.models.child", partial(masked_run, model), folder / "flame-run.svg"
        )
        with started(model.info.path, model.info.load or LoadOptions()) as baseline:
            work = partial(bare_tokens, baseline, documents.STORY)
            trace("The bare loop", "glyphscope_benchmarks.baseline", work, folder / "flame-bare.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
