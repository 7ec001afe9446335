"""Statements of the lessons' texts about their recorded runs: true of the bundled recordings and of new ones."""

from __future__ import annotations

import re

from glyphscope.base.lines import line_and_column
from glyphscope.base.resources import read_text
from glyphscope.grammar.gbnf import check_gbnf, emit_gbnf
from glyphscope.lessons import bundled_lessons, find_lesson
from glyphscope.registry import load_registry
from glyphscope.runs import run_state
from glyphscope.turns import build_call_grammar

NAMES = (
    "token", "probability", "mask", "forced", "schema", "notations", "verdicts", "leaks", "name-first", "repair",
    "gbnf", "reasoning", "own-notation", "sums",
)  # fmt: skip


def state(run):
    return run_state(find_lesson(_lesson_of(run)).events(run))


def only(run):
    (stage,) = state(run).stages
    return stage


def _lesson_of(run):
    return next(name for name in NAMES if run.split("-")[0] == name.split("-")[0])


def is_valid(stage):
    return stage.finished is not None and stage.finished.valid


def pieces(run):
    return [token.step.data for token in only(run).tokens]


# -- the lessons themselves ----------------------------------------------------------------------------------------


def test_every_lesson_is_there_in_order():
    assert tuple(place.name for place in bundled_lessons()) == NAMES
    lessons = [place.read() for place in bundled_lessons()]
    assert [lesson.order for lesson in lessons] == list(range(1, 15))


# -- what they say -------------------------------------------------------------------------------------------------


def test_the_first_lesson_shows_the_recorded_tokens():
    found = pieces("token-pieces")
    for piece in (b"Un", b"belie", b"vable", b" in", "本".encode(), b"1", b"2", b"3", b"4", b"5", b'="'):
        assert piece in found, piece
    assert "日".encode() not in found and "😀".encode() not in found
    words = pieces("token-words")
    at = words.index(b"news")
    assert words[at : at + 7] == [b"news", b" news", b" News", b" NE", b"WS", b" ", b" news"]
    assert b'"}' in pieces("token-enum")
    text = "日本のニュース"
    japanese = only("token-japanese")
    assert text in japanese.text and is_valid(japanese)
    tokens = b"".join(pieces("token-japanese"))
    inside = [t for t in japanese.tokens if any(byte > 127 for byte in t.step.data)]
    assert text.encode() in tokens and len(inside) > len(text)


def test_the_second_and_third_lessons_probabilities_depend_only_on_the_text():
    runs = [only(f"probability-{name}").tokens[0].step for name in ("greedy", "one", "two", "hot")]
    raw = [{each.id: round(each.raw, 6) for each in step.alternatives[:10]} for step in runs]
    assert raw[0] == raw[1] == raw[2] == raw[3]
    greedy, one, two, hot = runs
    assert greedy.alternatives[0].final == 1 and hot.alternatives[0].final < one.alternatives[0].final
    assert 0.4 < greedy.alternatives[0].raw < 0.6
    texts = {name: only(f"probability-{name}").text for name in ("greedy", "one", "two", "hot")}
    assert texts["greedy"] == "The capital of France is Paris."
    assert texts["one"].startswith("The capital of France is Paris,")
    assert texts["hot"].startswith("The capital of France is Paris")
    assert two.rank > 0 and not texts["two"].startswith("The")
    without = only("probability-no-search").tokens[3].step
    assert without.alternatives[0].text == "search" and without.alternatives[0].allowed is False
    assert without.probability == 1 and without.rank > 0


def test_the_number_of_forced_tokens_is_that_of_the_fourth_lesson():
    mask, gbnf, one = (only(f"forced-{name}") for name in ("search", "gbnf", "one-tool"))
    forced = [sum(token.step.forced for token in stage.tokens) for stage in (gbnf, mask, one)]
    assert forced[0] < forced[1] < forced[2]
    assert (len(mask.tokens), forced[1]) == (17, 8)
    assert mask.text == gbnf.text == one.text
    assert mask.tokens[1].step.forced and not gbnf.tokens[1].step.forced
    assert gbnf.tokens[1].step.allowed > 1
    assert [t.step.data for t in mask.tokens if t.step.forced][:3] == [b"{", b"action", b'="']


