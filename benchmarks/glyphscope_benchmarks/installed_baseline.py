"""A baseline in a separate environment without Glyphscope's packages.

Run it with `PYTHON installed_baseline.py NAME FILE OPTIONS`. OPTIONS are arguments of `llama_cpp.Llama` as JSON, and
`server`, the path of a `llama-server`. The protocol is the same as in `glyphscope_benchmarks.baseline`, with one task:
`{"task": "grammar", "prompt", "schema", "max_tokens"}` generates greedily, and `stamps` has the time of each token's
arrival; tokens that arrive together have the same time. `start` is when the evaluation of the prompt's last token
began. Servers do not show that, and Outlines evaluates the whole prompt each time: there, the arrival of the first
token is the start, and it has no stamp.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

Generate = Callable[[str, str, int], "tuple[list[float], str]"]
"""From prompt, schema and maximum tokens to start and stamps, in one list, and text."""

_PATIENCE = 120.0


@contextlib.contextmanager
def guidance(path: str, options: dict[str, Any]) -> Iterator[Generate]:
    """guidance's `json`, without its widget and probabilities."""
    import guidance as library
    from guidance.models import _llama_cpp as models

    times: list[float] = []

    class TimedEngine(models.LlamaCppEngine):  # type: ignore[misc, unused-ignore]
        def read(self, prompt: str) -> None:
            """Leave only the prompt in the cache: without it, each call would evaluate all of it."""
            super().get_logits(self.tokenizer.encode(prompt.encode()))

        def get_logits(self, *arguments: Any, **more: Any) -> Any:
            times[:] = times or [time.perf_counter()]
            return super().get_logits(*arguments, **more)

        def __call__(self, *arguments: Any, **more: Any) -> Any:
            responses = super().__call__(*arguments, **more)
            try:
                while True:
                    response = next(responses)
                    times.extend([time.perf_counter()] * len(response.tokens))
                    yield response
            except StopIteration as end:
                return end.value

    models.LlamaCppEngine = TimedEngine
    model = models.LlamaCpp(path, echo=False, enable_monitoring=False, **options)

    def generate(prompt: str, schema: str, most: int) -> tuple[list[float], str]:
        asked = library.json(
            "call", schema=json.loads(schema), temperature=0.0, max_tokens=most, separators=(",", ":")
        )
        try:
            prompted = model + prompt
            prompted._interpreter.engine.read(prompt)
            times.clear()
            return times, str((prompted + asked)["call"])
        except KeyError:  # cut off at the limit
            return times, ""

    yield generate


@contextlib.contextmanager
def outlines(path: str, options: dict[str, Any]) -> Iterator[Generate]:
    """Outlines' generator, made once per schema, with its default engine."""
    import llama_cpp
    import outlines as library

    times: list[float] = []

    class TimedLlama(llama_cpp.Llama):  # type: ignore[misc, unused-ignore]
        def sample(self, *arguments: Any, **more: Any) -> Any:
            token = super().sample(*arguments, **more)
            times.append(time.perf_counter())
            return token

    model = library.from_llamacpp(TimedLlama(path, verbose=False, **options), chat_mode=False)

    @lru_cache
    def generator(schema: str) -> Any:
        return library.Generator(model, library.types.JsonSchema(schema))

    def generate(prompt: str, schema: str, most: int) -> tuple[list[float], str]:
        made = generator(schema)
        times.clear()
        text = str(made(prompt, max_tokens=most, temperature=0.0))
        return times, text

    yield generate


@contextlib.contextmanager
def python_server(path: str, options: dict[str, Any]) -> Iterator[Generate]:
    """llama-cpp-python's server with `grammar`, over HTTP on this machine."""
    port = _free_port()
    asked = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-P", "-m", "llama_cpp.server", f"--model={path}", f"--port={port}", *asked]
    with _server([*command, "--host=127.0.0.1", "--verbose=False"], port, "/v1/models"):
        yield lambda prompt, schema, most: _streamed(
            port,
            "/v1/completions",
            {"prompt": prompt, "grammar": _converted(schema), "max_tokens": most, "temperature": 0.0},
            lambda chunk: chunk["choices"][0]["text"],
        )


@contextlib.contextmanager
def llama_server(path: str, options: dict[str, Any]) -> Iterator[Generate]:
    """llama.cpp's server with `grammar`, over HTTP on this machine."""
    port = _free_port()
    threads, attention = str(options["n_threads"]), "on" if options["flash_attn"] else "off"
    command = [options["server"], "--model", path, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--ctx-size", str(options["n_ctx"]), "--threads", threads, "--threads-batch", threads]
    command += ["--parallel", "1", "--flash-attn", attention, "--n-gpu-layers", str(options["n_gpu_layers"])]
    with _server(command, port, "/health"):
        yield lambda prompt, schema, most: _streamed(
            port,
            "/completion",
            {"prompt": prompt, "grammar": _converted(schema), "n_predict": most, "temperature": 0.0},
            lambda chunk: chunk["content"],
        )


BASELINES: dict[str, Callable[[str, dict[str, Any]], contextlib.AbstractContextManager[Generate]]] = {
    "guidance": guidance,
    "outlines": outlines,
    "python-server": python_server,
    "llama-server": llama_server,
}


@lru_cache
def _converted(schema: str) -> str:
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    return str(json_schema_to_gbnf(schema))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def _server(command: list[str], port: int, ready: str) -> Iterator[None]:
    """A context with a running server."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr) as process:
        try:
            deadline = time.monotonic() + _PATIENCE
            while not _answers(port, ready):
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended with exit code {process.returncode}")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the server did not answer within {_PATIENCE:.0f} s")
                time.sleep(0.2)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _streamed(
    port: int, path: str, body: dict[str, Any], text_of: Callable[[dict[str, Any]], str]
) -> tuple[list[float], str]:
    """The answer as server-sent events: one token each, except for empty ones at the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", path, json.dumps({**body, "stream": True}), headers)
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"the server answered with {response.status}: {response.read(500)!r}")
        stamps, pieces = [], []
        for line in response:
            now = time.perf_counter()
            data = line.removeprefix(b"data: ").strip()
            if line.startswith(b"data: ") and data != b"[DONE]" and (piece := text_of(json.loads(data))):
                stamps.append(now)
                pieces.append(piece)
        return stamps, "".join(pieces)
    finally:
        connection.close()


def main() -> None:
    """Serve until stdin closes. A task that fails is answered with its reason."""
    name, path, options = sys.argv[1:]
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries may also print
    with contextlib.ExitStack() as stack:
        generate: Generate | None = None
        for line in sys.stdin.buffer:
            try:
                if generate is None:
                    generate = stack.enter_context(BASELINES[name](path, json.loads(options)))
                asked = json.loads(line)
                times, text = generate(asked["prompt"], json.dumps(asked["schema"]), asked["max_tokens"])
                if not times:
                    raise RuntimeError("it generated no token")
                answer: dict[str, Any] = {"start": times[0], "stamps": times[1:], "text": text}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
