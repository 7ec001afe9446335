"""Grammars: the rule tree, built from a registry or a schema, and its output for the engines."""
