"""What a router may answer, and the judge of it: one tool's name, a question, or none of the tools."""

from __future__ import annotations

from typing import Any, ClassVar

from glyphscope.registry import ToolRegistry
from glyphscope.validation import ValueValidator
from glyphscope.validation.reasons import Reason, values_in_words

LONGEST_QUESTION = 200
"""Characters: a router that cannot stop asking ends there."""


def choice_schema(registry: ToolRegistry, *, may_ask: bool) -> dict[str, Any]:
    """The router's answers as a JSON Schema: each choice with the tool and the question that belong to it."""
    names = [tool.name for tool in registry.allowed]
    null = {"type": "null"}
    question = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUESTION}
    answers = [_answer("none", null, null)]
    if may_ask:
        answers.insert(0, _answer("clarify", null, question))
    if names:
        answers.insert(0, _answer("call_tool", {"enum": names}, null))
    return {"anyOf": answers}


def _answer(choice: str, tool: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"choice": {"const": choice}, "tool": tool, "question": question},
        "required": ["choice", "tool", "question"],
        "additionalProperties": False,
    }


class ChoiceValidator(ValueValidator):
    """Judges a router's answer. A name that no allowed tool has is an UNKNOWN_TOOL, as in a call."""

    WHOLE: ClassVar[str] = "the router's answer"

    def __init__(self, registry: ToolRegistry, *, may_ask: bool) -> None:
        super().__init__(choice_schema(registry, may_ask=may_ask))
        self._names = [tool.name for tool in registry.allowed]

    def _violate(self, reason: Reason, at: int, path: str) -> None:
        if path == "/tool" and reason.code == "CONSTRAINT_ENUM":
            reason = self._no_tool(reason.rule)
        super()._violate(reason, at, path)

    def _no_tool(self, rule: str) -> Reason:
        """Why no tool has the name that is being written, of which the last character fits none, or came too early."""
        typed = "".join(self._pieces)
        taken = max((check.count for check in self._strings if check is not None), default=len(typed))
        left = [name for name in self._names if name.startswith(typed[:taken])]
        wrong = typed[: taken + 1]
        so = "" if wrong == typed[:taken] else " or begins so"
        return Reason("UNKNOWN_TOOL", f"no allowed tool is named '{wrong}'{so}", rule, values_in_words(left))