def test_the_rules_of_the_fifth_lesson_are_those_of_its_run():
    lesson = find_lesson("schema").read()
    request = lesson.runs["schema-search"]
    grammar = build_call_grammar(load_registry(request.registry), request.notation, request.shape)
    rules = emit_gbnf(grammar).text.splitlines()
    (block,) = [part.text for part in lesson.parts() if "root ::=" in getattr(part, "text", "")]
    shown = re.sub(r"\(\n\s+", "(", block.split("```gbnf\n")[1].split("```")[0]).splitlines()
    assert len(shown) == 4 and set(shown) <= set(rules)
    bound = only("schema-bound")
    assert is_valid(bound) and bound.tokens[14].step.alternatives[0].text == "1"


def test_the_savings_of_the_sixth_lesson_are_those_of_its_runs():
    glyph, json_ = only("notations-glyph"), only("notations-json")
    assert len(glyph.tokens) == len(json_.tokens) and len(glyph.text) < len(json_.text)
    free, free_json = only("notations-glyph-free"), only("notations-json-free")
    assert not is_valid(free) and "{" not in free.text
    assert json_.text in free_json.text and free_json.text.startswith(json_.text)
    assert [violation.code for violation in free_json.violations] == ["TRAILING_TEXT"]
    assert is_valid(only("notations-list"))


def test_the_seventh_lessons_run_is_stopped():
    assert is_valid(only("verdicts-search"))
    aborted = only("verdicts-abort")
    assert [v.code for v in aborted.violations] == ["CONSTRAINT_MAX"]
    assert aborted.text.endswith("max_results=10") and aborted.violations[0].char == len(aborted.text) - 1


def test_the_eighth_lesson_leaks_where_it_says():
    sources = only("leaks-sources")
    assert is_valid(sources) and sources.text.endswith('["web" "news" "blogs"]}')
    second = {each.text: each.allowed for each in sources.tokens[16].step.alternatives}
    assert second["web"] is True
    twice = only("leaks-twice")
    assert twice.violations[0].code == "CONSTRAINT_ITEMS"
    assert twice.text[: twice.violations[0].char + 1].endswith('"web" "web"')
    closed = only("leaks-closed")
    assert is_valid(closed)
    assert {each.text: each.allowed for each in closed.tokens[16].step.alternatives}.get("web") is not True


def test_the_ninth_lessons_model_prefers_the_tools_it_says():
    name, arguments = state("name-first").stages
    likeliest = [each.text for each in name.tokens[1].step.alternatives[:2]]
    assert likeliest == ["search", "read"]
    assert name.text.startswith('"search"') and arguments.text.startswith("{query=")
    assert arguments.tokens[1].step.forced
    fewer, path = state("name-fewer").stages
    assert fewer.text.startswith('"read_file"') and path.text == '{path="notes.txt"}'


def test_the_tenth_lessons_repairs_fail_without_a_constraint():
    free = state("repair-free").stages
    assert [is_valid(stage) for stage in free] == [False] * 3
    assert all("error" in stage.text and stage.violations[0].code == "LEADING_TEXT" for stage in free[1:])
    mask = only("repair-mask")
    assert is_valid(mask) and len(mask.tokens) * 2 < len(free[1].tokens)
    reason = state("repair-reason").stages
    assert len(reason) == 3 and all("max_results=500" in stage.text for stage in reason)
    assert all(stage.violations[0].code == "CONSTRAINT_MAX" for stage in reason)
    assert is_valid(only("repair-bound"))
    delete = state("repair-delete")
    assert delete.call.tool == "search" and is_valid(delete.stages[0])


