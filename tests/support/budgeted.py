"""Masked runs of a random model, over small vocabularies: it only samples tokens that the mask allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from llguidance import LLTokenizer
from llguidance._tokenizer import TokenizerWrapper

from glyphscope.events import Sampling, TokenStep
from glyphscope.grammar import lark_rules, pack, to_lark, unpack
from glyphscope.grammar.reach import reach
from glyphscope.grammar.tree import Grammar
from glyphscope.models.decoding import SLICE, Decoder, Spelling, TokenBudget, TokenMask

BYTES = [bytes([byte]) for byte in range(256)]
END = b"<end>"


class Words:
    """A vocabulary: every byte, the given tokens, then special tokens, of which the first one ends a text."""

    def __init__(
        self, more: Iterable[bytes] = (), special: Sequence[bytes] = (), single: Sequence[bytes] = BYTES
    ) -> None:
        spelled = list(dict.fromkeys([*single, *more]))
        self.tokens = [*spelled, END, *special]
        self.special_token_ids = list(range(len(spelled), len(self.tokens)))
        self.eos_token_id = len(spelled)
        self.bos_token_id = None
        self._ids = {piece: token for token, piece in enumerate(spelled)}
        self._longest = max(map(len, spelled))
        self.spelling = Spelling(self.tokens, self.special_token_ids, [self.eos_token_id])
        self.tokenizer = LLTokenizer(TokenizerWrapper(self), n_vocab=len(self.tokens), slices=[SLICE])

    def __call__(self, data: bytes) -> list[int]:
        """Greedily, which is the canonical tokenization here."""
        found, at = [], 0
        while at < len(data):
            size = next(n for n in range(self._longest, 0, -1) if data[at : at + n] in self._ids)
            found.append(self._ids[data[at : at + size]])
            at += size
        return found


def random_words(random: Random, texts: Iterable[str] = (), *, special: Sequence[bytes] = ()) -> Words:
    """Return all bytes, and random pieces of the texts and of JSON: also across borders, and half characters."""
    source = "".join(texts) + ' {"name":"a","é日本","arguments":{[]}},"1.5e-3":true,false,null' * 2
    data = source.encode()
    more = set()
    for _ in range(random.randrange(80)):
        start = random.randrange(len(data))
        more.add(data[start : start + random.randint(2, 9)])
    return Words(sorted(more), special)


class Untrained:
    """A model that finds all tokens about equally likely, with a context of `room` tokens."""

    def __init__(self, words: Words, seed: int, room: int) -> None:
        self.pieces = list(words.tokens)
        self._end = words.eos_token_id
        self._random = np.random.default_rng(seed)
        self.room = room

    def decode(self, tokens: Sequence[int], outputs: int) -> list[np.ndarray]:
        self.room -= len(tokens)
        assert self.room >= 0, "the context is full"
        return [self._random.normal(size=len(self.pieces)).astype(np.float32) for _ in range(outputs)]

    def is_end(self, token: int) -> bool:
        return token == self._end


@dataclass
class Run:
    """A run's text, whether the mask considered it complete, and its steps."""

    text: bytes
    complete: bool
    steps: list[TokenStep]

    @property
    def narrowed(self) -> list[int]:
        """The steps at which a budget removed tokens from the mask."""
        return [step.index for step in self.steps if step.narrowed]


def budget_of(
    grammar: Grammar, words: Words, mask: TokenMask, *, reasoning: int | None = None, always: bool = False
) -> TokenBudget:
    """Return a budget as a generation makes it; `always`: it checks every step."""
    rules = lark_rules(grammar)
    packed = pack(rules)
    near = None if always else reach(unpack(packed))
    return TokenBudget(packed, near, words.spelling, mask.takes, reasoning)


def least(grammar: Grammar, words: Words) -> int:
    """Return the number of tokens of the grammar's shortest text."""
    mask = TokenMask(words.tokenizer, to_lark(grammar))
    return budget_of(grammar, words, mask).least([], 0)


def run(
    grammar: Grammar, words: Words, max_tokens: int, seed: int = 1, *, room: int = 1 << 20,
    reasoning: int | None = None, budgeted: bool = True, always: bool = False,
) -> Run:  # fmt: skip
    """Return one answer, sampled at random from the tokens that the mask allows."""
    mask = TokenMask(words.tokenizer, to_lark(grammar))
    budget = budget_of(grammar, words, mask, reasoning=reasoning, always=always) if budgeted else None
    decoder = Decoder(
        Untrained(words, seed, room),
        [words.eos_token_id],
        constraint=mask,
        sampling=Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, repeat_penalty=1.0, seed=seed),
        max_tokens=max_tokens,
        alternatives=0,
        evidence="none",
        budget=budget,
    )
    steps: list[TokenStep] = []
    while batch := decoder.step():
        steps += batch
    text = b"".join(words.tokens[step.id] for step in steps if not step.end)
    complete = mask._matcher.is_accepting() or any(step.end for step in steps)
    return Run(text, complete, steps)
