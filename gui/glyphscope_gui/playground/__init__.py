"""The page of a run: its header, stream, stages, charts and evidence."""
