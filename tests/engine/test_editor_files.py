"""The colours of grammars in other programs: the lexers for Pygments, and the extension for VS Code."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Operator, String

from glyphscope.grammar.languages import LANGUAGES
from glyphscope.grammar.line_lexer import LEXERS

EXTENSION = Path(__file__).parents[2] / "packaging" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SCOPES = {
    "comment": "comment.line",
    "literal": "string.quoted.double",
    "class": "string.regexp",
    "token": "constant.language",
    "definition": "entity.name.function",
    "name": "variable.other",
    "bounds": "constant.numeric",
    "mark": "keyword.operator",
}


def test_pygments_finds_the_lexers_and_they_keep_the_text():
    text = '# why\nroot ::= "a"{2} [^"\\]] <[5]> item # é\n\nitem ::= root | .\n'
    lexer = get_lexer_by_name("gbnf")
    tokens = [(kind, word) for kind, word in lexer.get_tokens(text) if word.strip()]
    assert tokens[:5] == [
        (Comment.Single, "# why"), (Name.Function, "root"), (Operator, "::="), (String.Double, '"a"'),
        (tokens[4][0], "{2}"),
    ]  # fmt: skip
    assert (
        (String.Regex, '[^"\\]]') in tokens
        and (Keyword.Constant, "<[5]>") in tokens
        and (Name, "item") in tokens
    )
    assert "".join(word for _, word in lexer.get_tokens(text)) == text
    assert (
        get_lexer_for_filename("x.lark").name == get_lexer_by_name("llguidance").name == "Lark (llguidance)"
    )


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_the_extension_has_the_languages_of_the_server_with_the_words_of_its_lexer(language):
    """With GLYPHSCOPE_UPDATE=1 the grammars of TextMate are written."""
    name = language.name.lower()
    (said,) = (each for each in PACKAGE["contributes"]["languages"] if each["id"] == name)
    assert said["extensions"] == [language.suffix] and (EXTENSION / said["configuration"]).is_file()
    (colours,) = (each for each in PACKAGE["contributes"]["grammars"] if each["language"] == name)
    rules = LEXERS[language.name].kinds.items()
    expected = {
        "name": language.name,
        "scopeName": colours["scopeName"],
        "patterns": [{"name": f"{SCOPES[kind]}.{name}", "match": words} for kind, words in rules],
    }
    path = EXTENSION / colours["path"]
    if os.environ.get("GLYPHSCOPE_UPDATE"):
        path.write_text(json.dumps(expected, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == expected
    known = json.loads((EXTENSION / said["configuration"]).read_text(encoding="utf-8"))
    assert re.fullmatch(known["wordPattern"], "a-rule_1")


def test_the_extension_starts_the_server_by_its_setting_and_its_script_is_valid():
    script = (EXTENSION / PACKAGE["main"]).read_text(encoding="utf-8")
    assert set(re.findall(r'"(glyphscope\.\w+)"', script)) == {
        *PACKAGE["contributes"]["configuration"]["properties"],
        *(each["command"] for each in PACKAGE["contributes"]["commands"]),
    }
    assert 'args: ["lsp", "--stdio"]' in script
    if (node := shutil.which("node")) is not None:
        subprocess.run([node, "--check", EXTENSION / PACKAGE["main"]], check=True, timeout=60)
