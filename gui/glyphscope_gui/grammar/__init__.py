"""The page of grammars: edit, check, diagram, examples, and enforcement."""
