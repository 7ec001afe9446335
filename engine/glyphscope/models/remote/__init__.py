"""Models beyond this machine: any endpoint that speaks OpenAI's chat completions.

What clients of such endpoints commonly do worse is decided here first:

- An endpoint that ignores a grammar answers all the same, and nobody notices. Here every piece is read under the
  constraint that was sent (`watch.py`), and text that it excludes ends the run by an error that says so.
- Requests are sent again and again. Here only before the first piece, few times, with growing waits (`retry.py`).
- A stream that was cut looks like an answer. Here an answer has ended when the endpoint said why (`answer.py`).
- Keys end up in logs and records. Here a key is in one header and nowhere else (`keys.py`, `failures.py`).

What is imported here does without httpx, which is an extra; `model.py` is imported when an endpoint is opened.
"""

from glyphscope.models.remote.address import Address, is_address, read_address
from glyphscope.models.remote.keys import ENVIRONMENT, key_addresses, remove_key, set_key

__all__ = [
    "ENVIRONMENT",
    "Address",
    "is_address",
    "key_addresses",
    "read_address",
    "remove_key",
    "set_key",
]
