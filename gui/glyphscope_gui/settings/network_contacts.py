"""What leaves this computer, and what is sent: every endpoint and server that is set up, in words; no Qt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from glyphscope.errors import GlyphscopeError
from glyphscope.models.remote import is_address, read_address
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope_gui.shared.language import tr

NOTHING = tr(
    "Nothing leaves this computer with a run or a call: no endpoint and no MCP server over HTTP is set up."
)


class Contact(NamedTuple):
    """Somebody that is sent something: who, in words, and what. `away`: it may be another computer."""

    who: str
    what: str
    away: bool


def contacts(models: Iterable[str], servers: Iterable[ServerConfig]) -> list[Contact]:
    """Of the models that are set up or were used lately, and of the servers; each once."""
    found: dict[str, Contact] = {}
    for model in models:
        if not is_address(model):
            continue
        try:
            address = read_address(model)
        except GlyphscopeError:
            continue  # nothing can be sent to it
        where = tr("on this computer") if address.loopback else tr("away from this computer")
        found.setdefault(
            address.base,
            Contact(
                tr("The endpoint {address}, {where}", address=address.base, where=where),
                tr(
                    "Where it is the model of a run: prompt, tools and how to draw tokens, "
                    "and its key where one is kept."
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
                tr("The MCP server {name}, {address}", name=server.name, address=_place_of(server.url)),
                tr(
                    "Once it is started: the arguments of each call of its tools, and the headers that are set for it "
                    "or your sign-in. Signing in also contacts its authorization server."
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
                tr("The arguments of each call of their tools; what they do with them is theirs to say."),
                False,
            )
        )
    return listed


def _place_of(url: str) -> str:
    """Without what stands after a question mark, which may be a key."""
    return url.partition("?")[0].partition("#")[0]


def summary(listed: Iterable[Contact]) -> str:
    """The first sentence of it."""
    away = sum(contact.away for contact in listed)
    if not away:
        return NOTHING
    if away == 1:
        return tr("One place that you set up is sent something, and only when a run or a call asks there.")
    return tr(
        "%n places that you set up are sent something, and only when a run or a call asks there.", "", away
    )
