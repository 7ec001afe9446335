"""A result as a folder: samples, figures, report; written so that a kill loses nothing and counts nothing twice."""