def test_the_eleventh_lessons_grammars_have_their_effects():
    assert only("gbnf-city").text == '{"city":"Paris"}'
    assert only("gbnf-or").text == '{"answer":true'
    number = only("gbnf-number")
    assert number.text.startswith('{"days":') and "7" not in number.text
    assert (
        number.tokens[3].step.alternatives[0].text == " "
        and not number.tokens[3].step.alternatives[0].allowed
    )
    assert only("gbnf-string").text.startswith('{"city":"Paris')
    constrained = only("gbnf-in-schema")
    assert (
        is_valid(constrained)
        and 'query="ai news"' in constrained.text
        and 'query="AI news"' in only("gbnf-search").text
    )


def test_the_twelfth_lessons_masks_begin_where_they_say():
    free, start, lazy = (only(f"reasoning-{name}") for name in ("call", "start", "lazy"))
    assert all(is_valid(stage) for stage in (free, start, lazy))
    thought = free.text[: free.text.index("</think>")]
    assert "I search for AI news" in thought and lazy.text.startswith(thought)
    assert start.text.startswith("</think>") and start.tokens[0].step.feasible < 0.1
    assert len(lazy.tokens) > 2 * len(free.tokens)
    assert lazy.tokens[66].step.narrowed == "tokens" and lazy.tokens[67].step.data == b"call"
    assert only("reasoning-unset").text.startswith("<call") and only("reasoning-off").text.startswith(
        "\n<call"
    )
    budget = only("reasoning-budget").tokens
    assert [token.step.narrowed for token in budget[5:7]] == ["", "reasoning"]
    elsewhere = state("reasoning-no-search")
    assert (
        "search" in elsewhere.stages[0].text.partition("</think>")[0] and elsewhere.call.tool == "calculate"
    )


def test_the_thirteenth_lessons_model_does_not_know_the_notation():
    call = only("own-call")
    assert is_valid(call) and call.tokens[1].step.feasible < 0.1
    assert [token.step.forced for token in call.tokens[2:5]] == [True] * 3
    free = only("own-free")
    assert not is_valid(free) and "<call" not in free.text and "def " in free.text
    number = state("own-number")
    assert number.call.arguments["max_results"] == 10 and is_valid(number.stages[0])


def test_a_final_probability_of_100_percent_is_asked_with_the_number_of_allowed_tokens():
    """At temperature 0 it may also be the most likely of several, as in the run above the question."""
    tokens = only("mask-search").tokens
    assert tokens[0].step.allowed == 1 and tokens[3].step.allowed > 1
    assert tokens[0].step.probability == tokens[3].step.probability == 1.0
    (asked,) = (q for q in find_lesson("mask").read().questions if "100%" in q.ask)
    assert "the mask allows 1 token" in asked.ask
    reasons = " ".join(option.why for option in asked.options)
    assert "temperature 0" in reasons and "preferred" not in reasons


def test_the_fourteenth_lessons_answers_are_no_calls():
    assert not is_valid(only("sums-free")) and "5" in only("sums-free").text
    assert only("sums-mask").text == "2 + 3 = 5" and is_valid(only("sums-mask"))
    assert " - " in only("sums-minus").text and is_valid(only("sums-minus"))
    apples = only("sums-apples")
    assert is_valid(apples) and not apples.text.startswith(("3", "4"))
    assert (
        not apples.tokens[0].step.alternatives[0].allowed
        and apples.tokens[0].step.alternatives[0].data.isalpha()
    )


def test_the_fourteenth_lesson_shows_the_diagnostics_of_its_grammars():
    lesson = read_text("lessons/14-sums.md")
    shown = re.findall(
        r"```gbnf\n([^`]*)```\n\nThe check reports:\n\n```text\n(\S+) (\w+) ([\w-]+)\n(.*?)\n```",
        lesson,
        re.DOTALL,
    )
    assert len(shown) == 3
    for grammar, place, severity, code, words in shown:
        found = {
            (d.code, ":".join(map(str, line_and_column(grammar, d.start)))): d
            for d in check_gbnf(grammar).diagnostics
        }
        one = found[code, place]
        assert (one.severity, one.message) == (severity, " ".join(words.split()))
