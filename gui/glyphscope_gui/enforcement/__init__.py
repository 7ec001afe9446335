"""What each constraint engine enforces, as a table."""
