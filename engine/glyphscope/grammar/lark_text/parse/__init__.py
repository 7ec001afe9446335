"""Read Lark as llguidance does: its lexemes, then its rules, terminals and statements."""
