"""An endpoint as a model: the request in each dialect, and that a run's events are exactly those of the response."""

from __future__ import annotations

import json
import logging
import math
import socket
import threading
import time

import keyring
import pytest

from cli_command import command
from glyphscope.base.errors import ModelError
from glyphscope.events import (
    Aborted,
    LimitReached,
    PromptRendered,
    RepairSettings,
    RunFailed,
    RunFinished,
    RunRequest,
    Sampling,
    StageFinished,
    Token,
    encode_event,
)
from glyphscope.models import RecordedModel, open_model
from glyphscope.models.interface import GenerateRequest, Opening
from glyphscope.models.remote import (
    DIALECTS,
    key_addresses,
    key_of,
    open_remote,
    read_address,
    remove_key,
    set_key,
)
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.recorded import RecordedInteraction
from glyphscope.runs.strategies import continue_aborted, run
from memory_keyring import MemoryKeyring, memory_keyring
from scripted_endpoint import DONE, SHORT, Answer, Hang, chunk, counted, endpoint, event, remote, said

REGISTRY = default_registry().to_document()
CALL = '{action="search" query="AI"}'
ANSWER = said('{action="search" ', 'query="AI"}')


def request(**fields) -> RunRequest:
    return RunRequest(prompt="Search for AI", registry=REGISTRY, **fields)


def sent(server) -> dict:
    return server.asked[-1].body


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "base", "model", "origin"),
    [
        ("http://localhost:8080/v1", "http://localhost:8080/v1", "", "http://localhost:8080"),
        ("http://[::1]:8080", "http://[::1]:8080/v1", "", "http://[::1]:8080"),
        ("https://a.example/v1/#Qwen/Qwen3-8B", "https://a.example/v1", "Qwen/Qwen3-8B", "https://a.example:443"),
        ("https://a.example/v1/chat/completions", "https://a.example/v1", "", "https://a.example:443"),
        ("HTTP://A.example/openai/v1?dialect=vllm#m%20n", "http://a.example/openai/v1", "m n", "http://a.example:80"),
    ],
)  # fmt: skip
def test_an_address_is_split_into_its_parts(text, base, model, origin):
    address = read_address(text)
    assert (address.base, address.model, address.origin) == (base, model, origin)
    assert read_address(str(address).replace("m n", "m%20n")) == address


@pytest.mark.parametrize(
    "text", ["http://", "http:///v1", "http://a:b:c/", "http://a:99999/v1", "http://a b/v1", "http://[::1/v1"]
)
def test_an_invalid_address_is_rejected(text):
    with pytest.raises(ModelError, match="Invalid endpoint address"):
        read_address(text)


@pytest.mark.parametrize(
    "text", ["http://me:s3cret@host/v1", "http://s3cret@host/v1", "http://host/v1?api_key=s3cret"]
)
def test_a_key_in_an_address_is_rejected_and_not_repeated(text):
    with pytest.raises(ModelError) as caught:
        open_model(text)
    assert "s3cret" not in str(caught.value) and "glyphscope keys set" in caught.value.hint


def test_unknown_options_of_an_address_are_rejected():
    for tail in ("?dialekt=vllm", "?logprobs=maybe", "?dialect=cobol"):
        with endpoint(ANSWER) as server, pytest.raises(ModelError), remote(server, tail):
            pass


PROPS = {"default_generation_settings": {"n_ctx": 4096}, "build_info": "b5"}


