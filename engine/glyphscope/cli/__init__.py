"""`glyphscope …`: everything the engine does, without a window."""

from __future__ import annotations

import sys

from glyphscope.cli.serve_verbs import serves_at_once


def main() -> None:
    """The entry point of `glyphscope`."""
    if serves_at_once(sys.argv[1:]):
        return
    try:
        from glyphscope.cli.app import main as whole  # with all commands and their imports
    except KeyboardInterrupt:  # the import takes a second, in which Ctrl-C must work as it does later
        sys.exit(130)
    whole()
