"""Build the rule tree from a registry or a schema: the tools of a call, and the values of their arguments."""
