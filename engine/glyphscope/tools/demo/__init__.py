"""Tools that really work, but safely: nothing leaves the scratch folder, the outbox and the workspace."""

from glyphscope.tools.demo.outbox import Mail
from glyphscope.tools.demo.scratch import ScratchFile
from glyphscope.tools.demo.tools import DemoTools, demo_tools
