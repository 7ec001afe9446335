"""Remote models: any endpoint with OpenAI's chat completions.

Common weaknesses of other clients, and the solutions here:

- An endpoint that ignores a grammar answers anyway, unnoticed. Here, every piece is checked against the constraint that
  was sent (`watch.py`), and text that it excludes ends the run with an error.
- Requests are retried without limit. Here, only before the first piece, a few times, with growing pauses (`retry.py`).
- A truncated stream looks like an answer. Here, an answer ends only with a reason from the endpoint (`answer.py`).
- Keys end up in logs and records. Here, a key is in one header and nowhere else (`keys.py`, `failures.py`).

This module imports nothing that needs httpx2, which is an extra; `model.py` is imported when an endpoint is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope.models.remote.address import Address, is_address, read_address, replicas_of
from glyphscope.models.remote.keys import ENVIRONMENT, key_addresses, key_of, remove_key, set_key

if TYPE_CHECKING:
    from glyphscope.models.remote.dialect import DIALECTS, LLAMA_SERVER, OPENAI
    from glyphscope.models.remote.fields import with_written
    from glyphscope.models.remote.model import RemoteModel, open_remote
    from glyphscope.models.remote.retry import Timeouts
else:
    __getattr__ = interface(__name__)
