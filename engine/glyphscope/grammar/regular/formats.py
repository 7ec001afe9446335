"""The regular formats of JSON Schema, as patterns for the whole string.

Sources: RFC 3339 (date, time, date-time; no leap seconds, years from 1000), ISO 8601 as in RFC 3339 appendix A
(duration), RFC 9562 (uuid), RFC 2673 (ipv4), RFC 4291 (ipv6), RFC 1123 (hostname), RFC 5321's dot-atoms (email),
RFC 3986 (uri, uri-reference), RFC 6901 (json-pointer). Rare forms on which checkers disagree are omitted;
`validation.checker` accepts more.
"""

from __future__ import annotations

from glyphscope.grammar.regular.regex import anchored_node
from glyphscope.grammar.tree import Node

_LEAP_YEAR = "(?:[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)"
_DATE = (
    "(?:[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_TIME = (
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,6})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = f"{_OCTET}(?:[.]{_OCTET}){{3}}"
_H16 = "[0-9a-fA-F]{1,4}"
_IPV6 = "|".join(
    [f"(?:{_H16}:){{7}}{_H16}", f"(?:{_H16}:){{1,7}}:", f":(?::{_H16}){{1,7}}", "::"]
    + [f"(?:{_H16}:){{{left}}}(?::{_H16}){{1,{7 - left}}}" for left in range(1, 7)]
)
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = f"{_LABEL}(?:[.]{_LABEL}){{0,3}}"
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,32}"
_UNIT = "[0-9]{1,4}"
_CLOCK = f"T(?:{_UNIT}H(?:{_UNIT}M(?:{_UNIT}S)?)?|{_UNIT}M(?:{_UNIT}S)?|{_UNIT}S)"
_DAYS = f"(?:{_UNIT}Y(?:{_UNIT}M(?:{_UNIT}D)?)?|{_UNIT}M(?:{_UNIT}D)?|{_UNIT}D)"
_PCHAR = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_URI = (
    f"[A-Za-z][A-Za-z0-9+.-]*:(?://{_HOSTNAME}(?::[0-9]{{1,4}})?(?:/{_PCHAR}*)*|/?{_PCHAR}+(?:/{_PCHAR}*)*)"
    f"(?:[?](?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
)
_FIRST = _PCHAR.replace("=:@", "=@")  # a colon in the first segment would make it a scheme
_REFERENCE = f"/?{_FIRST}+(?:/{_PCHAR}*)*(?:[?](?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"

_PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "duration": f"P(?:{_UNIT}W|{_DAYS}(?:{_CLOCK})?|{_CLOCK})",
    "uuid": "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "hostname": _HOSTNAME,
    "email": f"{_ATOM}(?:[.]{_ATOM})?@{_HOSTNAME}",
    "uri": _URI,
    "uri-reference": f"{_URI}|{_REFERENCE}",
    "json-pointer": "(?:/(?:[^~/]|~[01])*)*",
}

FORMATS = frozenset(_PATTERNS)


def format_node(name: str) -> Node | None:
    """The strings of a format; None for a format without a pattern."""
    pattern = _PATTERNS.get(name)
    return None if pattern is None else anchored_node(pattern)
