"""The embedded model in its process: generation, caching, stopping, killing, and rejected requests."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from glyphscope.base.errors import ContextOverflow, GrammarError, ModelDied, ModelError
from glyphscope.events import LoadOptions, Message, Sampling
from glyphscope.models import embedded_path, open_model, prepare_model, process, wire
from glyphscope.models.interface import Cancelled, GenerateRequest, Opening, PromptProgress, PromptReady
from glyphscope.models.llama import LlamaModel
from glyphscope.processes import Pipe

pytestmark = [pytest.mark.slow, pytest.mark.model]
unforked = pytest.mark.usefixtures("unforked")
"""For tests of how the process starts and ends."""

LARK = r"""
start: "{action=\"" ("search" | "browse") "\" query=\"" /[A-Za-z0-9 é]{1,20}/ "\" max_results=" /[0-9]{1,3}/ "}"
"""
GBNF = r"""root ::= "{action=\"" ("search" | "browse") "\" query=\"" [A-Za-z0-9 ]{1,20} "\"}" """
MESSAGES = [Message("system", "You call tools."), Message("user", "Search for AI news, 10 results.")]


@pytest.fixture(scope="module")
def model():
    shares = []
    opened = open_model("embedded", options=LoadOptions(context=512), progress=shares.append)
    assert shares and shares == sorted(shares) and shares[-1] == 1.0
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def prompt(model):
    return model.render_chat(MESSAGES).text


def run(model, prompt, **more):
    items = list(model.generate(GenerateRequest(prompt=prompt, **more)))
    steps = [step for item in items if isinstance(item, tuple) for step in item]
    return items, steps, "".join(step.text for step in steps)


@unforked
def test_a_model_takes_the_process_that_was_started_early_if_it_lives():
    prepare_model("scripted:x")
    prepare_model("http://localhost:1/v1#x")
    assert not process._early
    prepare_model("embedded")
    prepare_model("embedded")
    (early,) = process._early
    assert process.next_process() is early and not process._early
    early.close()
    process.start_early()
    (dead,) = process._early
    dead.kill()
    dead.death()
    with contextlib.closing(process.next_process()) as another:
        assert another.alive and another.pid != dead.pid
    process.start_early()
    (unused,) = process._early
    process.close_early()
    assert not process._early and not unused.alive


def test_the_model_describes_itself_and_its_vocabulary(model, prompt):
    info = model.info
    assert (info.architecture, info.quantisation, info.vocabulary, info.context) == (
        "llama",
        "Q4_1",
        49152,
        512,
    )
    assert len(info.sha256) == 64 and info.bytes > 90_000_000 and info.parameters == 134_515_008
    assert prompt.endswith("<|im_start|>assistant\n") and MESSAGES[0].content in prompt
    assert model.count_tokens("hello world") == 2
    vocabulary = model.vocabulary()
    assert len(vocabulary.tokens) == 49152 and vocabulary is model.vocabulary()
    assert vocabulary.tokens[vocabulary.names["<|im_end|>"]] == b""
    assert (
        b"".join(vocabulary.tokens[token] for token in model.tokenize("hello wörld"))
        == "hello wörld".encode()
    )
    assert model.count_tokens(prompt) == model.render_chat(MESSAGES).tokens


def test_the_mask_allows_only_valid_calls_and_forces_tokens(model, prompt):
    items, steps, text = run(model, prompt, constraint="mask", grammar=LARK, max_tokens=60)
    assert text.startswith('{action="') and text.endswith("}")
    forced = [step for step in steps if step.forced]
    assert len(forced) >= 6
    assert all(step.probability == 1.0 and step.allowed == 1 for step in forced)
    batch = next(item for item in items if isinstance(item, tuple))
    assert [step.forced for step in batch] == [True, True, True, False], (
        "forced tokens come with the next chosen one"
    )
    for step in steps:
        assert step.logprob is not None and step.logprob <= 0 and 0 <= step.feasible <= 1
        assert 0 <= step.entropy <= 15.6, "not more than log2 of the vocabulary"
        assert step.id in [a.id for a in step.alternatives] and len(step.alternatives) in (10, 11)
        assert [a.raw for a in step.alternatives[:10]] == sorted(
            (a.raw for a in step.alternatives[:10]), reverse=True
        )
        assert all(a.final == 0 for a in step.alternatives if not a.allowed)
    assert any(not a.allowed for step in steps for a in step.alternatives), "masked tokens stay visible"


def test_greedy_text_does_not_depend_on_the_run(model, prompt):
    texts = {run(model, prompt, max_tokens=12)[2] for _ in range(2)}
    assert len(texts) == 1 and texts != {""}


def test_the_seed_decides_the_text(model, prompt):
    def text(seed):
        sampling = Sampling(temperature=1.5, top_k=0, top_p=1, min_p=0, seed=seed)
        return run(model, prompt, max_tokens=12, sampling=sampling)[2]

    assert text(3) == text(3) != text(4)


def test_an_unconstrained_text_ends_with_an_end_token_without_text(model):
    prompt = model.render_chat([Message("user", "Answer with one word: what is the capital of France?")]).text
    _, steps, _ = run(model, prompt, max_tokens=60)
    assert steps[-1].end and steps[-1].data == b""
    assert not any(step.end for step in steps[:-1])


def test_llama_cpps_own_grammar_is_applied(model, prompt):
    _, steps, text = run(model, prompt, constraint="gbnf", grammar=GBNF, max_tokens=60)
    assert text.startswith('{action="') and (text.endswith('"}') or len(steps) == 60)
    assert all(step.allowed >= 1 for step in steps)


@pytest.mark.parametrize(
    ("constraint", "grammar"),
    [
        ("mask", "start: missing"),
        ("mask", None),
        ("mask", "start: /[/"),
        ("gbnf", ""),
        ("gbnf", "root ::= missing"),
    ],
)
def test_a_constraint_that_cannot_be_built_fails_the_run(model, prompt, constraint, grammar):
    started = []
    with pytest.raises(GrammarError) as caught:
        started.extend(model.generate(GenerateRequest(prompt=prompt, constraint=constraint, grammar=grammar)))
    assert not started and caught.value.hint
    assert "missing" in caught.value.message or "missing" not in (grammar or ""), "the reason names the error"


def test_incomplete_characters_have_no_text_and_all_their_bytes(model, prompt):
    _, steps, text = run(model, prompt, constraint="mask", grammar='start: "{x=\\"\U0001f9ff\\"}"')
    assert text == '{x="\U0001f9ff"}' and b"".join(step.data for step in steps).decode() == text
    assert any(step.data and not step.text for step in steps)


def test_a_shared_prefix_is_not_evaluated_again(model, prompt):
    run(model, prompt, max_tokens=1)
    ready = next(i for i in run(model, prompt, max_tokens=1)[0] if isinstance(i, PromptReady))
    assert ready.cached == ready.tokens - 1, "all but the last, whose logits are needed"
    other = prompt.replace("10 results", "about tea")
    items, _, text = run(model, other, max_tokens=8)
    ready = next(i for i in items if isinstance(i, PromptReady))
    assert 5 < ready.cached < ready.tokens - 1
    run(model, "Something else.", max_tokens=1)
    assert run(model, other, max_tokens=8)[2] == text, "the cached prefix changes nothing"


def test_a_prompt_longer_than_the_context_is_rejected(model, prompt):
    with pytest.raises(ContextOverflow) as caught:
        run(model, "word " * 2000)
    assert caught.value.available == 512 and caught.value.needed > 1900
    assert run(model, prompt, max_tokens=1)[1]


def test_a_generation_ends_with_the_context(model):
    text = "word " * 508
    _, steps, _ = run(model, text, max_tokens=50)
    assert len(steps) <= 512 - model.count_tokens(text) + 1


def timed_cancel(model, items):
    """Seconds from `cancel` in another thread to the iterator's end, and its items."""
    at = []

    def cancel():
        time.sleep(0.15)
        at.append(time.perf_counter())
        model.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    got = list(items)
    ended = time.perf_counter()
    thread.join()
    return ended - at[0], got


