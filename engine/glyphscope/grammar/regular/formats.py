r"""The formats of JSON Schema, each as one pattern for the whole string, for the validator and for grammars alike.

Sources: RFC 3339 §5.6 (date, time, date-time) and appendix A (duration), RFC 5321 §4.1.2 (email), RFC 6531 §3.3
(idn-email), RFC 1123 §2.1 (hostname), RFC 9562 (uuid), RFC 2673 §3.2 (ipv4), RFC 4291 §2.2 (ipv6), RFC 3986 (uri,
uri-reference; like browsers, also brackets in a query and a fragment), RFC 3987 (iri, iri-reference), RFC 6570
(uri-template), RFC 6901 (json-pointer), draft-bhutton-relative-json-pointer-00.

What no pattern can say is a condition on the whole string (`meets_condition`): a leap second is at 23:59:60 UTC,
whatever the offset, a regular expression is one of ECMA-262, and host names follow RFC 5890 (IDNA, by the package
`idna`). Any other format is an annotation that nothing checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from glyphscope.grammar.regular.regex import pattern_node, unreadable
from glyphscope.grammar.tree import Node
from glyphscope.registry.pattern_syntax import is_ecma_262
from glyphscope.registry.patterns import bad_schema_pattern

_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_FRACTION = "(?:[.][0-9]+)?"
_TIME = f"{_MINUTE}:[0-5][0-9]{_FRACTION}(?:[Zz]|[+-]{_MINUTE})"
_LEAP_UTC = f"23:59:60{_FRACTION}(?:[Zz]|[+-]00:00)"
_LEAP = f"23:59:60{_FRACTION}[Zz]|{_MINUTE}:60{_FRACTION}[+-]{_MINUTE}"
_N = "[0-9]+"
_CLOCK = f"T(?:{_N}H(?:{_N}M(?:{_N}S)?)?|{_N}M(?:{_N}S)?|{_N}S)"
_DAYS = f"(?:{_N}Y(?:{_N}M(?:{_N}D)?)?|{_N}M(?:{_N}D)?|{_N}D)"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = f"{_OCTET}(?:[.]{_OCTET}){{3}}"
_H = "[0-9A-Fa-f]{1,4}"
_LOW = f"(?:{_H}:{_H}|{_IPV4})"
_IPV6 = "|".join(
    [f"(?:{_H}:){{6}}{_LOW}", f"::(?:{_H}:){{5}}{_LOW}", f"(?:{_H})?::(?:{_H}:){{4}}{_LOW}"]
    + [f"(?:(?:{_H}:){{0,{n}}}{_H})?::(?:{_H}:){{{3 - n + 1}}}{_LOW}" for n in range(1, 4)]
    + [f"(?:(?:{_H}:){{0,{n}}}{_H})?::{end}" for n, end in ((4, _LOW), (5, _H), (6, ""))]
)
_BEYOND = r"\u{80}-\u{10FFFF}"
_ANY = "[^]*"
_POINTER = "(?:/(?:[^~/]|~[01])*)*"


def _hostname(letters: str) -> str:
    label = f"[{letters}](?:[{letters}-]{{0,61}}[{letters}])?"
    return f"{label}(?:[.]{label})*"


def _email(beyond: str) -> str:
    atom = f"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{beyond}-]+"
    quoted = rf'"(?:[ !#-\[\]-~{beyond}]|\\[ -~])*"'
    literal = rf"\[(?:{_IPV4}|IPv6:(?:{_IPV6}))\]"
    return f"(?:{atom}(?:[.]{atom})*|{quoted})@(?:{_hostname('A-Za-z0-9' + beyond)}|{literal})"


class _Identifier(NamedTuple):
    whole: str
    reference: str


def _identifier(beyond: str = "", private: str = "") -> _Identifier:
    """RFC 3986, or RFC 3987 with the characters `beyond` ASCII, and in a query the `private` ones, too."""
    signs = rf"A-Za-z0-9._~!$&'()*+,;=\-{beyond}"
    encoded = "%[0-9A-Fa-f]{2}"
    pchar = f"(?:[{signs}:@]|{encoded})"
    later = f"(?:/{pchar}*)*"
    host = rf"(?:\[(?:{_IPV6}|[Vv][0-9A-Fa-f]+[.][A-Za-z0-9._~!$&'()*+,;=:-]+)\]|(?:[{signs}]|{encoded})*)"
    authority = f"//(?:(?:[{signs}:]|{encoded})*@)?{host}(?::[0-9]*)?{later}"
    absolute = f"/(?:{pchar}+{later})?"
    rest = rf"(?:[?](?:[{signs}:@/?{private}\[\]]|{encoded})*)?(?:#(?:[{signs}:@/?\[\]]|{encoded})*)?"
    whole = f"[A-Za-z][A-Za-z0-9+.-]*:(?:{authority}|{absolute}|{pchar}+{later})?{rest}"
    first = f"(?:[{signs}@]|{encoded})+"  # a colon in the first segment would end a scheme
    return _Identifier(whole, f"(?:{whole}|(?:{authority}|{absolute}|{first}{later})?{rest})")


def _uri_template() -> str:
    encoded = "%[0-9A-Fa-f]{2}"
    name = f"(?:[A-Za-z0-9_]|{encoded})(?:[.]?(?:[A-Za-z0-9_]|{encoded}))*"
    variable = rf"{name}(?::[1-9][0-9]{{0,3}}|\*)?"
    literal = rf"[!#$&-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|{encoded}"  # with ', by erratum 6937
    return rf"(?:{literal}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*"


_PLANES = "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14))
_UCS = rf"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF{_PLANES}\u{{E1000}}-\u{{EFFFD}}"
_PRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"
_URI, _IRI = _identifier(), _identifier(_UCS, _PRIVATE)

FORMATS: dict[str, str] = {
    name: f"^(?:{body})$"
    for name, body in {
        "date": _DATE,
        "time": f"{_TIME}|{_LEAP}",
        "date-time": f"{_DATE}[Tt](?:{_TIME}|{_LEAP})",
        "duration": f"P(?:{_N}W|{_DAYS}(?:{_CLOCK})?|{_CLOCK})",
        "email": _email(""),
        "idn-email": _email(_BEYOND),
        "hostname": _hostname("A-Za-z0-9"),
        "idn-hostname": _ANY,
        "ipv4": _IPV4,
        "ipv6": _IPV6,
        "uuid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
        "uri": _URI.whole,
        "uri-reference": _URI.reference,
        "iri": _IRI.whole,
        "iri-reference": _IRI.reference,
        "uri-template": _uri_template(),
        "json-pointer": _POINTER,
        "relative-json-pointer": f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})",
        "regex": _ANY,
    }.items()
}
"""The patterns by format."""

_WRITTEN = {"time": f"^(?:{_TIME}|{_LEAP_UTC})$", "date-time": f"^(?:{_DATE}[Tt](?:{_TIME}|{_LEAP_UTC}))$"}
"""The texts that grammars write, where a condition restricts the others."""
UNWRITTEN = dict.fromkeys(_WRITTEN, "leap seconds with another offset than UTC's")
"""The valid texts that grammars do not write, in words."""
LATE = dict.fromkeys(_WRITTEN, "a leap second with an offset")
"""The texts of formats that grammars enforce, which only a condition decides, at their end."""
_LEAP_SECOND = re.compile(r"([0-9]{2}):([0-9]{2}):60[0-9.]*(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$")


def _at_a_leap_second(text: str) -> bool:
    """Whether a second 60, if any, is the last one before midnight UTC (RFC 3339 §5.7)."""
    found = _LEAP_SECOND.search(text)
    if found is None:
        return True
    hour, minute, sign, *offset = found.groups(default="0")
    minutes = int(hour) * 60 + int(minute)
    away = int(offset[0]) * 60 + int(offset[1])
    return (minutes + (away if sign == "-" else -away)) % 1440 == 1439


def _is_regex(text: str) -> bool:
    return not bad_schema_pattern(text) and not unreadable(text) and is_ecma_262(text)


MAX_HOSTNAME = 253
"""Characters of a host name (RFC 1123 §2.1, without the dot of the root)."""


def _is_hostname(text: str) -> bool:
    return len(text) <= MAX_HOSTNAME and all(
        _in_idna(label) for label in text.split(".") if label[:4].lower() == "xn--"
    )


def _in_idna(text: str) -> bool:
    import idna  # its tables take a moment to load

    try:
        return bool(text[-1:] not in ".\u3002\uff0e\uff61" and idna.encode(text))
    except UnicodeError:  # `idna.IDNAError` is one
        return False


def _is_idn_hostname(text: str) -> bool:
    return len(text) <= MAX_HOSTNAME and _in_idna(text)


def meets_condition(name: str, text: str) -> bool:
    """Whether a text that matches the pattern of a format is valid."""
    condition = _CONDITIONS.get(name)
    return condition is None or condition(text)


_CONDITIONS: dict[str, Callable[[str], bool]] = {
    "time": _at_a_leap_second,
    "date-time": _at_a_leap_second,
    "regex": _is_regex,
    "hostname": _is_hostname,
    "idn-hostname": _is_idn_hostname,
}


_BEYOND_GRAMMARS = {
    "hostname": f"a grammar does not exclude names of more than {MAX_HOSTNAME} characters and invalid xn-- labels",
    "idn-hostname": "a grammar does not enforce the rules of international host names",
    "regex": "a grammar does not enforce the syntax of regular expressions",
}


class WrittenFormat(NamedTuple):
    """The texts of a format that a grammar writes (None: any), and why these are not exactly the valid ones.

    `checked`: the validator checks the format.
    """

    node: Node | None
    why: str = ""
    checked: bool = True


@lru_cache(maxsize=64)
def written_format(name: str) -> WrittenFormat:
    """A format in a grammar."""
    if name not in FORMATS:
        return WrittenFormat(None, "no rules are known for this format", checked=False)
    return WrittenFormat(format_node(name), _BEYOND_GRAMMARS.get(name, ""))


def format_node(name: str) -> Node | None:
    """The strings of a format that a grammar writes; None for a format without a pattern."""
    known = FORMATS.get(name, "") not in ("", f"^(?:{_ANY})$")
    return pattern_node(_WRITTEN.get(name, FORMATS[name])) if known else None
