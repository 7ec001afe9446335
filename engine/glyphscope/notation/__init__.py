"""How a call is written: shapes, readers, writers, sizes."""
