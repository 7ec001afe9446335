"""The enforcement of constraints by each engine, as a table."""
