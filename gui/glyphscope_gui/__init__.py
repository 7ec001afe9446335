"""The Qt app: reads events, sends requests, decides nothing about calls."""

import builtins
from importlib import import_module

_import = builtins.__import__
import_module("PySide6.QtCore")
builtins.__import__ = _import
"""PySide6 replaces Python's `import` for `from __feature__`, which nothing here uses: it reads the source of every
module that imports, a fifth of the time in which the window's modules are imported.
"""
