"""The baseline of the measurements, in a separate process: `python -m glyphscope_benchmarks.baseline FILE OPTIONS`.

OPTIONS are load options as JSON, used by all measurements.

Each line of stdin is a JSON object, each line of stdout its answer; the process ends when stdin closes.

- `{"task": "grammar", "prompt", "schema", "max_tokens"}`: llama-cpp-python as used in practice,
  `Llama.create_completion(grammar=LlamaGrammar.from_json_schema(…))`, greedy, with a cached prompt.
- `{"task": "bare", "prompt", "tokens"}`: only `llama_decode` of one token and the argmax of its logits, with the same
  context, batches and threads as `LlamaEngine`, and one request per token, as for the model's process: an empty line
  in, the token's id out, and the answer after the last token.

- `{"task": "read", "prompt"}`: `spent` has the seconds in which `llama_decode` evaluates all tokens of the prompt but
  the last one, in batches of llama.cpp's default size; `ids` are the prompt's tokens.
- `{"task": "constraint", …}`: the cost of a grammar (`baseline_grammars.py`).
- `{"task": "opening", "registry"}`: `spent` has the seconds for opening the model for the bare loop, and for opening it
  with our engine up to the first mask; only for a process that has not opened it yet.

Answers: `{"start", "stamps", "text"}`, the seconds at which the evaluation of the prompt's last token began and at
which each generated token was known (only differences are meaningful); or `{"ids", "spent"}`, the tokens and the
seconds of each one between request and answer; or `{"error"}`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import llama_cpp as llama
import msgspec
import numpy as np

from glyphscope.events import LoadOptions
from glyphscope.models.cores import physical_cores
from glyphscope.models.llama_engine import ATTENTION, attention_of, model_parameters
from glyphscope.models.memory import KV_TYPES
from glyphscope_benchmarks.baseline_grammars import GrammarTasks

DEFAULT_BATCH = 512
"""llama.cpp's default `n_ubatch`: the number of tokens that it evaluates at once."""


class Baseline:
    """The model, opened from the same mapped file once per kind of measurement."""

    def __init__(self, path: str, options: LoadOptions) -> None:
        self._path, self._options = path, options

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Execute the task."""
        match request:
            case {"task": "grammar", "prompt": prompt, "schema": schema, "max_tokens": most}:
                return self._constrained(prompt, json.dumps(schema), most)
            case {"task": "bare", "prompt": prompt, "tokens": tokens}:
                return self._bare.decode(self._prompt(prompt), tokens)
            case {"task": "read", "prompt": prompt}:
                ids = self._prompt(prompt)
                return {"spent": [self._reader.read(ids)], "ids": ids}
            case {"task": "constraint"}:
                return self._grammars.constraint(request)
            case {"task": "opening", "registry": registry}:
                return {"spent": list(self._opening(registry))}
            case _:
                return {"error": f"There is no such task: {request.get('task')!r}."}

    def _opening(self, registry: dict[str, Any]) -> Iterator[float]:
        openings: tuple[Callable[[], object], ...] = (
            lambda: self._bare,
            lambda: self._grammars.first_mask(registry),
        )
        for opening in openings:
            start = time.perf_counter()
            opening()
            yield time.perf_counter() - start

    @cached_property
    def _llama(self) -> Any:
        options = self._options
        threads, kv_type = options.threads or physical_cores(), KV_TYPES[options.kv_type]
        return TimedLlama(
            self._path,
            n_ctx=options.context,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=options.gpu_layers,
            type_k=kv_type,
            type_v=kv_type,
            flash_attn=attention_of(options) == "on",
            verbose=False,
        )

    @cached_property
    def _grammars(self) -> GrammarTasks:
        return GrammarTasks(self._path, self._options)

    @cached_property
    def _bare(self) -> BareLoop:
        return BareLoop(self._path, self._options)

    @cached_property
    def _reader(self) -> BareLoop:
        return BareLoop(self._path, self._options, DEFAULT_BATCH)

    def _prompt(self, text: str) -> list[int]:
        """The prompt's tokens; a token that begins a sequence is added only if the text does not contain it."""
        bos = self._llama.token_bos()
        written = bos >= 0 and text.encode().startswith(self._llama.detokenize([bos], special=True) or b"\0")
        return list(self._llama.tokenize(text.encode(), add_bos=not written, special=True))

    def _constrained(self, prompt: str, schema: str, most: int) -> dict[str, Any]:
        ids = self._prompt(prompt)
        # from here on, the whole prompt is cached; its last token is then evaluated again, as in our engine
        self._llama.create_completion(ids, max_tokens=2)
        self._llama.forget()
        done = self._llama.create_completion(
            ids,
            grammar=llama.LlamaGrammar.from_json_schema(schema, verbose=False),
            max_tokens=most,
            temperature=0.0,
        )
        text = done["choices"][0]["text"]
        return {"start": self._llama.began, "stamps": self._llama.stamps, "text": text}


