"""The configured servers: read the common JSON files into one form.

`{"mcpServers": {…}}` (Claude Desktop and many others), `{"servers": {…}}` (VS Code, also inside `"mcp"` in its
settings), and a single bare server. An error affects only its server, and is reported with its place.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from glyphscope.base.errors import Problem, RegistryError, ServerError
from glyphscope.base.inputs import read_file
from glyphscope.base.pointer import Path, to_pointer
from glyphscope.registry.document import parse_text, plain

MAX_BYTES = 4_000_000
"""The maximum file size; larger files are rejected, as no one has that many servers."""
MAX_ROOTS = 100

Transport: TypeAlias = Literal["stdio", "http"]

_HTTP_TYPES = ("http", "streamable-http", "streamable_http", "streamablehttp")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_OTHER_VARIABLE = re.compile(r"\$\{[^}]*\}")
_LAUNCHER = re.compile(r"npx|uvx|uv|node|deno|bun|bunx|python[0-9.]*|sh|bash|env")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f]")


class OAuthConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How this program is known to the authorization server of a server over HTTP, if it does not register itself.

    `client_id` is a registered client, with `client_secret` a confidential one; `client_metadata_url` is the address of
    a Client ID Metadata Document, which is its client ID where the authorization server supports that. `callback_port`
    is the port of the redirect, 0 for any. With `client_credentials` no user signs in; `issuer` is then the only
    authorization server that gets the secret. `scope` is requested then.
    """

    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""
    callback_port: int = 0
    client_credentials: bool = False
    issuer: str = ""
    scope: str = ""


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How one server is started or reached. `env` is added to the few variables that every server gets.

    `disabled` (as in the file): it is listed but not started. `roots` are the folders (absolute paths) that are
    returned when the server lists its roots; they are only information, not permissions.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    disabled: bool = False
    roots: tuple[str, ...] = ()
    oauth: OAuthConfig = OAuthConfig()

    @property
    def transport(self) -> Transport:
        return "http" if self.url else "stdio"

    @property
    def identity(self) -> str:
        """The exact command line, or the address, without `env` and headers: the key of a permanent permission."""
        return self.url or shlex.join((self.command, *self.args))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts to hide in logs: the values of variables and headers, except short ones, which may be plain words."""
        values = {*self.env.values(), *self.headers.values(), self.oauth.client_secret}
        values |= {value.partition(" ")[2] for value in self.headers.values()}  # `Bearer TOKEN`
        return tuple(sorted((v for v in values if len(v) >= 6), key=len, reverse=True))

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of everything that determines what runs, even if it is not shown; consent is bound to it."""
        parts = [
            self.command,
            list(self.args),
            sorted(self.env.items()),
            self.cwd,
            self.url,
            sorted(self.headers.items()),
        ]
        if self.oauth != OAuthConfig():
            parts.append(msgspec.structs.astuple(self.oauth))
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


class ServerFile(msgspec.Struct, frozen=True, kw_only=True):
    """The usable servers of a file, in its order, and the problems of the others."""

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_servers(source: FilePath | str | bytes) -> ServerFile:
    """The servers of a file (Path) or of a JSON text. Raises ServerError for any other file."""
    document, where = _document(source)
    path, entries = _entries(document, where)
    found: list[ServerConfig] = []
    problems: list[Problem] = []
    for name, entry in entries.items():
        reader = _Entry(name, (*path, name) if path or name in document else path)
        if (server := reader.read(entry)) is not None:
            found.append(server)
        problems += reader.problems
    return ServerFile(servers=tuple(found), problems=tuple(problems))


def server_entries(source: FilePath | str | bytes) -> dict[str, Any]:
    """The servers as written, by name, for storing: `${NAME}` is not replaced. Raises ServerError."""
    return _entries(*_document(source))[1]


def command_server(words: Sequence[str], name: str = "") -> ServerConfig:
    """The server of a command line or an address, named after its program."""
    if not words:
        raise ServerError(
            "There is no command.", hint="Give the command that starts the server, or its address."
        )
    entry: dict[str, Any] = {"command": words[0], "args": list(words[1:])}
    if re.match(r"https?://", words[0], re.IGNORECASE):
        if len(words) > 1:
            raise ServerError("Give an address by itself.", where=words[0])
        entry = {"url": words[0]}
    reader = _Entry(name or _short_name(words), ())
    server = reader.read(entry)
    if server is None:
        raise ServerError(reader.problems[0].message, where=words[0])
    return server


def _short_name(words: Sequence[str]) -> str:
    """The name of an unnamed server: its host, its program, or the program that a launcher starts."""
    if "://" in words[0]:
        with suppress(ValueError):  # an invalid address, which is reported when it is read
            return urlsplit(words[0]).hostname or "server"
    program = FilePath(words[0]).name
    if _LAUNCHER.fullmatch(program):
        program = next((FilePath(word).stem for word in words[1:] if not word.startswith("-")), program)
    return program or "server"


