"""An endpoint's address as a user writes it: `http://host:port/v1?dialect=vllm#model-name`."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from glyphscope.base.errors import ModelError

KEY_HINT = "Keep the key with: glyphscope keys set URL (or in the environment as GLYPHSCOPE_API_KEY)."
OPTIONS = {"dialect": (), "logprobs": ("yes", "no"), "api": ("chat", "responses")}
"""The options of an address after the question mark, each with its values; () if these are elsewhere."""

_NEXT_ADDRESS = re.compile(r",(?=https?://)", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_SECRET_NAMES = ("key", "token", "secret", "password", "auth")


class Address(NamedTuple):
    """`base` is the API's base URL, without a slash at its end; an empty `model` is the endpoint's first one."""

    base: str
    model: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def origin(self) -> str:
        """Scheme, host and port, to which a key belongs."""
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{_host(parts)}:{parts.port or _PORTS[parts.scheme]}"

    @property
    def root(self) -> str:
        """The base URL of the server's paths outside the API."""
        return self.base.removesuffix("/v1")

    @property
    def loopback(self) -> bool:
        """Whether it is this machine, which no proxy can reach."""
        host = urlsplit(self.base).hostname or ""
        return host == "localhost" or host == "::1" or host.startswith("127.")

    def option(self, name: str) -> str:
        """The option's value; empty if it is not given."""
        return dict(self.options).get(name, "")

    def named(self, model: str) -> Address:
        """The same address with that model's name."""
        return self._replace(model=model)

    def __str__(self) -> str:
        """The address to be shown and recorded; it never has a secret in it."""
        query = "&".join(f"{name}={value}" for name, value in self.options)
        return self.base + (f"?{query}" if query else "") + (f"#{self.model}" if self.model else "")


def is_address(name: str) -> bool:
    """Whether a model's name is the address of an endpoint."""
    return name.lower().startswith(("http://", "https://"))


def replicas_of(name: str) -> list[str]:
    """The addresses of the replicas of a model, which commas separate: `http://a/v1#name,http://b/v1`. Those without a
    model's name have that of the first.
    """
    first, *others = _NEXT_ADDRESS.split(name)
    _, _, model = first.partition("#")
    named = (other if "#" in other or not model else f"{other}#{model}" for other in others)
    return list(dict.fromkeys((first, *named)))


def read_address(text: str) -> Address:
    """Raises ModelError for an invalid address, and for one with a key in it, which the message omits."""
    if is_address(text) and len(replicas_of(text)) > 1:
        raise ModelError(
            "Several addresses of one model can only be evaluated.",
            hint="Give one address, or use `glyphscope eval`.",
        )
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in _PORTS or not host or port == 0 or any(c.isspace() or ord(c) < 32 for c in host):
        raise ModelError("Invalid endpoint address.", hint="Write it as http://host:port/v1.")
    if "@" in parts.netloc:
        raise ModelError(
            "A key or password in an address would end up in records.", where=_shown(parts), hint=KEY_HINT
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/completions")
    options = _options(parts)
    if path.endswith("/responses"):
        path, options = path.removesuffix("/responses"), tuple({"api": "responses", **dict(options)}.items())
    base = f"{parts.scheme}://{_host(parts)}{f':{port}' if port else ''}{path or '/v1'}"
    return Address(base, unquote(parts.fragment), options)


def _options(parts: SplitResult) -> tuple[tuple[str, str], ...]:
    options = tuple(parse_qsl(parts.query, keep_blank_values=True))
    for name, value in options:
        if any(secret in name.lower() for secret in _SECRET_NAMES):
            raise ModelError(
                "A key in an address would end up in records.", where=_shown(parts), hint=KEY_HINT
            )
        if name not in OPTIONS:
            raise ModelError(
                f"An endpoint's address has no option {name!r}.",
                where=_shown(parts),
                hint=f"There are: {', '.join(OPTIONS)}.",
            )
        if (known := OPTIONS[name]) and value not in known:
            raise ModelError(f"The option {name} is {' or '.join(known)}.", where=_shown(parts))
    return options


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host


def _shown(parts: SplitResult) -> str:
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{_host(parts)}{port}{parts.path}"
