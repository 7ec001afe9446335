"""Running a matrix: each sample once, whatever happens in between."""
