"""Sampling of a run: the tokens that each filter removed, stop strings, and their texts."""

import json
import math
from contextlib import closing
from itertools import accumulate, cycle, islice, pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_command import command
from examples import at_most
from glyphscope.events import (
    Alternative,
    LoadOptions,
    PrefixPart,
    RepairSettings,
    RunFailed,
    RunFinished,
    RunRequest,
    RunStarted,
    Sampling,
    StopStringFound,
    Token,
    TokenStep,
    Violation,
    decode_event,
    encode_event,
    read_bias,
)
from glyphscope.models import RecordedModel, open_model
from glyphscope.models.decoding import Allowed, Evidence, SamplerState
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state, sampling_words, text_lines, typed_texts
from glyphscope.runs.strategies import run
from glyphscope.store.exports import RecordedRun, export
from scripted_endpoint import endpoint, remote, said

GOOD = '{action="search" query="AI news" max_results=10}'
REGISTRY = default_registry().to_document()

rows = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=80).map(
    lambda values: np.array(values, dtype=np.float32)
)


def request(**changes) -> RunRequest:
    return RunRequest(**{"prompt": "Search", "registry": REGISTRY, "constraint": "off", **changes})


def ended(script, **changes):
    """Return the events, the state and the last event of a run of that script."""
    events = list(run(request(**changes), ScriptedModel(script)))
    return events, run_state(events), events[-1]


# -- filters ---------------------------------------------------------------------------------------------------


@at_most(200)
@given(
    rows,
    st.integers(0, 20),
    st.sampled_from([1.0, 0.9, 0.5, 0.0]),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    st.randoms(use_true_random=False),
)
def test_every_allowed_token_has_a_probability_or_the_filter_that_removed_it(row, k, p, min_p, random):
    sampling = Sampling(temperature=0.7, top_k=k, top_p=p, min_p=min_p)
    allowed = np.array([random.random() < 0.6 for _ in row])
    allowed[random.randrange(row.size)] = True
    draw = SamplerState(sampling).draw(row, Allowed.of(allowed), [])
    free = [token for token in range(row.size) if allowed[token]]
    removed = dict(zip(free, draw.removed_by(free)))
    assert allowed[draw.id] and removed[draw.id] == ""
    assert {token for token, by in removed.items() if not by} == set(draw.ids.tolist())
    after_k, after_p, after_min = draw.left
    assert 1 <= after_min <= after_p <= after_k <= len(free)
    counts = {by: list(removed.values()).count(by) for by in ("top-k", "top-p", "min-p")}
    assert counts == {
        "top-k": len(free) - after_k,
        "top-p": after_k - after_p,
        "min-p": after_p - after_min,
    }
    order = sorted(free, key=lambda token: (-float(row[token]), token))
    assert list(map(removed.get, order)) == sorted(
        map(removed.get, order), key=["", "min-p", "top-p", "top-k"].index
    )


def test_filters_apply_to_the_allowed_tokens_and_leave_at_least_one():
    row = np.array([10, 9, 1, 0], dtype=np.float32)
    allowed = Allowed.of(np.array([False, False, True, True]))
    sampling = Sampling(temperature=1.0, top_k=2, top_p=0.5, min_p=1.0)
    draw = SamplerState(sampling).draw(row, allowed, [])
    assert (draw.id, draw.left, draw.removed_by([2, 3])) == (2, (2, 1, 1), ["", "top-p"])
    pieces = [b"a", b"b", b"c", b"d"]
    reported = {
        each.text: each.removed
        for each in Evidence(row, allowed=allowed).alternatives(4, draw, pieces)
        if each.allowed
    }
    assert reported == {"c": "", "d": "top-p"}


def test_greedy_sampling_has_no_filters():
    draw = SamplerState(Sampling(temperature=0.0, top_k=1)).draw(np.array([1, 2], dtype=np.float32), None, [])
    assert (draw.left, draw.removed_by([0, 1])) == ((), ["", ""])


def test_a_token_without_filters_is_recorded_without_the_fields():
    plain = Alternative(1, b"a", "a", 0.5, 0.5, True)
    step = TokenStep(index=0, id=1, data=b"a", text="a", alternatives=(plain,))
    line = encode_event(Token(t=0.0, run="r", stage="s", step=step, start=0, end=1))
    assert (
        b"left" not in line
        and b"removed" not in line
        and line.endswith(b'"decode_ms":0.0},"start":0,"end":1}')
    )
    filtered = msgspec.structs.replace(
        step, left=(3, 2, 1), alternatives=(msgspec.structs.replace(plain, removed="min-p"),)
    )
    event = Token(t=0.0, run="r", stage="s", step=filtered, start=0, end=1)
    assert decode_event(encode_event(event)) == event


