"""The choices of a question and its correct answers, read from a run or computed by grammar and validator.

The answers to questions about tokens or characters are not written by an author, so they cannot be wrong or outdated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError, LessonError
from glyphscope.base.figures import percent
from glyphscope.base.shorten import capitalised
from glyphscope.events import Alternative, AnyEvent, RunRequest, RunStarted, Violation
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.match.earley import MatchLimits, State
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.lessons.lesson import CharacterQuestion, ChoiceQuestion, NextQuestion, Question
from glyphscope.lessons.reading import MAX_TEXT
from glyphscope.registry import load_registry
from glyphscope.runs import run_state
from glyphscope.runs.state import RunState, StageState
from glyphscope.runs.strategies.turns import answer_validator, expected_answer

Kind: TypeAlias = Literal["next", "character", "choice"]
Recorded: TypeAlias = Callable[[str], Sequence[AnyEvent]]
"""Returns the events of the recorded run with a name."""
DEFAULT_ASK: dict[type, str] = {
    NextQuestion: "Which of these tokens may come next?",
    CharacterQuestion: "At which character does this become invalid?",
}
"""The default text of a question, by its kind."""
MAX_ITEMS = 200_000
"""The limit for matching the text before a token, in the parser's items: some tenths of a second."""


class AnswerChoice(msgspec.Struct, frozen=True):
    """A choice: its text, whether it is correct, and why. `raw` is the model's own probability, if known."""

    text: str
    right: bool
    why: str
    raw: float | None = None


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its answers. For a character, `text` is the text to choose from and `at` the right character; for
    other kinds, any number of the `choices` may be right. `before` is the text before the token.
    """

    kind: Kind
    ask: str
    why: str = ""
    before: str = ""
    choices: tuple[AnswerChoice, ...] = ()
    text: str = ""
    at: int = -1

    @property
    def right(self) -> frozenset[int]:
        """The numbers of the right choices; for a character, its place."""
        if self.kind == "character":
            return frozenset({self.at})
        return frozenset(number for number, choice in enumerate(self.choices) if choice.right)

    @property
    def single(self) -> bool:
        """Whether exactly one answer must be chosen, which the reader may know."""
        return self.kind == "character" or (self.kind == "choice" and len(self.right) == 1)


class Grade(msgspec.Struct, frozen=True):
    """The result of an answer: the missing correct choices, the wrong ones, and both in words."""

    right: bool
    missed: frozenset[int]
    wrong: frozenset[int]
    words: str


def sheet(question: Question, runs: dict[str, RunRequest], recorded: Recorded) -> Sheet:
    """The question with its answers. Raises LessonError if it cannot be asked, and the errors of `recorded`."""
    match question:
        case ChoiceQuestion():
            choices = tuple(AnswerChoice(each.text, each.right, each.why) for each in question.options)
            return Sheet(kind="choice", ask=question.ask, why=question.why, choices=choices)
        case NextQuestion():
            return _next(question, _as_run(question.run, runs, recorded), recorded)
        case CharacterQuestion():
            return _character(question, _as_run(question.run, runs, recorded), recorded)


def _as_run(name: str, runs: dict[str, RunRequest], recorded: Recorded) -> RunRequest:
    """The request; in the model's own notation, the recorded one, which contains the form of that model's turns."""
    if runs[name].native:
        for event in recorded(name):
            if isinstance(event, RunStarted):
                return event.request
    return runs[name]


def grade(asked: Sheet, chosen: frozenset[int]) -> Grade:
    """The answer `chosen` (numbers of choices, or a character's place) compared with the right one."""
    missed, wrong = asked.right - chosen, chosen - asked.right
    if not chosen:
        words = "Nothing was chosen."
    elif not missed and not wrong:
        words = "Right."
    elif asked.kind == "character":
        (said,) = chosen
        words = (
            f"Not yet at character {said}: it is decided at character {asked.at}."
            if said < asked.at
            else f"Earlier: it is decided at character {asked.at}, not only at {said}."
        )
    elif asked.single and len(chosen) == 1:  # a reader who may choose one left nothing out
        words = f"Not quite: {_listed(asked, wrong)} is not right; {_listed(asked, missed)} is."
    else:
        parts = []
        if wrong:
            parts.append(f"{_listed(asked, wrong)} {'is' if len(wrong) == 1 else 'are'} not right")
        if missed:
            parts.append(f"{_listed(asked, missed)} {'was' if len(missed) == 1 else 'were'} left out")
        words = f"Not quite: {', and '.join(parts)}."
    return Grade(not missed and not wrong, missed, wrong, words)


def stage_of(state: RunState, name: str) -> StageState:
    """The stage with that name, or the first with a text. Raises LessonError."""
    for stage in state.stages:
        if (stage.name == name) if name else bool(stage.tokens):
            return stage
    if not name:
        raise LessonError("The recorded run has no text.")
    known = ", ".join(stage.name for stage in state.stages if stage.tokens)
    raise LessonError(f'The recorded run has no stage "{name}".', hint=f"It has {known}.")


# -- which tokens may come -------------------------------------------------------------------------------------


def _next(question: NextQuestion, request: RunRequest, recorded: Recorded) -> Sheet:
    stage = stage_of(run_state(recorded(question.run)), question.stage)
    if question.token >= len(stage.tokens):
        raise LessonError(
            f"The recorded run has {len(stage.tokens):,} tokens: there is none with number {question.token}."
        )
    token = stage.tokens[question.token]
    by_grammar = bool(question.tokens) or request.constraint == "off"
    before = _TokenPosition(request, stage.text[: token.start], grammar_needed=by_grammar)
    if question.tokens:
        choices = [before.by_grammar(text) for text in question.tokens]
    else:
        choices = []
        for each in _spread(token.step.alternatives, question.most):
            if (text := _whole(each)) is not None:
                choice = before.by_grammar(text, each.raw) if by_grammar else before.by_mask(text, each)
                choices += [choice] if choice is not None else []
    if len(choices) < 2 or not any(each.right for each in choices) or all(each.right for each in choices):
        raise LessonError(
            f"There is nothing to choose at token {question.token}: of the tokens that can be offered, "
            f"{sum(each.right for each in choices)} of {len(choices)} may come.",
            hint="Ask at another token, raise `most`, or offer your own `tokens`.",
        )
    return Sheet(
        kind="next", ask=question.ask or DEFAULT_ASK[NextQuestion], why=question.why, before=before.text,
        choices=tuple(choices),
    )  # fmt: skip


def _spread(alternatives: Sequence[Alternative], most: int) -> list[Alternative]:
    """The most likely ones in order; if all are allowed or all masked, the most likely others replace the last ones."""
    chosen = list(alternatives[:most])
    rest = list(alternatives[most:])
    for allowed in (True, False):
        if not any(bool(each.allowed) is allowed for each in chosen):
            others = [each for each in rest if bool(each.allowed) is allowed][: max(1, most // 3)]
            chosen = chosen[: most - len(others)] + others
    return chosen


def _whole(alternative: Alternative) -> str | None:
    """The alternative's text; None for a token with an incomplete character, or without text."""
    try:
        return alternative.data.decode("utf-8") or None
    except UnicodeDecodeError:
        return None


class _TokenPosition:
    """The place before a token: the text up to there, and the grammar's state after it.

    There is no state if the grammar is for a part of a call, or takes too long to read the text. Raises LessonError in
    that case if the state is needed.
    """

    def __init__(self, request: RunRequest, text: str, *, grammar_needed: bool) -> None:
        self.text = text
        self._request = request
        self._registry = load_registry(request.registry)
        self._state: State | None = None
        in_parts = request.strategy not in ("direct", "route-execute") or bool(request.native)
        if in_parts and grammar_needed:
            raise LessonError(
                "Which tokens may come is known only from the recording here: the strategy asks for a call in parts.",
                hint="Ask about a run with a constraint, without `tokens`.",
            )
        if in_parts:
            return
        try:
            if request.grammar is not None:
                grammar = load_gbnf(request.grammar)
            else:
                grammar = expected_answer(request).grammar(self._registry)
            self._state = compile_grammar(grammar).start(limits=MatchLimits(items=MAX_ITEMS)).feed(text)
        except GlyphscopeError as error:
            if grammar_needed:
                raise LessonError(error.message, hint=error.hint) from None

    def by_grammar(self, token: str, raw: float | None = None) -> AnswerChoice:
        """A token judged by the grammar. Only if the grammar was needed."""
        assert self._state is not None
        if not self._state.alive:
            return AnswerChoice(token, False, "No valid call begins as the text does already.", raw)
        if self._state.feed(token).alive:
            return AnswerChoice(token, True, "The grammar allows it.", raw)
        return AnswerChoice(token, False, self._reason(self._state, token), raw)

    def by_mask(self, token: str, recorded: Alternative) -> AnswerChoice | None:
        """A token judged by the mask; None if it was masked although the grammar accepts its characters, like another
        spelling of a forced text: no answer would be fair.
        """
        raw, final = recorded.raw, recorded.final
        if recorded.allowed:
            more = "" if final is None else f", final probability {percent(final)}"
            return AnswerChoice(
                token, True, f"The mask allows it: raw probability {percent(raw)}{more}.", raw
            )
        if self._state is None:
            return AnswerChoice(token, False, "It is masked.", raw)
        if self._state.feed(token).alive:
            return None
        return AnswerChoice(token, False, self._reason(self._state, token), raw)

    def _reason(self, state: State, token: str) -> str:
        """Why a token is not possible: the validator's reason, by the schema, or the texts that the grammar accepts."""
        if self._request.grammar is None:
            validator = answer_validator(self._request, self._registry)
            validator.feed(self.text)
            if not validator.violations:
                for event in validator.feed(token):
                    if isinstance(event, Violation) and event.code != "SYNTAX":
                        words = f"{event.message.rstrip('.')}."
                        is_name = words.split()[0] not in ("no", "the", "item")  # an argument's is unchanged
                        return words if is_name else capitalised(words)
        dead = state.feed(token)
        accepted = (dead.failed_at or state.position) - state.position
        expected = " or ".join(dead.expected(4))
        if accepted > 0:
            return f"After {token[:accepted]!r} the grammar expects {expected}."
        return f"The grammar expects {expected}."


# -- which character decides -----------------------------------------------------------------------------------


def _character(question: CharacterQuestion, request: RunRequest, recorded: Recorded) -> Sheet:
    text = question.text
    if text:
        validator = answer_validator(request, load_registry(request.registry))
        found = [event for event in validator.feed(text) if isinstance(event, Violation)]
        found = found or [event for event in validator.finish() if isinstance(event, Violation)]
    else:
        stage = stage_of(run_state(recorded(question.run)), question.stage)
        text, found = stage.text, list(stage.violations)
    if not found or not 0 <= found[0].char < len(text):
        raise LessonError(
            "No character of this text decides: "
            + ("it is valid." if not found else "only its end does, as something is missing."),
            hint="Ask about a text that breaks a constraint.",
        )
    if len(text) > MAX_TEXT:
        raise LessonError(
            f"The text has {len(text):,} characters; at most {MAX_TEXT:,} are shown to choose from."
        )
    first = found[0]
    viable = f" Still possible before it: {first.viable}." if first.viable else ""
    why = f"{first.code}: {first.message.rstrip('.')}.{viable}"
    return Sheet(
        kind="character",
        ask=question.ask or DEFAULT_ASK[CharacterQuestion],
        why=f"{why} {question.why}".rstrip(),
        text=text,
        at=first.char,
    )


def _listed(asked: Sheet, numbers: frozenset[int]) -> str:
    return ", ".join(
        f"“{asked.choices[number].text}”" for number in sorted(numbers) if number < len(asked.choices)
    )
