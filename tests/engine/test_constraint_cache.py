"""Constraints are compiled once: their texts by their sources, their masks by grammar and tokenizer."""

from io import StringIO

import msgspec
import pytest
from rich.console import Console

from glyphscope.base.errors import GrammarError
from glyphscope.cli.run_printer import RunView
from glyphscope.events import (
    ConstraintReady,
    PromptEvaluated,
    PromptRendered,
    RunRequest,
    decode_event,
    encode_event,
)
from glyphscope.models import RecordedModel
from glyphscope.models.decoding import MaskCache, TokenMask
from glyphscope.models.interface import ConstraintMade, PromptReady
from glyphscope.models.scripted import ScriptedModel
from glyphscope.processes.compilers.masks import byte_tokenizer
from glyphscope.registry import default_registry, parse_document
from glyphscope.runs import prepare, run_state
from glyphscope.runs.strategies import run, unenforced, unenforced_words
from glyphscope.runs.strategies.constraints import BuiltGrammar, TextCache, call_constraint
from glyphscope.runs.strategies.turns import expected_part

REGISTRY = default_registry()
DOCUMENT = REGISTRY.to_document()
GOOD = '{action="search" query="AI news" max_results=10}'


def request(**changes) -> RunRequest:
    return RunRequest(**{"prompt": "Search", "registry": DOCUMENT, **changes})


def edited(tool: str):
    """Return the registry with another description of one argument of `tool`."""
    document = msgspec.json.decode(msgspec.json.encode(DOCUMENT))
    for item in document["tools"]:
        if item["name"] == tool:
            item["parameters"]["properties"]["added"] = {"type": "boolean"}
    return parse_document(document)


def test_the_same_constraint_is_built_once():
    first = call_constraint(request(prompt="another prompt, the same tools"), REGISTRY)
    again = call_constraint(request(), parse_document(DOCUMENT))
    assert (again.text, again.build_ms) == (first.text, 0.0)


LISTED = {"type": "array", "items": {"type": "string", "format": "regex"}, "uniqueItems": True}
TICKET = {"ticket": {"type": "object", "properties": {"labels": LISTED}, "required": ["labels"]}}


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
@pytest.mark.parametrize("native", ["", "auto"])
def test_keywords_that_a_constraint_does_not_enforce_are_named_before_a_run(constraint, native):
    document = parse_document(TICKET).to_document()
    asked = prepare(request(registry=document, constraint=constraint, native=native))
    found = unenforced(asked)
    assert {each.keyword for each in found} == {"uniqueItems", "format"}
    words = unenforced_words(found, constraint)
    assert words.startswith("2 constraints are checked after, not ")
    assert "labels uniqueItems (ticket)" in words and "labels items format (ticket)" in words


def test_without_such_keywords_or_without_a_constraint_there_is_nothing_to_say():
    for changes in (
        {},
        {"constraint": "off", "registry": TICKET},
        {"grammar": 'root ::= "a"', "registry": TICKET},
    ):
        found = unenforced(prepare(request(**changes)))
        assert found == () and unenforced_words(found, "mask") == ""


def test_every_option_that_changes_the_text_changes_the_key():
    texts = {
        call_constraint(request(**changes), REGISTRY).text
        for changes in (
            {},
            {"notation": "json"},
            {"shape": "tool-args"},
            {"constraint": "gbnf"},
            {"free_text": True},
            {"grammar": 'root ::= "a"'},
        )
    }
    assert len(texts) == 6


def test_arguments_are_cached_by_their_own_tools_schema():
    options = expected_part(request(), "arguments", "search")
    first = call_constraint(request(), REGISTRY, options)
    other = call_constraint(request(), edited("calculate"), options)
    own = call_constraint(request(), edited("search"), options)
    assert (other.text, other.build_ms) == (first.text, 0.0)
    assert own.text != first.text and own.build_ms > 0


def test_names_are_cached_by_the_allowed_names():
    options = expected_part(request(), "name")
    first = call_constraint(request(), REGISTRY, options)
    assert call_constraint(request(), edited("search"), options)[:2] == (first.text, 0.0)
    fewer = REGISTRY.without_tool("search")
    assert "search" in first.text and "search" not in call_constraint(request(), fewer, options).text
    call_constraint(request(), REGISTRY, expected_part(request(), "arguments", "search"))
    with pytest.raises(GrammarError):
        call_constraint(request(), fewer, expected_part(request(), "arguments", "search"))


def test_a_failed_build_is_not_cached():
    cache = TextCache()

    def fail() -> BuiltGrammar:
        raise GrammarError("no")

    for _ in range(2):
        with pytest.raises(GrammarError):
            cache.built(("key",), fail)
    assert cache.built(("key",), lambda: BuiltGrammar("text")).text == "text"