# -- what it is ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "paths", "name", "server_name"),
    [
        ("llamacpp", {"props": PROPS}, "llama-server", "llama-server b5"),
        ("me", {}, "llama-cpp-python", "llama_cpp.server"),
        ("vllm", {"version": {"version": "0.12.1"}}, "vllm", "vLLM 0.12.1"),
        ("vllm", {"version": {"version": "0.9.2"}}, "vllm-guided", "vLLM 0.9.2"),
        ("sglang", {}, "sglang", "SGLang"),
        ("me and others", {"version": {"version": "0.11.0"}}, "vllm", "vLLM 0.11.0"),
        ("them", {"get_model_info": {"model_path": "x"}}, "sglang", "SGLang"),
        ("library", {}, "compatible", "OpenAI-compatible"),
    ],
)  # fmt: skip
def test_the_server_is_recognized_by_its_description(owner, paths, name, server_name):
    with endpoint(ANSWER, owner=owner, **paths) as server, remote(server) as model:
        assert model.dialect.name == name and model.info.server == server_name
        assert model.info.context == (4096 if "props" in paths else 0)
        assert (model.info.kind, model.info.name, model.info.path) == ("remote", "tiny", f"{server.url}#tiny")
    with endpoint(ANSWER, owner=owner) as server, remote(server, "?dialect=sglang#other") as model:
        assert model.dialect.name == "sglang" and model.info.name == "other"


@pytest.mark.slow
def test_an_endpoint_without_a_list_of_models_needs_a_name():
    none = Answer((b"not found",), 404, "text/plain")
    with endpoint(ANSWER, models=none) as server:
        with pytest.raises(ModelError, match="no such model"), remote(server):
            pass
        with remote(server, "#mine") as model:
            assert model.info.name == "mine"
    with endpoint(ANSWER, models={"data": []}) as server, pytest.raises(ModelError, match="lists no models"):
        open_remote(read_address(server.url), patience=SHORT)


@pytest.mark.slow
def test_opening_can_be_stopped_while_the_connection_is_made():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:  # the queue is full: a new connection waits
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        opening = Opening(lambda share: None)
        timer = threading.Timer(0.2, opening.cancel)
        timer.start()
        start = time.monotonic()
        with pytest.raises(ModelError, match="stopped"):
            open_model(f"http://127.0.0.1:{port}/v1", progress=opening)
        assert time.monotonic() - start < 20
        timer.join()
        for each in waiting:
            each.close()


# -- what it is sent -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "field"),
    [("llama-server", "grammar"), ("llama-cpp-python", "grammar"), ("vllm", "structured_outputs"),
     ("vllm-guided", "guided_grammar"), ("sglang", "ebnf")],
)  # fmt: skip
def test_the_grammar_is_sent_in_the_field_of_the_dialect_with_a_note(dialect, field):
    with endpoint(ANSWER) as server, remote(server, f"?dialect={dialect}") as model:
        events = list(run(request(constraint="mask"), model))
        grammar = sent(server)[field]
    assert (grammar["grammar"] if isinstance(grammar, dict) else grammar).startswith("root ::=")
    prompt = next(event for event in events if isinstance(event, PromptRendered))
    assert field in prompt.note and "endpoint's own" in prompt.note
    assert events[0].request.constraint == "endpoint" and run_state(events).outcome == "valid"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sampling_is_sent_in_the_names_of_the_dialect_or_reported_as_unsupported(dialect):
    sampling = Sampling(temperature=0.7, top_k=0, top_p=0.9, min_p=0.1, repeat_penalty=1.2, seed=7)
    with endpoint(ANSWER) as server, remote(server, f"?dialect={dialect}") as model:
        events = list(run(request(constraint="off", sampling=sampling, max_tokens=99), model))
        body = sent(server)
    assert (body["temperature"], body["top_p"], body["seed"], body["stream"]) == (0.7, 0.9, 7, True)
    assert body[DIALECTS[dialect].most_tokens] == 99
    note = next(event for event in events if isinstance(event, PromptRendered)).note
    if dialect in ("openai", "compatible"):
        assert not {"top_k", "min_p", "repeat_penalty"} & set(body) and "min_p, repeat_penalty" in note
    else:
        assert body["top_k"] in (0, -1) and body["min_p"] == 0.1 and "no field" not in note
        assert (
            body["repetition_penalty" if dialect in ("vllm", "vllm-guided", "sglang") else "repeat_penalty"]
            == 1.2
        )


