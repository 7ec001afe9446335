"""Regular languages: patterns, derivatives and automata, and the languages of strings and numbers built from them."""
