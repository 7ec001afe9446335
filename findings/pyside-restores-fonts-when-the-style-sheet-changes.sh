#!/usr/bin/env bash
# Expected: a font that QWidget.setFont gives a widget stays until the next setFont; the style sheet, which says nothing of fonts, does not touch it.
# Happens: PySide6 6.11.1 keeps a widget's font when a sheet is first applied to it (in the dynamic property _q_styleSheetWidgetFont), and gives it back
#   whenever the application's sheet changes: a font that was set since is gone. A font set before the first sheet stays.
# Who meets it: programs with a sheet for their colours that change text sizes by setFont: the next change of theme undoes it.
# Here: explicit fonts are set in both places (use_font in gui/glyphscope_gui/theme/fonts.py), so that a change of theme leaves the text size alone
#   (docs/decisions/0016-the-window-by-feature.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check PySide6-Essentials==6.11.1
QT_QPA_PLATFORM=offscreen "$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QLabel

app = QApplication([])
app.setFont(QFont("Sans", 10))
COLOURS = [f"QLabel {{ color: {colour}; }}" for colour in ("red", "green")]
early, late = QLabel("x"), QLabel("x")
early.setFont(QFont("Sans", 22))
late.setFont(QFont("Sans", 12))
for each in (early, late):
    each.show()
app.setStyleSheet(COLOURS[0])
late.setFont(QFont("Sans", 22))
set_since = late.font().pointSize()
app.setStyleSheet(COLOURS[1])
seen = early.font().pointSize(), set_since, late.font().pointSize()
print("a font of 22 points, after the colours of the sheet changed, expected 22 22 22")
print(f"  PySide6 set before the first sheet {seen[0]}; set after it {seen[1]}, then {seen[2]}")
changed = seen != (22, 22, 12)
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
