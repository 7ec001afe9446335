"""Models by their name at the Hugging Face Hub, or at a server with the same API.

huggingface_hub does the transfer, in a separate process (`child.py`); the rest of this package works without it, as it
is an extra. In addition to its download:

- A broken download leaves no file under the final name: a file has it only after its size, its hash and its GGUF header
  were right; a split model appears when all its parts are there.
- An interrupted download resumes, even in another process on another day: the received part is kept beside its place.
- It can be stopped: `cancel` ends the process, and with it every wait.
- The free space is checked first.
"""
