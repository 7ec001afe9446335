"""Several generations in one context of the embedded model, evaluated in one batch: the same figures each time."""

import contextlib
import os
import random
import signal
import threading
import time

import pytest

from glyphscope.base.errors import ContextOverflow, GrammarError, ModelDied, ModelError
from glyphscope.events import MAX_SEQUENCES, LoadOptions, Sampling
from glyphscope.models import embedded_path, memory
from glyphscope.models.interface import Cancelled, GenerateRequest
from glyphscope.models.llama import LlamaModel
from glyphscope.models.memory import memory_needed, read_facts

pytestmark = [pytest.mark.slow, pytest.mark.model]

COUNT = 4
INSTRUCTIONS = "You answer questions about numbers in a few words.\n" * 6
"""A little more than the 64 tokens of a batch, which all prompts then share."""
LARK = r'start: "{number=" /[0-9]{1,6}/ " text=\"" /[a-z ]{1,12}/ "\"}"'


def opened(count=COUNT, **options):
    path = embedded_path()
    return contextlib.closing(LlamaModel(path, LoadOptions(context=512, sequences=count, **options)))


@pytest.fixture(scope="module")
def model():
    with opened() as model:
        yield model


def request(member, turn=0):
    """Prompts that begin alike, texts of different lengths, with and without a mask."""
    return GenerateRequest(
        prompt=f"{INSTRUCTIONS}Question {member}: describe {member * 7}.{' And more.' * turn}\nAnswer:",
        constraint="mask" if member % 2 else "off",
        grammar=LARK if member % 2 else None,
        sampling=Sampling(seed=member, temperature=0.8),
        max_tokens=4 + 3 * member,
        repeatable=True,
    )


def steps_of(items):
    return [
        (step.id, step.logprob, step.probability, step.alternatives)
        for item in items
        if isinstance(item, tuple)
        for step in item
    ]


def generate_together(model, *works):
    """Each work with a member in a separate thread. Returns their results, or exceptions."""
    results = [None] * len(works)

    def make(place, member):
        try:
            results[place] = works[place](member)
        except Exception as error:
            results[place] = error
        finally:
            member.close()

    with model.together(len(works)) as group:
        threads = [
            threading.Thread(target=make, args=(place, member)) for place, member in enumerate(group.members)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "no member waits for one that has left"
    return results


def conversation(place, most_pause=0.0):
    """A member's generations, one after the other, with pauses as tools make them."""

    def work(member):
        steps = []
        for turn in range(1 + place % 3):
            time.sleep(random.random() * most_pause)
            for item in member.generate(request(place, turn)):
                time.sleep(random.random() * most_pause)
                steps += steps_of([item])
        return steps

    return work


@pytest.fixture(scope="module")
def figures(model):
    """Of a group of conversations, in a new process."""
    return generate_together(model, *map(conversation, range(COUNT)))


def test_figures_depend_neither_on_time_nor_on_earlier_generations(model, figures):
    assert [len(steps) > 3 for steps in figures] == [True] * COUNT
    list(model.generate(GenerateRequest(prompt=INSTRUCTIONS + "Something else.", max_tokens=30)))
    generate_together(model, conversation(7), conversation(8))
    assert generate_together(model, *(conversation(place, 0.02) for place in range(COUNT))) == figures


def test_the_texts_of_a_group_are_those_of_the_requests(model, figures):
    """The mask and the sampler of each are separate: the first tokens are the most probable ones of each alone."""
    alone = steps_of(model.generate(request(1)))
    together = figures[1][: len(alone)]
    assert together[0][1] == pytest.approx(alone[0][1], abs=0.5), "the same text, but in another batch"


def test_a_group_of_one_has_the_figures_of_a_model_with_one_sequence(model):
    alone = generate_together(model, conversation(2))
    with contextlib.closing(LlamaModel(embedded_path(), LoadOptions(context=512))) as usual:
        assert alone == [conversation(2)(usual)]


def test_an_error_ends_only_its_own_generation(model):
    def rejected(**changes):
        return lambda member: list(member.generate(GenerateRequest(prompt="Hi", repeatable=True, **changes)))

    def too_long(member):
        return list(member.generate(GenerateRequest(prompt="word " * 600, repeatable=True)))

    def stopped_early(member):
        items = member.generate(request(3))
        while not isinstance(item := next(items), tuple):
            pass
        items.close()
        return steps_of([item])

    invalid = rejected(constraint="mask", grammar="start: (")
    errors = generate_together(model, invalid, too_long, conversation(2), stopped_early)
    assert isinstance(errors[0], GrammarError) and isinstance(errors[1], ContextOverflow)
    assert len(errors[2]) > 20 and len(errors[3]) >= 1
    assert generate_together(model, invalid, too_long, conversation(2), stopped_early)[2:] == errors[2:]


def test_cancelling_one_does_not_end_the_others(model):
    def cancelled(member):
        items = []
        for item in member.generate(GenerateRequest(prompt="Once", max_tokens=400, repeatable=True)):
            if isinstance(item, tuple) and not steps_of(items):
                threading.Thread(target=member.cancel).start()
            items.append(item)
        return items

    items, others = generate_together(model, cancelled, conversation(2))
    assert items[-1] == Cancelled() and len(steps_of(items)) < 399 and len(others) > 20


@pytest.mark.usefixtures("unforked")
def test_a_process_that_ends_leaves_no_one_waiting():
    with opened() as model:

        def ended(member):
            return list(member.generate(GenerateRequest(prompt="Once upon a time", max_tokens=400)))

        def between_two(member):
            list(member.generate(request(0)))
            os.kill(model.pid, signal.SIGKILL)
            return list(member.generate(request(1)))

        results = generate_together(model, ended, ended, between_two)
        assert [type(error) for error in results] == [ModelDied] * 3
        assert len(generate_together(model, conversation(2))[0]) > 3, "the next group starts a new process"


def test_more_members_than_sequences_are_an_error(model):
    with pytest.raises(ModelError, match="4 sequences, and 5 are needed"), model.together(5):
        pass


def test_the_memory_of_all_sequences_is_counted_and_must_be_free(monkeypatch):
    facts = read_facts(embedded_path())
    one = memory_needed(facts, LoadOptions(context=1024), 0).cache
    assert memory_needed(facts, LoadOptions(context=1024, sequences=8), 0).cache == 8 * one
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    with pytest.raises(
        ModelError, match=r"64 sequences of 8,192 tokens needs 12\.\d GB .* Use fewer sequences"
    ):
        memory.require_memory(str(embedded_path()), LoadOptions(context=8192, sequences=64))


def test_as_many_sequences_as_allowed_can_be_opened():
    with opened(MAX_SEQUENCES) as model:
        assert model.info.load.sequences == MAX_SEQUENCES


def test_the_number_of_sequences_is_among_the_options_of_a_record(model):
    assert model.info.load.sequences == COUNT and model.info.load.context == 512
