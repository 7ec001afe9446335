"""The page that runs one prompt under several settings, or two prompts over one set (A/B)."""
