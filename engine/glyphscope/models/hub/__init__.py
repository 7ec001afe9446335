"""Models by their name at the Hugging Face Hub, or at a server that speaks as it does.

What downloads of models commonly do worse is decided here first:

- A broken download leaves a file under the final name, which is then loaded. Here a file has its name only after its
  size, its hash and its GGUF header were right; a split model appears when all its parts are there.
- A download that was cut or stopped begins anew. Here what was loaded stays beside its place and is gone on from, also
  by another process and another day; it is hashed again, so that nothing that is wrong stays unnoticed.
- It cannot be stopped. Here `cancel` ends every wait at once: a name being looked up, a silent server, a pause.
- "Out of space" comes after an hour. Here the room is looked at first.

Names, tokens, addresses and the settings of the environment are huggingface_hub's, which is an extra: what stands in
this file does without it. Its own download is not used: of version 2.4 it keeps nothing of what was loaded when it is
cut, checks no hash, deletes the old file first, only warns of a full disk, and waits in ways that nobody can end.
"""

from glyphscope.models.hub.cancellable import Stopped
from glyphscope.models.hub.choosing import Pick, pick
from glyphscope.models.hub.download import Download, Progress
from glyphscope.models.hub.files import Choice, HubFile, Listing
from glyphscope.models.hub.listing import Lookup
from glyphscope.models.hub.names import HubRequest, read_request
from glyphscope.models.hub.part import Unfinished, find_unfinished
from glyphscope.models.hub.search import Hit, Search

__all__ = [
    "Choice",
    "Download",
    "Hit",
    "HubFile",
    "HubRequest",
    "Listing",
    "Lookup",
    "Pick",
    "Progress",
    "Search",
    "Stopped",
    "Unfinished",
    "find_unfinished",
    "pick",
    "read_request",
]
