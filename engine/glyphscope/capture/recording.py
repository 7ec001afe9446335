"""Records of captured exchanges, and what each prompt changed since the one before it. Called in a separate process.

The prompt before is, of the last ones to the same model, the one with the longest common beginning: agents that work at
once, or an agent's helpers, have separate prompts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import duration, pluralize
from glyphscope.base.shorten import listed, shorten
from glyphscope.capture.answer_calls import Conversations
from glyphscope.capture.captured import captured_events
from glyphscope.capture.exchange import SUFFIX, Exchange, PauseEnd, read_exchange
from glyphscope.capture.requests import CapturedRequest, captured_request
from glyphscope.events import AnyEvent, Message, PromptRendered, RunRequest
from glyphscope.models.interface import Model
from glyphscope.models.opening import open_model
from glyphscope.models.remote.model import RemoteModel
from glyphscope.prompting.changes import in_common
from glyphscope.prompting.costs import part_words
from glyphscope.runs import CallState, RunState, run_state
from glyphscope.runs.endings import end_of, outcome_of
from glyphscope.store import History, RecordWriter, atomic_write

_REMEMBERED = 16
_MAX_REMEMBERED = 64_000_000
"""Prompts, and characters of them, with which the next one is compared."""
_SHOWN = 4
_MAX_WORDS = 200
_WAITS: dict[PauseEnd, str] = {
    "sent": "sent unchanged",
    "edited": "edited",
    "dropped": "dropped: the agent got an error",
    "late": "not sent on: the agent got an error",
    "agent": "not sent on: the agent had left",
    "stop": "not sent on, as the capture ended: the agent got an error",
}


class CapturedCall(msgspec.Struct, frozen=True):
    """A call of an answer. `code`, `char` and `message` are those of its first violation: `char` is the deciding
    character in the answer as the record has it, None for a valid call.
    """

    tool: str
    valid: bool
    code: str = ""
    char: int | None = None
    message: str = ""


class PromptChange(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt against that of request `since`. Their first `common` of `size` units (`tokens` if they are known,
    otherwise `characters`) are the same; `broken` units of the prompt before come after them, which no cache can keep.

    `at` is the part of the prompt where they differ, empty at its end; `words` says what was added, removed and
    changed.
    """

    since: int
    unit: str
    size: int
    common: int
    broken: int
    at: str
    words: str


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one exchange: its run's record, and the figures that are shown. Sizes are bytes;
    `prompt_tokens`, `cached` and `tokens` are the server's counts, None if it sent none; `tools_tokens` and
    `messages_tokens` are counted with a model's tokenizer or the server's, None without one. `waits` describes its
    pauses.
    """

    number: int
    api: str
    model: str
    record: str
    outcome: str
    words: str
    calls: tuple[CapturedCall, ...]
    tools: int
    request_bytes: int
    answer_bytes: int
    tools_bytes: int
    prompt_tokens: int | None
    cached: int | None
    tokens: int | None
    tools_tokens: int | None
    messages_tokens: int | None
    seconds: float
    change: PromptChange | None
    waits: tuple[str, ...] = ()


class _Seen(NamedTuple):
    number: int
    model: str
    request: RunRequest
    prompt: PromptRendered


_seen: deque[_Seen] = deque(maxlen=_REMEMBERED)
_conversations = Conversations()


def record_exchange(path: str, model: str, history: str) -> Recorded:
    """Make the record of an exchange's file, next to it, and remove the file. `model` names the model whose
    template and tokenizer are used, empty for none; the run is also added to the `history` of that path, if any.

    Raises StorageError, RecordError, ModelError.
    """
    file = Path(path)
    exchange = read_exchange(file)
    captured = _captured(exchange)
    record = file.with_suffix(".jsonl")
    events = tuple(captured_events(exchange, captured, _opened(model) if model else None))
    change = _change_of(exchange, captured, events)
    waits = tuple(_pause_words(exchange, record))
    note = " ".join((*waits, change_words(change)) if change is not None else waits)
    events = tuple(_noted(event, note) for event in events)
    with RecordWriter(record) as writer:
        for event in events:
            writer.write(event)
    if history:
        History(Path(history)).add(events)
    file.unlink()
    return msgspec.structs.replace(_recorded(exchange, captured, events, record, change), waits=waits)


def calls_of(exchange: Exchange) -> list[CapturedCall]:
    """The calls of a whole answer, judged by the tools of its request."""
    captured = _captured(exchange)
    return list(_calls(run_state(captured_events(exchange, captured))))


def _captured(exchange: Exchange) -> CapturedRequest:
    """The request, with the messages that the server has from earlier ones; remembers its answer for later ones."""
    asked, answered = exchange.asked, exchange.answered
    document, note = _conversations.whole(asked.api, exchange.sent)
    if answered is not None and answered.status == 200:
        pieces = b"".join(piece.data for piece in exchange.pieces)
        size = len(exchange.sent) + len(pieces)
        _conversations.keep(asked.number, asked.api, document, size, answered.kind, pieces)
    return captured_request(asked.api, document, note)


def _pause_words(exchange: Exchange, record: Path) -> Iterator[str]:
    """The pauses, in sentences; the agent's side of an edited request or answer is written to a file at the record."""
    own = {"request": exchange.asked.body, "answer": exchange.received}
    for wait in exchange.waits:
        words = _WAITS[wait.end]
        if wait.end == "edited" and (data := own[wait.side]) is not None:
            file = record.with_suffix(f".agent-{wait.side}.txt")
            atomic_write(file, data)
            words = f"{words}: the record has the server's side, and {file.name} the agent's"
        yield f"The {wait.side} was paused for {duration(wait.seconds)}, and {words}."