def test_the_messages_are_sent_and_shown_as_messages():
    with endpoint(ANSWER) as server, remote(server) as model:
        events = list(run(request(constraint="off"), model))
        messages = sent(server)["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    prompt = next(event for event in events if isinstance(event, PromptRendered))
    assert prompt.text == "".join(f"[{m['role']}]\n{m['content']}\n\n" for m in messages) + "[assistant]\n"
    assert prompt.tokens == 0 and {part.name for part in prompt.parts} >= {"tools", "user"}


@pytest.mark.parametrize("dialect", ["llama-server", "vllm", "sglang"])
def test_two_stages_continue_from_a_last_message(dialect):
    answers = said('"search" arguments='), said('{query="AI"}}')
    with endpoint(*answers) as server, remote(server, f"?dialect={dialect}") as model:
        events = list(run(request(strategy="two-stage"), model))
        assert len(server.asked) == 2, events[-1]
        first, second = server.asked[0].body, server.asked[1].body
    assert isinstance(events[-1], RunFinished) and run_state(events).outcome == "valid", events[-1]
    assert first["messages"][-1] == {"role": "assistant", "content": "{action="}
    assert "search" in second["messages"][-1]["content"]
    continues = dialect != "llama-server"
    assert first.get("continue_final_message", False) == continues
    assert first.get("add_generation_prompt", True) == (not continues)


def test_an_endpoint_that_cannot_continue_an_answer_says_so():
    with endpoint(ANSWER) as server, remote(server, "?dialect=llama-cpp-python") as model:
        failed = list(run(request(strategy="two-stage"), model))[-1]
        assert isinstance(failed, RunFailed) and "cannot continue" in failed.message and not server.asked


def test_a_router_and_its_executor_run_at_an_endpoint():
    choice = json.dumps({"choice": "call_tool", "tool": "search", "question": None}, separators=(",", ":"))
    with endpoint(said(choice), ANSWER) as server, remote(server) as model:
        events = list(run(request(strategy="route-execute"), model))
    assert run_state(events).outcome == "valid", events[-1]


def test_the_loop_runs_at_an_endpoint_with_results_in_the_users_role(tmp_path):
    answers = said('{action="calculate" expression="2+2"}'), said("It is 4.")
    with endpoint(*answers) as server, remote(server) as model:
        events = list(run(request(strategy="loop", constraint="off"), model, RecordedInteraction(())))
        assert {message["role"] for asked in server.asked for message in asked.body["messages"]} <= {
            "system", "user", "assistant"
        }  # fmt: skip
    assert isinstance(events[-1], RunFinished | RunFailed)


@pytest.mark.parametrize(("usage", "used"), [((), 1), ((counted(5, 100),), 100), ((counted(5, 512),), 512)])
def test_an_answer_that_an_endpoint_cuts_is_not_said_to_fill_a_context_that_is_unknown(usage, used):
    cut = Answer((chunk("It is"), chunk(finish="length"), *usage, DONE))
    with endpoint(cut) as server, remote(server) as model:
        events = list(run(request(strategy="loop", constraint="off"), model, RecordedInteraction(())))
    (limit,) = (event for event in events if isinstance(event, LimitReached))
    assert (limit.limit, limit.allowed, limit.used) == ("max_tokens", 512, used)
    assert ("The endpoint cut off" in limit.message) == (used < 512)


@pytest.mark.slow
def test_a_repair_sends_the_whole_conversation():
    with endpoint(said("no idea"), ANSWER) as server, remote(server) as model:
        events = list(run(request(constraint="off", repair=RepairSettings(attempts=1)), model))
        assert len(server.asked[1].body["messages"]) > len(server.asked[0].body["messages"])
    assert run_state(events).outcome == "valid"


# -- its responses ---------------------------------------------------------------------------------------------------


def likely(token: str | bytes, *others: tuple[str, float], logprob: float = -0.5) -> dict:
    data = token if isinstance(token, bytes) else token.encode()
    top = [{"token": text, "bytes": list(text.encode()), "logprob": value} for text, value in others]
    entry = {
        "token": data.decode("utf-8", "replace"),
        "bytes": list(data),
        "logprob": logprob,
        "top_logprobs": top,
    }
    return {"content": [entry]}


def test_with_log_probabilities_a_step_is_a_token_with_the_endpoints_figures():
    first = chunk('{action="', logprobs=likely('{action="', ("The", -0.1), ('{action="', -0.5)))
    half = chunk("", logprobs=likely(b"\xc3"))
    rest = chunk("é", logprobs=likely(b"\xa9"))
    both = {"content": likely("a")["content"] + likely("b")["content"]}
    with endpoint(
        Answer((first, half, rest, chunk("ab", logprobs=both), chunk(finish="stop"), DONE))
    ) as server:
        with remote(server) as model:
            events = list(run(request(constraint="off", stop_on="never", alternatives=5), model))
        assert sent(server)["logprobs"] is True and sent(server)["top_logprobs"] == 5
    steps = [event.step for event in events if isinstance(event, Token)]
    assert [(step.data, step.text, step.piece) for step in steps] == [
        (b'{action="', '{action="', False), (b"\xc3", "", False), (b"\xa9", "é", False), (b"a", "a", False),
        (b"b", "b", False), (b"", "", True),
    ]  # fmt: skip
    one, two = steps[0].alternatives
    assert (one.text, one.raw, one.final, one.allowed) == ("The", pytest.approx(math.exp(-0.1)), None, None)
    assert (two.text, steps[0].rank, steps[0].logprob, steps[0].probability) == ('{action="', 1, -0.5, None)
    assert steps[0].feasible is None and steps[0].entropy is None and steps[-1].end


def numbered(data: bytes, id: int, *others: tuple[bytes, int]) -> dict:
    """An entry of llama-server: the alternatives are tokens, and the entry has all bytes that were sent with it."""

    def entry(data: bytes, id: int, **more: object) -> dict:
        text = data.decode("utf-8", "replace")
        return {"id": id, "token": text, "bytes": list(data), "logprob": -0.5, **more}

    return {"content": [entry(data, id, top_logprobs=[entry(*other) for other in others])]}


SMILE = "😀".encode()


@pytest.mark.parametrize(
    ("tokens", "pieces"),
    [
        ([(SMILE, 218, (b"\x80", 218), (b"\x81", 219))], [True]),
        ([(SMILE, 218, (b"\x81", 219), (b"\x82", 220))], [True]),
        ([(b"a", 5, (b"a", 5), (b"\x80", 218)), (SMILE, 218, (b"\x81", 219))], [False, True]),
        ([(SMILE, 218)], [True]),
        ([(SMILE, 900, (SMILE, 900), (b"\x80", 218))], [False]),
        ([(SMILE, 900, (b"x", 9))], [False]),
        ([(b"</sto", 7, (b"sto", 7), (b"x", 9)), (b"re", 8, (b"re", 8))], [True, False]),
        ([(b"Hel", 7, (b"Hello", 7))], [False]),
        ([(b"a", 5)], [False]),
    ],
)
def test_a_step_is_one_token_also_where_a_server_joins_several(tokens, pieces):
    sent = [chunk(token[0].decode(), logprobs=numbered(*token)) for token in tokens]
    with endpoint(Answer((*sent, chunk(finish="stop"), DONE))) as server, remote(server) as model:
        events = list(run(request(constraint="off", stop_on="never", alternatives=5), model))
    steps = [event.step for event in events if isinstance(event, Token)][:-1]
    assert [step.piece for step in steps] == pieces
    assert [step.data for step in steps] == [token[0] for token in tokens]
    for step, token in zip(steps, tokens, strict=True):
        known = (-1, None, 0) if step.piece else (token[1], -0.5, len(token) - 2)
        assert (step.id, step.logprob, len(step.alternatives)) == known
        assert step.probability is None


def test_log_probabilities_that_do_not_spell_the_text_are_ignored():
    answer = Answer((chunk("shown", logprobs=likely("<|hidden|>")), chunk(finish="stop"), DONE))
    with endpoint(answer) as server, remote(server) as model:
        events = list(run(request(constraint="off", stop_on="never"), model))
    step = next(event.step for event in events if isinstance(event, Token))
    assert (step.text, step.piece, step.logprob) == ("shown", True, None)


@pytest.mark.slow
def test_an_endpoint_that_rejects_log_probabilities_is_asked_without_them():
    refusal = Answer((b'{"error": {"message": "logprobs is not supported"}}',), 400, "application/json")
    with endpoint(refusal, ANSWER, ANSWER) as server, remote(server) as model:
        assert run_state(list(run(request(), model))).outcome == "valid"
        list(run(request(), model))
        assert ["logprobs" in asked.body for asked in server.asked] == [True, False, False]
        assert "grammar" in server.asked[1].body


def test_the_endpoints_counts_are_used_and_its_record_verifies():
    answer = Answer((*ANSWER.pieces[:2], chunk(finish="stop"), counted(321, 9, 300), DONE))
    with endpoint(answer) as server, remote(server) as model:
        events = list(run(request(constraint="off", stop_on="never"), model))
    stage = next(event for event in events if isinstance(event, StageFinished))
    assert (stage.prompt_tokens, stage.cached, stage.tokens, events[-1].tokens) == (321, 300, 9, 9)
    again = list(run(events[0].request, RecordedModel(events)))
    assert [type(event) for event in again] == [type(event) for event in events]
    assert [e.step for e in again if isinstance(e, Token)] == [e.step for e in events if isinstance(e, Token)]
    stage = next(event for event in again if isinstance(event, StageFinished))
    assert (stage.prompt_tokens, stage.cached, stage.tokens) == (321, 300, 9)


def test_counts_in_every_chunk_are_used_for_a_stream_that_was_closed_early():
    early = [
        event({"choices": [{"delta": {"content": text}}], "usage": {"prompt_tokens": 50, "completion_tokens": n}})
        for n, text in ((1, '{action="'), (4, "delete_it"))
    ]  # fmt: skip
    with endpoint(Answer((*early, chunk(finish="stop"), DONE))) as server, remote(server) as model:
        events = list(run(request(constraint="off"), model))
    stage = next(event for event in events if isinstance(event, StageFinished))
    assert (events[-1].reason, stage.prompt_tokens, stage.tokens) == ("aborted", 50, 4)
    assert next(event for event in events if isinstance(event, Aborted)).tokens_decoded == 4


def test_the_two_parts_of_a_surrogate_pair_are_joined():
    halves = [b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n',
              b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"}}]}\n\n']  # fmt: skip
    with endpoint(Answer((*halves, chunk(finish="stop"), DONE))) as server, remote(server) as model:
        events = list(run(request(constraint="off", stop_on="never"), model))
    assert "".join(event.step.text for event in events if isinstance(event, Token)) == "😀"


def test_an_answer_that_is_not_streamed_is_one_piece():
    message = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": CALL}, "finish_reason": "stop"}]
    }
    answer = Answer((json.dumps(message).encode(),), kind="application/json")
    with endpoint(answer) as server, remote(server) as model:
        assert run_state(list(run(request(), model))).outcome == "valid"


def test_the_continuation_of_an_aborted_run_begins_with_its_text():
    with endpoint(said('{action="delete_', 'it"}'), said('it" now}')) as server, remote(server) as model:
        aborted = list(run(request(constraint="off"), model))
        reported = list(continue_aborted(request(constraint="off"), aborted, model))
        assert sent(server)["messages"][-1] == {"role": "assistant", "content": '{action="delete_'}
    assert run_state([*aborted, *reported]).text == '{action="delete_it" now}'


@pytest.mark.slow
def test_tokens_are_counted_where_the_server_counts_and_rejected_elsewhere():
    with endpoint(ANSWER, tokenize={"tokens": [1, 2, 3]}) as server, remote(server) as model:
        assert model.count_tokens("abc") == 3
    with endpoint(ANSWER, owner="someone") as server, remote(server) as model:
        with pytest.raises(ModelError, match="does not count"):
            model.count_tokens("abc")
        with pytest.raises(ModelError):
            model.tokenize("abc")
        assert model.vocabulary().tokens == ()


def test_a_lone_surrogate_in_a_text_to_count_is_replaced():
    with endpoint(tokenize={"tokens": [1, 2]}) as server, remote(server) as model:
        assert model.count_tokens("a \ud800") == 2


@pytest.mark.slow
def test_counting_in_a_closed_model_is_a_model_error():
    with endpoint(tokenize=Answer((Hang,))) as server, remote(server) as model:
        closing = threading.Timer(0.2, model.close)
        closing.start()
        with pytest.raises(ModelError, match="closed"):
            model.count_tokens("a")
        closing.join()


def test_one_generation_at_a_time():
    with endpoint(ANSWER) as server, remote(server) as model:
        first = model.generate(GenerateRequest(prompt="x"))
        next(first)
        with pytest.raises(ModelError, match="still generating"):
            next(model.generate(GenerateRequest(prompt="x")))
        first.close()
        model.close()
        assert len(list(model.generate(GenerateRequest(prompt="x")))) > 2


@pytest.mark.slow
def test_a_run_by_the_command_line_records_the_endpoint(tmp_path):
    record = tmp_path / "run.jsonl"
    with endpoint(ANSWER) as server:
        done = command("run", "--model", server.url, "--record", record, "--json", "Search")
        refused = command("run", "--model", server.url, "--context", "512", "Search")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[0])["model"]["kind"] == "remote"
    assert refused.exit_code == 2
    verified = command("replay", record, "--verify", "--json")
    assert json.loads(verified.stdout.splitlines()[-1])["difference"] == ""


