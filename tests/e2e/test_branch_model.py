"""Branches with the embedded model: sampled tokens are reproduced, masked ones rejected, and the cache is used."""

import threading
from functools import partial

import msgspec
import pytest

from cli_command import command
from examples import rounds
from glyphscope.events import (
    CallReady,
    PrefixPart,
    PromptEvaluated,
    PromptRendered,
    RunFailed,
    RunRequest,
    Sampling,
    StageFinished,
    Token,
    Violation,
    decode_event,
)
from glyphscope.registry import default_registry
from glyphscope.runs import branch_request, run_state
from glyphscope.runs.strategies import continue_aborted, run
from glyphscope.store.records import encode_record
from toolbox import of

pytestmark = [pytest.mark.model, pytest.mark.slow]

REGISTRY = default_registry().to_document()


request = partial(RunRequest, prompt="Search for AI news, 10 results", registry=REGISTRY, max_tokens=60)


@pytest.fixture(scope="module")
def events(model):
    """A run, for tests that only branch from it."""
    return list(run(request(), model))


def steps(events):
    return [event.step for event in of(Token, events)]


def branched(model, events, token, changes=None, **more):
    asked = branch_request(events, token, **more)
    return list(run(msgspec.structs.replace(asked, **(changes or {})), model))


def compared(one, other):
    return [(s.index, s.id, s.text, s.forced, s.end, s.allowed) for s in one] == [
        (s.index, s.id, s.text, s.forced, s.end, s.allowed) for s in other
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"notation": "json"},
        {"notation": "json", "constraint": "gbnf"},
        {"constraint": "off", "stop_on": "never", "max_tokens": 24},
        {"sampling": Sampling(temperature=1.0, seed=4)},
        {"prompt": "Search for café münchen 🦜, 3 results", "sampling": Sampling(repeat_penalty=1.1)},
    ],
    ids=["mask", "json", "gbnf", "off", "drawn", "characters"],
)
def test_sampling_repeats_itself_after_a_branch(model, settings, tmp_path):
    """With tokens kept up to some place and the same one chosen again, the rest repeats the run; a deep profile takes
    any place.
    """
    events = list(run(request(**settings), model))
    whole = steps(events)
    assert len(whole) > 8
    for token in range(0, len(whole), rounds(6, 1) if settings else rounds(2, 1)):
        step = whole[token]
        taken = None if step.end else step.id
        # the text after the inserted one has its own limit: the branch must end where the run did
        left = {"max_tokens": events[0].request.max_tokens - token - (taken is not None)}
        if not left["max_tokens"]:
            continue
        again = branched(model, events, token, left, take=taken)
        assert compared(steps(again), whole), (token, run_state(again).text)
        assert [step.origin for step in steps(again)][: token + 1] == ["kept"] * token + [
            "written" if taken is not None else "model"
        ]
        assert again[-1].reason == events[-1].reason
        record = tmp_path / "branch.jsonl"
        record.write_bytes(encode_record(again))
        assert command("replay", "--verify", str(record)).exit_code == 0


def test_a_written_token_has_the_figures_of_the_sampled_one(model, events):
    whole = steps(events)
    again = steps(branched(model, events, len(whole)))
    for one, other in zip(whole, again):
        assert other.logprob == pytest.approx(one.logprob, abs=0.05)
        assert other.feasible == pytest.approx(one.feasible, abs=0.02)
        assert (other.probability, other.allowed) == (one.probability, one.allowed)
        assert len(other.alternatives) in (10, 11)


def test_a_masked_alternative_is_rejected_under_the_mask_and_accepted_without_it(model, events):
    place, masked = next(
        (step.index, other)
        for step in steps(events)
        for other in step.alternatives
        if not step.forced and not other.allowed and other.text.strip()
    )
    refused = branched(model, events, place, take=masked.id)
    assert isinstance(refused[-1], RunFailed) and refused[-1].code == "CONSTRAINT_FAILED"
    assert f"token {place} of the existing text, {masked.text!r} (id {masked.id})" in refused[-1].message
    assert "allowed there" in refused[-1].message and "turn the constraint off" in refused[-1].hint
    free = branched(model, events, place, {"max_tokens": 30}, take=masked.id, constraint="off")
    taken = steps(free)[place]
    assert (taken.id, taken.origin, taken.logprob < 0) == (masked.id, "written", True)
    assert taken.rank is not None and len(steps(free)) > place + 1


def test_typed_text_is_tokenized_as_text_and_the_model_continues_it(model, events):
    value = run_state(events).text.index('query="') + len('query="')
    saved = next(token for token in of(Token, events) if token.start >= value)
    again = branched(model, events, saved.step.index, text='news" max_results=')
    (call,) = of(CallReady, again)
    assert call.arguments["max_results"] and run_state(again).text.count("news") == 1
    assert not of(Violation, again)
    typed = branched(model, events, 0, text="<|im_end|>", constraint="off", changes={"max_tokens": 3})
    assert "".join(s.text for s in steps(typed) if s.origin == "written") == "<|im_end|>"
    assert not any(step.end for step in steps(typed) if step.origin == "written")


def test_typed_text_may_be_tokenized_otherwise_than_under_the_mask(model, events):
    """Where a text is forced, the mask allows the sampled token, but not shorter ones with the same text."""
    place, step = next((s.index, s) for s in steps(events) if s.forced and len(s.data) > 3)
    again = branched(model, events, place, text=step.text[:3])
    assert of(CallReady, again)[0].arguments == of(CallReady, events)[0].arguments
    assert run_state(again).text == run_state(events).text
    assert len(steps(again)) > len(steps(events))


