"""The words of the program and its documents, by docs/style.md."""

import re

import pytest

from words import REFUSED, ROOT, all_refused, refused_name, texts_of

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_text_docstring_comment_or_name_has_a_refused_word():
    found = (
        f"{one.path}:{one.line}: {one.words!r}, write {one.instead}: {one.text[:100]}"
        for one in all_refused()
    )
    assert "\n".join(found) == ""


@pytest.mark.parametrize(
    "text",
    ["What came back", "This is no bundle", "Nobody told it", "Ended without what it was held to", "Go on",
     "Correct the mistake", "mend the file", "It stands here", "a struck token", "a grammar of your own",
     "Nobody carries out the tool", "Begin anew", "Not in force yet", "the likeliest token", "continued aside",
     "every seed draws the same", "Parts at character 3", "what the model wanted", "reload theirs",
     "a server that is switched off",
     "llama.cpp refuses the grammar", "The key was not accepted",
     "Says of itself", "the tools that come with Glyphscope"],
)  # fmt: skip
def test_the_patterns_find_what_the_page_refuses(text):
    assert any(re.search(pattern, text, re.IGNORECASE) for pattern in REFUSED)


@pytest.mark.parametrize(
    "text",
    ["What is JSON Schema?", "There is no tool of that name.", "stands for", "Hold Ctrl", "I understand", "notation",
     "refuses the connection", "Refused by policy"],
)  # fmt: skip
def test_the_patterns_leave_plain_english_alone(text):
    assert not any(re.search(pattern, text, re.IGNORECASE) for pattern in REFUSED)


def test_the_scan_reads_labels_errors_help_and_pages():
    def texts(path):
        return " ".join(text for _, text in texts_of(ROOT / path))

    assert "Public docstring" not in texts("engine/glyphscope/base/visible.py")
    assert "One function" not in texts("engine/glyphscope/cli/output.py")
    assert "White space in JSON." in texts("engine/glyphscope/cli/grammar/build.py")
    assert "Print the grammar of every call" in texts("engine/glyphscope/cli/grammar/build.py")
    assert "```" not in texts("README.md")


def test_the_glossary_is_in_alphabetical_order_and_names_each_term_once():
    terms = [term.casefold() for term in re.findall(r"^\| ([^|-][^|]*?) \|", GLOSSARY, re.MULTILINE)[1:]]
    assert len(terms) >= 80 and len(set(terms)) == len(terms)
    assert terms == sorted(terms)


@pytest.mark.parametrize(
    "name", ["modelTold", "runWanted", "Unheld", "_tell", "carry_out", "goOnWanted", "kept_plan"]
)
def test_the_patterns_find_the_old_names(name):
    assert refused_name(name)


@pytest.mark.parametrize(
    "name", ["runRequested", "casefold", "Upholder", "keep", "modelStatusChanged", "holder"]
)
def test_the_patterns_leave_the_names_of_the_field_alone(name):
    assert not refused_name(name)
