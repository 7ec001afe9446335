"""The file of servers: its text is preserved, only its owner may read it, and it never prevents a start."""

from __future__ import annotations

import json
import os
import stat

from glyphscope.store import KnownServers, load_servers, places, save_servers
from glyphscope.tools.mcp import read_servers, server_entries

ENTRY = {"command": "uvx", "args": ["mcp-server-time"], "env": {"TOKEN": "${env:SECRET_TOKEN}"}}


def test_a_secret_of_the_environment_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush-hush")
    path = tmp_path / "servers.json"
    entries = server_entries(json.dumps({"mcpServers": {"time": ENTRY}}))
    save_servers(path, KnownServers(entries=entries, consents=("abc",)))
    assert "hush-hush" not in path.read_text()
    known = load_servers(path).known
    assert known == KnownServers(entries={"time": ENTRY}, consents=("abc",))
    assert read_servers(path).servers[0].env == {"TOKEN": "hush-hush"}  # other programs also read the file


def test_the_file_is_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "new" / "servers.json"
    save_servers(path, KnownServers())
    save_servers(path, KnownServers(entries={"a": {"command": "b"}}))
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_damaged_file_is_renamed_and_reported(tmp_path):
    path = tmp_path / "servers.json"
    for text in ("{", "[]", "{}", '{"mcpServers": 3}', '{"mcpServers": {}, "consents": 5}', "[" * 100_000):
        path.write_text(text)
        known, notice = load_servers(path)
        assert known == KnownServers(), text
        assert "damaged" in notice, text
        assert not path.exists()
        assert any(other.read_text() == text for other in tmp_path.iterdir()), text


def test_a_missing_file_has_no_servers(tmp_path):
    assert load_servers(tmp_path / "none.json") == (KnownServers(), "")


def test_an_invalid_entry_leaves_the_others(tmp_path):
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"a": 3, "b": {"command": "c"}}, "consents": ["x", 5]}))
    assert load_servers(path) == (KnownServers(entries={"b": {"command": "c"}}, consents=("x",)), "")


def test_the_servers_are_stored_beside_the_settings():
    assert places().servers.parent == places().settings.parent
