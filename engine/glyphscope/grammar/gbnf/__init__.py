"""GBNF texts: read without ever failing, checked, with fixes for problems, formatted, and turned into rule trees."""