# -- stop strings ----------------------------------------------------------------------------------------------


@at_most(300)
@given(
    st.text("ab\n", max_size=40),
    st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3, unique=True),
    st.lists(st.integers(1, 5), min_size=1),
)
def test_the_answer_ends_before_the_first_stop_string_in_any_chunks(text, stops, sizes):
    ends = [0, *accumulate(islice(cycle(sizes), len(text)))]
    chunks = [text[start:end] for start, end in pairwise(ends) if text[start:end]]
    asked = request(stop=tuple(stops), stop_on="never", repair=RepairSettings(extract=False))
    state = run_state(run(asked, ScriptedModel(chunks)))
    said, found = state.text, state.stop_string
    assert not any(stop in said for stop in stops)
    assert text.startswith(said) and (
        said == text if found is None else text[len(said) :].startswith(found.text)
    )


def test_a_stop_string_ends_the_answer_and_is_not_part_of_it():
    events, state, last = ended([GOOD, "\n", "\nAnd", " more"], stop=("\n\n",), stop_on="never")
    found = next(event for event in events if isinstance(event, StopStringFound))
    assert (state.text, found.char, found.text, found.token) == (GOOD, len(GOOD), "\n\n", 2)
    assert (last.reason, last.valid, len(state.tokens)) == ("stop-string", True, 3)
    assert not state.violations


def test_a_stop_string_inside_the_call_leaves_it_truncated():
    events, state, last = ended([GOOD], stop=(" max",))
    assert (last.reason, last.valid) == ("stop-string", False)
    assert [event.code for event in events if isinstance(event, Violation)] == ["TRUNCATED"]
    assert state.text == '{action="search" query="AI news"'


def test_a_prefix_of_a_stop_string_is_validated_with_its_own_token():
    plain, _, _ = ended(['{action="', "delete", '_all"}'])
    delayed, _, _ = ended(['{action="', "delete", '_all"}'], stop=('="delete!',))
    assert next(e for e in plain if isinstance(e, Violation)).token == 1
    assert next(e for e in delayed if isinstance(e, Violation)).token == 1
    _, state, last = ended([GOOD], stop=("}\n",))
    assert (state.text, last.valid) == (GOOD, True)


def test_a_violation_before_the_stop_string_in_the_same_token_stops_the_run_first():
    _, _, last = ended(['{action="x"} STOP'], stop=("STOP",))
    assert last.reason == "aborted"


def test_written_text_is_not_a_stop_string():
    _, state, _ = ended([GOOD], stop=("{",), written=(PrefixPart(b"{"),))
    assert state.text == GOOD


def test_a_stop_string_ends_each_stage_and_its_replay_is_the_same():
    asked = request(stop=("STOP",))
    events = list(run(asked, ScriptedModel([GOOD[:-1], " ST", "OP}"])))
    again = list(run(asked, RecordedModel(events)))
    assert [e.reason for e in (events[-1], again[-1]) if isinstance(e, RunFinished)] == ["stop-string"] * 2
    assert run_state(again).text == run_state(events).text == GOOD[:-1] + " "


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"stop": ("",)}, "stop"),
        ({"stop": ("x" * 201,)}, "stop"),
        ({"stop": tuple(map(str, range(17)))}, "stop"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 10**20}, "max_tokens"),
        ({"most_calls": 0}, "most_calls"),
        ({"sampling": Sampling(seed=10**20)}, "seed"),
        ({"sampling": Sampling(top_k=-(10**20))}, "top_k"),
        ({"sampling": Sampling(repeat_last_n=2**64)}, "repeat_last_n"),
        ({"sampling": Sampling(repeat_penalty=0.0)}, "repeat_penalty"),
        ({"sampling": Sampling(temperature=math.nan)}, "temperature"),
        ({"sampling": Sampling(min_p=math.inf)}, "min_p"),
        ({"sampling": Sampling(presence_penalty=3.0)}, "presence_penalty"),
        ({"sampling": Sampling(dry_base=0.5)}, "dry_base"),
        ({"sampling": Sampling(dry_sequence_breakers=("",))}, "dry_sequence_breakers"),
        ({"sampling": Sampling(dry_sequence_breakers=())}, "dry_sequence_breakers"),
        ({"sampling": Sampling(logit_bias=("x" * 41 + "=1",))}, "logit_bias"),
        ({"sampling": Sampling(logit_bias=("7",))}, "logit_bias"),
        ({"sampling": Sampling(logit_bias=("7=nan",))}, "logit_bias"),
        ({"sampling": Sampling(logit_bias=("7=101",))}, "logit_bias"),
        ({"sampling": Sampling(logit_bias=('"7=1',) * 101)}, "logit_bias"),
        ({"sampling": Sampling(logit_bias=("7=1", "7=2"))}, "logit_bias"),
        ({"sampling": Sampling(logit_bias=('"\\x"=2',))}, "logit_bias"),
    ],
)
def test_impossible_sampling_settings_are_rejected_by_name(changes, where):
    _, _, last = ended([GOOD], **changes)
    assert isinstance(last, RunFailed) and last.code == "BAD_REQUEST" and last.message.startswith(where)


