"""Help inside the program: the guide and its pages, the palette of commands, and the tour of the first start."""
