"""`glyphscope lsp`, as an editor uses it, through pytest-lsp's client: on llama.cpp's grammars and on broken ones."""

import asyncio
import re
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp", reason="pytest-lsp is in the dev group")

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from expected_texts import as_in_file, blocks_of
from glyphscope.cli.lsp import documents
from glyphscope.grammar.gbnf import check_gbnf
from glyphscope.grammar.languages import GBNF
from lsp_editor import Editor, row

pytestmark = pytest.mark.slow
BROKEN = Path(__file__).parent / "lsp_broken.txt"
GRAMMAR = """\
# a list of numbers
root  ::= list   # the whole
list ::= "[" (number ("," number)*)? "]"
number ::= [0-9]+ | "0"
spare ::= "x"
"""
REGISTRY = """\
{"glyphscope": 1, "tools": [
  {"name": "tag", "parameters": {"type": "object", "properties": {
    "names": {"type": "array", "description": "The tags.", "uniqueItems": true, "maxItems": 4},
    "code": {"type": "string", "x-grammar": "\\"\\\\\\"\\" \\"😀\\" [A-Z]+ nope"}}}}
]}
"""


@pytest.fixture
def editor():
    with Editor() as opened:
        yield opened


def test_a_session_shows_what_the_window_shows(editor):
    found = editor.open("a.gbnf", GRAMMAR)
    assert [row(each) for each in found] == [
        "4:0-4:5 warning unused-rule: The rule spare is not used. Use it, or delete it."
    ]
    assert [tag.name for tag in found[0].tags] == ["Unnecessary"]
    assert editor.actions("a.gbnf") == {"Delete spare": GRAMMAR.replace('spare ::= "x"\n', "")}
    assert editor.completions("a.gbnf", (2, 16)) == ["number"] and editor.completions("a.gbnf", (0, 4)) == []
    assert editor.completions("a.gbnf", (1, 10)) == ["list", "number", "root", "spare"]
    assert editor.definition("a.gbnf", (1, 11)) == "2:0-2:4"
    assert editor.references("a.gbnf", (3, 2)) == ["2:14-2:20", "2:26-2:32", "3:0-3:6"]
    assert editor.references("a.gbnf", (3, 2), declaration=False) == ["2:14-2:20", "2:26-2:32"]
    assert editor.renamed("a.gbnf", (3, 2), "digits") == GRAMMAR.replace("number ", "digits ").replace(
        "number)", "digits)"
    )
    for wrong, why in {
        "two words": "cannot replace the name number. Use letters, digits and hyphens",
        "list": "There is a rule list already",
    }.items():
        with pytest.raises(JsonRpcException, match=why):
            editor.renamed("a.gbnf", (3, 2), wrong)
    assert editor.formatted("a.gbnf") == GRAMMAR.replace("root  ::=", "root ::=").replace(
        "list   #", "list  #"
    )
    assert editor.outline("a.gbnf") == ["root", "list", "number", "spare"]
    editor.long_analysis("a.gbnf")
    assert editor.hints("a.gbnf") == ["4:5 unused", '3:6 ambiguous: "0"']


def test_a_new_name_is_one_that_the_engine_reads_as_the_same_kind(editor):
    editor.open("a.lark", 'start: WORD item\nWORD: /a/\nitem: "b"\n')
    assert editor.renamed("a.lark", (0, 8), "NAME").startswith("start: NAME item\nNAME: /a/")
    for place, wrong in (((0, 8), "name"), ((0, 13), "ITEM"), ((0, 13), "Item")):
        with pytest.raises(JsonRpcException, match="small ones for a rule, capital ones for a terminal"):
            editor.renamed("a.lark", place, wrong)
    editor.open("a.gbnf", "root ::= my_rule\nmy_rule ::= root\n")
    assert editor.renamed("a.gbnf", (0, 10), "my-rule") == "root ::= my-rule\nmy-rule ::= root\n"


