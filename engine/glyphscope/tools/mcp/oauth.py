"""Sign in to a server with OAuth: the SDK's client, a loopback address for the redirect, and the keyring.

The code that starts the server opens the browser, never this module; if there is no way to open one, only a stored
sign-in is used and renewed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from glyphscope.base.errors import ServerError
from glyphscope.base.figures import duration
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.log import ProtocolLog
from glyphscope.tools.mcp.tokens import expiry, store, stored_sign_in

_Model = TypeVar("_Model", bound=BaseModel)

SIGN_IN_SECONDS = 300.0
"""The time limit for the user to sign in."""
_PATH = "/callback"
_MAX_REQUEST = 16 * 1024
_REQUEST_SECONDS = 5.0
"""Bytes of the browser's request to the loopback address, and the time for it."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DONE = "You are signed in to {}. You can close this page and return to Glyphscope."
_FAILED = "Signing in failed. Return to Glyphscope."


_ABOUT: dict[str, Any] = {"client_name": "Glyphscope", "token_endpoint_auth_method": "none"}


def callback_address(port: int = 0) -> str:
    """The address to which a browser returns; without a port where any port of this address is meant."""
    return f"http://127.0.0.1{f':{port}' if port else ''}{_PATH}"


def client_document(address: str, port: int = 0) -> dict[str, Any]:
    """The Client ID Metadata Document to serve at that address."""
    made = OAuthClientMetadata(redirect_uris=[AnyUrl(callback_address(port))], **_ABOUT)
    return {"client_id": address, **_plain(made)}


