"""Files of the Berkeley Function Calling Leaderboard as suites."""
