"""Commands and what they print, in pages that say it: `GLYPHSCOPE_UPDATE=1` writes what is printed now into them."""

import os

import pytest

from command_pages import check, sections


def _marks(section):
    return pytest.mark.slow if section.page.stem == "mcp" else ()  # it starts servers


SECTIONS = [pytest.param(section, marks=_marks(section), id=str(section)) for section in sections()]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_command_prints_what_its_page_shows(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if wrong := check(section, update=bool(os.environ.get("GLYPHSCOPE_UPDATE"))):
        pytest.fail("\n".join(wrong), pytrace=False)
