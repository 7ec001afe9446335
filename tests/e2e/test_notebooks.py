"""The example notebooks, from their first cell to their last, with the embedded model."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.slow, pytest.mark.model]
NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    NotebookClient(notebook, timeout=250, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert {"evaluation": "<table>", "first-call": "<iframe srcdoc=", "constraints": "CONSTRAINT_MAX"}[
        path.stem
    ] in str(shown)
