"""Tools that really work, in a safe place: nothing leaves the scratch folder, the outbox and the workspace."""

from glyphscope.tools.demo.outbox import Mail
from glyphscope.tools.demo.scratch import ScratchFile
from glyphscope.tools.demo.tools import DemoTools
