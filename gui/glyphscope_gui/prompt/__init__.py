"""The panel of the prompt: its parts, the rendered text, and token costs."""
