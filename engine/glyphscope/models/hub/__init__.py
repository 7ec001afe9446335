"""Models by their name at the Hugging Face Hub, or at a server with the same API.

`jobs.py` is what other layers use. huggingface_hub, an extra, does the transfer in a separate process
(`client.py` and `failures.py`); the other modules work without it. In addition to its download:

- A file gets its final name only after its size, hash and GGUF header are verified; a split model, after all parts are.
- An interrupted download resumes, even in another process on another day: the received part stays beside its target.
- It can be stopped: `cancel` ends the process, and with it every wait.
- The free space is checked first.
"""
