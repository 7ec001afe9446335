"""Data that leaves this computer: every configured endpoint and server with the data that it gets, in words; no Qt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from glyphscope.errors import GlyphscopeError
from glyphscope.models.remote import is_address, read_address
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope_gui.shared.language import tr

NOTHING = tr(
    "Runs and calls send nothing over the network: no endpoint and no HTTP MCP server is configured."
)


class Contact(NamedTuple):
    """A recipient of data, in words, and the data. `away`: it may be another computer."""

    who: str
    what: str
    away: bool


def contacts(models: Iterable[str], servers: Iterable[ServerConfig]) -> list[Contact]:
    """The recipients among the configured or recently used models and the servers, each once."""
    found: dict[str, Contact] = {}
    for model in models:
        if not is_address(model):
            continue
        try:
            address = read_address(model)
        except GlyphscopeError:
            continue  # it cannot receive anything
        where = tr("on this computer") if address.loopback else tr("remote")
        found.setdefault(
            address.base,
            Contact(
                tr("Endpoint {address}, {where}", address=address.base, where=where),
                tr(
                    "Receives the prompt, the tools and the sampling parameters of runs that use it, and "
                    "its key if one is stored."
                ),
                not address.loopback,
            ),
        )
    programs = []
    for server in servers:
        if server.disabled:
            continue
        if not server.url:
            programs.append(server.name)
            continue
        found.setdefault(
            server.url,
            Contact(
                tr("MCP server {name}, {address}", name=server.name, address=_place_of(server.url)),
                tr(
                    "When started: receives the arguments of each call of its tools, and its configured "
                    "headers or your sign-in. Signing in also contacts its authorization server."
                ),
                True,
            ),
        )
    listed = list(found.values())
    if programs:
        listed.append(
            Contact(
                tr(
                    "Programs on this computer that are MCP servers: {programs}", programs=", ".join(programs)
                ),
                tr(
                    "They receive the arguments of each call of their tools; Glyphscope does not control "
                    "what they do with them."
                ),
                False,
            )
        )
    return listed


def _place_of(url: str) -> str:
    """The address without the query, which may contain a key."""
    return url.partition("?")[0].partition("#")[0]


def summary(listed: Iterable[Contact]) -> str:
    """A summary of the recipients in a sentence."""
    away = sum(contact.away for contact in listed)
    if not away:
        return NOTHING
    if away == 1:
        return tr("One configured destination receives data, only when a run or call uses it.")
    return tr("%n configured destinations receive data, only when a run or call uses them.", "", away)
