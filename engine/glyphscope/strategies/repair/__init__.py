"""What is done about a text that is no call: taken out of it, or asked for again."""