def test_typed_typed_texts_are_read_with_their_escapes_and_written_back():
    assert typed_texts([r"\n\n", r"\d", r"a\\n", "", r"\n\n"]) == ("\n\n", r"\d", r"a\n")
    assert typed_texts(text_lines(("\n\\n", "\t", "é"))) == ("\n\\n", "\t", "é")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("42=-5", (42, -5.0)), ('"42"=1', ("42", 1.0)), (" a=b=2.5", (" a=b", 2.5)), ("\n=1", ("\n", 1.0)),
     ('"\\""=1', ('"', 1.0)), ('"=1', ('"', 1.0)), ("½=1", ("½", 1.0))],
)  # fmt: skip
def test_a_logit_bias_is_read_as_an_id_or_a_text(text, expected):
    assert read_bias(text) == expected


# -- command line, endpoints, exports --------------------------------------------------------------------------


def test_the_command_line_sets_every_sampling_value_and_a_profile_gives_the_others():
    def started(*arguments):
        result = command("run", "-m", f"scripted:{GOOD}", "--constraint", "off", "--json", *arguments, "p")
        assert result.exit_code == 0, result.output
        event = decode_event(result.stdout.splitlines()[0])
        assert isinstance(event, RunStarted)
        return event.request

    asked = started(
        *(
            "--temperature",
            "0.7",
            "--top-k",
            "5",
            "--top-p",
            "0.5",
            "--min-p",
            "0.1",
            "--repeat-penalty",
            "1.1",
        ),
        *("--repeat-last-n", "-1", "--stop", r"\n\n", "--stop", "END", "--max-tokens", "99", "--seed", "3"),
    )
    assert asked.sampling == Sampling(
        temperature=0.7, top_k=5, top_p=0.5, min_p=0.1, repeat_penalty=1.1, repeat_last_n=-1, seed=3
    )
    assert (asked.stop, asked.max_tokens) == (("\n\n", "END"), 99)
    assert started().sampling == Sampling() and started().stop == ()
    creative = started("--profile", "creative", "--top-k", "7").sampling
    assert (creative.temperature, creative.top_k, creative.top_p, creative.min_p) == (1.5, 7, 1.0, 0.1)


def test_the_command_line_takes_lists_of_texts_with_escapes():
    options = ["--dry-multiplier", "0.8", "--dry-sequence-breakers", r"\n", "--dry-sequence-breakers", ";"]
    options += ["--logit-bias", " yes=2", "--logit-bias", "42=-5"]
    result = command("run", "-m", f"scripted:{GOOD}", "--constraint", "off", "--json", *options, "p")
    event = decode_event(result.stdout.splitlines()[0])
    assert isinstance(event, RunStarted)
    sampling = event.request.sampling
    assert (sampling.dry_sequence_breakers, sampling.logit_bias) == (("\n", ";"), (" yes=2", "42=-5"))
    assert sampling_words(sampling) == r"greedy, DRY 0.8, logit bias  yes=2 42=-5, DRY breakers \n ;"


