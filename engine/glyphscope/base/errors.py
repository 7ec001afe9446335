"""The errors that a user can cause or fix.

Each error states the problem, its place, and the fix. The window and the command line show these three parts, never a
traceback; any other exception is a bug in Glyphscope and is reported as one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar


class GlyphscopeError(Exception):
    """An error: the problem (`message`), its place (`where`: a file, a JSON Pointer, a tool) and its fix (`hint`)."""

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    @property
    def words(self) -> str:
        """The problem and its fix, for a view that shows its place separately."""
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __str__(self) -> str:
        return f"{self.where}: {self.words}" if self.where else self.words


T = TypeVar("T")


_ELSEWHERE = {
    "request_overrides": "extra_body", "tool_use_mode": "tool_use", "tool_failure_policy": "failure_policy",
    "NO_TOOL_CALLS": "NO_TOOL_CALL",
}  # fmt: skip
"""Names of settings and codes in other programs' runners of tools, with those of the same meaning here."""
_IN_PARTS = {
    "ASSERTION_FAILED": "An expectation that is not met is counted under FINAL_TEXT, WRONG_ARGUMENTS or another reason."
}
"""Names without one of the same meaning, in words."""


def meant(name: str, known: Collection[str]) -> str:
    """The question whether a similar name, or that of the same meaning, was meant; empty if there is none."""
    if name in _IN_PARTS:
        return _IN_PARTS[name]
    from difflib import get_close_matches  # only where something is wrong

    other = _ELSEWHERE.get(name)
    if other is not None and other not in known:
        return f'The same is called "{other}" here, in another place.'
    near = [other] if other in known else get_close_matches(name, known, 1)
    return f'Did you mean "{near[0]}"?' if near else ""


def find_named(
    items: Mapping[str, T],
    name: str,
    what: str,
    *,
    error: type[GlyphscopeError] = GlyphscopeError,
    where: str = "",
) -> T:
    """The item with that name. Raises `error` if there is no such `what`, with the existing names."""
    if name not in items:
        hint = f"{meant(name, items)} There are {', '.join(items)}.".lstrip()
        raise error(f"There is no {what}.", where=where, hint=hint)
    return items[name]


class Problem(NamedTuple):
    """An error in a document, at a JSON Pointer (RFC 6901)."""

    pointer: str
    message: str


class PlacedProblem(NamedTuple):
    """A `Problem` in a text, with the line and column of its value, from 1; line 0 if there is no text."""

    pointer: str
    message: str
    line: int = 0
    column: int = 0


P = TypeVar("P", Problem, PlacedProblem)


class DocumentError(GlyphscopeError, Generic[P]):
    """A document that cannot be used; `problems` lists every error found."""

    def __init__(
        self, message: str, *, where: str = "", hint: str = "", problems: tuple[P, ...] = ()
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.problems: tuple[P, ...] = problems

    def __str__(self) -> str:
        return _with_problems(super().__str__(), self.problems)


class RegistryError(DocumentError[Problem]):
    """A registry that cannot be used."""


class SuiteError(DocumentError[PlacedProblem]):
    """A suite that cannot be used; its errors are in the order of the text."""


class LessonError(DocumentError[PlacedProblem]):
    """A lesson or part of one that cannot be used; its errors are in the order of the text."""


def problem_words(problem: Problem | PlacedProblem) -> str:
    """The problem on one line, with its place."""
    at = ""
    if isinstance(problem, PlacedProblem) and problem.line > 0:
        at = f"line {problem.line}, column {problem.column}, "
    return f"{at}{problem.pointer or '(whole document)'}: {problem.message}"


def _with_problems(text: str, problems: Sequence[Problem | PlacedProblem]) -> str:
    lines = [text, *(f"  {problem_words(problem)}" for problem in problems[:20])]
    if len(problems) > 20:
        lines.append(f"  … and {len(problems) - 20} more")
    return "\n".join(lines)


class RequestProblem(NamedTuple):
    """Why a request cannot be run. `field` is the path of the field of `RunRequest` to change, such as `loop.allow`."""

    field: str
    error: GlyphscopeError

    def __str__(self) -> str:
        return f"{self.field}: {self.error.words}"


class RequestError(GlyphscopeError):
    """A request with several problems, of which its message is the first."""

    def __init__(self, problems: Sequence[RequestProblem]) -> None:
        first = problems[0].error
        super().__init__(first.message, where=first.where, hint=first.hint)
        self.problems = tuple(problems)

    @property
    def others(self) -> str:
        """The problems after the first, a line each."""
        return "\n".join(map(str, self.problems[1:]))

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.others}"


class Stopped(GlyphscopeError):
    """The user stopped the work before it had a result."""


class NotationError(GlyphscopeError):
    """A value that a notation cannot write, or a shape that a tool does not fit."""


class GrammarError(GlyphscopeError):
    """A grammar or a constraint that cannot be built. A run never continues without it."""


class ConstraintIgnored(GrammarError):
    """An endpoint's answer violates the constraint that was sent with the request, so no part of it counts."""


class PromptError(GlyphscopeError):
    """A prompt template that cannot be rendered."""


class ContextOverflow(PromptError):
    """The rendered prompt does not fit into the model's context; raised before anything is decoded."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(
            f"The prompt has {needed:,} tokens, and the model's context holds {available:,}.",
            hint="Shorten the prompt, allow fewer tools, or load the model with a larger context.",
        )
        self.needed = needed
        self.available = available


class ModelError(GlyphscopeError):
    """A model that cannot be found, loaded or run."""


class ModelDied(ModelError):
    """The model's process ended by itself: `signal` names the cause, `stderr` its last lines."""

    def __init__(self, message: str, *, signal: str = "", stderr: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint or "The next run starts a new process.")
        self.signal = signal
        self.stderr = stderr


ModelsCode: TypeAlias = Literal["MODEL_FAILED", "CONTEXT_OVERFLOW", "CONSTRAINT_FAILED"]


class RecordedFailure(GlyphscopeError):
    """A recorded model fails like the original run; `code` and `detail` are those of the recorded event."""

    def __init__(self, message: str, *, code: ModelsCode, hint: str = "", detail: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code: ModelsCode = code
        self.detail = detail


class StorageError(GlyphscopeError):
    """A file that cannot be read or written; the previous content on disk is untouched."""


class RecordError(StorageError):
    """A run record or project that is damaged, or of a newer version than this program can read."""


class ToolError(GlyphscopeError):
    """The failure of a tool, in words for the model; the run continues with it as the result."""


class ServerError(GlyphscopeError):
    """An MCP server that cannot be started, reached or understood. `log` contains its last lines of stderr."""

    def __init__(self, message: str, *, where: str = "", hint: str = "", log: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.log = log
