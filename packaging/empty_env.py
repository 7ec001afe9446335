"""The wheel in an empty environment: `python packaging/empty_env.py` installs it with every extra that the documents
name, and runs the examples of docs/python.md, its test with the pytest plugin, the notebooks, and the exports.

The environment is new each time and outside of the checkout. llama-cpp-python is the wheel that `make setup` built; all
other packages come from the package index. Standard library only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from package_env import checkout_wheel
from setup_env import ROOT, llama_wheel, say

NEEDED = ("pytest", "nbclient", "nbformat", "ipykernel", "pandas")
"""Packages of the examples and the tests, which the documents install separately."""
EXAMPLES = """
import glyphscope, pathlib, re, sys
assert pathlib.Path(glyphscope.__file__).is_relative_to(sys.prefix), glyphscope.__file__
page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
for block in re.findall(r"^```python\\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
    if "def test_" in block:
        pathlib.Path("test_docs.py").write_text(block)
    else:
        exec(block, {"__name__": "example"})
"""
NOTEBOOK = """
import nbformat, sys
from nbclient import NotebookClient
NotebookClient(nbformat.read(sys.argv[1], as_version=4), timeout=250).execute()
"""
EXPORTS = """
import glyphscope
result = glyphscope.evaluate("starter", "embedded", first=1, constraints=["mask"])
for name in ("samples.csv", "samples.parquet", "log.eval"):
    print(result.export(name))
from inspect_ai.log import read_eval_log
print(read_eval_log("log.eval").results.scores[0].metrics["accuracy"])
print(len(result.run(result.samples[0]).spans()), "spans")
"""


def extras() -> list[str]:
    """The extras that README and docs name in a `pip install`."""
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    texts = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = re.findall(r"pip install '(?:glyphscope|\.)\[([\w,-]+)\]'", texts) + re.findall(
        r'pip install "\.\[([\w,-]+)\]"', texts
    )
    return sorted({extra for group in found for extra in group.split(",")})


def main() -> int:
    """Exit code 1 with the output of the first part that fails."""
    with tempfile.TemporaryDirectory(prefix="glyphscope-") as place:
        folder = Path(place)
        environment, work = folder / "env", folder / "work"
        work.mkdir()
        python = environment / "bin" / "python"
        wheel = checkout_wheel(Path(sys.executable), folder / "wheel")
        named = extras()
        parts: dict[str, list[str | Path]] = {
            "an empty environment": [sys.executable, "-m", "venv", environment],
            "pip": [python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"],
            f"glyphscope[{','.join(named)}]": [
                *(python, "-m", "pip", "install", "--quiet", llama_wheel()),
                f"glyphscope[{','.join(named)}] @ {wheel.as_uri()}",
                *NEEDED,
            ],
            "no package in conflict": [python, "-m", "pip", "check"],
            "glyphscope doctor": [environment / "bin" / "glyphscope", "doctor", "--deep"],
            "the examples of docs/python.md": [python, "-c", EXAMPLES, ROOT / "docs" / "python.md"],
            "its test with a model": [python, "-m", "pytest", "-q", "--glyphscope-model", "embedded"],
            "its test without a model": [python, "-m", "pytest", "-q"],
            **{
                f"the notebook {path.stem}": [python, "-c", NOTEBOOK, path]
                for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
            },
            "the exports": [python, "-c", EXPORTS],
        }
        return 0 if all(_passes(title, words, work, folder / "home") for title, words in parts.items()) else 1


def _passes(title: str, words: list[str | Path], work: Path, home: Path) -> bool:
    """Run a part in `work`, with a home of a new user and nothing of this checkout."""
    began = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {f"XDG_{kind}_HOME": str(home / kind) for kind in ("DATA", "CONFIG", "STATE")}
    environment |= {"QT_QPA_PLATFORM": "offscreen", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [str(word) for word in words], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    say(f"{'✓' if done.returncode == 0 else '✗'} {title} ({time.monotonic() - began:.0f} s)")
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
