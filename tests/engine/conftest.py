"""Fixtures that several files of this folder use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from glyphscope.tools.demo import DemoTools
from page_runs import BROWSERS, browser_program


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DemoTools]:
    """The demo tools, with the scratch folder `scratch` of the test's folder."""
    tools = DemoTools(scratch=tmp_path / "scratch")
    yield tools
    tools.close()


@pytest.fixture(params=BROWSERS)
def browser(request: pytest.FixtureRequest) -> str:
    """Each browser; the first argument of a test, which is skipped without it before its pages are made."""
    browser_program(request.param)
    return str(request.param)