class SigningIn:
    """The sign-in of one connection. `open` shows an address to the user; None if there is no user to ask.

    `problem` is the reason for a failure; `unsaved` the reason why it is not stored.
    """

    def __init__(self, config: ServerConfig, log: ProtocolLog, open: Callable[[str], None] | None) -> None:
        self._config = config
        self._log = log
        self._open = open
        self._has_header = any(name.lower() == "authorization" for name in config.headers)
        self._known, self._port = config.oauth, 0
        self._is_alone = config.oauth.client_credentials
        """Whether it gets tokens without a user, which are not stored."""
        self._stored = {} if self._has_header or self._is_alone else stored_sign_in(config.url)
        self._result: asyncio.Future[AuthorizationCodeResult] | None = None
        self._provider: OAuthClientProvider | None = None
        self._state = ""
        self.problem: ServerError | None = None
        self.unsaved = ""

    @property
    def is_needed(self) -> bool:
        """Whether requests are signed; not if the configuration already has the header."""
        return not self._has_header and (self._open is not None or bool(self._stored) or self._is_alone)

    @asynccontextmanager
    async def auth(self) -> AsyncIterator[httpx2.Auth | None]:
        """The authentication of the client's requests; None if they need none."""
        if not self.is_needed:
            yield None
            return
        if self._is_alone:
            yield ClientCredentialsOAuthProvider(
                self._config.url,
                self,
                self._known.client_id,
                self._known.client_secret,
                scope=self._known.scope or None,
                issuer=self._known.issuer,
            )
            return
        server = await self._listen() if self._open is not None else None
        port = server.sockets[0].getsockname()[1] if server is not None else 1
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(callback_address(port))], **_ABOUT)
        self._port = port
        self._provider = OAuthClientProvider(
            self._config.url,
            metadata,
            self,
            self._redirect,
            self._callback,
            client_metadata_url=self._known.client_metadata_url or None,
        )
        self._restore(self._provider)
        try:
            yield self._provider
        finally:
            if server is not None:
                server.close()

    # the SDK's storage

    async def get_tokens(self) -> OAuthToken | None:
        return _read(OAuthToken, self._stored.get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        metadata = self._provider.context.oauth_metadata if self._provider is not None else None
        self._stored = self._stored | {
            "tokens": _plain(tokens),
            "expires": expiry(tokens.expires_in),
            "metadata": _plain(metadata) if metadata is not None else self._stored.get("metadata"),
        }
        self._hide()
        await self._save()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._known.client_id:
            return OAuthClientInformationFull(
                client_id=self._known.client_id,
                client_secret=self._known.client_secret or None,
                redirect_uris=[AnyUrl(callback_address(self._port))],
                token_endpoint_auth_method="client_secret_basic" if self._known.client_secret else "none",
                issuer=self._known.issuer or None,
            )
        return _read(OAuthClientInformationFull, self._stored.get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._stored = self._stored | {"client": _plain(client_info)}
        self._hide()

    # inside

    def _restore(self, provider: OAuthClientProvider) -> None:
        """Restore facts that the SDK does not save: the expiry of a token, and the address to renew it."""
        self._hide()
        expires = self._stored.get("expires")
        provider.context.token_expiry_time = expires if isinstance(expires, int | float) else None
        provider.context.oauth_metadata = _read(OAuthMetadata, self._stored.get("metadata"))

    def _hide(self) -> None:
        secrets = [self._stored.get("tokens", {}).get(key) for key in ("access_token", "refresh_token")]
        secrets.append(self._stored.get("client", {}).get("client_secret"))
        self._log.hide_also(secret for secret in secrets if isinstance(secret, str))

    async def _save(self) -> None:
        if self._is_alone:
            return
        try:
            await anyio.to_thread.run_sync(store, self._config.url, self._stored)
        except ServerError as error:
            self.unsaved = error.words

    async def _listen(self) -> asyncio.Server:
        """Listen at the configured port, or that with which the client was registered; at another port, it is
        registered again. Raises ServerError.
        """
        if self._known.callback_port or self._known.client_id:
            try:
                return await self._server(self._known.callback_port)
            except OSError as error:
                raise self._failed(
                    f"The port {self._known.callback_port} for the sign-in cannot be used: {error.strerror}.",
                    "End the program that uses it, or change `callbackPort`.",
                ) from None
        known = await self.get_client_info()
        for uri in known.redirect_uris or () if known is not None else ():
            if uri.host == "127.0.0.1" and uri.port:
                with suppress(OSError):
                    return await self._server(uri.port)
        self._stored = {key: value for key, value in self._stored.items() if key != "client"}
        return await self._server(0)

    async def _server(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._heard, "127.0.0.1", port, limit=_MAX_REQUEST)

    async def _redirect(self, address: str) -> None:
        parts = urlsplit(address)
        if self._open is None:
            raise self._failed("The stored sign-in is no longer valid.", "Sign in again.")
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise self._failed(
                f"The server requests the sign-in at an unsafe address: {parts.scheme}://{parts.hostname}.",
                "It must begin with https://.",
            )
        self._result = asyncio.get_running_loop().create_future()
        self._state = parse_qs(parts.query).get("state", [""])[0]
        try:
            self._open(address)
        except ServerError as error:
            raise self._failed(error.message, error.hint) from None

    async def _callback(self) -> AuthorizationCodeResult:
        assert self._result is not None
        try:
            with anyio.fail_after(SIGN_IN_SECONDS):
                return await asyncio.shield(self._result)
        except TimeoutError:
            raise self._failed(
                f"The sign-in was not completed within {duration(SIGN_IN_SECONDS)}.", "Sign in again."
            ) from None

    def _failed(self, message: str, hint: str) -> ServerError:
        self.problem = ServerError(message, where=self._config.url, hint=hint)
        return self.problem

    async def _heard(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request to the loopback address, from the browser or any other program on this machine."""
        status, words = "404 Not Found", "Not found."
        try:
            with anyio.fail_after(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            line = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
            parts = urlsplit(line[1]) if len(line) == 3 and line[0] == "GET" else urlsplit("")
            if parts.path == _PATH:
                status, words = "200 OK", self._take(parse_qs(parts.query, max_num_fields=20))
            body = words.encode()
            kind = f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}"
            writer.write(f"HTTP/1.1 {status}\r\n{kind}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, ValueError, TimeoutError, EOFError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _take(self, query: dict[str, list[str]]) -> str:
        """Take the parameters of a request. One with another state belongs to another sign-in, and is ignored."""
        given = {key: values[0][:4096] for key, values in query.items()}
        if self._result is None or self._result.done() or given.get("state") != self._state:
            return _FAILED
        if "code" not in given:
            said = given.get("error_description") or given.get("error") or "no code was sent"
            self._result.set_exception(
                self._failed(f"The sign-in was rejected: {said[:300]}.", "Sign in again.")
            )
            return _FAILED
        self._result.set_result(
            AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))
        )
        return _DONE.format(urlsplit(self._config.url).hostname)


def _plain(model: BaseModel) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", exclude_none=True)
    return found


def _read(kind: type[_Model], found: Any) -> _Model | None:
    try:
        return kind.model_validate(found) if isinstance(found, dict) else None
    except ValidationError:  # from another version, or damaged
        return None