def open_like(name: str) -> str:
    """Open the model that writes and counts prompts, so that a wrong one is known at once. Returns its name.

    Raises ModelError, also for an endpoint that does not report its prompts: the requests that only count would end
    running answers of llama_cpp.server.
    """
    model = _opened(name)
    if isinstance(model, RemoteModel) and not model.dialect.renders:
        raise ModelError(
            f"This endpoint ({model.dialect.title}) does not report the prompts that it makes, with their tokens.",
            where=model.info.path,
            hint="Name the model that it runs, as a GGUF file. llama-server and vLLM report them.",
        )
    return model.info.name


def left_over(folder: Path) -> list[Path]:
    """The exchanges without a record, which a killed capture left there."""
    return sorted(folder.glob(f"*{SUFFIX}"))


@lru_cache(maxsize=1)
def _opened(name: str) -> Model:
    return open_model(name)


def _recorded(
    exchange: Exchange,
    captured: CapturedRequest,
    events: Sequence[AnyEvent],
    record: Path,
    change: PromptChange | None,
) -> Recorded:
    state = run_state(events)
    stage, tools = state.stages[-1], captured.request.registry["tools"]
    finished, parts = stage.finished, stage.prompt.parts if stage.prompt is not None else ()
    counted = stage.prompt is not None and stage.prompt.tokens > 0
    in_tools = sum(part.tokens for part in parts if part.name == "tools")
    return Recorded(
        number=exchange.asked.number,
        api=exchange.asked.api,
        model=captured.model,
        record=str(record),
        outcome=outcome_of(state),
        words=shorten(
            end_of(state).words
            if state.failed is None
            else state.failed.message.removeprefix(f"{state.begun.model.path}: "),
            _MAX_WORDS,
        ),
        calls=tuple(_calls(state)),
        tools=len(tools),
        request_bytes=len(exchange.asked.body),
        answer_bytes=sum(len(piece.data) for piece in exchange.pieces),
        tools_bytes=len(msgspec.json.encode(tools)),
        prompt_tokens=(finished.prompt_tokens or None) if finished else None,
        cached=finished.cached if finished and finished.prompt_tokens else None,
        tokens=finished.tokens if finished else None,
        tools_tokens=in_tools if counted else None,
        messages_tokens=sum(part.tokens for part in parts) - in_tools if counted else None,
        seconds=exchange.ended.t,
        change=change,
    )


def _calls(state: RunState) -> Iterator[CapturedCall]:
    written = sorted(state.stages[-1].written.items()) if state.stages else ()
    return (_call(call) for _, call in written if call.tool or call.violations)


def _call(call: CallState) -> CapturedCall:
    name = call.tool.name if call.tool else ""
    if not call.violations:
        return CapturedCall(name, call.closed or call.ready is not None)
    first = min(call.violations, key=lambda each: each.char)
    return CapturedCall(name, False, first.code, first.char, first.message)