def _document(source: FilePath | str | bytes) -> tuple[Any, str]:
    """The JSON document and its location. Raises ServerError."""
    where = str(source) if isinstance(source, FilePath) else ""
    text = (
        read_file(source, MAX_BYTES, "a file of servers", pipes=True, error=ServerError)
        if isinstance(source, FilePath)
        else source
    )
    try:
        document, problems = plain(parse_text(text, where))
    except RegistryError as error:
        raise ServerError(error.message, where=where, hint=error.hint) from None
    if problems:
        raise ServerError(problems[0].message, where=f"{where}{problems[0].pointer}")
    return document, where


def _entries(document: Any, where: str) -> tuple[Path, dict[str, Any]]:
    """The servers and their path in the document."""
    if isinstance(document, dict):
        inner = document.get("mcp")
        for path, holder in (((), document), (("mcp",), inner)):
            for key in ("mcpServers", "servers"):
                if isinstance(holder, dict) and key in holder:
                    if not isinstance(holder[key], dict):
                        pointer = to_pointer((*path, key))
                        raise ServerError("The servers are an object: their names, and how each is started.",
                                          where=f"{where}{pointer}")  # fmt: skip
                    return (*path, key), holder[key]
        if "command" in document or "url" in document:
            name = document.get("name")
            named = name if isinstance(name, str) and name else _guess(document)
            return (), {named: document}
    raise ServerError(
        "Not an MCP configuration file.",
        where=where,
        hint='It has {"mcpServers": {"NAME": {"command": "…", "args": ["…"]}}}, or "url" in place of "command".',
    )


def _guess(document: dict[str, Any]) -> str:
    word = document.get("command") or document.get("url")
    return _short_name([word]) if isinstance(word, str) and word else "server"