def test_cancelling_does_not_wait_for_the_prompt(model):
    text = "".join(f"{i} " for i in range(120))
    seconds, got = timed_cancel(model, model.generate(GenerateRequest(prompt=text)))
    assert got[-1] == Cancelled() and not any(isinstance(item, PromptReady) for item in got)
    assert seconds < 0.1
    started = time.perf_counter()
    progress = next(iter(model.generate(GenerateRequest(prompt="Hi"))))
    assert isinstance(progress, PromptProgress | PromptReady)
    assert time.perf_counter() - started < 1.0, "the process really stopped computing"


def test_cancelling_does_not_wait_for_the_tokens(model, prompt):
    seconds, got = timed_cancel(model, model.generate(GenerateRequest(prompt=prompt, max_tokens=400)))
    assert got[-1] == Cancelled() and seconds < 0.1
    assert run(model, prompt, max_tokens=2)[1], "the next generation is not cancelled with it"


def test_measuring_batches_is_cancelled_at_once_and_changes_no_figure(prompt, tmp_path):
    with contextlib.closing(open_model("embedded", batches=tmp_path)) as model:

        def figures():
            return [(step.id, step.logprob) for step in run(model, prompt, max_tokens=8)[1]]

        before, begun, times = figures(), threading.Event(), []
        measuring = threading.Thread(target=lambda: times.append(model.measure_batches(begun.set)))
        measuring.start()
        assert begun.wait(10)
        time.sleep(0.2)
        start = time.monotonic()
        model.cancel()
        measuring.join()
        assert time.monotonic() - start < 0.5 and times == [None]
        assert model.is_unmeasured and not any(tmp_path.iterdir())
        assert figures() == before


