"""GBNF text read into a document of rules, whatever is wrong with it."""
