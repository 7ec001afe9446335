"""Texts made from grammars: samples of one, and differences between two."""