def test_a_grammar_inside_of_a_rule_has_separate_rules(editor):
    inside = '  start: item{1,2}\n  item: %json { "a": {} } // }\n'
    text = f'start: item "," %lark {{\n{inside}}} other\nitem: "b"\nother: item\n'
    editor.open("a.lark", text)
    assert editor.definition("a.lark", (0, 8)) == editor.definition("a.lark", (5, 8)) == "4:0-4:4"
    assert editor.definition("a.lark", (1, 10)) == "2:2-2:6"
    assert editor.references("a.lark", (2, 3)) == ["1:9-1:13", "2:2-2:6"]
    assert editor.references("a.lark", (4, 0)) == ["0:7-0:11", "4:0-4:4", "5:7-5:11"]
    assert editor.definition("a.lark", (3, 3)) == "5:0-5:5"
    lines = text.splitlines(keepends=True)
    inner = [line.replace("item", "x") for line in lines[1:3]]
    assert editor.renamed("a.lark", (1, 10), "x") == "".join([lines[0], *inner, *lines[3:]])
    assert editor.renamed("a.lark", (1, 10), "other").count("other") == 4, "the name is free in the inner one"
    with pytest.raises(JsonRpcException, match="There is a rule other already"):
        editor.renamed("a.lark", (0, 8), "other")


def test_a_name_in_a_text_of_several_lines_is_not_the_rule(editor):
    text = 'root ::= "a\nitem ::= " item [\\n\nitem] # item "\nitem ::= "item"\n'
    editor.open("lines.gbnf", text)
    assert editor.renamed("lines.gbnf", (1, 11), "x") == text.replace('" item', '" x').replace(
        '\nitem ::= "i', '\nx ::= "i'
    )
    assert editor.definition("lines.gbnf", (1, 11)) == "3:0-3:4"
    assert editor.renamed("lines.gbnf", (1, 1), "x") == text, "inside of the literal"
    editor.change("lines.gbnf", 'root ::= "a item\nitem ::= "b" # it\'s\n')
    assert editor.references("lines.gbnf", (1, 1)) == ["1:0-1:4"], (
        "while a quote is open, each line is read alone"
    )


def test_the_newest_text_is_answered_while_an_older_one_is_analysed(editor):
    """Reading 60,000 literals takes seconds; the answer to the next text does not wait for that."""
    slow = "root ::= " + " ".join(f'"a{number}"' for number in range(60_000)) + "\n"
    assert editor.open("a.gbnf", slow) == ()
    editor.change("a.gbnf", slow + "x ::= y\n")
    for _ in range(3):
        editor.change("a.gbnf", slow.replace("root", "start"))
    assert len(editor.open("a.gbnf", GRAMMAR)) == 1
    assert editor.completions("a.gbnf", (2, 16)) == ["number"]
    assert editor.reports("a.gbnf") == 2


def test_problems_stay_if_the_long_analysis_fails_and_a_closed_text_keeps_no_question_waiting(monkeypatch):
    def fail(_grammar):
        raise ValueError("a defect")

    monkeypatch.setattr(documents, "ambiguous_rules", fail)
    monkeypatch.setattr(documents, "IDLE", 0.0)
    reports = []

    async def session():
        text = documents.OpenText(
            "a.gbnf", GBNF, "utf-16", lambda each: reports.append((each.failed, len(each.findings.problems)))
        )
        text.change(GRAMMAR, 1)
        while len(reports) < 2:
            await asyncio.sleep(0.001)
        text.change(GRAMMAR * 2, 2)
        question = asyncio.ensure_future(text.known())
        await asyncio.sleep(0)
        text.close()
        return await asyncio.wait_for(question, 10)

    assert asyncio.run(session()).problems == []
    (first, found), (second, kept) = reports
    assert first is None and str(second) == "a defect" and kept == found > 0


def test_a_hover_says_what_a_rule_accepts_and_costs(editor):
    editor.open("a.gbnf", GRAMMAR)
    words = editor.hover("a.gbnf", (2, 16))
    assert (
        words.startswith('```gbnf\nnumber ::= [0-9]+ | "0"\n```')
        and "used 2 times · begins in up to 2 ways" in words
    )
    texts = re.search(r"````text\n(.*)\n````", words, re.DOTALL)[1].split("\n")
    assert texts and all(text.isdigit() for text in texts)
    editor.open("a.lark", "start: WORD\nWORD: /[a-z]+/\n")
    assert editor.hover("a.lark", (0, 8)).endswith("used 1 time · one lexeme")
    assert editor.hover("a.gbnf", (0, 3)) == "" and editor.hover("a.gbnf", (2, 10)) == ""
    editor.open("a.gbnf", GRAMMAR + "broken ::= \n")  # the last text without errors answers
    assert editor.hover("a.gbnf", (2, 16)) == words


