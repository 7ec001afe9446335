import itertools
from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import ContextOverflow, GrammarError, ModelDied, ModelError, PromptError
from glyphscope.events import (
    Aborted,
    CallReady,
    PromptEvaluated,
    PromptRendered,
    RepairSettings,
    RunFailed,
    RunFinished,
    RunRequest,
    RunStarted,
    Sampling,
    StageStarted,
    Token,
    TokenStep,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.models.interface import Cancelled, PromptProgress, PromptReady, RenderedPrompt
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import CONTINUATION, run_state
from glyphscope.runs.strategies import continue_aborted, run
from glyphscope.store import history
from toolbox import of

REGISTRY = default_registry().to_document()
GOOD = '{action="search" query="AI news" max_results=10}'
BAD = '{action="search" query="AI news" max_results=500} and more'
WRONG_TOOL = ["{action=", '"delete', '_database"', ' q="x"}']


request = partial(RunRequest, prompt="Search for AI news", registry=REGISTRY, constraint="off")


class Batches(ScriptedModel):
    """A scripted model that yields the given batches, counts the requested tokens, and records the requests."""

    def __init__(self, *batches, error: Exception | None = None) -> None:
        super().__init__("")
        self.batches, self.error = batches, error
        self.requests, self.asked, self.closed = [], 0, False

    def generate(self, request):
        self.requests.append(request)
        try:
            index = 0
            yield PromptProgress(3, 10, 1.0)
            yield PromptReady(10, 3, 7.0)
            for batch in self.batches:
                if isinstance(batch, Cancelled):
                    yield batch
                    return
                self.asked += 1
                texts = [batch] if isinstance(batch, str) else batch
                steps = tuple(
                    TokenStep(
                        index=index + i,
                        id=i,
                        data=text.encode(),
                        text=text,
                        forced=i < len(texts) - 1,
                        end=not text,
                    )
                    for i, text in enumerate(texts)
                )
                index += len(steps)
                yield steps
            if self.error:
                raise self.error
        finally:
            self.closed = True


def test_a_valid_call_runs_from_started_to_finished_in_order():
    events = list(run(request(), ScriptedModel(GOOD)))
    assert [type(event) for event in events[:4]] == [
        RunStarted,
        StageStarted,
        PromptRendered,
        PromptEvaluated,
    ]
    assert isinstance(events[4], Token)
    assert [type(event) for event in events[-2:]] == [CallReady, RunFinished]
    ready, finished = events[-2:]
    assert (ready.tool, ready.arguments, ready.text) == (
        "search",
        {"query": "AI news", "max_results": 10},
        GOOD,
    )
    assert (finished.reason, finished.valid, finished.tokens) == ("complete", True, len(of(Token, events)))


def test_every_event_has_its_run_its_stage_and_an_increasing_time():
    events = list(run(request(), ScriptedModel(GOOD)))
    assert len({event.run for event in events}) == 1 and events[0].run
    assert {event.stage for event in events[1:]} == {"call"}
    assert [event.t for event in events] == sorted(event.t for event in events)
    assert [decode_event(encode_event(event)) for event in events] == events


def test_versions_name_everything_that_affects_a_result():
    started = next(run(request(), ScriptedModel(GOOD)))
    assert {
        "glyphscope",
        "python",
        "llguidance",
        "jsonschema",
        "glyph-py",
        "msgspec",
    } <= started.versions.keys()


def test_tokens_and_fields_have_their_places_across_an_incomplete_character():
    script = ['{action="search" query="', b"\xf0\x9f", b"\x98\x80", '"}']
    events = list(run(request(), ScriptedModel(script)))
    assert [(token.start, token.end) for token in of(Token, events)] == [
        (0, 24),
        (24, 24),
        (24, 25),
        (25, 27),
    ]
    assert of(CallReady, events)[0].arguments == {"query": "😀"}


def test_a_violation_stops_the_run_before_another_token_is_decoded():
    model = Batches(*WRONG_TOOL)
    events = list(run(request(), model))
    aborted, stage, finished = events[-3:]
    assert (stage.reason, stage.valid, stage.tokens) == ("aborted", False, 2)
    assert isinstance(aborted, Aborted) and (aborted.code, aborted.char, aborted.token) == (
        "UNKNOWN_TOOL",
        9,
        1,
    )
    assert (aborted.tokens_decoded, model.asked, model.closed) == (2, 2, True)
    assert (finished.reason, finished.valid, finished.tokens) == ("aborted", False, 2)
    assert not of(CallReady, events)


def test_tokens_decoded_in_one_batch_with_the_violation_are_counted():
    events = list(run(request(), Batches(WRONG_TOOL[:3], WRONG_TOOL[3])))
    assert of(Aborted, events)[0].tokens_decoded == len(of(Token, events)) == 3
    assert of(RunFinished, events)[0].tokens == 3


@pytest.mark.parametrize(
    ("script", "reason", "codes"),
    [
        (WRONG_TOOL, "aborted", ["UNKNOWN_TOOL"]),
        (['{action="search" query="x" max_results=500}'], "complete", ["CONSTRAINT_MAX"]),
        (['{query="x"}'], "aborted", ["MISSING_TOOL"]),
        (["I will search."], "end-of-text", None),
    ],
)
def test_unknown_tool_stops_only_where_no_allowed_tool_is_called(script, reason, codes):
    events = list(run(request(stop_on="unknown-tool"), ScriptedModel(script)))
    assert events[-1].reason == reason and not events[-1].valid
    if codes:
        assert [event.code for event in of(Violation, events)] == codes


def test_never_continues_to_the_end_of_the_text():
    events = list(run(request(stop_on="never"), ScriptedModel(BAD)))
    assert run_state(events).text == BAD
    assert (events[-1].reason, events[-1].valid) == ("end-of-text", False)
    assert not of(Aborted, events)


def test_decoding_ends_with_a_complete_call():
    model = Batches(GOOD, " and", " more")
    assert list(run(request(), model))[-1].reason == "complete"
    assert (model.asked, model.closed) == (1, True)


def test_text_that_ends_early_is_truncated_and_the_length_limit_reported():
    events = list(run(request(), ScriptedModel('{action="search" query="x')))
    assert ([event.code for event in of(Violation, events)], events[-1].reason) == (
        ["TRUNCATED"],
        "end-of-text",
    )
    events = list(run(request(max_tokens=3), ScriptedModel(GOOD)))
    assert ([event.code for event in of(Violation, events)], events[-1].reason) == (["TRUNCATED"], "length")
    assert not events[-1].valid


def test_without_a_constraint_no_grammar_is_built(monkeypatch):
    def build(*arguments):
        raise AssertionError("built")

    monkeypatch.setattr("glyphscope.turns.grammar.build_turn_grammar", build)
    assert list(run(request(), ScriptedModel(GOOD)))[-1].valid


def test_each_engine_gets_the_grammar_in_its_own_language():
    model = Batches(GOOD)
    for constraint in ("mask", "gbnf"):
        list(run(request(constraint=constraint), model))
        list(run(request(constraint=constraint, grammar='root ::= "a"'), model))
    mask, own_mask, gbnf, own_gbnf = model.requests
    assert (
        mask.constraint == own_mask.constraint == "mask" and gbnf.constraint == own_gbnf.constraint == "gbnf"
    )
    assert mask.grammar.startswith("start: ") and "search" in mask.grammar
    assert gbnf.grammar.startswith("root ::= ") and "search" in gbnf.grammar
    assert own_gbnf.grammar == 'root ::= "a"'
    assert own_mask.grammar.startswith("start: ") and '"a"' in own_mask.grammar


@pytest.mark.parametrize(
    ("changes", "model", "code"),
    [
        ({"constraint": "gbnf", "grammar": "root ::= missing"}, Batches(), "CONSTRAINT_FAILED"),
        ({"constraint": "mask", "grammar": "root ::= missing"}, Batches(), "CONSTRAINT_FAILED"),
        ({"constraint": "gbnf", "grammar": ""}, Batches(), "CONSTRAINT_FAILED"),
        ({"registry": {"glyphscope": 1, "tools": 5}}, Batches(), "BAD_REQUEST"),
        ({"system": "{{ nothing.at_all }}"}, Batches(), "PROMPT_FAILED"),
        ({"preset": "no such preset"}, Batches(), "PROMPT_FAILED"),
        ({}, Batches(error=ContextOverflow(9, 5)), "CONTEXT_OVERFLOW"),
        ({}, Batches("{", error=ModelDied("gone", signal="SIGKILL", stderr="bye")), "MODEL_FAILED"),
        ({}, Batches(error=ModelError("no")), "MODEL_FAILED"),
        ({}, Batches(error=GrammarError("no")), "CONSTRAINT_FAILED"),
        ({}, Batches(error=PromptError("no")), "PROMPT_FAILED"),
    ],
)
def test_every_error_is_the_last_event_with_its_code(changes, model, code):
    events = list(run(request(**changes), model))
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFailed)
    assert events[-1].code == code and events[-1].message


