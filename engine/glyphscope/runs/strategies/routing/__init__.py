"""Route, then execute: choose a tool by its name only, then write the call of that tool alone."""
