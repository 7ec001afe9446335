"""Models by their name at the Hugging Face Hub, or at a server with the same API.

`jobs.py` is what other layers use. huggingface_hub, an extra, does the transfer in a separate process
(`client.py` and `failures.py`); the other modules work without it. In addition to its download:

- A file gets its final name only after its size, hash and GGUF header are verified; a split model, after all parts are.
- An interrupted download resumes, even in another process on another day: the received part stays beside its target.
- It can be stopped: `cancel` ends the process, and with it every wait.
- The free space is checked first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.models.hub.choosing import pick
    from glyphscope.models.hub.files import (
        DownloadProgress,
        FileChoice,
        FileListing,
        HubFile,
        choices_of,
        is_safe,
        quantisation_of,
    )
    from glyphscope.models.hub.jobs import Download, DownloadStopped, Lookup, Search
    from glyphscope.models.hub.names import read_request
    from glyphscope.models.hub.part import PartialFile, Unfinished, find_unfinished
else:
    __getattr__ = interface(__name__)
