"""The words of the program and its documents, by docs/style.md."""

import re

import pytest

from words import ROOT, all_refused

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_text_docstring_comment_or_name_has_a_refused_word():
    found = (
        f"{one.path}:{one.line}: {one.words!r}, write {one.instead}: {one.text[:100]}"
        for one in all_refused()
    )
    assert "\n".join(found) == ""


def test_the_glossary_is_in_alphabetical_order_and_names_each_term_once():
    terms = [term.casefold() for term in re.findall(r"^\| ([^|-][^|]*?) \|", GLOSSARY, re.MULTILINE)[1:]]
    assert len(terms) >= 80 and len(set(terms)) == len(terms)
    assert terms == sorted(terms)
