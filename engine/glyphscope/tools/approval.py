"""Permissions: rules that approve calls, and consent to commands from a file.

Pure functions: the caller asks the user and saves answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import Approval, ApprovalRule
from glyphscope.tools.mcp.config import ServerConfig

ACTIONS: tuple[Approval, ...] = ("ask", "allow", "deny")
ANY = "*"


class ApprovalError(GlyphscopeError):
    """A rule that cannot be read."""


def decide(rules: Iterable[ApprovalRule], tool: str, source: str, identity: str) -> Approval:
    """The decision about a call: the first matching rule counts; without one, the call needs approval."""
    for rule in rules:
        if _fits(rule.tool, tool) and _fits(rule.source, source) and rule.identity in ("", identity):
            return rule.action
    return "ask"


def _fits(pattern: str, name: str) -> bool:
    return pattern in (ANY, name)


def without_permissions(rules: Iterable[ApprovalRule]) -> tuple[ApprovalRule, ...]:
    """The rules without permissions, for rules from a file: only a user may grant permissions."""
    return tuple(rule for rule in rules if rule.action != "allow")


def parse_approvals(texts: Iterable[str]) -> tuple[ApprovalRule, ...]:
    """The rules of `--approve`, of which the first matching one counts: `allow` (everything), `TOOL=allow`,
    `SOURCE/TOOL=deny`, `SOURCE/*=ask`. Raises ApprovalError.
    """
    return tuple(_parse(text) for text in texts)


def _parse(text: str) -> ApprovalRule:
    place, equals, action = text.strip().rpartition("=")
    action = action.strip()
    if action not in ACTIONS:
        raise ApprovalError(
            f"`{text}` does not end in an action." if equals else f"`{text}` is not a rule.",
            where="--approve",
            hint="Write allow, deny or ask for every call, TOOL=allow, SOURCE/TOOL=allow or SOURCE/*=allow.",
        )
    if not equals:
        return ApprovalRule(action=action)
    source, slash, tool = place.strip().partition("/")
    source, tool = (source, tool) if slash else (ANY, source)
    if not source or not tool:
        raise ApprovalError(
            f"`{text}` names no {'tool' if source else 'source'}.",
            where="--approve",
            hint=f"Write `{ANY}` for any.",
        )
    return ApprovalRule(tool=tool, source=source, action=action)


def needs_consent(config: ServerConfig, consented: Collection[str] = ()) -> bool:
    """Whether a user must see and allow an imported command before it runs; `consented` are digests of allowed ones.

    The digest changes with any part of the configuration, including those that are not shown, such as the values of
    variables.
    """
    return config.transport == "stdio" and config.digest not in consented
