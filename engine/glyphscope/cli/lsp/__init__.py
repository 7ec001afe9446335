"""`glyphscope lsp`: grammars and registries in editors, by the Language Server Protocol.

`server.py` speaks the protocol, `documents.py` analyses each text in the background; `grammars.py` and `registries.py`
answer questions about one text, with what the engine has for the window and for `glyphscope lint`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from glyphscope.cli.inputs import InputError
from glyphscope.cli.signals import collect_as_usual


def lsp(
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Standard input and output, which are used anyway.", hidden=True)
    ] = True,
) -> None:
    """Serve an editor: diagnostics with fixes, completion, hover, definitions, renaming, formatting and hints for
    grammars (.gbnf, .lark) and lists of tools. The editor starts it: docs/editors.md.
    """
    if find_spec("pygls") is None:
        raise InputError("pygls is not installed.", hint="Install it: pip install 'glyphscope[lsp]'.")
    from glyphscope.cli.lsp.server import make_server  # an extra

    collect_as_usual()
    make_server().start_io()
