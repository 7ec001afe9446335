"""From an error to the event that ends a run with it."""

from __future__ import annotations

from glyphscope.errors import (
    ConstraintIgnored,
    ContextOverflow,
    GlyphscopeError,
    GrammarError,
    ModelDied,
    ModelError,
    PromptError,
    RecordedFailure,
    RegistryError,
)
from glyphscope.events import RunFailed


def failed(error: GlyphscopeError) -> RunFailed:
    """The event of that error: what is not the prompt's, the constraint's or the model's fault is the request's."""
    message = f"{error.where}: {error.message}" if error.where else error.message
    hint, detail = error.hint, _detail(error)
    match error:
        case RecordedFailure():
            return RunFailed(code=error.code, message=message, hint=hint, detail=error.detail)
        case ContextOverflow():
            return RunFailed(code="CONTEXT_OVERFLOW", message=message, hint=hint, detail=detail)
        case PromptError():
            return RunFailed(code="PROMPT_FAILED", message=message, hint=hint, detail=detail)
        case ConstraintIgnored():
            return RunFailed(code="CONSTRAINT_IGNORED", message=message, hint=hint, detail=detail)
        case GrammarError():
            return RunFailed(code="CONSTRAINT_FAILED", message=message, hint=hint, detail=detail)
        case ModelError():
            return RunFailed(code="MODEL_FAILED", message=message, hint=hint, detail=detail)
        case _:
            return RunFailed(code="BAD_REQUEST", message=message, hint=hint, detail=detail)


def _detail(error: GlyphscopeError) -> str:
    """The evidence: the signal and last lines of a dead process, or every mistake of a registry."""
    if isinstance(error, ModelDied):
        return "\n".join(part for part in (error.signal, error.stderr) if part)
    if isinstance(error, RegistryError):
        return "\n".join(f"{problem.pointer}: {problem.message}" for problem in error.problems)
    return ""
