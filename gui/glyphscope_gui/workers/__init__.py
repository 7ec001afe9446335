"""What runs off the window's thread, and how its events come over."""
