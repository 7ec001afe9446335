"""Route, then execute: which tool, by its name only, and then the call of that tool alone."""
