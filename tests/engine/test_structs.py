"""Several threads may decode the same struct for the first time: msgspec alone crashes then."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TYPED = {"msgspec.convert": 1, "convert": 1, "msgspec.json.Decoder": 0, "msgspec.msgpack.Decoder": 0}
"""Functions by the place of their type; those named `decode` have it by name."""
RACE = """
import threading, time, typing
from glyphscope.lessons.run_settings import request_of

quick = typing._LiteralGenericAlias.__hash__

def slow(alias):  # msgspec's description of a struct is incomplete meanwhile
    time.sleep(0.001)
    return quick(alias)

typing._LiteralGenericAlias.__hash__ = slow
settings = {"prompt": "x", "notation": "glyph", "constraint": "mask"}
threads = [threading.Thread(target=request_of, args=(settings, None)) for _ in range(4)]
for thread in threads:
    thread.start()
    time.sleep(0.002)
for thread in threads:
    thread.join()
"""


def types_in(path):
    """The sources of the types that a module passes to msgspec, with their lines."""
    tree = ast.parse(path.read_text("utf-8"))
    named = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "msgspec"
             for name in node.names}  # fmt: skip
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function = ast.unparse(call.func)
        if function.startswith("msgspec.") or function in named:
            given = {keyword.arg: keyword.value for keyword in call.keywords}.get("type")
            if function in TYPED and len(call.args) > TYPED[function]:
                given = call.args[TYPED[function]]
            if given is not None:
                yield call.lineno, ast.unparse(given)


def test_every_type_that_msgspec_gets_is_ready():
    found = [
        (path.name, line, given)
        for folder in ("engine/glyphscope", "gui/glyphscope_gui")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "structs.py"
        for line, given in types_in(path)
        if given != "msgspec.Raw"
    ]
    assert len(found) > 40
    assert not [each for each in found if not each[2].startswith("ready(")]


@pytest.mark.slow
@pytest.mark.usefixtures("unforked")
def test_threads_that_read_the_same_struct_for_the_first_time_do_not_crash():
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