def test_texts_are_cached_within_a_number_and_a_size_by_last_use():
    cache = TextCache(texts=3, characters=10)
    for key in "abc":
        cache.built((key,), lambda: BuiltGrammar("xy"))
    cache.built(("a",), lambda: BuiltGrammar("never"))
    cache.built(("d",), lambda: BuiltGrammar("xy"))
    assert len(cache) == 3
    assert (
        cache.built(("a",), lambda: BuiltGrammar("new")).text == "xy"
        and cache.built(("b",), lambda: BuiltGrammar("new")).text == "new"
    )
    cache.built(("large",), lambda: BuiltGrammar("x" * 100))
    assert len(cache) == 1, "the last one is cached, however large it is"


def test_a_mask_is_compiled_once_and_each_use_starts_at_its_beginning():
    cache, tokenizer = MaskCache(), byte_tokenizer()
    first = cache.compiled(tokenizer, 'start: "ab"')
    assert first.matcher.consume_token(ord("a"))
    again = cache.compiled(tokenizer, 'start: "ab"')
    assert (first.hit, again.hit, again.ms) == (False, True, 0.0) and first.ms > 0
    assert again.matcher.consume_token(ord("a")), "the first use must not have moved it"


def test_masks_are_cached_within_a_number_and_a_size_and_errors_are_not():
    tokenizer = byte_tokenizer()
    few = MaskCache(grammars=2)
    for text in ("a", "b", "a", "c"):
        few.compiled(tokenizer, f'start: "{text}"')
    assert [few.compiled(tokenizer, f'start: "{text}"').hit for text in ("a", "c", "b")] == [
        True,
        True,
        False,
    ]
    small = MaskCache(most_bytes=30)
    for text in ("a", "b", "c" * 40):
        small.compiled(tokenizer, f'start: "{text}"')
    assert (len(small), small._matchers.size) == (1, 49)
    wrong = small.compiled(tokenizer, "start: nothing")
    assert wrong.matcher.is_error() and len(small) == 1


def test_a_forgotten_mask_is_compiled_again():
    cache, tokenizer = MaskCache(), byte_tokenizer()
    cache.compiled(tokenizer, 'start: "a"')
    cache.forget(tokenizer, 'start: "a"')
    assert (len(cache), cache._matchers.size) == (0, 0)
    assert not cache.compiled(tokenizer, 'start: "a"').hit
    cache.forget(tokenizer, 'start: "b"')
    assert len(cache) == 1


def test_a_mask_that_ends_in_an_error_is_dropped_from_the_cache():
    tokenizer, grammar = byte_tokenizer(), 'start: "abc"'
    mask = TokenMask(tokenizer, grammar)
    assert TokenMask(tokenizer, grammar).hit
    with pytest.raises(GrammarError):
        mask.commit(ord("b"))
    assert not TokenMask(tokenizer, grammar).hit


class Compiling(ScriptedModel):
    """Reports a constraint as the model's process does."""

    hits = 0

    def generate(self, request):
        for item in super().generate(request):
            if isinstance(item, PromptReady):
                item = PromptReady(
                    item.tokens, 0, 1.0, ConstraintMade("k1", self.hits > 0, 0.5 * (not self.hits))
                )
                self.hits += 1
            yield item


def test_a_run_reports_its_constraint_once_and_its_record_repeats_it():
    model = Compiling(GOOD)
    events = list(run(request(), model))
    places = [type(event) for event in events]
    assert places.index(PromptRendered) < places.index(ConstraintReady) < places.index(PromptEvaluated)
    (ready,) = [event for event in events if isinstance(event, ConstraintReady)]
    assert (ready.key, ready.hit, ready.compile_ms) == ("k1", False, 0.5)
    again = [e for e in run(request(), model) if isinstance(e, ConstraintReady)]
    assert [(e.hit, e.build_ms, e.compile_ms) for e in again] == [(True, 0.0, 0.0)]
    record = [decode_event(encode_event(event)) for event in events]
    reported = [e for e in run(request(), RecordedModel(record)) if isinstance(e, ConstraintReady)]
    assert [(e.key, e.hit, e.compile_ms) for e in reported] == [("k1", False, 0.5)]


def test_a_constraint_that_was_not_compiled_is_not_reported():
    assert not [event for event in run(request(), ScriptedModel(GOOD)) if isinstance(event, ConstraintReady)]


def test_a_terminal_shows_of_each_stage_whether_its_constraint_was_compiled_or_cached():
    class Stages(Compiling):
        said = 0

        def generate(self, request):
            self.said += 1
            self._turns = ScriptedModel('"search"' if self.said % 2 else '{query="x"}')._turns
            yield from super().generate(request)

    model = Stages("")
    asked = request(strategy="two-stage", prompt="not asked before", shape="tool-args")
    shown = []
    for _ in range(2):
        out = Console(file=StringIO(), width=200)
        out.print(RunView(run_state(run(asked, model))))
        shown.append(out.file.getvalue())
    assert "constraint made in" in shown[0] and shown[1].count("constraint kept") == 2
