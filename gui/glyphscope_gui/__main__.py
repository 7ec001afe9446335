"""`python -m glyphscope_gui`."""

import sys

from glyphscope_gui.app import main

sys.exit(main(sys.argv[1:]))