def test_a_new_line_is_offered_the_rules_that_are_used_and_not_defined(editor):
    editor.open("a.gbnf", "root ::= item\n\n")
    assert editor.completions("a.gbnf", (1, 0)) == ["item ::= "]
    editor.open("a.lark", "start: item\n%import common.IN\n\n")
    found = editor.completions("a.lark", (1, 17))
    assert found[0] == "INT" and "SIGNED_INT" in found and "WORD" not in found
    assert editor.completions("a.lark", (2, 0)) == ["item: "]


@pytest.mark.parametrize("encoding", ["", "utf-8", "utf-32"])
def test_words_have_their_types_on_their_lines_as_the_editor_counts(encoding):
    with Editor("visual_studio_code" if not encoding else "neovim", encoding) as editor:
        editor.open("a.gbnf", 'root ::= # "é😀"\n  "😀é" x{2} | <[5]>\n\nx ::= [a😀] "y"\n')
        assert editor.colours("a.gbnf") == [
            ("root", "function definition"), ("::=", "operator"), ('# "é😀"', "comment"),
            ('"😀é"', "string"), ("x", "variable"), ("{2}", "number"), ("|", "operator"), ("<[5]>", "macro"),
            ("x", "function definition"), ("::=", "operator"), ("[a😀]", "regexp"), ('"y"', "string"),
        ]  # fmt: skip
        editor.open("a.lark", 'start: /é+/ A\n// the end\nA: "é"i\n')
        assert editor.colours("a.lark") == [
            ("start", "function definition"), (":", "operator"), ("/é+/", "regexp"), ("A", "variable"),
            ("// the end", "comment"), ("A", "function definition"), (":", "operator"), ('"é"i', "string"),
        ]  # fmt: skip
        assert editor.ask("semantic_tokens_full", types.SemanticTokensParams, "none.gbnf") is None


@pytest.mark.parametrize("encoding", ["", "utf-8", "utf-16", "utf-32"])
def test_a_place_after_an_emoji_is_counted_as_the_editor_counts(encoding):
    with Editor("visual_studio_code" if not encoding else "neovim", encoding) as editor:
        found = editor.open("a.gbnf", 'root ::= "😀é" nope\n# \u2028 is no end of a line\nx ::= "y"\n')
        shift = {"utf-8": 18, "utf-16": 15, "utf-32": 14}[encoding or "utf-16"]
        assert [(str(each.range), each.code) for each in found] == [
            (f"0:{shift}-0:{shift + 4}", "undefined-rule"), ("2:0-2:1", "unused-rule"),
        ]  # fmt: skip
        assert editor.definition("a.gbnf", (2, 0)) == "2:0-2:1"
        assert editor.actions("a.gbnf")["Add a rule nope"].endswith('x ::= "y"\nnope ::= "nope"\n')


def test_tools_have_their_problems_what_is_not_enforced_and_their_constraints_in_words(editor):
    found = editor.open("tools.json", REGISTRY)
    line = REGISTRY.split("\n")[3]
    at = len(line[: line.index("nope")].encode("utf-16-le")) // 2
    assert [row(each) for each in found] == [
        f"3:{at}-3:{at + 4} error undefined-rule: The rule nope is not defined. Define it: `nope ::= …`."
    ]
    assert editor.actions("tools.json") == {}  # an expression has no place for a rule
    classes = REGISTRY.replace("[A-Z]+ nope", "[Z-A]")
    editor.open("tools.json", classes)
    assert editor.actions("tools.json") == {"Swap the ends": classes.replace("Z-A", "A-Z")}
    right = REGISTRY.replace(" nope", ' \\"\\\\\\"\\"')
    assert editor.open("tools.json", right) == ()
    assert [
        row(each).partition(" is not enforced by the mask or llama.cpp's grammar: ")[::2]
        for each in editor.long_analysis("tools.json")
    ] == [
        (
            "3:21-3:29 information unenforced: type",
            "the value's own grammar replaces it. It is checked after generation.",
        ),
        (
            "2:74-2:78 information unenforced: uniqueItems",
            "whether items repeat is not decided by a grammar. It is checked after generation.",
        ),
    ]
    words = editor.hover("tools.json", (2, 7))
    assert words.startswith(
        "**tag · names**\n\nThe tags.\n\n- type array\n- uniqueItems true — uniqueItems is not enforced"
    )
    assert words.endswith("- maxItems 4")
    assert editor.hover("tools.json", (0, 3)) == "" and editor.completions("tools.json", (2, 7)) == []


