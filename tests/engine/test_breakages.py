"""The list of removed handlings, for each of which a test fails: its places and tests exist."""

from __future__ import annotations

import re

import pytest

from breakages import BREAKAGES, REPOSITORY, without


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda each: each.line)
def test_every_breakage_names_a_place_and_tests_that_exist(breakage):
    text = (REPOSITORY / breakage.file).read_text("utf-8")
    assert without(breakage, text) != text
    for test in breakage.tests:
        file, _, name = test.partition("::")
        source = (REPOSITORY / "tests" / file).read_text("utf-8")
        assert re.search(rf"^def {name or 'test_'}", source, re.MULTILINE), test
