"""The fixture that fails a test for what it leaves behind, tried on tests that do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LEAVING = {
    "thread": "import threading, time\ndef test_it():\n    threading.Thread(target=time.sleep, args=(20,)).start()\n",
    "process": "import subprocess, sys\ndef test_it():\n    global p\n"
    "    p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'])\n",
    "timer": "from PySide6.QtCore import QTimer\nfrom PySide6.QtWidgets import QWidget\ndef test_it(qapp):\n"
    "    global w\n    w = QWidget()\n    w.setObjectName('w')\n    w.show()\n    QTimer(w).start(10)\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LEAVING)
def test_a_test_that_leaves_something_behind_fails(what: str, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_leaving.py").write_text(LEAVING[what])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert f"left behind: {what}" in done.stdout, done.stdout
