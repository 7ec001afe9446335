#!/usr/bin/env bash
# Expected: a text edit for plain text returns by toPlainText what setPlainText was given, but for line ends, which Qt documents as \n.
# Happens: in PySide6 6.11.3 a no-break space is returned as a space, and U+2028 as a line end. JSON has both as they are, and in its strings a line
#   end is not allowed: a valid document, edited nowhere, is saved as another one or as none. QTextDocument.toRawText has the characters.
# Who meets it: editors of prompts, templates and JSON: a prompt has other tokens after it was opened and saved.
# Here: the text edits of the window read the document's own characters (`WrappingEdit` in `gui/glyphscope_gui/shared/text_edits.py`).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check PySide6-Essentials==6.11.3
"$folder/env/bin/python" - <<'PYTHON'
import json
import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtWidgets import QApplication, QPlainTextEdit

# text: as returned
SEEN = {
    '"1 000 km"': '"1 000 km"',
    '"1\u00a0000 km"': '"1 000 km"',
    '"one\u2028two"': '"one\ntwo"',
    '"one\u202ftwo"': '"one\u202ftwo"',
}
app = QApplication([])
edit = QPlainTextEdit()
changed = False
for text, known in SEEN.items():
    assert json.loads(text)
    edit.setPlainText(text)
    seen = edit.toPlainText()
    try:
        read = "valid JSON"
        json.loads(seen)
    except ValueError as error:
        read = str(error)
    print(f"{text!a}\n  expected the same\n  PySide6 6.11.3 {seen!a}, {read}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
