"""Texts generated from grammars: samples of one grammar, and differences between two."""
