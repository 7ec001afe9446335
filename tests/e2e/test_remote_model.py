"""The embedded model behind the real server of llama-cpp-python, on loopback, beside the same model in process."""

from __future__ import annotations

import itertools
import time

import pytest

from glyphscope.events import Answer, PromptRendered, RunFinished, RunRequest, Sampling
from glyphscope.models import EMBEDDED, open_model
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from toolbox import default_tools

pytestmark = [pytest.mark.model, pytest.mark.slow]
pytest.importorskip("starlette_context")

PROMPTS = ("Search for AI news, 10 results", "Read notes.txt")
REGISTRY = default_tools("search", "read_file").to_document()
NEAR = 0.7
"""The lowest ratio of another token's probability to the most likely one's at which it may win instead."""


@pytest.fixture(scope="module")
def here():
    model = open_model(EMBEDDED)
    yield model
    model.close()


@pytest.fixture(scope="module")
def there(url):
    model = open_model(url)
    yield model
    model.close()


def request(prompt: str, **fields) -> RunRequest:
    return RunRequest(
        prompt=prompt,
        registry=REGISTRY,
        sampling=Sampling(temperature=0.0),
        max_tokens=24,
        **({"stop_on": "never"} | fields),
    )


def test_the_server_is_recognized(there):
    assert there.dialect.name == "llama-cpp-python"
    assert (there.info.kind, there.info.name, there.info.sha256) == ("remote", "smol", "")


@pytest.mark.parametrize(
    ("notation", "constraint"), list(itertools.product(("glyph", "json"), ("off", "mask", "gbnf")))
)
def test_the_server_answers_like_the_local_model_except_for_near_ties(here, there, notation, constraint):
    """Two causes are known. We evaluate the last token of a prompt alone and the server among the others, which takes
    other kernels of llama.cpp and moves logits by a tenth or two; and the mask forces tokens that a sampler under the
    same grammar may write otherwise, after which the model reads other tokens of the same text.
    """
    for prompt in PROMPTS if constraint == "mask" else PROMPTS[:1]:
        asked = request(prompt, notation=notation, constraint=constraint)
        own, served = list(run(asked, here)), list(run(asked, there))
        assert isinstance(served[-1], RunFinished), served[-1]
        assert served[0].request.constraint == ("off" if constraint == "off" else "endpoint")
        one, other = run_state(own), run_state(served)
        if constraint != "off":
            assert (one.outcome, other.outcome) == ("valid", "valid")
        if one.text != other.text:
            _is_explained(one.tokens, other.tokens)


def _is_explained(own, served) -> None:
    """Whether the first token that differs was forced here, or its rival was nearly as likely."""
    one, other = next(
        (one.step, other.step) for one, other in zip(own, served) if one.step.data != other.step.data
    )
    if one.forced:
        return
    rivals = [each.raw for each in one.alternatives if each.data == other.data and each.allowed]
    best = max(each.raw for each in one.alternatives if each.allowed)
    assert rivals and rivals[0] >= NEAR * best, (one, other)


def test_characters_of_several_tokens_arrive_complete(there):
    """With log-probabilities, llama_cpp.server leaves out tokens that are half a character."""
    call = '{action="search" query="東京 天気"}'
    grammar = 'root ::= "' + call.replace('"', '\\"') + '"'
    served = run_state(run(request("Search.", constraint="gbnf", grammar=grammar), there))
    assert (served.outcome, served.text) == ("valid", call)


def test_a_constrained_call_has_a_note_with_the_field(there):
    events = list(run(request(PROMPTS[0], constraint="mask"), there))
    prompt = next(event for event in events if isinstance(event, PromptRendered))
    assert "as GBNF in grammar (llama_cpp.server)" in prompt.note


@pytest.mark.parametrize(
    "answer",
    [
        Answer("schema", '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'),
        Answer("regex", "[0-9]{4}-[0-9]{2}"),
        Answer("choice", "positive\nnegative"),
        Answer("gbnf", 'root ::= [0-9] "+" [0-9]\n'),
        Answer(
            "lark", 'start: "let" NAME "=" NUMBER\nNAME: /[a-z]{1,9}/\nNUMBER: /[0-9]{1,3}/\n%ignore / /\n'
        ),
    ],
    ids=lambda answer: answer.kind,
)
def test_every_answer_that_is_not_a_call_is_enforced_as_gbnf(there, answer):
    events = list(run(request("Say it.", answer=answer, notation="json", constraint="mask"), there))
    prompt = next(event for event in events if isinstance(event, PromptRendered))
    assert "as GBNF in grammar (llama_cpp.server)" in prompt.note
    state = run_state(events)
    assert state.outcome == "valid" and state.answer is not None, state.text


def test_an_abort_frees_the_server_for_the_next_run(there):
    aborted = list(run(request(PROMPTS[1], constraint="off", stop_on="error"), there))
    start = time.monotonic()
    again = list(run(request(PROMPTS[0], constraint="mask"), there))
    assert aborted[-1].reason == "aborted" and isinstance(again[-1], RunFinished)
    assert time.monotonic() - start < 60


def test_the_server_counts_tokens_as_the_model_does(here, there):
    for text in ("", "Search for AI news", '{"action": "search"}', "é€😀"):
        assert there.count_tokens(text) == here.count_tokens(text)


def test_routing_and_the_loop_run_at_the_server(there):
    for strategy in ("route-execute", "loop"):
        events = list(run(request(PROMPTS[0], strategy=strategy), there))
        assert isinstance(events[-1], RunFinished), events[-1]


def test_two_stages_are_rejected_as_the_server_cannot_continue_an_answer(there):
    failed = list(run(request(PROMPTS[0], strategy="two-stage"), there))[-1]
    assert "cannot continue" in failed.message


def test_a_prompt_beyond_the_context_is_reported_although_the_server_sends_nothing(there):
    failed = list(run(request("word " * 6000, constraint="off"), there))[-1]
    assert "without an event" in failed.message and "context" in failed.hint


def test_its_tokens_have_the_models_figures_where_log_probabilities_are_requested(here, url):
    asked = request(PROMPTS[0], constraint="mask")
    served_by = open_model(f"{url}?logprobs=yes")
    try:
        own, served = (run_state(run(asked, model)).tokens for model in (here, served_by))
    finally:
        served_by.close()
    assert [token.step.data for token in served] == [token.step.data for token in own]
    for one, other in zip(own, served):
        assert not other.step.piece and other.step.id == -1 and other.step.probability is None
        if one.step.logprob is not None:
            assert other.step.logprob == pytest.approx(one.step.logprob, abs=0.4)  # other kernels, as above
