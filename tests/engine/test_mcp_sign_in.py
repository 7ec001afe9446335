"""Signing in with OAuth, against a small server that requires it."""

import base64
import json
import socket
import time

import keyring
import msgspec
import pytest
from keyring.backends.fail import Keyring as NoKeyring

from cli_command import mcp_command as command
from glyphscope.base.errors import ServerError
from glyphscope.tools.mcp import (
    McpServer,
    OAuthConfig,
    ServerConfig,
    forget_sign_in,
    read_servers,
    stored_sign_in,
)
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


def test_a_fixed_client_signs_in_without_registration_and_is_used_again(ring):
    oauth = OAuthConfig(client_id="fixed", client_secret="very-secret")
    with oauth_server("no-registration") as at:
        for browser in (Browser(), None):
            server = guarded(at, browser, oauth=oauth)
            try:
                assert call(server.open(), "say").content[0].text == "Bearer first-secret-token"
            finally:
                server.close()
        authorized, token = at.asked
        assert authorized["client_id"] == "fixed" and "/register" not in at.seen
        basic = base64.b64encode(b"fixed:very-secret").decode()
        assert token["authorization"] == f"Basic {basic}"
        assert "very-secret" not in "".join(entry.text for entry in server.log.entries)


def test_a_fixed_client_returns_to_the_configured_port(ring):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        oauth = OAuthConfig(client_id="fixed", callback_port=taken.getsockname()[1])
        with oauth_server() as at:
            server = guarded(at, Browser(), oauth=oauth)
            with pytest.raises(ServerError, match="cannot be used"):
                server.open()
            server.close()
            taken.close()
            server = guarded(at, Browser(), oauth=oauth)
            try:
                assert call(server.open(), "say").ok
            finally:
                server.close()
            assert at.redirect == f"http://127.0.0.1:{oauth.callback_port}/callback"


def test_the_address_of_a_metadata_document_is_the_client_id_where_it_is_supported(ring):
    address = "https://me.example/glyphscope.json"
    for behaviour, client in (("documents", address), ("", "glyph")):
        with oauth_server(behaviour) as at:
            server = guarded(at, Browser(), oauth=OAuthConfig(client_metadata_url=address))
            try:
                assert call(server.open(), "say").ok
            finally:
                server.close()
            assert at.asked[0]["client_id"] == client and ("/register" in at.seen) is (not behaviour)
    printed = json.loads(command("client-metadata", address, "--port", "8765").stdout)
    assert printed["client_id"] == address and printed["redirect_uris"] == ["http://127.0.0.1:8765/callback"]
    assert printed["token_endpoint_auth_method"] == "none"
    assert command("client-metadata", "http://me.example/a").exit_code == 2


def test_client_credentials_need_no_user_and_are_sent_to_their_issuer_only(ring):
    with oauth_server("no-registration") as at:
        oauth = OAuthConfig(
            client_id="robot",
            client_secret="very-secret",
            client_credentials=True,
            issuer=at.origin,
            scope="read",
        )
        server = guarded(at, oauth=oauth)
        try:
            assert call(server.open(), "say").ok
        finally:
            server.close()
        (token,) = at.asked
        assert token["grant_type"] == "client_credentials" and "authorize" not in "".join(at.seen)
        assert ring.passwords == {}
        other = guarded(at, oauth=msgspec.structs.replace(oauth, issuer="https://other.test"))
        with pytest.raises(ServerError, match=r"issuer|mismatch"):
            other.open()
        other.close()
        assert len(at.asked) == 1, "another authorization server gets no secret"


@pytest.mark.parametrize(
    ("oauth", "pointer", "words"),
    [
        ({"clientID": "x"}, "/clientID", "clientId, clientSecret"),
        ({"callbackPort": 70000}, "/callbackPort", "1 to 65535"),
        ({"callbackPort": "x"}, "/callbackPort", "1 to 65535"),
        ({"grantType": "password"}, "/grantType", "client_credentials"),
        ({"grantType": "client_credentials", "clientId": "x"}, "", "`issuer`"),
        ({"clientMetadataUrl": "https://me.example"}, "/clientMetadataUrl", "has a path"),
        ({"clientMetadataUrl": "https://me.example/a", "clientId": "x"}, "", "not both"),
        ("x", "", "object"),
    ],
)
def test_errors_of_the_client_are_reported_with_their_place(oauth, pointer, words):
    entry = {"url": "https://example.com/mcp", "oauth": oauth}
    found = read_servers(json.dumps({"mcpServers": {"a": entry}}))
    assert not found.servers
    assert found.problems[0].pointer == f"/mcpServers/a/oauth{pointer}" and words in found.problems[0].message


def test_a_client_is_read_with_its_secret_from_the_environment_and_needs_another_consent(monkeypatch):
    monkeypatch.setenv("SECRET", "very-secret")
    entry = {
        "url": "https://example.com/mcp",
        "oauth": {"clientId": "x", "clientSecret": "${SECRET}", "callbackPort": 1234},
    }
    (server,) = read_servers(json.dumps({"mcpServers": {"a": entry}})).servers
    assert server.oauth == OAuthConfig(client_id="x", client_secret="very-secret", callback_port=1234)
    assert "very-secret" in server.secrets
    assert server.digest != msgspec.structs.replace(server, oauth=OAuthConfig()).digest
