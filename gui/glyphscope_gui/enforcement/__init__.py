"""The enforcement by each constraint engine, as a table."""
