"""Fixtures that several files of this folder use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from glyphscope.tools.demo import DemoTools


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DemoTools]:
    """The demo tools, with the scratch folder `scratch` of the test's folder."""
    tools = DemoTools(scratch=tmp_path / "scratch")
    yield tools
    tools.close()
