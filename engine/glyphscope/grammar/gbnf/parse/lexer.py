"""The tokens of GBNF: one compiled expression, so that reading a keystroke's text again costs milliseconds.

Each alternative of the expression is a group of its own, and the group's number is the token's kind. Quantifiers are
possessive: nothing is tried twice, on any text.
"""

from __future__ import annotations

import re

# kinds; plain numbers, because comparing members of an enumeration takes longer than matching a token
NAME = 1
HEAD = 2
"""A name with `::=` behind it."""
BAD_NAME = 3
"""Letters, digits, `_` and `-`, but not only those that a name may have."""
QUOTED = 4
CLASS = 5
NEWLINE = 6
COMMENT = 7
BAR = 8
OPEN = 9
CLOSE = 10
STAR = 11
"""`*`, `+` or `?`."""
BRACES = 12
ANY = 16
TOKEN = 17
DEFINE = 18
"""`::=` without a name before it."""
OTHER = 19
END = 20

LEXER = re.compile(
    r"""[ \t]*+(?:
      ([A-Za-z0-9-]++)(?!\w)(?:[ \t]*+(::=))?+            # 1 name, 2 head
    | ([\w-]++)                                           # 3
    | ("(?:[^"\\\r\n]++|\\[^\r\n])*+")                    # 4
    | (\[(?:[^\]\\\r\n]++|\\[^\r\n])*+\])                 # 5
    | (\r\n|\n|\r)                                        # 6
    | (\#[^\r\n]*+)                                       # 7
    | (\|)                                                # 8
    | (\()                                                # 9
    | (\))                                                # 10
    | ([*+?])                                             # 11
    | (\{SPACE([0-9]++)SPACE(?:(,)SPACE([0-9]++)?+SPACE)?+\})  # 12, with the minimum, the comma and the maximum
    | (\.)                                                # 16
    | (!?<(?:\[[0-9]++\]>|[^\s<>()\[\]{}"']{1,200}+>))       # 17
    | (::=)                                               # 18
    | ([\s\S])                                            # 19
    | (\Z)                                                # 20
    )""".replace("SPACE", r"(?:[ \t\r\n]++|\#[^\r\n]*+)*+"),
    re.VERBOSE,
)