class TimedLlama(llama.Llama):  # type: ignore[misc]
    """Records when the first evaluation since `forget()` `began`, and the `stamps` of its tokens (seconds)."""

    began: float | None = None
    stamps: tuple[float, ...] = ()

    def forget(self) -> None:
        """Drop the recorded times."""
        self.began, self.stamps = None, ()

    def eval(self, tokens: Any) -> None:
        if self.began is None:
            self.began = time.perf_counter()
        super().eval(tokens)

    def sample(self, *args: Any, **options: Any) -> int:
        token: int = super().sample(*args, **options)
        self.stamps += (time.perf_counter(),)
        return token


class BareLoop:
    """The minimum of decoding: evaluate a token, take the best one. `batch`: prompt tokens evaluated at a time."""

    def __init__(self, path: str, options: LoadOptions, batch: int = 0) -> None:
        self._chunk = batch = batch or options.batch_size
        llama.llama_backend_init()
        model = model_parameters()
        model.n_gpu_layers = options.gpu_layers
        self._model = llama.llama_model_load_from_file(os.fsencode(path), model)
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = options.context
        parameters.n_batch = parameters.n_ubatch = batch
        parameters.n_threads = parameters.n_threads_batch = options.threads or physical_cores()
        parameters.type_k = parameters.type_v = KV_TYPES[options.kv_type]
        parameters.flash_attn_type = ATTENTION[attention_of(options)]
        self._context = llama.llama_init_from_model(self._model, parameters)
        if not self._context:
            raise MemoryError("llama.cpp cannot load the model for the bare loop")
        self._vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self._model))

    def decode(self, prompt: list[int], count: int) -> dict[str, Any]:
        """`count` tokens after the prompt, always the best one, each on request."""
        self.read(prompt)
        token = prompt[-1]
        ids: list[int] = []
        spent: list[float] = []
        one = (llama.llama_token * 1)()
        for _ in range(count):
            sys.stdin.buffer.readline()
            start = time.perf_counter()
            one[0] = token
            llama.llama_decode(self._context, llama.llama_batch_get_one(one, 1))
            pointer = ctypes.cast(llama.llama_get_logits_ith(self._context, -1), ctypes.c_void_p).value
            logits = np.frombuffer((ctypes.c_float * self._vocabulary).from_address(pointer or 0), np.float32)
            token = int(logits.argmax())
            ids.append(token)
            spent.append(time.perf_counter() - start)
            sys.stdout.buffer.write(b"%d\n" % token)
            sys.stdout.buffer.flush()
        return {"ids": ids, "spent": spent}

    def read(self, prompt: list[int]) -> float:
        """Evaluate all tokens but the last one. Returns the seconds."""
        llama.llama_memory_clear(llama.llama_get_memory(self._context), True)
        start = time.perf_counter()
        for at in range(0, len(prompt) - 1, self._chunk):
            self._evaluate(prompt[at : min(at + self._chunk, len(prompt) - 1)])
        llama.llama_synchronize(self._context)
        return time.perf_counter() - start

    def _evaluate(self, tokens: list[int]) -> None:
        batch = (llama.llama_token * len(tokens))(*tokens)
        llama.llama_decode(self._context, llama.llama_batch_get_one(batch, len(tokens)))


def main() -> None:
    """Serve until stdin closes. A task that fails is answered with its reason."""
    baseline = Baseline(sys.argv[1], msgspec.json.decode(sys.argv[2], type=LoadOptions))
    for line in sys.stdin.buffer:
        try:
            answer = baseline.answer(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
