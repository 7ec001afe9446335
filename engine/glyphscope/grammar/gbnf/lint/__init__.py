"""The problems of a GBNF document, found without running it, each with its fixes."""
