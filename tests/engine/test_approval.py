import pytest

from glyphscope.events import ApprovalRule
from glyphscope.tools import ApprovalError, decide, needs_consent, parse_approvals
from glyphscope.tools.mcp import ServerConfig


def test_a_call_without_a_rule_needs_approval():
    assert decide((), "read_file", "demo", "demo") == "ask"


@pytest.mark.parametrize(
    ("texts", "tool", "source", "action"),
    [
        (["allow"], "anything", "git", "allow"),
        (["deny"], "anything", "git", "deny"),
        (["read=allow"], "read", "git", "allow"),
        (["read=allow"], "write", "git", "ask"),
        (["git/read=allow"], "read", "git", "allow"),
        (["git/read=allow"], "read", "time", "ask"),
        (["git/*=allow"], "write", "git", "allow"),
        (["git/*=allow"], "write", "time", "ask"),
        (["*/write=deny", "allow"], "write", "git", "deny"),
        (["allow", "*/write=deny"], "write", "git", "allow"),
        (["git/write=ask", "git/*=allow"], "write", "git", "ask"),
        ([" git / *  = allow "], "write", "git", "ask"),
        (["a=b=allow"], "a=b", "git", "allow"),
        (["git/a/b=allow"], "a/b", "git", "allow"),
    ],
)
def test_the_first_rule_that_fits_counts(texts, tool, source, action):
    assert decide(parse_approvals(texts), tool, source, "x") == action


def test_a_permission_is_bound_to_its_command_line():
    rule = ApprovalRule(tool="read", source="git", identity="mcp-server-git -r /a", action="allow")
    assert decide((rule,), "read", "git", "mcp-server-git -r /a") == "allow"
    assert decide((rule,), "read", "git", "mcp-server-git -r /b") == "ask"


@pytest.mark.parametrize(
    "text", ["", "yes", "allow all", "read=", "read=yes", "=allow", "git/=allow", "/read=allow"]
)
def test_an_invalid_rule_is_rejected_with_the_syntax(text):
    with pytest.raises(ApprovalError) as raised:
        parse_approvals([text])
    assert raised.value.hint and raised.value.where == "--approve"


def test_consent_covers_exactly_one_command():
    config = ServerConfig(
        name="a", command="rm", args=("-rf", "my files"), env={"TOKEN": "geheimnis"}, cwd="/x"
    )
    assert config.identity == "rm -rf 'my files'" and needs_consent(config)
    assert not needs_consent(config, {config.digest})
    changed = ServerConfig(name="a", command="rm", args=("-rf", "/"), env={"TOKEN": "geheimnis"}, cwd="/x")
    assert needs_consent(changed, {config.digest})
    assert not needs_consent(ServerConfig(name="b", url="https://x.test"))
