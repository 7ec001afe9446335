"""The page of lessons: read, predict, run, and present them."""
