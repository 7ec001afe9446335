"""A program in place of an engine in a separate environment."""

import sys

from glyphscope.explain.proof.outside import python_of

LAX = "print(json.dumps({'answers': [bool(text) for text in request['texts']]}))"
"""An engine that accepts every call."""


def environment(folder, program, name="outlines"):
    """A folder in which that engine is a program that gets the request, as `request`, and prints."""
    python = python_of(folder, name)
    python.parent.mkdir(parents=True)
    code = folder / f"{name}.py"
    code.write_text(f"import json, sys\nrequest = json.load(sys.stdin)\n{program}\n")
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}"\n')
    python.chmod(0o755)
    return folder
