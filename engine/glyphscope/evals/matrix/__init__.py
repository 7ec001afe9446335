"""What is varied: arms, sampling profiles, seeds, and what is recommended for models."""