# -- keys ------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def ring(monkeypatch):
    """Keep tests away from the user's keyring and keys."""
    for name in ("GLYPHSCOPE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with memory_keyring() as ring:
        yield ring


SECRET = "sk-VerySecret-123"


def test_a_key_is_sent_only_to_its_own_endpoint_and_never_recorded(ring, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with endpoint(
        ANSWER, Answer((f'{{"error": "bad key {SECRET}"}}'.encode(),), 401, "application/json")
    ) as server:
        address = read_address(server.url)
        set_key(address, SECRET)
        with remote(server) as model:
            events = list(run(request(model=server.url), model))
            refused = list(run(request(), model))
            assert SECRET not in repr(model.info) + str(model.__dict__) + repr(model.render_chat([]))
        assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    recorded = b"".join(encode_event(event) for event in [*events, *refused])
    assert SECRET.encode() not in recorded and "•••" in refused[-1].message and "keys set" in refused[-1].hint
    assert SECRET not in caplog.text and SECRET not in "".join(capfd.readouterr())
    assert key_of(read_address("http://127.0.0.1:1/v1")) == ""
    assert key_addresses() == [address.origin] and remove_key(address) and not remove_key(address)
    assert key_addresses() == [] and SECRET not in str(ring.passwords)


KEY_PAGE = f"<html><title>You sent {SECRET}</title>".encode()


@pytest.mark.parametrize(
    "answer",
    [
        Answer((event({"error": {"message": f"bad key {SECRET}"}}),)),
        Answer((f"data: no JSON, and {SECRET}\n\n".encode(),)),
        Answer((f"no event, and {SECRET}\n\n".encode(),)),
        Answer((KEY_PAGE,), kind="text/html"),
        Answer((KEY_PAGE,), 500, "text/html"),
        Answer((json.dumps({"error": "a " * 195 + SECRET}).encode(),), 401, "application/json"),
        Answer(
            (f'{{"error": {{"code": "context_length_exceeded", "message": "{SECRET}"}}}}'.encode(),),
            400,
            "application/json",
        ),
        Answer((), headers=((f"bad header {SECRET}", "x"),)),
        said(f"I was asked with {SECRET}"),
    ],
)
def test_a_key_that_the_endpoint_echoes_is_not_recorded(ring, answer):
    with endpoint(answer) as server:
        set_key(read_address(server.url), SECRET)
        with remote(server, patience=SHORT._replace(attempts=1)) as model:
            events = list(run(request(), model))
    recorded = b"".join(encode_event(event) for event in events)
    assert SECRET[:8].encode() not in recorded


def test_a_key_that_the_list_of_models_echoes_is_masked(ring):
    with endpoint(models=Answer((KEY_PAGE,), kind="text/html")) as server:
        set_key(read_address(server.url), SECRET)
        with pytest.raises(ModelError, match="•••") as caught, remote(server):
            pass
    assert SECRET not in str(caught.value)


def test_a_key_of_white_space_is_no_key(monkeypatch):
    monkeypatch.setenv("GLYPHSCOPE_API_KEY", "  \n")
    assert key_of(read_address("http://127.0.0.1:1/v1")) == ""


def test_the_environment_precedes_the_keyring_and_openais_variable_is_only_for_openai(monkeypatch):
    here, openai = read_address("http://127.0.0.1:1/v1"), read_address("https://api.openai.com/v1")
    set_key(here, "kept")
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    assert (key_of(here), key_of(openai)) == ("kept", "theirs")
    assert key_of(read_address("http://api.openai.com/v1")) == ""
    assert key_of(read_address("https://api.openai.com.evil.example/v1")) == ""
    monkeypatch.setenv("GLYPHSCOPE_API_KEY", "given")
    assert (key_of(here), key_of(openai)) == ("given", "given")


def test_a_keyring_that_cannot_be_read_has_no_key_and_rejects_a_new_one():
    keyring.set_keyring(MemoryKeyring(locked=True))
    address = read_address("http://127.0.0.1:1/v1")
    assert key_of(address) == ""
    with pytest.raises(ModelError, match="cannot be used") as caught:
        set_key(address, SECRET)
    assert "GLYPHSCOPE_API_KEY" in caught.value.hint and SECRET not in str(caught.value)


@pytest.mark.parametrize("key", ["a b", "ab\nAuthorization: x", "schlüssel", "\x00"])
def test_a_key_that_is_not_a_valid_header_is_rejected_and_not_repeated(key):
    with pytest.raises(ModelError) as caught:
        set_key(read_address("http://127.0.0.1:1/v1"), key)
    assert key.strip() not in str(caught.value) or key == "\x00"


def test_the_command_stores_lists_and_removes_keys_without_an_argument_for_one(ring):
    url = "https://host.example/v1"
    saved = command("keys", "set", url, text=f"{SECRET}\n")
    assert saved.exit_code == 0 and SECRET not in saved.output
    assert key_of(read_address(url)) == SECRET
    listed = command("keys", "list", "--json")
    assert (
        json.loads(listed.stdout)["endpoints"] == ["https://host.example:443"] and SECRET not in listed.output
    )
    assert command("keys", "set", url, SECRET).exit_code == 2
    assert command("keys", "set", url, text="\n").exit_code == 2
    assert command("keys", "remove", url).exit_code == 0
    assert command("keys", "remove", url).exit_code == 1
    assert command("keys", "list").exit_code == 1


def test_without_the_extra_an_address_names_the_package_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError) as caught:
        open_model("http://127.0.0.1:1/v1")
    assert "glyphscope[remote]" in caught.value.hint