def test_a_dead_process_leaves_its_signal_and_its_output():
    failed = list(run(request(), Batches(error=ModelDied("gone", signal="SIGKILL", stderr="bye"))))[-1]
    assert "SIGKILL" in failed.detail and "bye" in failed.detail and failed.hint


def test_a_prompt_that_does_not_fit_is_still_shown():
    class Full(ScriptedModel):
        def generate(self, request):
            raise ContextOverflow(9, 5)
            yield

    events = list(run(request(), Full("")))
    assert len(of(PromptRendered, events)) == 1 and events[-1].code == "CONTEXT_OVERFLOW"


def test_the_prompt_is_rendered_once_with_what_was_cached():
    rendered = of(PromptRendered, run(request(), Batches(GOOD)))
    assert [prompt.cached for prompt in rendered] == [3]
    finished = list(run(request(), Batches(GOOD)))[-1]
    assert finished.prompt_ms == 7.0 and 0 < finished.first_token_ms <= finished.total_ms


def test_the_tokens_of_the_parts_add_up_and_their_text_is_the_prompt():
    class Templated(ScriptedModel):
        def render_chat(self, messages):
            text = (
                "".join(f"<|{m.role}|>\n{m.content.strip()}<|end|>\n" for m in messages) + "<|assistant|>\n"
            )
            return RenderedPrompt(text, self.count_tokens(text) + 1)

    prompt = of(PromptRendered, run(request(), Templated(GOOD)))[0]
    assert sum(part.tokens for part in prompt.parts) == prompt.tokens
    assert "".join(prompt.text[part.start : part.end] for part in prompt.parts) == prompt.text
    assert {"template", "system", "tools", "user"} <= {part.name for part in prompt.parts}
    user = next(part for part in prompt.parts if part.name == "user")
    assert prompt.text[user.start : user.end] == "Search for AI news"


