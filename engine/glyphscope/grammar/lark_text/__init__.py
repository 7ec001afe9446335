"""Lark texts as llguidance reads them: read without ever failing, checked, formatted, and turned into rule trees."""
