"""From a registry or a schema to the rule tree: the tools of a call, and the values of their arguments."""