def test_cancelling_ends_with_a_reason_and_no_verdict():
    events = list(run(request(), Batches("{action=", Cancelled())))
    assert (events[-1].reason, events[-1].valid, events[-1].tokens) == ("cancelled", False, 1)
    assert not of(Violation, events)


def test_closing_the_run_stops_the_model():
    model = Batches("{action=", '"search"', GOOD)
    events = run(request(), model)
    for event in events:
        if isinstance(event, Token):
            break
    events.close()
    assert (model.asked, model.closed) == (1, True)


def test_the_requests_own_system_template_replaces_the_presets():
    prompt = of(PromptRendered, run(request(system="only this"), ScriptedModel(GOOD)))[0]
    assert "only this" in prompt.text and "Search for AI news" in prompt.text and "TOOLS" not in prompt.text


class Prefixed(ScriptedModel):
    """Continues from the longest prefix of its script at the end of the prompt."""

    def __init__(self, tokens) -> None:
        super().__init__(tokens)
        self.tokens, self.prompts = tokens, []

    def generate(self, request):
        self.prompts.append(request.prompt)
        said = [n for n in range(len(self.tokens) + 1) if request.prompt.endswith("".join(self.tokens[:n]))][
            -1
        ]
        yield from ScriptedModel(self.tokens[said:]).generate(request)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.8)])
def test_a_continuation_reports_only_new_tokens_and_counts_all(sampling):
    asked = request(sampling=sampling)
    model = Prefixed([*WRONG_TOOL, " and", " more"])
    aborted = list(run(asked, model))
    reported = list(continue_aborted(asked, aborted, model))
    assert isinstance(reported[0], RunStarted) and reported[0].request.stop_on == "never"
    assert {event.stage for event in reported[1:]} == {CONTINUATION}
    assert [token.step.index for token in of(Token, reported)] == [2, 3, 4, 5, 6]
    assert of(Token, reported)[0].start == len("".join(WRONG_TOOL[:2]))
    assert (reported[-1].reason, reported[-1].tokens) == ("end-of-text", 7)
    whole = run_state([*aborted, *reported])
    assert whole.text == "".join(model.tokens)
    assert [token.step.index for token in whole.tokens] == list(range(7))