def test_an_openapi_document_in_yaml_has_its_problems_at_their_places(editor):
    text = """openapi: 3.1.0
info: {title: x, version: "1"}
paths:
  /a:
    get:
      operationId: find
      parameters:
        - {name: q, in: query, required: true, schema: {type: string, pattern: "^a+$", maxLength: 3}}
"""
    assert editor.open("api.yaml", text) == ()
    assert editor.open("api.yaml", text.replace("type: string", "type: strin"))[0].code == "registry"
    editor.open("api.yaml", text)
    assert (
        editor.hover("api.yaml", (7, 70)) == "**find**\n\n- type object"
    )  # of the operation, which has the arguments


def test_other_files_are_left_alone_and_no_input_ends_the_server(editor):
    assert editor.open("package.json", '{"private": true') == ()
    assert [each.code for each in editor.open("registry.json", '{"private": true')] == ["json"]
    assert [each.code for each in editor.open("b.tools.yaml", "openapi: 3.1.0\npaths: [")] == ["json"]
    for number, text in enumerate(
        ("\0\ud800"[:1], "(" * 50_000, "root ::= " + '"a"?' * 3_000, "a" * 400_000, "")
    ):
        editor.open(f"{number}.gbnf", text)
        editor.open(f"{number}.lark", text)
        editor.completions(f"{number}.gbnf", (0, 5))
        editor.hover(f"{number}.gbnf", (9, 900))
        assert len(editor.colours(f"{number}.lark")) <= len(text)
    editor.close("0.gbnf")
    assert (
        editor.open("0.gbnf", 'root ::= "a"\n') == ()
        and not editor.client.messages + editor.client.log_messages
    )


def test_broken_grammars_have_their_codes_places_and_fixes(editor):
    """Each block is a grammar, then `→` what the editor shows: all diagnostics, and the text after the first fix."""
    blocks = []
    for block in blocks_of(BROKEN):
        text = "".join(f"{line[2:]}\n" for line in block.split("\n") if line.startswith("  "))
        name = block.split("\n")[0]
        found = editor.open(name, text)
        rows = [f"→ {row(each)}" for each in found]
        if actions := editor.actions(name):
            title, fixed = next(iter(actions.items()))
            rows.append(f"→ fix: {title}")
            rows += [f"→   {line}" for line in fixed.split("\n")[:-1]]
        blocks.append("\n".join([name, *(f"  {line}" for line in text.split("\n")[:-1]), *rows]))
        assert name.rpartition(".")[0] in [each.code for each in found]
    assert len(blocks) >= 30
    as_in_file(BROKEN, blocks)


NAMES = ("arithmetic", "c", "chess", "english", "japanese", "json", "json_arr", "list")


def test_every_feature_works_on_every_rule_of_llama_cpps_grammars(editor, shared_data):
    for name in NAMES:
        _try_every_feature(editor, shared_data, name)


def _try_every_feature(editor, shared_data, name):
    text = (shared_data / "gbnf" / f"{name}.gbnf").read_text(encoding="utf-8")
    file, document = f"{name}.gbnf", check_gbnf(text).document
    found = editor.open(file, text)
    assert {each.severity.name for each in found} <= {"Warning", "Hint"}
    assert editor.outline(file) == [rule.name for rule in document.rules]
    assert check_gbnf(editor.formatted(file)).ok
    for rule in document.rules:
        line = text.count("\n", 0, rule.start)
        place = line, 1
        assert editor.definition(file, place) == f"{line}:0-{line}:{len(rule.name)}"
        assert len(editor.references(file, place)) == len(document.occurrences(rule.name))
        column = rule.body.start - text.rindex("\n", 0, rule.start) - 1 if line else rule.body.start
        assert rule.name in editor.completions(file, (line, column))
        renamed = check_gbnf(editor.renamed(file, place, "renamed-rule" if rule.name != "root" else "root"))
        assert renamed.ok and len(renamed.document.rules) == len(document.rules)
        words = editor.hover(file, place)
        assert (
            words.startswith(f"```gbnf\n{rule.name} ") and "````text" in words and "begins in up to" in words
        )
