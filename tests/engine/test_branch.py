"""Branches over scripted models: the kept tokens, the replacement, and the continuation."""

import json

import msgspec
import pytest

from cli_command import command
from glyphscope.base.errors import PromptError
from glyphscope.events import (
    Aborted,
    Alternative,
    BranchPoint,
    CallReady,
    PrefixPart,
    RunFailed,
    RunFinished,
    RunRequest,
    Sampling,
    Token,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.models import RecordedModel
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import branch_request, branch_tree, named_alternative, run_state
from glyphscope.runs.strategies import continue_aborted, run
from glyphscope.store.records import encode_record, read_record
from scripted_endpoint import DONE, Answer, chunk, counted, endpoint, remote, said
from toolbox import of

REGISTRY = default_registry().to_document()
GOOD = ['{action="', "search", '" query="', "caf", b"\xc3", b"\xa9", '" max_results=', "10", "}"]
TEXT = '{action="search" query="café" max_results=10}'


def request(**changes) -> RunRequest:
    return RunRequest(**{"prompt": "Search", "registry": REGISTRY, "constraint": "off", **changes})


def made(script=GOOD, **changes):
    return list(run(request(**changes), ScriptedModel(script)))


def steps(events):
    return [event.step for event in of(Token, events)]


def branched(events, token, script=GOOD, changes=None, **more):
    asked = branch_request(events, token, **more)
    return list(run(msgspec.structs.replace(asked, **(changes or {})), ScriptedModel(script)))


class Choosing(ScriptedModel):
    """Reports an alternative with each token."""

    def generate(self, request):
        for output in super().generate(request):
            if isinstance(output, tuple):
                output = tuple(
                    msgspec.structs.replace(
                        step,
                        alternatives=(
                            Alternative(step.id, step.data, step.text, 0.6, 1.0, True),
                            Alternative(900, b" browse", " browse", 0.3, 0.0, False),
                            Alternative(901, b"10", "10", 0.05, 0.0, False),
                            Alternative(902, b" 10", " 10", 0.04, 0.0, False),
                            Alternative(903, b"\xe2", "\ufffd", 0.005, 0.0, False),
                            Alternative(904, b"\xe3", "\ufffd", 0.005, 0.0, False),
                        ),
                    )
                    if step.origin != "kept"
                    else step
                    for step in output
                )
            yield output


def test_a_branch_that_keeps_every_token_gives_the_same_text():
    events = made()
    whole = [(step.index, step.data, step.text, step.end) for step in steps(events)]
    for token in range(len(GOOD) + 1):
        again = branched(events, token)
        assert [(s.index, s.data, s.text, s.end) for s in steps(again)] == whole
        assert [step.origin for step in steps(again)] == ["kept"] * token + ["model"] * (len(whole) - token)
        assert run_state(again).text == TEXT
        assert again[-1].valid and of(CallReady, again)[0].arguments == of(CallReady, events)[0].arguments
        assert again[0].request.branch_of == BranchPoint(events[0].run, token)
        assert again[0].run != events[0].run


def test_an_incomplete_character_of_a_branch_is_preserved():
    events = made()
    branch = branched(events, 5)  # ends in the first half of é
    assert run_state(branch).text == TEXT and steps(branch)[4].text == "" and steps(branch)[5].text == "é"
    typed = branched(events, 5, text="x")
    assert run_state(typed).text.startswith('{action="search" query="caf\ufffdx')


def test_a_violation_in_written_text_is_reported_at_its_character():
    events = made()
    again = branched(events, 4, text='e" max_results=500}')
    violation = of(Violation, again)[0]
    place = run_state(again).text.index("500")
    assert (violation.code, violation.char) == ("CONSTRAINT_MAX", place + 2)
    assert steps(again)[violation.token].origin == "written"


def test_a_violation_in_written_text_does_not_stop_the_run_inside_it():
    events = made()
    again = branched(events, 1, text='delete_database" and more words', script=["a ", "b ", "c"])
    assert of(Violation, again)[0].code == "UNKNOWN_TOOL" and not of(Aborted, again)
    assert again[-1].reason == "end-of-text" and not again[-1].valid
    assert run_state(again).text.startswith('{action="delete_database" and more words')


def test_a_violation_after_written_text_stops_the_run_and_counts_only_decoded_tokens():
    script = ['{action="', "search", '" query="', "a", '" max_results=', "500", "}", " and", " more"]
    events = made(script, stop_on="never")
    again = branched(events, 4, script=script, changes={"stop_on": "error"})
    (aborted,) = of(Aborted, again)
    assert (aborted.token, aborted.tokens_decoded, again[-1].tokens) == (5, 2, 6)


def test_a_call_written_to_its_end_needs_no_model():
    model = ScriptedModel(GOOD)
    asked = branch_request(made(), 6, text='" max_results=7}')
    again = list(run(asked, model))
    assert again[-1].valid and again[-1].reason == "complete"
    assert of(CallReady, again)[0].arguments == {"query": "café", "max_results": 7}
    assert all(step.origin != "model" for step in steps(again))
    assert again[-1].first_token_ms == 0


def test_written_tokens_do_not_count_as_tokens_of_the_model():
    events = made(max_tokens=4)
    assert events[-1].reason == "length"
    again = branched(events, 4)
    assert len(steps(again)) == 8 and again[-1].reason == "length"


def test_a_stopped_and_an_aborted_run_can_be_branched():
    script = ['{action="', "delete", '_database"', "}"]
    aborted = made(script)
    assert aborted[-1].reason == "aborted"
    again = branched(aborted, 1, text="search", script=['{action="', "search", '" query="a"}'])
    assert again[-1].valid
    unfinished = made()[:8]
    assert branched(unfinished, 2)[-1].valid


def test_a_branch_of_a_branch_records_the_origin_of_every_token():
    first = branched(made(), 1, text="browse")
    second = branched(first, 3, text="x")
    origins = [step.origin for step in steps(second)]
    assert origins[:4] == ["kept", "written", "kept", "written"]
    assert second[0].request.branch_of == BranchPoint(first[0].run, 3)


def test_an_alternative_is_chosen_by_its_id_or_unambiguous_text():
    events = list(run(request(), Choosing(GOOD)))
    assert named_alternative(events, 1, " browse").id == named_alternative(events, 1, "browse").id == 900
    assert named_alternative(events, 1, "900").id == named_alternative(events, 1, "#900").id == 900
    assert named_alternative(events, 7, "#902").id == 902
    with pytest.raises(PromptError, match="#7 '10', #901 '10'"):
        named_alternative(events, 7, "10")
    with pytest.raises(PromptError, match=r"Several alternatives .* by its id"):
        named_alternative(events, 1, "\ufffd")
    with pytest.raises(
        PromptError, match=r"'fetch' is not among the recorded alternatives .* #900 ' browse'"
    ):
        named_alternative(events, 1, "fetch")
    with pytest.raises(PromptError, match="not among"):
        named_alternative(events, 1, "9" * 5000)
    asked = branch_request(events, 1, take=904)
    assert asked.written == (PrefixPart(b'{action="', 0, kept=True), PrefixPart(b"\xe3", 904))


@pytest.mark.parametrize(
    ("token", "more", "words"),
    [
        (-1, {}, "no token -1 .* has 9 tokens.* from 0 to 9"),
        (10, {}, "no token 10"),
        (1, {"take": 77}, "no recorded alternatives of token 1"),
        (99, {"take": 77}, "no token 99"),
    ],
)
def test_an_invalid_place_of_a_branch_is_rejected(token, more, words):
    with pytest.raises(PromptError, match=words):
        branch_request(made(), token, **more)


def test_a_run_that_cannot_be_branched_is_rejected_with_the_reason():
    events = made()
    with pytest.raises(PromptError, match="beginning of a run"):
        branch_request(events[1:], 1)
    with pytest.raises(PromptError, match="no tokens to continue from"):
        branch_request([event for event in events if not isinstance(event, Token)], 0)
    other = [msgspec.structs.replace(events[0], request=request(strategy="loop")), *events[1:]]
    with pytest.raises(PromptError, match="direct can be branched, not loop"):
        branch_request(other, 1)
    failed = list(run(request(strategy="two-stage", written=(PrefixPart(b"x"),)), ScriptedModel("x")))
    assert isinstance(failed[-1], RunFailed) and "strategy direct" in failed[-1].message
    aborted = made(['{action="', "delete", '_database"', ' q="x"}'])
    rest = list(continue_aborted(aborted[0].request, aborted, ScriptedModel(' q="x"}')))
    with pytest.raises(PromptError, match="continuation"):
        branch_request(rest, 4)


def test_continuing_an_aborted_branch_includes_its_written_text():
    script = ['{action="', "search", '" query="a" max_results=', "500", "}", " and"]
    first = made(script, stop_on="never", sampling=Sampling(temperature=1))
    aborted = branched(first, 2, script=script, changes={"stop_on": "error"})
    assert aborted[-1].reason == "aborted"
    rest = list(continue_aborted(aborted[0].request, aborted, ScriptedModel(script)))
    assert isinstance(rest[-1], RunFinished), rest[-1]
    assert "".join(step.text for step in steps([*aborted, *rest])) == "".join(script)


def test_a_branch_does_not_execute_a_call_again():
    assert branch_request(made(dispatch=True), 2).dispatch is False


def test_a_record_of_a_branch_replays_identically(tmp_path):
    for again in (branched(made(), 3, text="é }"), branched(made(), 5), branched(made(), 6, text='"}')):
        path = tmp_path / "branch.jsonl"
        path.write_bytes(encode_record(again))
        assert read_record(path).events[0].request == again[0].request
        verified = command("replay", "--verify", str(path))
        assert verified.exit_code == 0, verified.output


def test_an_older_record_without_branches_can_be_read():
    line = json.loads(encode_event(made()[0]))
    del line["request"]["written"], line["request"]["branch_of"]
    started = decode_event(json.dumps(line))
    assert started.request.written == () and started.request.branch_of is None
    token = json.loads(encode_event(of(Token, made())[0]))
    del token["step"]["origin"]
    assert decode_event(json.dumps(token)).step.origin == "model"


def test_a_recorded_model_fails_where_the_record_has_no_tokens():
    events = made()
    again = list(run(branch_request(events, 2), RecordedModel(events)))
    assert isinstance(again[-1], RunFailed) and "does not have" in again[-1].message


def test_the_tree_has_every_branch_and_survives_cycles():
    root = made()
    one, two = branched(root, 1), branched(root, 2)
    leaf = branched(one, 1)
    lone = branched(branched(root, 3), 2)
    roots = branch_tree([leaf, lone, two, one, root, two, []])
    assert [branch.run for branch in roots] == [root[0].run, lone[0].run]
    assert [(child.run, child.token) for child in roots[0].children] == [(one[0].run, 1), (two[0].run, 2)]
    assert [child.run for child in roots[0].children[0].children] == [leaf[0].run]
    assert roots[1].parent and not roots[1].children


def test_runs_that_are_each_others_parents_end_in_a_finite_tree():
    first = made()[0]

    def started(name, parent):
        of_run = BranchPoint(parent, 1) if parent else None
        return [msgspec.structs.replace(first, run=name, request=request(branch_of=of_run))]

    circle = [started("a", "b"), started("b", "a"), started("c", "c"), started("d", "a")]
    assert {branch.run for branch in branch_tree(circle)} == {"a", "b", "c", "d"}
    chain = [started(str(n), str(n - 1) if n else "") for n in range(3000)]
    (root,) = branch_tree(chain)
    depth = 0
    while root.children:
        (root,) = root.children
        depth += 1
    assert depth == 2999


@pytest.mark.slow
def test_an_endpoint_is_sent_the_written_text():
    rest = Answer((chunk('AI"'), chunk("}"), chunk(finish="stop"), counted(321, 2, 300), DONE))
    first = said('{action="search" ', 'query="', 'news"}')
    with endpoint(first, rest) as server, remote(server, "?dialect=llama-server") as model:
        events = list(run(request(), model))
        again = list(run(branch_request(events, 2), model))
        assert server.asked[-1].body["messages"][-1]["content"] == '{action="search" query="'
        typed = list(run(branch_request(events, 1, text="x", constraint="endpoint"), model))
    assert [(s.text, s.origin, s.piece) for s in steps(again)][:3] == [
        ('{action="search" ', "kept", True),
        ('query="', "kept", True),
        ('AI"', "model", True),
    ]
    assert again[-1].valid and of(CallReady, again)[0].arguments == {"query": "AI"}
    assert again[-1].tokens == 4, "two kept tokens, and two that the endpoint counted"
    assert isinstance(typed[-1], RunFailed) and "from the first token that it writes" in typed[-1].message
    reported = list(run(again[0].request, RecordedModel(again)))
    assert [e.step for e in of(Token, reported)] == steps(again) and reported[-1].tokens == 4


HERMES = (
    '{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}Answer with <tool_call>\n{"name": <name>, '
    '"arguments": <object>}\n</tool_call>\n{% for message in messages %}{{ message.content }}\n{% endfor %}'
)


def test_a_marker_that_a_constraint_wrote_is_part_of_a_branch_without_one():
    call = '{"name": "search", "arguments": {"query": "AI", "max_results": 1}}'
    model = ScriptedModel(call + "\n</tool_call>", template=HERMES)
    constrained = list(run(request(native="auto", constraint="mask"), model))
    assert constrained[-1].valid, constrained[-1]
    asked = branch_request(constrained, 4, constraint="off")
    marker = asked.written[0]
    assert marker.data.startswith(b"<tool_call>") and marker.kept and marker.id < 0
    free = list(run(asked, ScriptedModel("<tool_call>\n" + call + "\n</tool_call>", template=HERMES)))
    assert free[-1].valid and run_state(free).text.startswith("<tool_call>")
    with pytest.raises(PromptError, match="Branch without a constraint"):
        branch_request(free, 4, constraint="mask")
