"""Read GBNF text into a document of rules, however many problems it has."""
