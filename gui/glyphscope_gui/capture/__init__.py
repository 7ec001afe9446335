"""*Capture…*: a proxy between an agent and its server, its sign in the window, and its breakpoints."""
