"""The base of all events, the names of verdicts, the codes of violations, and the facts about a model."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from glyphscope.events.load_options import LoadOptions

Status: TypeAlias = Literal["open", "holds", "impossible"]

Code: TypeAlias = Literal[
    "UNKNOWN_TOOL", "MISSING_TOOL", "MISSING_REQUIRED", "UNKNOWN_ARGUMENT", "DUPLICATE_ARGUMENT", "TYPE_MISMATCH",
    "CONSTRAINT_MIN", "CONSTRAINT_MAX", "CONSTRAINT_MULTIPLE", "CONSTRAINT_LEN", "CONSTRAINT_PATTERN",
    "CONSTRAINT_ENUM", "CONSTRAINT_FORMAT", "CONSTRAINT_ITEMS", "CONSTRAINT_OTHER",
    "SYNTAX", "LEADING_TEXT", "TRAILING_TEXT", "TRUNCATED", "LIMIT_EXCEEDED", "ARGUMENTS_TOO_LARGE",
    "TOOL_OUTPUT_TOO_LARGE", "NO_TOOL_CALL", "TOOL_ERROR", "MODEL_FAILED",
]  # fmt: skip


TemplateForm: TypeAlias = Literal["", "hermes", "llama", "mistral", "openai", "other"]
"""How a model's chat template writes tool calls; empty if it has no place for tools. `openai` is for endpoints."""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the model of the run, for records and for every figure that is shown.

    `path` of a remote model is its URL without secrets, and `server` is the server program with its version, if
    reported; values that an endpoint does not report are 0 or empty. `reads_thinking`: its chat template has a switch
    for thinking; None if unknown; `reads_effort`: a variable for the reasoning effort. `load`: how a GGUF file was
    loaded; None in older records and for other models. `sampling`: the settings that the file recommends for its model
    (`general.sampling.*`), by the names of `Sampling`. `adapters`: the SHA-256 of each LoRA adapter of `load`, by path.
    """

    name: str
    kind: Literal["llama.cpp", "scripted", "recorded", "remote"] = "llama.cpp"
    path: str = ""
    sha256: str = ""
    quantisation: str = ""
    architecture: str = ""
    parameters: int = 0
    vocabulary: int = 0
    context: int = 0
    bytes: int = 0
    has_chat_template: bool = True
    tool_calls: TemplateForm = ""
    server: str = ""
    reads_thinking: bool | None = None
    reads_effort: bool | None = None
    load: LoadOptions | None = None
    sampling: dict[str, float] = {}
    adapters: dict[str, str] = {}


Seconds: TypeAlias = Annotated[float, Meta(ge=-1e9, le=1e9)]
"""Seconds since the run's start; reading rejects others, which no clock can show."""
Milliseconds: TypeAlias = Annotated[float, Meta(ge=-1e12, le=1e12)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Position: TypeAlias = Annotated[int, Meta(ge=-(2**53), le=2**53)]
"""A character or token of a text. Those before 0 belong to the part of an answer that the prompt begins."""


class RunEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """The members of every event: the run, the stage of its strategy, and seconds since the run started."""

    run: str = ""
    stage: str = ""
    t: Seconds = 0.0