def test_a_greedy_continuation_decodes_only_new_tokens():
    model = Prefixed(WRONG_TOOL)
    aborted = list(run(request(), model))
    list(continue_aborted(request(), aborted, model))
    assert model.prompts[1] == model.prompts[0] + "".join(WRONG_TOOL[:2])


def test_an_incomplete_character_at_the_abort_is_decoded_again():
    script = ["{action=", b"\xf0\x9f", b"\x98\x80", "}"]
    tokens = of(Token, run(request(stop_on="never"), ScriptedModel(script)))[:2]
    prompt = PromptRendered(text="p", tokens=1, cached=0)
    reported = list(continue_aborted(request(), [prompt, *tokens], ScriptedModel(script[1:])))
    assert [token.step.index for token in of(Token, reported)][:2] == [1, 2]


def test_a_model_that_does_not_repeat_itself_is_reported():
    asked = request(sampling=Sampling(temperature=1.0))
    aborted = list(run(asked, Batches(*WRONG_TOOL)))
    other = [
        msgspec.structs.replace(e, step=msgspec.structs.replace(e.step, id=77)) if isinstance(e, Token) else e
        for e in aborted
    ]
    failed = list(continue_aborted(asked, other, Batches(*WRONG_TOOL)))[-1]
    assert isinstance(failed, RunFailed) and failed.code == "MODEL_FAILED"


def test_a_run_without_prompt_cannot_be_continued():
    assert list(continue_aborted(request(), [], ScriptedModel("")))[-1].code == "PROMPT_FAILED"


PIECES = st.lists(
    st.sampled_from(
        ['{action="search"', ' query="', "é😀", '"', " max_results=", "9", "}", '{"action":', "\n", "x"]
    ),
    max_size=12,
)


@pytest.mark.slow
@at_most(150)
@given(
    pieces=PIECES,
    sizes=st.lists(st.integers(1, 4), min_size=1),
    stop_on=st.sampled_from(["error", "unknown-tool", "never"]),
)
def test_the_verdict_and_the_counts_are_the_same_for_any_tokens_and_batches(pieces, sizes, stop_on):
    # Without extraction, which takes everything possible from the text: of an aborted one, up to the token's end.
    asked = request(stop_on=stop_on, repair=RepairSettings(extract=False))
    text = "".join(pieces)
    whole = list(run(asked, Batches(text, "")))
    cuts = [text[i : i + 2] for i in range(0, len(text), 2)]
    batches, cycle = [], itertools.cycle(sizes)
    while cuts:
        size = next(cycle)
        batches.append(cuts[:size])
        cuts = cuts[size:]
    events = list(run(asked, Batches(*batches, "")))
    state, finished = run_state(events), events[-1]
    assert finished.tokens == len(state.tokens) and text.startswith(state.text)
    assert [token.start for token in state.tokens][1:] == [token.end for token in state.tokens][:-1]
    first = [(e.code, e.char) for e in of(Violation, events)][:1]
    if "TRAILING_TEXT" not in {e.code for e in of(Violation, whole)}:  # nothing is read after a complete call
        assert first == [(e.code, e.char) for e in of(Violation, whole)][:1]
        assert finished.valid == whole[-1].valid
    assert (finished.reason == "aborted") == bool(of(Aborted, events))


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_the_verdict_of_the_tools_does_not_stop_a_run_under_a_custom_grammar(constraint):
    text = '{"city":"Oslo"}'
    own = request(
        constraint=constraint, notation="glyph", grammar='root ::= "{\\"city\\":\\"" [A-Za-z]+ "\\"}"\n'
    )
    events = list(run(own, Batches(*text)))
    assert not of(Aborted, events)
    assert run_state(events).text == text
    assert of(Violation, events)[0].code == "UNKNOWN_ARGUMENT"
    assert events[-1].reason != "aborted" and not events[-1].valid
    assert history.kin_of(events).row.constraint == f"{constraint} custom"


def test_a_custom_grammar_ends_its_text_itself_unless_it_is_a_valid_call():
    two = ["{a=1}", "{b=2}", ""]
    grammar = 'root ::= "{a=1}{b=2}"\n'
    own = request(constraint="mask", grammar=grammar)
    assert run_state(list(run(own, Batches(*two)))).text == "{a=1}{b=2}"
    done = list(run(request(constraint="mask", grammar="root ::= [^x]*\n"), Batches(GOOD, " and more")))
    assert run_state(done).text == GOOD and done[-1].valid