def test_typed_text_that_splits_a_word_has_a_note(model):
    events = list(run(request(constraint="off", stop_on="never", max_tokens=4), model))
    split = branched(model, events, 0, {"max_tokens": 1}, text='{action="se')
    again = branched(model, split, len(steps(split)) - 1, {"max_tokens": 1}, text='arch"')
    assert "the existing text has other tokens" in of(PromptRendered, again)[0].note
    whole = branched(model, events, 0, {"max_tokens": 1}, text='{action="search"')
    assert "other tokens" not in of(PromptRendered, whole)[0].note


def test_an_incomplete_character_can_be_continued(model):
    asked = request(constraint="off", stop_on="never", max_tokens=1)
    events = list(run(asked, model))
    parrot = branched(model, events, 0, {"max_tokens": 8}, text='{action="search" query="🦜')
    half = next(step.index for step in steps(parrot) if step.data and not step.text) + 1
    again = branched(model, parrot, half, {"constraint": "mask", "max_tokens": 60})
    assert of(CallReady, again), again[-1]
    assert again[0].request.written[-1].data == steps(parrot)[half - 1].data


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.8, seed=3)])
def test_the_continuation_of_an_aborted_branch_is_its_rest(model, sampling):
    prompt = 'Write exactly {action="frobnicate" x=1}'  # not one of the tools
    asked = request(prompt=prompt, constraint="off", sampling=sampling, stop_on="never", max_tokens=30)
    events = list(run(asked, model))
    whole = branched(model, events, 0, text='{action="')
    aborted = branched(model, events, 0, {"stop_on": "error"}, text='{action="')
    assert aborted[-1].reason == "aborted", run_state(aborted).text
    rest = list(continue_aborted(aborted[0].request, aborted, model))
    assert compared(steps([*aborted, *rest]), steps(whole))


def test_a_chosen_end_token_ends_the_answer(model):
    events = list(run(request(constraint="off", stop_on="never", max_tokens=2), model))
    end = model.vocabulary().names["<|im_end|>"]
    asked = branch_request(events, 1)
    asked = msgspec.structs.replace(asked, written=(*asked.written, PrefixPart(b"<|im_end|>", end)))
    again = list(run(asked, model))
    assert again[-1].reason == "end-of-text" and steps(again)[-1].end and len(steps(again)) == 2
    under = list(run(msgspec.structs.replace(asked, constraint="mask"), model))
    assert isinstance(under[-1], RunFailed) and "The constraint does not allow token" in under[-1].message


@pytest.mark.parametrize(
    ("written", "words"),
    [((b"zzz", 999_999), "has no such token"), ((b"zzz", 300), "writes")],
)
def test_an_unknown_token_is_rejected(model, written, words):
    failed = list(run(request(written=(PrefixPart(*written),)), model))
    assert isinstance(failed[-1], RunFailed) and words in failed[-1].message
    assert list(run(request(), model))[-1].valid


def test_a_branch_evaluates_only_what_is_not_cached(model):
    events = list(run(request(), model))
    count = len(steps(events))
    again = branched(model, events, count - 2)
    (prompt,) = of(PromptRendered, again)
    assert prompt.cached == prompt.tokens - 1 == of(StageFinished, again)[0].cached
    cheap = branched(model, events, count - 2, {"evidence": "chosen"})
    reported = of(PromptEvaluated, cheap)
    assert (reported[0].done, reported[0].total) == (prompt.tokens + count - 3, prompt.tokens + count - 2)
    assert of(PromptRendered, cheap)[0].cached == prompt.tokens
    assert compared(steps(cheap), steps(events))
    assert steps(cheap)[0].probability == 1.0 and steps(cheap)[0].logprob is None


def test_written_text_beyond_the_context_is_an_overflow(model):
    long = list(run(request(constraint="off", max_tokens=1), model))
    again = branched(model, long, 0, text="word " * 5000)
    assert isinstance(again[-1], RunFailed) and again[-1].code == "CONTEXT_OVERFLOW"


def test_evaluating_written_text_can_be_stopped(model):
    asked = request(constraint="off", written=(PrefixPart(b"word " * 2500),))
    stop = threading.Timer(0.3, model.cancel)
    reported = []
    for event in run(asked, model):
        reported.append(event)
        if isinstance(event, PromptEvaluated) and event.done == event.total:
            stop.start()
    stop.join()
    assert reported[-1].reason == "cancelled" and not of(Token, reported)
    assert list(run(request(), model))[-1].valid


def test_the_command_branches_like_the_engine(tmp_path):
    record, out = str(tmp_path / "run.jsonl"), str(tmp_path / "out.jsonl")
    first = command("run", "Search for AI news, 10 results", "--json", "--record", record)
    events = [decode_event(line) for line in first.stdout.splitlines()]
    place, masked = next(
        (step.index, other)
        for step in steps(events)
        for other in step.alternatives
        if not step.forced and not other.allowed
    )
    refused = command("branch", record, "--at", str(place), "--take", f"#{masked.id}", "--json")
    assert refused.exit_code == 2 and "CONSTRAINT_FAILED" in refused.stdout
    free = command(
        "branch", record, "--at", str(place), "--take", f"#{masked.id}", "--constraint", "off",
        "--max-tokens", "12", "--record", out,
    )  # fmt: skip
    assert free.exit_code in (0, 1), free.output
    assert command("replay", "--verify", out).exit_code == 0
