"""Answers that no text can be, each with words of its error."""

from __future__ import annotations

from glyphscope.events import Answer

BAD_ANSWERS = [
    (Answer("schema", "{"), "The schema is not JSON"),
    (Answer("schema", '{"type": "number", "minimum": "a"}'), "Invalid JSON Schema"),
    (Answer("schema", '{"type": "integer", "minimum": 3, "maximum": 2}'), "No value can be valid"),
    (Answer("regex", "(?=a)b"), "it looks around"),
    (Answer("regex", "(a"), "The regular expression cannot be a grammar"),
    (Answer("regex", ""), "matches no text"),
    (Answer("choice", ""), "There is nothing to choose from"),
    (Answer("choice", "a\n\nb"), "A choice is empty"),
    (Answer("choice", "a\nb\na"), "The choice 'a' is listed twice"),
    (Answer("gbnf", "root ::= a"), "line 1, column 10"),
    (Answer("lark", "start: A\n%import common.NOTHING\nA: NOTHING"), "line 2, column"),
    (Answer("lark", 'start: "a" start'), "matches no text: the rule start never ends"),
    (Answer("lark", 'start: <think> "a"'), "names tokens"),
    (Answer("gbnf", 'root ::= "a" root'), "matches no text: the rule root never ends"),
    (Answer("gbnf", 'root ::= ""'), "only the empty text"),
    (Answer("gbnf", 'root ::= <[3]> "a"'), "names tokens"),
]
