"""How texts for people are written, by docs/style.md: figures with their units, shortened texts, places in a text."""
