"""Tools that really work, but safely: nothing leaves the scratch folder, the outbox and the workspace."""

from glyphscope.tools.demo.calculator import MAX_CHARACTERS, MAX_DEPTH, calculate, evaluate
from glyphscope.tools.demo.corpus import bundled_corpus
from glyphscope.tools.demo.outbox import Mail
from glyphscope.tools.demo.scratch import ScratchFile
from glyphscope.tools.demo.tools import DemoTools, demo_tools
