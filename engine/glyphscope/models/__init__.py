"""The sources of tokens: llama.cpp in a separate process, a script, or a record."""
