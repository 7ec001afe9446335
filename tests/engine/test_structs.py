"""Several threads may decode the same struct for the first time: msgspec alone crashes then."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from sources import nodes_of

ROOT = Path(__file__).parents[2]
TYPED = {"convert": 1, "json.Decoder": 0, "msgpack.Decoder": 0, "inspect.type_info": 0}
"""Functions of msgspec by the place of their type; those named `decode` have it by name."""
RACE = """
import threading, typing
from glyphscope.evals.suites.structure import problems_of
from glyphscope.lessons.run_settings import LessonRunSettings, request_of

quick = typing._LiteralGenericAlias.__hash__
described, ended = threading.Event(), threading.Event()

def slow(alias):
    if alias.__args__ == ("start", "reasoning", "call"):  # msgspec's description of the struct is incomplete
        described.set()
        ended.wait(0.2)
    return quick(alias)

typing._LiteralGenericAlias.__hash__ = slow
settings = {"prompt": "x", "notation": "glyph", "constraint": "mask"}
first = threading.Thread(target=lambda: FIRST)
first.start()
described.wait()
request_of(settings, None)
ended.set()
first.join()
"""


def types_in(path):
    """The sources of the types that a module passes to msgspec, with their lines."""
    nodes = nodes_of(path) if "msgspec" in path.read_text("utf-8") else ()
    imported = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "msgspec"]
    starts = ("msgspec.", *(name.name for node in imported for name in node.names))
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        function = ast.unparse(call.func)
        if function.startswith(starts):
            function = function.removeprefix("msgspec.")
            given = {keyword.arg: keyword.value for keyword in call.keywords}.get("type")
            if function in TYPED and len(call.args) > TYPED[function]:
                given = call.args[TYPED[function]]
            if given is not None:
                yield call.lineno, ast.unparse(given)


@pytest.mark.slow
def test_every_type_that_msgspec_gets_is_ready():
    found = [
        (path.name, line, given)
        for folder in ("engine", "gui/glyphscope_gui")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "structs.py"
        for line, given in types_in(path)
        if given != "msgspec.Raw"
    ]
    assert len(found) > 40
    assert not [each for each in found if not each[2].startswith("ready(")]


@pytest.mark.slow
@pytest.mark.usefixtures("unforked")
@pytest.mark.parametrize(
    "first", ["request_of(settings, None)", "list(problems_of(LessonRunSettings, settings))"]
)
def test_threads_that_read_the_same_struct_for_the_first_time_do_not_crash(first):
    done = subprocess.run(
        [sys.executable, "-c", RACE.replace("FIRST", first)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
