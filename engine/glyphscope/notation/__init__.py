"""The notations of calls: shapes, readers, writers, sizes."""
