"""A run in a few lines: what each stage is sent and says, what is done with it, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from glyphscope.events import AnyEvent, PromptRendered, Token
from glyphscope.models.interface import GenerateRequest

SHOWN = {
    "StageStarted": "{stage}: {title}",
    "CallReady": "  call {tool} {arguments}",
    "Violation": "  violation {code} at {char}, {path}: {message}; fits {viable}",
    "Aborted": "  aborted at {char} after {tokens_decoded} tokens",
    "CandidatesFound": "  names {candidates}",
    "Routed": "  routed {choice} {tool}",
    "QuestionAsked": "  question {question}",
    "QuestionAnswered": "  answered {answer}",
    "Extracted": "  extracted {after}, valid {valid}",
    "RepairTried": "  repair {attempt} of {attempts}: {code} at {char}, now {now_code} at {now}",
    "TransformActed": "  transform {name} of the {surface}",
    "ApprovalNeeded": "  approval {tool} of {source}",
    "ApprovalGiven": "  approval {action} by {by}, for {scope} {reason}",
    "ToolResult": "  result {tool} {sent}",
    "LimitReached": "limit {limit}: {used} of {allowed}: {message}",
    "FinalAnswer": "answer {text}, recovered {recovered}",
    "RunFinished": "ended {reason}, valid {valid}",
    "RunFailed": "failed {code}: {message} {hint}",
}
"""The events of a story with their members."""
OMITTED = ("StageStarted", "tool"), ("ApprovalGiven", "rule")
USER = "\n\nUser: "


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return [str(getattr(each, "name", each)) for each in value] if isinstance(value, tuple) else value


def _new_part(before: str, prompt: str) -> str:
    """The addition of a prompt to the one before, without the system's text where that is another."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, prompt, strict=False)))
    start = prompt.find(USER)
    return prompt[same if 0 <= start < same else max(start, 0) :].strip().removesuffix("Assistant:").strip()


def story(events: Iterable[AnyEvent], requests: Sequence[GenerateRequest], tools: Sequence[str]) -> str:
    """Without an empty line: of each prompt what it adds, and which of the `tools` it offers where that changed."""
    lines: list[str] = []
    before, said, asked, offer = "", "", iter(requests), "all tools; off, at most 512 tokens"
    for event in events:
        name = type(event).__name__
        if isinstance(event, Token):
            said += event.step.text
        elif isinstance(event, PromptRendered):
            request = next(asked, None)
            system = set(re.findall(r"\w+", event.text.partition(USER)[0]))
            offered = [tool for tool in tools if tool in system]
            names = "all tools" if len(offered) == len(tools) else ", ".join(offered) or "no tools"
            how = f"{request.constraint}, at most {request.max_tokens} tokens" if request else "never sent"
            if offer != (offer := f"{names}; {how}"):
                lines.append(f"  offers {offer}")
            lines.append(f"  < {_new_part(before, event.text)}")
            before = event.text
        elif (form := SHOWN.get(name)) is not None:
            if said:
                lines.append(f"  > {said}")
                said = ""
            if (name, getattr(event, "kind", getattr(event, "by", ""))) not in OMITTED:
                members = {name: _plain(getattr(event, name)) for name in event.__struct_fields__}
                lines.append(form.format(**members))
    return "\n".join(line.rstrip().replace("\n\n", "\n").replace("\n", "⏎") for line in lines)
