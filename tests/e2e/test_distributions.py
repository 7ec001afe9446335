"""The wheel and the source archive contain a checkout's files, with the assets, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "engine/glyphscope/",
    "engine/glyphscope_plugins/",
    "gui/glyphscope_gui/",
    "assets/glyphscope_assets/",
)
OF_THE_CHECKOUT = re.compile(r"\.(?:ci/|git|pre-commit-config)|findings/")
"""Files that only a checkout needs."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files() -> set[str]:
    """Return the files that git tracks or would add: other files may appear in the checkout meanwhile."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a checkout")
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def built(files: set[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build both archives and return them by their suffixes; without a network, as hatchling is installed."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, capture_output=True, check=True
    )
    return {path.suffix: path for path in folder.iterdir()}


def test_the_wheel_has_exactly_the_files_of_the_packages(files, built):
    with zipfile.ZipFile(built[".whl"]) as wheel:
        contained = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {name.partition("/")[2] for name in files if name.startswith(PACKAGES)}
    expected |= {
        f"glyphscope_assets/{name}" for name in files if name.startswith("docs/")
    }  # the window's guide
    assert expected - contained == set()
    assert contained - expected == set()
    assert any(name.endswith(".qss") for name in contained) and any(
        name.endswith(".jsonl") for name in contained
    )


def test_the_source_archive_has_exactly_the_files_of_the_repository(files, built):
    with tarfile.open(built[".gz"]) as archive:
        contained = {name.partition("/")[2] for name in archive.getnames()}
    assert {name for name in files - contained if not OF_THE_CHECKOUT.match(name)} == set()
    assert contained - files == {"PKG-INFO"}


def test_the_wheel_has_its_extras_and_commands(built):
    with zipfile.ZipFile(built[".whl"]) as wheel:
        (folder,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
        metadata = Parser().parsestr(wheel.read(f"{folder}/METADATA").decode())
        points = wheel.read(f"{folder}/entry_points.txt").decode()
        assert f"{folder}/licenses/LICENSE" in wheel.namelist()
    extras = set(metadata.get_all("Provides-Extra") or ())
    everything = [line for line in metadata.get_all("Requires-Dist") or () if "extra == 'all'" in line]
    single = {
        line.partition(";")[0].strip()
        for line in metadata.get_all("Requires-Dist") or ()
        if "extra == " in line and not re.search("extra == '(all|dask|parquet|inspect|otel)'", line)
    }
    assert {line.partition(";")[0].strip() for line in everything} == single, (
        "`all`: all but those for a cluster or for one export"
    )
    assert extras == {
        "gui",
        "local",
        "demo",
        "mcp",
        "remote",
        "capture",
        "hub",
        "python",
        "yaml",
        "lsp",
        "all",
        "dask",
        "parquet",
        "inspect",
        "otel",
    }
    assert "glyphscope = glyphscope.cli:main" in points and "gui = glyphscope_gui.app:main" in points
    assert metadata["License-Expression"] == "Apache-2.0" and metadata["Requires-Python"]