def _noted(event: AnyEvent, note: str) -> AnyEvent:
    """The event, with this in the note of the prompt."""
    if not isinstance(event, PromptRendered) or not note:
        return event
    return msgspec.structs.replace(event, note=f"{event.note} {note}".strip())


def change_words(change: PromptChange) -> str:
    """The change in a sentence."""
    since = f"Since request {change.since}: {change.words}."
    if not change.at and change.common < change.size:
        return f"{since} All of this prompt is the beginning of that one, and can stay cached."
    if not change.broken:
        return f"{since} The prompt before it is whole at the beginning of this one, and can stay cached."
    return (
        f"{since} The prompts differ from {change.unit.removesuffix('s')} {change.common:,} on ({change.at}): "
        f"{change.broken:,} of {change.size:,} {change.unit} that may be cached cannot be used again."
    )


def _change_of(
    exchange: Exchange, captured: CapturedRequest, events: Sequence[AnyEvent]
) -> PromptChange | None:
    """The change since the most similar prompt, if there was one; remembers this prompt."""
    prompt = next((event for event in events if isinstance(event, PromptRendered)), None)
    if prompt is None:
        return None
    now = _Seen(exchange.asked.number, captured.model, captured.request, prompt)
    before = max(
        (seen for seen in _seen if seen.model == now.model),
        key=lambda seen: (_common(seen.prompt.text, prompt.text), seen.number),
        default=None,
    )
    _seen.append(now)
    while sum(len(seen.prompt.text) for seen in _seen) > _MAX_REMEMBERED and len(_seen) > 1:
        _seen.popleft()
    return None if before is None else _change(before, now)


def _change(before: _Seen, now: _Seen) -> PromptChange:
    at = _common(before.prompt.text, now.prompt.text)
    answer = _after_messages(before.prompt)  # the beginning of the answer, which each prompt writes again
    tokens = in_common(before.prompt, now.prompt)
    if tokens is None:
        size, common, end = len(before.prompt.text), at, answer
    else:
        ends = list(accumulate(before.prompt.lengths))
        size, common = len(ends), tokens
        end = sum(each <= answer for each in ends)
    part = next((part for part in now.prompt.parts if part.start <= at < part.end), None)
    return PromptChange(
        since=before.number,
        unit="characters" if tokens is None else "tokens",
        size=size,
        common=common,
        broken=max(0, size - common) if common < end and at < _after_messages(now.prompt) else 0,
        at=part_words(part, now.prompt.text) if part is not None and at < _after_messages(now.prompt) else "",
        words=_words(before.request, now.request),
    )


def _after_messages(prompt: PromptRendered) -> int:
    """The end of the last message in the prompt's text."""
    return max((part.end for part in prompt.parts if part.name != "template"), default=0)


def _common(one: str, other: str) -> int:
    """The length of the common beginning, by halving: Python compares slices quickly, and characters slowly."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _words(before: RunRequest, now: RunRequest) -> str:
    """The tools and messages that were added, removed and changed."""
    words = []
    old = {tool["name"]: tool for tool in before.registry["tools"]}
    new = {tool["name"]: tool for tool in now.registry["tools"]}
    for names, what in (
        ([name for name in new if name not in old], "added"),
        ([name for name in old if name not in new], "removed"),
        ([name for name in new if name in old and new[name] != old[name]], "changed"),
    ):
        if names:
            words.append(f"{pluralize(len(names), 'tool')} {what} ({listed(names, _SHOWN)})")
    if not words and list(old) != list(new):
        words.append("the order of the tools changed")
    if before.system_prompt != now.system_prompt:
        words.append("the system message changed")
    one, other = _messages(before), _messages(now)
    same = next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    if removed := len(one) - same:
        words.append(f"{pluralize(removed, 'message')} from number {same + 1} on removed or changed")
    if added := len(other) - same:
        words.append(f"{pluralize(added, 'message')} added")
    return ", ".join(words) or "nothing changed"


def _messages(request: RunRequest) -> list[Message]:
    return [*request.history, *([Message("user", request.prompt)] if request.prompt else [])]
