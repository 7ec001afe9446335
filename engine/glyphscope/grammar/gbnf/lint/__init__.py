"""The problems of a GBNF document, found without running it, with their fixes."""