RARE = Sampling(
    temperature=0.7, presence_penalty=0.5, frequency_penalty=0.25, typical_p=0.9, top_n_sigma=1.5,
    xtc_probability=0.3, dry_multiplier=0.8, logit_bias=("42=-5", "yes=2"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "sent", "unsaid"),
    [
        ("llama-server", {"presence_penalty": 0.5, "frequency_penalty": 0.25, "typical_p": 0.9, "top_n_sigma": 1.5,
          "xtc_probability": 0.3, "xtc_threshold": 0.1, "dry_multiplier": 0.8, "dry_base": 1.75,
          "dry_sequence_breakers": ["\n", ":", '"', "*"], "logit_bias": [[42, -5.0], ["yes", 2.0]]}, ""),
        ("vllm", {"presence_penalty": 0.5, "frequency_penalty": 0.25, "logit_bias": {"42": -5.0}},
         "typical_p, top_n_sigma, xtc_probability, dry_multiplier, logit_bias of texts"),
        ("openai", {"presence_penalty": 0.5, "frequency_penalty": 0.25, "logit_bias": {"42": -5.0}}, "dry_multiplier"),
    ],
)  # fmt: skip
def test_an_endpoint_gets_the_samplers_that_it_has_and_a_note_names_the_others(dialect, sent, unsaid):
    with endpoint(said(GOOD)) as server, remote(server, f"?dialect={dialect}") as model:
        state = run_state(run(request(sampling=RARE), model))
        list(run(request(sampling=Sampling()), model))
        bodies = [asked.body for asked in server.asked if "messages" in asked.body]
    assert sent.items() <= bodies[0].items()
    assert unsaid in state.prompt.note and ("no field" in state.prompt.note) == bool(unsaid)
    assert not {"logit_bias", "dry_sequence_breakers", "xtc_threshold"} & bodies[1].keys()
    if dialect == "openai":
        assert "presence_penalty" not in bodies[1]


@pytest.mark.model
@pytest.mark.slow
def test_a_bias_of_a_text_of_several_tokens_ends_the_run_with_a_clear_error():
    with closing(open_model("embedded", options=LoadOptions(context=1024))) as model:
        for bias, words in (("supercalifragilistic=5", "no single token"), ("60000=1", "49,152 tokens")):
            *_, last = run(request(sampling=Sampling(logit_bias=(bias,))), model)
            assert isinstance(last, RunFailed) and words in last.message and "logit" in last.message
        biased = Sampling(logit_bias=(" the=100",))
        state = run_state(run(request(sampling=biased, max_tokens=3, stop_on="never"), model))
        assert state.text == " the the the"


def test_an_unknown_profile_and_a_bad_penalty_are_bad_usage():
    for arguments in (["--profile", "hot"], ["--repeat-penalty", "0"], ["--temperature", "nan"]):
        result = command("run", "-m", f"scripted:{GOOD}", *arguments, "p")
        assert result.exit_code == 2, (arguments, result.output)


@pytest.mark.parametrize(
    ("dialect", "saved"), [("vllm", {"include_stop_str_in_output": True}), ("sglang", {"no_stop_trim": True})]
)
def test_an_endpoint_returns_the_stop_string_where_it_can(dialect, saved):
    with endpoint(said(GOOD, "END")) as server, remote(server, f"?dialect={dialect}") as model:
        events = list(run(request(stop=("END",), stop_on="never"), model))
        body = server.asked[-1].body
    assert body["stop"] == ["END"] and saved.items() <= body.items()
    assert (events[-1].reason, run_state(events).text) == ("stop-string", GOOD)


def test_typed_texts_beyond_the_limit_of_openai_end_the_answer_locally():
    with endpoint(said(GOOD, "E")) as server, remote(server, "?dialect=openai") as model:
        events = list(run(request(stop=("A1", "B", "C", "D", "E"), stop_on="never"), model))
        body = server.asked[-1].body
    assert body["stop"] == ["A1", "B", "C", "D"]
    assert (events[-1].reason, run_state(events).text) == ("stop-string", GOOD)
    assert "takes 4 stop strings" in run_state(events).prompt.note


def test_exports_include_the_sampling_and_test_only_the_answer():
    sampling = Sampling(temperature=0.7, top_k=5, min_p=0.1, repeat_penalty=1.1)
    asked = request(sampling=sampling, stop=("\n",), max_tokens=99, stop_on="never")
    record = RecordedRun(run(asked, ScriptedModel([GOOD, "\nmore"])))
    body = json.loads(export(record, "curl").partition(" -d '")[2].rstrip()[:-1])
    assert (body["top_k"], body["min_p"], body["repeat_penalty"], body["stop"]) == (5, 0.1, 1.1, ["\n"])
    assert body["max_tokens"] == 99
    source = export(record, "pytest")
    assert sampling_words(sampling) in source and r'at most 99 tokens, stop "\n"' in source
    namespace = {}
    exec(source, namespace)
    tests = [test for name, test in namespace.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_sampling_in_words_omits_settings_without_an_effect():
    assert sampling_words(Sampling()) == "greedy"
    off = Sampling(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0)
    assert sampling_words(off) == "temperature 0.8"
    assert sampling_words(Sampling(repeat_penalty=1.1)) == "greedy, repeat penalty 1.1"
