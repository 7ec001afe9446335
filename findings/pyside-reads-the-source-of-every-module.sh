#!/usr/bin/env bash
# Expected: importing PySide6 leaves Python's import as it is: a module with current bytecode is imported without reading its source.
# Happens: PySide6 6.11.3 puts its own function in the place of builtins.__import__, for `from __feature__ import …`, and reads the source of each
#   module that imports anything after it, of the program and of every library, whether it uses a feature or not.
# Who meets it: every program with many modules: the start takes longer the more source there is, and a tracer shows open files, not PySide6.
# Here: the window has Python's own import back (`gui/glyphscope_gui/__init__.py`): an eighth less work at the start.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check PySide6-Essentials==6.11.3
"$folder/env/bin/python" - <<'PYTHON'
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import builtins, sys
own = builtins.__import__
if sys.argv[1] != "Python":
    import PySide6.QtCore
if sys.argv[1].endswith("put back"):
    builtins.__import__ = own
read = set()
def audit(event, arguments):
    if event == "open" and (name := str(arguments[0])).endswith(".py") and "module_" in name:
        read.add(name)
sys.addaudithook(audit)
for number in range(20):
    __import__(f"module_{number}")
print(len(read))
"""
with tempfile.TemporaryDirectory() as modules:
    for number in range(20):
        Path(modules, f"module_{number}.py").write_text("import json\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", modules], check=True)
    # program: sources that importing 20 compiled modules reads, as seen
    changed = False
    for name, known in {"Python": 0, "PySide6": 20, "PySide6, import put back": 0}.items():
        command = [sys.executable, "-c", PROGRAM, name]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": modules}, capture_output=True, check=True)
        print(f"{name}\n  expected 0 sources\n  PySide6 6.11.3 {int(done.stdout)}")
        changed |= int(done.stdout) != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