def test_the_form_of_turns_is_derived_while_batches_are_measured(tmp_path):
    with contextlib.closing(open_model("embedded", batches=tmp_path)) as model:
        begun, times = threading.Event(), []
        measuring = threading.Thread(target=lambda: times.append(model.measure_batches(begun.set)))
        measuring.start()
        assert begun.wait(10)
        assert model.turn_form() is not None
        model.cancel()
        measuring.join(30)
        assert times == [None]


def test_a_closed_iterator_stops_decoding_and_frees_the_model(model, prompt):
    items = model.generate(GenerateRequest(prompt=prompt, max_tokens=50))
    while not isinstance(next(items), tuple):
        pass
    with pytest.raises(ModelError, match="still generating"):
        next(model.generate(GenerateRequest(prompt=prompt)))
    items.close()
    model.cancel()
    assert run(model, prompt, max_tokens=2)[1]


def test_tokens_can_be_counted_while_another_thread_generates(model, prompt):
    items = model.generate(GenerateRequest(prompt=prompt, max_tokens=50))
    next(items)
    assert model.count_tokens("hello world") == 2
    items.close()


@unforked
def test_a_killed_process_is_restarted_for_the_next_generation():
    with contextlib.closing(LlamaModel(embedded_path(), LoadOptions(context=256))) as model:
        kill_and_continue(model, "Once upon a time")


def kill_and_continue(model, prompt):
    items = model.generate(GenerateRequest(prompt=prompt, max_tokens=500))
    while not isinstance(next(items), tuple):
        pass
    killed = model.pid
    os.kill(killed, signal.SIGKILL)
    with pytest.raises(ModelDied) as caught:
        list(items)
    assert caught.value.signal == "SIGKILL" and "SIGKILL" in caught.value.message and caught.value.hint
    assert run(model, prompt, max_tokens=3)[1], "the next request starts a new process"
    assert model.pid not in (None, killed)
    with pytest.raises(ProcessLookupError):
        os.kill(killed, 0)


@unforked
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_answer_that_cannot_be_read_is_a_dead_model(monkeypatch):
    read = Pipe.read

    def out_of_memory(pipe):
        answer = read(pipe)
        if isinstance(getattr(answer, "body", None), wire.Tokens):
            raise MemoryError
        return answer

    monkeypatch.setattr(Pipe, "read", out_of_memory)
    with (
        contextlib.closing(LlamaModel(embedded_path(), LoadOptions(context=256))) as model,
        pytest.raises(ModelDied),
    ):
        model.count_tokens("Once upon a time")