class _Entry:
    """Reads one server and collects its problems."""

    def __init__(self, name: str, at: Path) -> None:
        self._name = name
        self._at = at
        self.problems: list[Problem] = []

    def read(self, entry: Any) -> ServerConfig | None:
        if not isinstance(entry, dict):
            self._report((), 'A server is an object with "command" or "url".')
            return None
        if not self._name.strip() or _UNSEEN.search(self._name) or "/" in self._name or self._name == "*":
            self._report((), "A server's name is not empty, and has neither control characters nor a slash.")
        url_key = "httpUrl" if "httpUrl" in entry else "url"
        if "command" not in entry and url_key not in entry:
            self._report((), 'A server has "command" or "url".')
            return None
        kind = self._kind(entry)
        disabled = entry.get("disabled", False)
        enabled = entry.get("enabled", True)
        for key, flag in (("disabled", disabled), ("enabled", enabled)):
            if not isinstance(flag, bool):
                self._report((key,), f"`{key}` is true or false.")
        if "envFile" in entry:
            self._report(("envFile",), "`envFile` is not supported: write the variables into `env`.")
        roots = self._folders(entry)
        server = ServerConfig(name=self._name, disabled=disabled is True or enabled is False, roots=roots)
        if kind == "stdio":
            server = replace(
                server,
                command=self._text(entry, "command", needed=True),
                args=self._texts(entry, "args"),
                env=self._table(entry, "env", _env_name),
                cwd=os.path.expanduser(self._text(entry, "cwd")),
            )
        else:
            server = replace(
                server,
                url=self._address(entry, url_key),
                headers=self._table(entry, "headers", _header_name),
                oauth=self._oauth(entry),
            )
        return None if self.problems else server

    def _oauth(self, entry: dict[str, Any]) -> OAuthConfig:
        """Of these members, `clientId` and `callbackPort` are common to other programs."""
        given = entry.get("oauth")
        if given is None or given is False:
            return OAuthConfig()
        texts, port = self._table(entry, "oauth", _oauth_name), 0
        try:
            port = int(texts.pop("callbackPort", "0"))
        except ValueError:
            port = -1
        grant = texts.pop("grantType", "authorization_code")
        made = OAuthConfig(
            callback_port=port,
            client_credentials=grant == "client_credentials",
            **{_OAUTH_NAMES[name]: value for name, value in texts.items()},
        )
        if not 0 <= port < 1 << 16:
            self._report(("oauth", "callbackPort"), "A port is a number from 1 to 65535.")
        if grant not in ("authorization_code", "client_credentials"):
            self._report(("oauth", "grantType"), 'The grant is "authorization_code" or "client_credentials".')
        if made.client_credentials and not (made.client_id and made.client_secret and made.issuer):
            self._report(
                ("oauth",),
                "Client credentials need `clientId`, `clientSecret`, and `issuer`, the only one that gets the secret.",
            )
        if made.client_metadata_url and not is_metadata_address(made.client_metadata_url):
            self._report(("oauth", "clientMetadataUrl"), "The address begins with https:// and has a path.")
        if made.client_metadata_url and made.client_id:
            self._report(("oauth",), "A client has `clientId` or `clientMetadataUrl`, and not both.")
        return made

    def _kind(self, entry: dict[str, Any]) -> Transport:
        declared = entry.get("type", entry.get("transport"))
        has_url = "url" in entry or "httpUrl" in entry
        if declared is None:
            if has_url and "command" in entry:
                self._report((), 'A server has "command" or "url", and not both.')
            return "http" if has_url else "stdio"
        key = "type" if "type" in entry else "transport"
        if not isinstance(declared, str) or declared.lower() not in ("stdio", *_HTTP_TYPES):
            if declared == "sse":
                self._report((key,), "Servers of the old SSE kind are not supported, only streamable HTTP.")
            else:
                self._report((key,), 'The type is "stdio" or "http" (streamable HTTP).')
        elif (declared.lower() == "stdio") == has_url:
            self._report((key,), 'A "stdio" server has "command", an "http" server has "url".')
        return "http" if has_url else "stdio"

    def _text(self, entry: dict[str, Any], key: str, *, needed: bool = False) -> str:
        value = entry.get(key, "")
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value.strip()):
            self._report((key,), f"`{key}` is a text{' that is not empty' if needed else ''}.")
            return ""
        return self._plain(value, (key,))

    def _texts(self, entry: dict[str, Any], key: str) -> tuple[str, ...]:
        values = entry.get(key) or []
        if not isinstance(values, list):
            self._report((key,), f"`{key}` is a list of texts.")
            return ()
        found = []
        for index, value in enumerate(values):
            if isinstance(value, str):
                found.append(self._plain(value, (key, index)))
            else:
                self._report((key, index), "An argument is a text: put it into double quotes.")
        return tuple(found)

    def _folders(self, entry: dict[str, Any]) -> tuple[str, ...]:
        found = []
        for index, value in enumerate(self._texts(entry, "roots")):
            folder = os.path.expanduser(value)
            if not os.path.isabs(folder):
                self._report(("roots", index), "A root is the absolute path of a folder.")
            found.append(os.path.normpath(folder))
        if len(found) > MAX_ROOTS:
            self._report(("roots",), f"A server has at most {MAX_ROOTS} roots.")
        return tuple(dict.fromkeys(found))

    def _plain(self, value: str, path: Path) -> str:
        """A text that is shown before it runs, and so is not changed."""
        if "\0" in value:
            self._report(path, "A command line has no NUL characters.")
        if found := _OTHER_VARIABLE.search(value):
            self._report(
                path, f"{found[0]} is replaced only in `env` and `headers`: write what it stands for."
            )
        return value

    def _table(self, entry: dict[str, Any], key: str, name_problem: Callable[[str], str]) -> dict[str, str]:
        values = entry.get(key) or {}
        if not isinstance(values, dict):
            self._report((key,), f"`{key}` is an object of texts.")
            return {}
        found = {}
        for name, value in values.items():
            if reason := name_problem(name):
                self._report((key, name), reason)
            elif isinstance(value, bool) or not isinstance(value, str | int | float):
                self._report((key, name), "The value is a text.")
            else:
                found[name] = self._filled(str(value), (key, name))
        return found

    def _filled(self, value: str, path: Path) -> str:
        """The value with `${NAME}`, `${env:NAME}` and `${NAME:-default}` replaced from this process's environment."""

        def replacement(found: re.Match[str]) -> str:
            default: str | None = found[2]
            text = os.environ.get(found[1], default)
            if text is None:
                self._report(path, f"The environment variable {found[1]} is not set.")
            return text or ""

        filled = _VARIABLE.sub(replacement, value)
        if found := next((m for m in _OTHER_VARIABLE.finditer(value) if not _VARIABLE.fullmatch(m[0])), None):
            self._report(path, f"{found[0]} cannot be prompted for here: write the value, or ${{env:NAME}}.")
        if "\0" in filled or (path[0] != "env" and _UNSEEN.search(filled)):
            self._report(path, "The value has control characters.")
        return filled

    def _address(self, entry: dict[str, Any], key: str) -> str:
        address = self._text(entry, key, needed=True)
        if not address:
            return ""
        try:
            parts = urlsplit(address)
            good = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good or _UNSEEN.search(address) or " " in address:
            self._report((key,), "The address begins with http:// or https://, and names a host.")
        return address

    def _report(self, path: Path, message: str) -> None:
        self.problems.append(Problem(to_pointer((*self._at, *path)), message))


def _env_name(name: str) -> str:
    good = name and "=" not in name and "\0" not in name
    return "" if good else "A variable's name is not empty, without `=`."


_OAUTH_NAMES = {
    "clientId": "client_id", "clientSecret": "client_secret", "clientMetadataUrl": "client_metadata_url",
    "issuer": "issuer", "scope": "scope",
}  # fmt: skip


def _oauth_name(name: str) -> str:
    names = (*_OAUTH_NAMES, "callbackPort", "grantType")
    return "" if name in names else f"`oauth` has {', '.join(names)}."


def is_metadata_address(address: str) -> bool:
    """Whether a Client ID Metadata Document can have that address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and parts.path not in ("", "/")


def _header_name(name: str) -> str:
    good = re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name)
    return "" if good else "A header's name has letters, digits and hyphens."
