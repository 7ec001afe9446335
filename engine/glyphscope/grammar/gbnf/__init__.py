"""GBNF text, whole: read without ever failing, checked, with a fix for each problem, formatted, made a rule tree."""