@unforked
@pytest.mark.parametrize("wait", [0.0, 0.05, 0.3])
def test_opening_a_model_can_be_stopped(wait):
    """The first time before its process exists, the others while it starts and while it loads."""
    opening, threads = Opening(lambda share: None), set(threading.enumerate())
    timer = threading.Timer(wait, opening.cancel)
    timer.start()
    if not wait:
        timer.join()
    with pytest.raises(ModelError, match="stopped") as caught:
        open_model("embedded", progress=opening)
    assert caught.value.hint
    timer.join()
    assert set(threading.enumerate()) <= threads  # those of earlier tests may have ended


@unforked
def test_stopping_the_opening_leaves_a_model_that_is_open():
    opening = Opening(lambda share: None)
    with contextlib.closing(open_model("embedded", progress=opening)) as model:
        pid = model.pid
        opening.cancel()
        assert model.count_tokens("Once upon a time") > 0 and model.pid == pid


@unforked
def test_a_closed_model_leaves_no_process_thread_or_pipe():
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    model = LlamaModel(embedded_path(), LoadOptions(context=256))
    pid = model.pid
    started = time.perf_counter()
    model.close()
    model.close()
    assert time.perf_counter() - started < 1.5
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    left = len(os.listdir("/proc/self/fd"))
    assert threading.active_count() <= threads and left <= files, "others may end meanwhile"


ORPHAN = """
import os, time
from glyphscope.models.interface import GenerateRequest
from glyphscope.models.opening import open_model
model = open_model("embedded")
print(model.pid, flush=True)
for _ in model.generate(GenerateRequest(prompt="word " * 3000)):
    time.sleep(100)
"""


@unforked
def test_the_process_ends_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        time.sleep(0.2)
        parent.kill()
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid):
    """Whether the process exists and is not a zombie, which may never be reaped."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("damage", ["header", "tokens", "half"])
def test_a_damaged_model_is_rejected_with_the_reason(tmp_path, damage):
    data = bytearray(embedded_path().read_bytes())
    if damage == "half":
        data = data[: len(data) // 2]
    elif damage == "header":
        data[8:24] = b"\xff" * 16
    else:
        place = data.index(b"llama.block_count")
        data[place : place + 5] = b"xxxxx"
    path = tmp_path / "damaged.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError) as caught:
        open_model(str(path))
    assert caught.value.hint and "damaged.gguf" in caught.value.where
    assert "Traceback" not in str(caught.value)
    if damage == "tokens":
        assert "cannot load" in caught.value.message and "block_count" in caught.value.message, (
            "llama.cpp rejects a file that passes the check of the header, and its reason is reported"
        )


def test_weights_are_not_repacked_for_amx_where_llama_cpp_crashes(monkeypatch):
    native = pytest.importorskip("glyphscope.models.llama_engine")
    monkeypatch.setattr(native.llama, "llama_print_system_info", lambda: b"CPU : AVX2 = 1 | AMX_INT8 = 1 | ")
    assert not native.model_parameters().use_extra_bufts
    monkeypatch.setattr(native.llama, "llama_print_system_info", lambda: b"CPU : AVX2 = 1 | ")
    assert native.model_parameters().use_extra_bufts


def test_a_model_is_loaded_with_its_options_and_reports_those_in_use():
    options = LoadOptions(context=300, threads=1, kv_type="q8_0", batch=128)
    with contextlib.closing(open_model("embedded", options=options)) as model:
        load = model.info.load
        assert (load.context, load.threads, load.kv_type, load.flash_attention) == (300, 1, "q8_0", "on")
        assert model.info.context == 300 and load.batch == 128
    if load.gpu_layers == 0:
        with pytest.raises(ModelError, match="without GPU support"):
            open_model("embedded", options=LoadOptions(gpu_layers=5))


@pytest.mark.parametrize("batch", [16, 64, 128])
def test_progress_is_reported_after_each_batch_of_the_size_in_use(batch):
    request = GenerateRequest(prompt="one two three " * 60, max_tokens=1)
    with contextlib.closing(open_model("embedded", options=LoadOptions(context=512, batch=batch))) as model:
        done = [each.done for each in model.generate(request) if isinstance(each, PromptProgress)]
        assert done == [*range(0, done[-1], batch), done[-1]]
        assert model.info.load.batch_size == batch
