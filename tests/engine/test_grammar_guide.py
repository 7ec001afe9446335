"""The grammar in the user's guide for three tools (navigate, search, file), and the built one."""

import pytest

from glyphscope.grammar import (
    GrammarOptions,
    build_call_grammar,
    match_text,
    sample_texts,
    shortest_differences,
    to_lark,
)
from glyphscope.grammar.gbnf import check_gbnf, emit_gbnf
from glyphscope.registry import Tool, ToolRegistry

ARGUMENTS = r"""
navigate-args ::= "{" ws
  "\"action\"" ws ":" ws navigate-action ws
  ("," ws "\"directory\"" ws ":" ws string-value ws)?
  ("," ws "\"file\"" ws ":" ws string-value ws)?
"}"

navigate-action ::=
  "\"list_directory\"" |
  "\"get_file_outline\"" |
  "\"find_imports\"" |
  "\"get_tree\""

search-args ::= "{" ws
  "\"action\"" ws ":" ws search-action ws
  ("," ws "\"pattern\"" ws ":" ws string-value ws)?
  ("," ws "\"path\"" ws ":" ws string-value ws)?
"}"

search-action ::=
  "\"grep\"" |
  "\"find_files\"" |
  "\"find_definition\""

file-args ::= "{" ws
  "\"action\"" ws ":" ws file-action ws
  "," ws "\"file\"" ws ":" ws string-value ws
  ("," ws "\"content\"" ws ":" ws string-value ws)?
"}"

file-action ::=
  "\"read\"" |
  "\"write\"" |
  "\"append\""

string-value ::= "\"" [^"]* "\""

ws ::= [ \t\n\r]*
"""

SHOWN = (
    r"""root ::= ws tool-call ws

tool-call ::= "{" ws
  "\"tool\"" ws ":" ws tool-name ws "," ws
  "\"args\"" ws ":" ws tool-args ws
"}"

tool-name ::=
  "\"navigate\"" |
  "\"search\"" |
  "\"file\""

tool-args ::= navigate-args | search-args | file-args
"""
    + ARGUMENTS
)
"""As under "Example Generated Grammar" in the guide: any tool's name may precede any tool's arguments."""

BY_TOOL = (
    r"""root ::= ws tool-call ws

tool-call ::= navigate-call | search-call | file-call
navigate-call ::= "{" ws "\"tool\"" ws ":" ws "\"navigate\"" ws "," ws "\"args\"" ws ":" ws navigate-args ws "}"
search-call ::= "{" ws "\"tool\"" ws ":" ws "\"search\"" ws "," ws "\"args\"" ws ":" ws search-args ws "}"
file-call ::= "{" ws "\"tool\"" ws ":" ws "\"file\"" ws "," ws "\"args\"" ws ":" ws file-args ws "}"
"""
    + ARGUMENTS
)
"""The same with the root of the guide's "Multi-Tool Grammar": each name with its own arguments."""

ANY = {"type": "string", "x-grammar": r'"\"" [^"]* "\""'}
JSON_STRING = {"type": "string", "pattern": '^[^"]*$'}
OPTIONS = GrammarOptions(white_space="any")


def tools(string):
    def tool(name, actions, required=("action",), **properties):
        action = {"action": {"type": "string", "enum": actions}}
        schema = {"type": "object", "properties": action | properties, "required": list(required)}
        return Tool(name, "", schema)

    return ToolRegistry(
        (
            tool(
                "navigate",
                ["list_directory", "get_file_outline", "find_imports", "get_tree"],
                directory=string,
                file=string,
            ),
            tool("search", ["grep", "find_files", "find_definition"], pattern=string, path=string),
            tool("file", ["read", "write", "append"], ("action", "file"), file=string, content=string),
        )
    )


def grammar(text):
    """The guide's grammar with fixes: llama.cpp rejects rules that span lines without parentheses."""
    for _ in range(20):
        check = check_gbnf(text)
        if check.grammar is not None:
            return check.grammar
        problem = next(found for found in check.diagnostics if found.severity == "error")
        assert problem.code == "rule-on-one-line"
        for start, end, new in sorted(problem.fix.edits, reverse=True):
            text = text[:start] + new + text[end:]
    raise AssertionError(check.diagnostics)


def built(string):
    return build_call_grammar(tools(string), "json", "tool-args", OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda g: g, lambda g: grammar(emit_gbnf(g).text)], ids=["tree", "gbnf"])
def test_with_the_guides_strings_the_languages_are_equal(make):
    ours, theirs = make(built(ANY)), grammar(BY_TOOL)
    found = shortest_differences(ours, theirs)
    assert found.same and found.exhausted, found
    for text in sample_texts(ours, 60, seed=1):
        assert match_text(theirs, text).accepted, text
    for text in sample_texts(theirs, 60, seed=2):
        assert match_text(ours, text).accepted, text


def test_the_builder_also_binds_arguments_to_their_tool():
    found = shortest_differences(built(ANY), grammar(SHOWN))
    assert found.only_first is None
    assert found.only_second is not None and not match_text(grammar(BY_TOOL), found.only_second).accepted


def test_json_strings_are_the_only_other_difference():
    ours, theirs = built(JSON_STRING), grammar(BY_TOOL)
    for text in sample_texts(ours, 60, seed=3):
        assert match_text(theirs, text).accepted, text
    found = shortest_differences(ours, theirs)
    assert found.only_first is None and found.only_second is not None
    assert any(c < " " or c == "\\" for c in found.only_second)


def test_the_guides_grammars_run_under_both_engines():
    for text in (SHOWN, BY_TOOL):
        assert to_lark(grammar(text)).startswith("start: ")
