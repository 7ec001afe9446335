"""The verdict on the result of a scenario, with reasons."""
