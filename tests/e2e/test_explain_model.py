"""A masked alternative of the embedded model: its reason, the cost of allowing it, and shortened texts."""

from copy import deepcopy

import msgspec
import pytest

from cli_command import command
from glyphscope.events import CallReady, PromptRendered, RunFailed, RunRequest, Token
from glyphscope.explain.constraint_attribution import Attributor
from glyphscope.explain.impact import mask_impact
from glyphscope.explain.relaxing import relaxation_cost
from glyphscope.explain.retokenization import boundaries_of
from glyphscope.models import EMBEDDED
from glyphscope.registry import default_registry, parse_document
from glyphscope.runs import branch_request, run_state
from glyphscope.runs.strategies import run
from glyphscope.store.records import encode_record
from glyphscope_gui.shared.page_ids import PageId
from toolbox import of

pytestmark = [pytest.mark.model, pytest.mark.slow]

PROMPT = "Search for AI news, 10 results"


def small_limit():
    """Return the tools, with at most 5 results for a search."""
    document = deepcopy(default_registry().to_document())
    document["tools"][0]["parameters"]["properties"]["max_results"]["maximum"] = 5
    return document


@pytest.fixture(scope="module")
def limited(model):
    """A run whose number of results was constrained, and whose model preferred 10."""
    asked = RunRequest(prompt=PROMPT, registry=small_limit(), max_tokens=60, model=EMBEDDED)
    events = list(run(asked, model))
    at = next(t.step.index for t in of(Token, events) if t.end > run_state(events).text.index('"}'))
    return list(run(branch_request(events, at, text='" max_results='), model))


def test_the_preferred_token_is_explained_and_available_without_its_constraint(model, limited, tmp_path):
    (conflict,) = [
        conflict for conflict in mask_impact(run_state(limited)).conflicts if conflict.path == "/max_results"
    ]
    masked = conflict.worst
    assert (masked.before, masked.preferred, masked.sampled) == ("1", "0", "}")
    assert (masked.attribution.pointer, masked.attribution.keyword) == (
        "/properties/max_results/maximum",
        "maximum",
    )
    assert conflict.lost > masked.preferred_raw > 0.5
    step = of(Token, limited)[masked.token].step
    taken = next(one for one in step.alternatives if one.text == "0")
    constrained = list(run(branch_request(limited, masked.token, take=taken.id), model))
    assert isinstance(constrained[-1], RunFailed)
    free = list(
        run(branch_request(limited, masked.token, take=taken.id, relax=masked.attribution[:2]), model)
    )
    assert of(CallReady, free)[0].arguments["max_results"] == 10
    before, after = of(PromptRendered, limited)[0], of(PromptRendered, free)[0]
    assert (
        after.text == before.text and after.cached == after.tokens - 1
    )  # no token of the prompt is evaluated again
    cost = relaxation_cost(limited, free)
    assert [violation.code for violation in cost.violations] == ["CONSTRAINT_MAX"]
    assert cost.before.feasible < 0.5 < cost.after.feasible and cost.before.allowed < cost.after.allowed
    record, parent = tmp_path / "free.jsonl", tmp_path / "limited.jsonl"
    record.write_bytes(encode_record(free))
    parent.write_bytes(encode_record(limited))
    assert command("replay", "--verify", record).exit_code == 0
    reported = command("explain", record, "--of", parent)
    assert reported.exit_code == 0 and "max_results changed from 1 to 10." in reported.output, reported.output
    assert "Token boundaries are unknown" not in reported.output


def test_a_masked_alternative_is_allowed_when_its_constraint_is_relaxed(model, limited):
    """Relax the constraints of up to four masked alternatives of the run."""
    registry = parse_document(small_limit())
    refusals = Attributor(limited[0].request, registry)
    state = run_state(limited)
    tried = 0
    for token in state.tokens:
        for one in token.step.alternatives[:4]:
            text = one.data.decode(errors="ignore")
            if one.allowed or not text or token.step.origin == "written":
                continue
            refused = refusals.find(state.text[: token.start], text)
            if refused is None or tried >= 4:
                continue
            tried += 1
            asked = branch_request(limited, token.step.index, take=one.id, relax=refused[:2])
            ended = list(run(msgspec.structs.replace(asked, max_tokens=1), model))[-1]
            assert not isinstance(ended, RunFailed), (one, refused, ended)
    assert tried >= 2


def test_the_models_own_tokenization_is_recognized_and_a_split_word_reported(model, limited):
    prompt = of(PromptRendered, limited)[0].text
    steps = [token.step for token in of(Token, limited)]
    assert boundaries_of(prompt, steps, model).canonical
    place = next(step.index for step in steps if step.text == " max")
    split = list(run(branch_request(limited, place, text=" max_res"), model))
    (one,) = boundaries_of(prompt, [token.step for token in of(Token, split)], model).differences
    assert (one.run, one.own, one.more, one.cause) == (("res", "ults"), ("results",), 1, "written")


def test_the_window_explains_a_run_of_the_embedded_model(window, qtbot):
    page = window.page(PageId.PLAYGROUND)
    window.start()
    qtbot.waitUntil(lambda: window.runs.model.phase == "ready", timeout=240_000)
    with qtbot.waitSignal(window.runs.ended, timeout=240_000):
        window.runs.run(RunRequest(prompt=PROMPT, registry=small_limit(), max_tokens=60, model=EMBEDDED))
    view = page.view.impact
    qtbot.waitUntil(lambda: not page.stages.explain.is_busy)
    assert view.words.text().startswith("Grammar and model conflict in: outside fields")
    assert "All 10 tokens are as in the model's own tokenization" in view.boundaries.text()
