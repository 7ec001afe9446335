"""Resources, resource templates and prompts of a server, entry by entry: invalid ones are reported, others are kept.

The server can complete the values of their arguments (`completion/complete`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope.base.errors import RegistryError, ServerError
from glyphscope.base.json_values import as_object
from glyphscope.base.visible import visible
from glyphscope.registry import Tool, make_tool
from glyphscope.registry.making import object_schema
from glyphscope.tools.mcp.content import size_of

OfferKind: TypeAlias = Literal["resource", "template", "prompt"]

COMPLETE, COMPLETIONS = "completion/complete", "completions"
"""The method that completes an argument, and the server capability for it."""
MAX_VALUES = 100
"""The protocol's maximum for one completion; further values are omitted."""
_MAX_VALUE = 2_000
_MAX_ADDRESS = 8_192
_MAX_WORDS_LENGTH = 4_000
_MAX_ARGUMENTS = 256
_MAX_PROBLEMS = 200


@dataclass(frozen=True, kw_only=True)
class Argument:
    """An argument of a prompt, or a variable of a template; its value is a string."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One entry of a list. `address`: a URI, a URI template, or a prompt's name. `size`: bytes, 0 if not stated."""

    kind: OfferKind
    address: str
    title: str = ""
    description: str = ""
    mime: str = ""
    size: int = 0
    arguments: tuple[Argument, ...] = ()

    @cached_property
    def form(self) -> Tool:
        """Its arguments as a schema: strings, some of them required. Raises RegistryError for invalid names."""
        properties = {
            each.name: {"type": "string"} | ({"description": each.description} if each.description else {})
            for each in self.arguments
        }
        required = [each.name for each in self.arguments if each.required]
        return make_tool(
            self.kind,  # the server's name may not be valid as a tool's name
            visible(self.description, lines=True),
            object_schema(properties, required),
        )

    def request(self, arguments: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        """The method and its params. Raises ServerError for a template that cannot be filled in."""
        if self.kind == "prompt":
            return "prompts/get", {"name": self.address, "arguments": dict(arguments)}
        uri = self.address if self.kind == "resource" else expand(self.address, arguments)
        return "resources/read", {"uri": uri}


@dataclass(frozen=True, kw_only=True)
class Offers:
    """`kinds` are the kinds that the server declares (`resources`, `prompts`), `listed` those whose lists were read.

    `problems` are pairs: the kind, and the problem of one of its entries or of the list.
    """

    kinds: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()
    resources: tuple[Offer, ...] = ()
    templates: tuple[Offer, ...] = ()
    prompts: tuple[Offer, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all lists that the server declares were read or failed."""
        return self.listed >= self.kinds


def expand(template: str, values: Mapping[str, str]) -> str:
    """The URI of a template (RFC 6570). Raises ServerError."""
    from mcp.shared.uri_template import UriTemplate

    try:
        return UriTemplate.parse(template).expand(dict(values))
    except (ValueError, TypeError) as error:
        raise ServerError(
            f"The URI template cannot be filled in: {error}.", where=template[:_MAX_WORDS_LENGTH]
        ) from None


class OfferReader:
    """Reads the entries of one list as its pages arrive."""

    def __init__(self, kind: OfferKind) -> None:
        self._kind: OfferKind = kind
        self._found: dict[str, Offer] = {}
        self.problems: list[str] = []
        self._count = 0

    def take(self, entry: Any) -> None:
        self._count += 1
        reason, offer = _READERS[self._kind](entry) if isinstance(entry, dict) else ("not an object", None)
        if offer is not None and offer.address in self._found:
            reason, offer = "a second entry with the same name", None
        if offer is not None:
            self._found[offer.address] = offer
        elif len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(f"{self._kind} {self._count}: {reason}.")

    @property
    def offers(self) -> tuple[Offer, ...]:
        return tuple(self._found.values())


class OfferList(NamedTuple):
    """A list of a server: its name in `Offers`, the method, the key of its entries in a page, and their kind."""

    name: str
    method: str
    key: str
    kind: OfferKind


LISTS: dict[str, tuple[OfferList, ...]] = {
    "resources": (
        OfferList("resources", "resources/list", "resources", "resource"),
        OfferList("templates", "resources/templates/list", "resourceTemplates", "template"),
    ),
    "prompts": (OfferList("prompts", "prompts/list", "prompts", "prompt"),),
}
"""By the capability that a server declares."""

_Read: TypeAlias = tuple[str, Offer | None]
"""The entry, or a nonempty reason why it cannot be used."""


def _resource(entry: dict[str, Any]) -> _Read:
    uri = entry.get("uri")
    if not isinstance(uri, str) or not uri:
        return "it has no uri", None
    if len(uri) > _MAX_ADDRESS:
        return f"its uri has more than {_MAX_ADDRESS:,} characters", None
    return _usable(Offer(kind="resource", address=uri, size=size_of(entry), **_described(entry)))


def _template(entry: dict[str, Any]) -> _Read:
    from mcp.shared.uri_template import UriTemplate

    template = entry.get("uriTemplate")
    if not isinstance(template, str) or not template:
        return "it has no uriTemplate", None
    try:
        names = UriTemplate.parse(template).variable_names
    except ValueError as error:
        return f"its uriTemplate is not valid: {str(error)[:200]}", None
    arguments = tuple(Argument(name=name) for name in dict.fromkeys(names))
    return _usable(Offer(kind="template", address=template, arguments=arguments, **_described(entry)))


def _prompt(entry: dict[str, Any]) -> _Read:
    name = entry.get("name")
    if not isinstance(name, str) or not name or len(name) > _MAX_ADDRESS:
        return "it has no name", None
    arguments = entry.get("arguments") or []
    if not isinstance(arguments, list) or len(arguments) > _MAX_ARGUMENTS:
        return f"its arguments are not a list of at most {_MAX_ARGUMENTS}", None
    found: dict[str, Argument] = {}
    for each in arguments:
        key = each.get("name") if isinstance(each, dict) else None
        if not isinstance(key, str) or not key or key in found:
            return "an argument without a name, or two with the same", None
        found[key] = Argument(
            name=key, description=_text(each, "description"), required=each.get("required") is True
        )
    described = _described(entry)
    return _usable(
        Offer(kind="prompt", address=name, arguments=tuple(found.values()), **described | {"mime": ""})
    )


def _usable(offer: Offer) -> _Read:
    try:
        _ = offer.form
    except RegistryError as error:
        first = error.problems[0].message if error.problems else error.message
        return f"it cannot be used: {first[:200].rstrip('.')}", None
    return "", offer


def _described(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": _text(entry, "title") or _text(entry, "name"),
        "description": _text(entry, "description"),
        "mime": _text(entry, "mimeType")[:200],
    }


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value[:_MAX_WORDS_LENGTH] if isinstance(value, str) else ""


_READERS: dict[OfferKind, Callable[[dict[str, Any]], _Read]] = {
    "resource": _resource,
    "template": _template,
    "prompt": _prompt,
}


@dataclass(frozen=True)
class Completion:
    """Values that the server proposes, most relevant first. `total`: their number on the server, if stated; `has_more`:
    there are more than these. `problem`: the reason if there are none.
    """

    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False
    problem: str = ""


def completion_params(
    offer: Offer, argument: str, value: str, others: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The request for values of `argument` that continue `value`; `others` are the known arguments."""
    kind, key = ("ref/prompt", "name") if offer.kind == "prompt" else ("ref/resource", "uri")
    params: dict[str, Any] = {
        "ref": {"type": kind, key: offer.address},
        "argument": {"name": argument, "value": value},
    }
    known = {name: text for name, text in (others or {}).items() if name != argument}
    return params | ({"context": {"arguments": known}} if known else {})


def read_completion(result: Any) -> Completion:
    """The usable part of the result, without values that are not strings or are longer than 2,000 characters."""
    found = as_object(as_object(result).get("completion"))
    values = found.get("values")
    if not isinstance(values, list):
        return Completion(problem="The result's `completion` has no list of values.")
    texts = [each for each in values if isinstance(each, str) and len(each) <= _MAX_VALUE]
    total = found.get("total")
    known = total if isinstance(total, int) and not isinstance(total, bool) and 0 <= total < 2**53 else None
    shown = tuple(dict.fromkeys(texts))[:MAX_VALUES]
    more = found.get("hasMore") is True or len(texts) > MAX_VALUES or (known or 0) > len(texts)
    return Completion(shown, known, more)
