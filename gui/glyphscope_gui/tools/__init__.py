"""The panel of the tool registry: a tree, and a form beside the schema."""
