"""Signing in with OAuth, against a small server that requires it."""

import json
import time

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring

from cli_command import mcp_command as command
from glyphscope.base.errors import ServerError
from glyphscope.tools.mcp import McpServer, ServerConfig, forget_sign_in, stored_sign_in
from mcp_servers import call
from memory_keyring import memory_keyring
from oauth_http import Browser, oauth_server

pytestmark = pytest.mark.slow


@pytest.fixture
def ring():
    with memory_keyring() as ring:
        yield ring


def guarded(at, browser=None, seconds=20.0, **more):
    return McpServer(ServerConfig(name="g", url=at.url, **more), sign_in=browser, start_seconds=seconds)


def failure(at, browser=None):
    server = guarded(at, browser)
    try:
        with pytest.raises(ServerError) as raised:
            server.open()
        return raised.value, server
    finally:
        server.close()


def said(at, browser=None):
    server = guarded(at, browser)
    try:
        return call(server.open(), "say").content[0].text, server
    finally:
        server.close()


def test_a_user_signs_in_once_and_the_sign_in_is_stored_in_the_keyring(ring):
    browser = Browser()
    with oauth_server() as at:
        text, server = said(at, browser)
        assert text == "Bearer first-secret-token" and len(browser.opened) == 1
        assert "code_challenge_method=S256" in browser.opened[0]
        assert at.redirect.startswith("http://127.0.0.1:")
        assert "failed" in browser.read[0] and "signed in" in browser.read[1], "a foreign state is ignored"
        assert "first-secret-token" in ring.passwords[f"mcp sign-in {at.url}"] and not server.unsaved_sign_in
        at.seen.clear()
        assert said(at)[0] == "Bearer first-secret-token"
        assert "/register" not in at.seen and "/token" not in at.seen
        logged = "".join(entry.text for entry in server.log.entries)
        assert "secret-token" not in logged and "•••" in logged
        assert forget_sign_in(at.url) and stored_sign_in(at.url) == {} and not forget_sign_in(at.url)


def test_without_a_sign_in_the_failure_is_reported_and_no_browser_is_opened(ring):
    with oauth_server() as at:
        error, server = failure(at)
        assert (
            error.message.endswith("(HTTP 401 Unauthorized).")
            and "Sign in" in error.hint
            and server.needs_sign_in
        )
        assert "/register" not in at.seen
        error, server = failure(
            at, lambda _address: (_ for _ in ()).throw(ServerError("No browser.", hint="h"))
        )
        assert (error.message, error.hint) == ("No browser.", "h")


def test_a_token_that_has_expired_is_renewed_after_a_restart(ring):
    with oauth_server() as at:
        said(at, Browser())
        name = f"mcp sign-in {at.url}"
        ring.passwords[name] = json.dumps({**json.loads(ring.passwords[name]), "expires": time.time() - 1})
        assert said(at)[0] == "Bearer second-secret-token" and "refresh" in at.seen
        entry = json.loads(ring.passwords[name])
        assert entry["tokens"]["access_token"] == "second-secret-token" and entry["expires"] > time.time()
        at.token = "a-third-one"
        error, _server = failure(at)
        assert "no longer valid" in error.message and "Sign in again" in error.hint


def test_a_configured_header_is_left_as_it_is(ring):
    with oauth_server() as at:
        server = guarded(at, Browser(), headers={"Authorization": "Bearer first-secret-token"})
        try:
            assert call(server.open(), "say").ok and "/register" not in at.seen
        finally:
            server.close()


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("refuses", "rejected: not you"),
        ("no-token", "Token exchange failed"),
        ("plain-address", "unsafe address"),
    ],
)
def test_a_sign_in_that_fails_is_reported_and_nothing_is_stored(ring, behaviour, words):
    browser = Browser()
    with oauth_server(behaviour) as at:
        error, _server = failure(at, browser)
        assert words in error.message
        assert f"mcp sign-in {at.url}" not in ring.passwords
        if "address" in behaviour:
            assert browser.opened == []


def test_a_server_without_registration_of_clients_needs_a_token_in_its_headers(ring):
    browser = Browser()
    with oauth_server("no-registration") as at:
        error, _server = failure(at, browser)
        assert "Registration failed: 404" in error.message and "`headers`" in error.hint
        assert "Sign in again" not in error.hint and " ." not in error.message and browser.opened == []


def test_without_a_keyring_a_sign_in_lasts_as_long_as_the_program():
    before = keyring.core._keyring_backend
    keyring.set_keyring(NoKeyring())
    try:
        with oauth_server() as at:
            _text, server = said(at, Browser())
            assert "keyring" in server.unsaved_sign_in
            assert said(at)[0] == "Bearer first-secret-token"
    finally:
        keyring.core._keyring_backend = before


def test_on_the_command_line_one_signs_in_and_out(ring, monkeypatch):
    with oauth_server() as at:
        refused = command("call", at.url, "say")
        assert refused.exit_code == 2 and f"do: glyphscope mcp sign-in {at.url}" in refused.stderr
        monkeypatch.setattr("webbrowser.open", lambda _address: False)
        without = command("sign-in", at.url)
        assert without.exit_code == 1 and "No browser" in without.stderr and "--no-browser" in without.stderr
        browser = Browser()
        monkeypatch.setattr("webbrowser.open", browser)
        done = command("sign-in", at.url)
        assert done.exit_code == 0 and browser.opened[0] in done.stderr.replace("\n", "")
        assert command("call", at.url, "say").stdout == "Bearer first-secret-token\n"
        assert "is removed" in command("sign-out", at.url).stderr
        assert "No sign-in" in command("sign-out", at.url).stderr
        odd = command("sign-in", "some-command")
        assert odd.exit_code == 2 and "address" in odd.stderr
